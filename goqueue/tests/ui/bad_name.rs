use goqueue::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(name = "mail welcome")]
struct WithSpace;

#[derive(Serialize, Deserialize, Job)]
#[job(name = "")]
struct Empty;

#[derive(Serialize, Deserialize, Job)]
#[job(name = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn")]
struct TooLong;

#[derive(Serialize, Deserialize, Job)]
#[job(name = welcome)]
struct Unquoted;

#[derive(Serialize, Deserialize, Job)]
struct Größe;

fn main() {}
