//! A job that will not run again goes to the dead letters with its payload and headers untouched,
//! and with the story of its end. A loss is not possible; a discard is said aloud.

mod admin;
mod sinks;
mod story;

use goqueue_core::{Error, JobId, driver::InspectCapability};

use crate::{
    check::promise,
    tools::{Bench, Client},
};

pub(crate) use admin::*;
pub(crate) use sinks::*;
pub(crate) use story::*;

/// Where a backend has no administrative calls, asking for them is refused.
pub(crate) fn inspection_is_refused(b: &Bench<'_>) {
    let queue = b.queue();
    let refused = queue.inspect().err();
    promise!(
        matches!(&refused, Some(Error::Unsupported { driver, capability: "inspection" })
            if *driver == b.can().driver),
        "inspection is refused by name";
        "{refused:?}"
    );
    promise!(
        b.can().inspect == InspectCapability::None,
        "a driver that can be inspected has the calls for it";
        "it has none and claims {:?}",
        b.can().inspect
    );
}

/// Goes on with the administrative calls, or checks that they are refused.
macro_rules! inspected {
    ($bench:expr, $client:expr) => {
        match $client.inspect() {
            Some(inspect) => inspect,
            None => return inspection_is_refused(&$bench),
        }
    };
}
use inspected;

/// Buries new jobs, one after the other, and answers their ids in that order.
async fn bury_some(client: &Client, count: usize) -> Vec<JobId> {
    let mut ids = Vec::new();
    for n in 0..count {
        ids.push(client.put(&format!("dead {n}")).await);
        let job = client.take_one().await;
        client.bury(&job.lease).await;
    }
    client.buried(count).await;
    ids
}
