use goqueue::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(register = false, unique_key = "self.user")]
struct NoSuchField {
    user_id: u64,
}

#[derive(Serialize, Deserialize, Job)]
#[job(register = false, unique_key = "self.tags")]
struct NotText {
    tags: Vec<String>,
}

fn main() {}
