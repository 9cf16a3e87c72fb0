use std::time::Duration;

use futures_util::future::join_all;
use goqueue_core::{QueueName, Result, driver::Maintenance};

use crate::{
    connection::Failed,
    driver::{BATCH, Inner},
    error::Operation,
    push::millis,
    reply::Reply,
    scripts::{Args, MAINTAIN},
};

/// The most jobs that one pass moves each way.
const BOUND: u64 = 1_000;
/// Between two passes with nothing left over. Reservations promote and recover on their way, and
/// waiting workers know when something is due: a pass is for what nobody asks for.
const PAUSE: Duration = Duration::from_secs(5);

impl Inner {
    pub(crate) async fn maintain(&self, queues: &[QueueName]) -> Result<Maintenance> {
        let passes = join_all(queues.iter().map(|queue| self.pass(queue))).await;
        let mut done = Maintenance {
            next: PAUSE,
            ..Maintenance::default()
        };
        let mut failed = None;
        for pass in passes {
            match pass {
                Ok((promoted, recovered, purged, has_more)) => {
                    done.promoted += promoted;
                    done.recovered += recovered;
                    done.purged += purged;
                    if has_more {
                        done.next = Duration::ZERO;
                    }
                }
                // The other queues have had their pass all the same.
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(failed) => Err(failed.error),
            None => Ok(done),
        }
    }

    /// One bounded pass over one queue: promoted, recovered, purged, and whether there is more.
    pub(crate) async fn pass(&self, queue: &QueueName) -> Result<(u64, u64, u64, bool), Failed> {
        let keys = self.keys.of(queue);
        let mut args = Args::with_capacity(4);
        args.bytes(&keys.channel)
            .number(BOUND)
            .number(BATCH.bytes as u64)
            .number(millis(self.retention));
        let used = [
            keys.ready.as_str(),
            &keys.scheduled,
            &keys.running,
            &keys.leases,
            &keys.waiting,
            &keys.dead,
            &keys.dead_order,
            &keys.dead_age,
            &keys.unique,
            &keys.holds,
        ];
        let value = self.connection.run(&MAINTAIN, &used, &args).await?;
        let counts = || {
            let mut list = Reply::of(value, Operation::Maintain).list()?;
            Ok((
                list.count()?,
                list.count()?,
                list.count()?,
                list.count()? > 0,
            ))
        };
        counts().map_err(Failed::undecided)
    }
}
