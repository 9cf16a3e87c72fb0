use goqueue::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(name = "mail welcome", timeout = "30", max_attempts = 0)]
#[job(jiter = 0.1)]
struct Careless {
    #[job(skip)]
    user_id: u64,
}

fn main() {}
