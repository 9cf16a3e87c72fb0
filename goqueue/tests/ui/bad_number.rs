use goqueue::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(max_attempts = 0)]
struct NoAttempt;

#[derive(Serialize, Deserialize, Job)]
#[job(max_attempts = -1)]
struct Negative;

#[derive(Serialize, Deserialize, Job)]
#[job(max_attempts = 4294967296)]
struct TooMany;

#[derive(Serialize, Deserialize, Job)]
#[job(max_attempts = "5")]
struct Text;

#[derive(Serialize, Deserialize, Job)]
#[job(multiplier = 0.5)]
struct Shrinking;

#[derive(Serialize, Deserialize, Job)]
#[job(multiplier = 1e999)]
struct Infinite;

#[derive(Serialize, Deserialize, Job)]
#[job(jitter = 1.5)]
struct TooMuchJitter;

#[derive(Serialize, Deserialize, Job)]
#[job(jitter = -0.1)]
struct NegativeJitter;

#[derive(Serialize, Deserialize, Job)]
#[job(register = "false")]
struct NotAFlag;

fn main() {}
