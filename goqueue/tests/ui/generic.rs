use goqueue::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(name = "batch")]
struct Batch<T> {
    items: Vec<T>,
}

#[derive(Serialize, Deserialize, Job)]
#[job(register = false)]
struct Borrowed<'a> {
    text: &'a str,
}

fn main() {}
