use goqueue::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(timeout = "30")]
struct WithoutUnit;

#[derive(Serialize, Deserialize, Job)]
#[job(initial_delay = "soon")]
struct NotADuration;

#[derive(Serialize, Deserialize, Job)]
#[job(timeout = 30)]
struct Number;

#[derive(Serialize, Deserialize, Job)]
#[job(timeout = "0s")]
struct Zero;

#[derive(Serialize, Deserialize, Job)]
#[job(unique_key = "1", unique_for = "0ms")]
struct ZeroHold;

#[derive(Serialize, Deserialize, Job)]
#[job(timeout = "1500us")]
struct TooFine;

fn main() {}
