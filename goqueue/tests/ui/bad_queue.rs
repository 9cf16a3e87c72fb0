use goqueue::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(queue = "mail/urgent")]
struct WithSlash;

#[derive(Serialize, Deserialize, Job)]
#[job(queue = "")]
struct Empty;

#[derive(Serialize, Deserialize, Job)]
#[job(queue = "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq")]
struct TooLong;

fn main() {}
