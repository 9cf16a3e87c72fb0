use goqueue::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(queue = "mail", queue = "post")]
struct InOnePlace;

#[derive(Serialize, Deserialize, Job)]
#[job(timeout = "30s", crate = "::goqueue")]
#[job(timeout = "60s", crate = "::goqueue")]
struct InTwoPlaces;

fn main() {}
