use goqueue::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(name = "mail.welcome")]
struct WelcomeMail {
    user_id: u64,
}

fn main() {}
