use goqueue::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(name = "mail.welcome", max_retries = 5)]
struct Misspelt;

#[derive(Serialize, Deserialize, Job)]
#[job(retry(initial_delay = "2s"))]
struct Nested;

fn main() {}
