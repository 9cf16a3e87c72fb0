use goqueue::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(unique_for = "1h")]
struct WithoutKey;

fn main() {}
