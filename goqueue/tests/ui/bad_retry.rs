use goqueue::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(backoff = "linear")]
struct Unknown;

#[derive(Serialize, Deserialize, Job)]
#[job(backoff = "constant", multiplier = 3.0)]
struct ConstantThatGrows;

#[derive(Serialize, Deserialize, Job)]
#[job(max_delay = "1h", backoff = "constant")]
struct ConstantWithLimit;

#[derive(Serialize, Deserialize, Job)]
#[job(initial_delay = "20m")]
struct BeyondTheDefaultLimit;

#[derive(Serialize, Deserialize, Job)]
#[job(initial_delay = "20s", max_delay = "10s")]
struct BeyondItsLimit;

fn main() {}
