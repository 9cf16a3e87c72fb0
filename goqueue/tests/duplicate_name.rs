//! Two derived types of one name.

#![cfg(feature = "memory")]

use goqueue::{Error, prelude::*};
use serde::{Deserialize, Serialize};

mod mail {
    use super::*;

    #[derive(Serialize, Deserialize, Job)]
    #[job(name = "welcome")]
    struct Mail;

    impl Handler for Mail {
        async fn handle(self, _: JobContext) -> JobResult {
            Ok(())
        }
    }
}

mod post {
    use super::*;

    #[derive(Serialize, Deserialize, Job)]
    #[job(name = "welcome")]
    struct Letter;

    impl Handler for Letter {
        async fn handle(self, _: JobContext) -> JobResult {
            Ok(())
        }
    }
}

#[tokio::test]
async fn is_an_error_that_names_both() {
    let queue = Queue::connect_url("memory://").await.unwrap();
    let error = Worker::builder(&queue).build().unwrap_err();
    let Error::DuplicateJob {
        name,
        first,
        second,
    } = &error
    else {
        panic!("{error:?}")
    };
    assert_eq!(name, "welcome");
    let mut types = [*first, *second];
    types.sort_unstable();
    assert_eq!(
        types,
        ["duplicate_name::mail::Mail", "duplicate_name::post::Letter"]
    );
    assert_eq!(
        error.to_string(),
        format!(
            "job name `welcome` is registered twice: by `{first}` and by `{second}`; give one of \
             them another `#[job(name = \"…\")]`"
        ),
    );
}
