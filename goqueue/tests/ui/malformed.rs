use goqueue::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job]
struct NoList;

#[derive(Serialize, Deserialize, Job)]
#[job = "mail"]
struct NotAList;

#[derive(Serialize, Deserialize, Job)]
#[job(name)]
struct NoValue;

#[derive(Serialize, Deserialize, Job)]
#[job(name: "mail")]
struct Colon;

#[derive(Serialize, Deserialize, Job)]
#[job("mail")]
struct NoKey;

#[derive(Serialize, Deserialize, Job)]
#[job(crate = "not a path")]
struct NotAPath;

fn main() {}
