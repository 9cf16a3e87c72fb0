use goqueue::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(register = false)]
struct OnAField {
    #[job(unique_key)]
    user_id: u64,
}

#[derive(Serialize, Deserialize, Job)]
#[job(register = false)]
enum OnAVariant {
    #[job(name = "start")]
    Start,
    Stop {
        #[job(queue = "stop")]
        at: u64,
    },
}

fn main() {}
