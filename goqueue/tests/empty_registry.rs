//! A program without job types.

#![cfg(feature = "memory")]

use goqueue::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(name = "produced", register = false)]
struct Produced;

#[tokio::test]
async fn cannot_have_a_worker() {
    let queue = Queue::connect_url("memory://").await.unwrap();
    queue.enqueue(Produced).await.unwrap();
    assert_eq!(
        Worker::builder(&queue).build().unwrap_err().to_string(),
        "the worker has no job types: derive `Job` in a crate that this program names, or add them \
         with `Worker::builder(..).register::<T>()`",
    );
}
