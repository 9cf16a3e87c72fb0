use goqueue::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(register = false, unique_key = "self.user_id +")]
struct Unfinished {
    user_id: u64,
}

#[derive(Serialize, Deserialize, Job)]
#[job(register = false, unique_key = "")]
struct Empty;

#[derive(Serialize, Deserialize, Job)]
#[job(register = false, ordering_key = self.user_id)]
struct Unquoted {
    user_id: u64,
}

fn main() {}
