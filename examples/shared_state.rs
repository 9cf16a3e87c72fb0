//! What handlers share: values by type, given to the worker once.
//!
//! ```text
//! cargo run -p goqueue-examples --example shared_state
//! ```

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use goqueue::prelude::*;
use serde::{Deserialize, Serialize};

/// What never changes needs no lock.
struct Prices(HashMap<&'static str, u64>);

/// What changes brings its own lock. The jobs' ids are the keys: a job may run more than once, and
/// an entry that is written twice still counts once.
#[derive(Default)]
struct Ledger(Mutex<BTreeMap<JobId, u64>>);

impl Ledger {
    fn enter(&self, job: JobId, cents: u64) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.insert(job, cents);
    }

    fn total(&self) -> u64 {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.values().sum()
    }
}

#[derive(Debug, Serialize, Deserialize, Job)]
#[job(name = "shop.sale", queue = "shop")]
struct Sale {
    article: String,
    count: u64,
}

impl Handler for Sale {
    async fn handle(self, cx: JobContext) -> JobResult {
        let prices = cx.state::<Prices>()?;
        let Some(price) = prices.0.get(self.article.as_str()) else {
            let error = format!("there is no article `{}`", self.article);
            return Err(JobError::permanent(error));
        };
        let cents = price * self.count;
        cx.state::<Arc<Ledger>>()?.enter(cx.id(), cents);
        // A handler reaches its queue, too, to enqueue what comes next.
        let thanks = Thanks {
            article: self.article,
        };
        cx.queue_handle().enqueue(thanks).await?;
        Ok(())
    }
}

#[derive(Debug, Serialize, Deserialize, Job)]
#[job(name = "shop.thanks", queue = "shop")]
struct Thanks {
    article: String,
}

impl Handler for Thanks {
    async fn handle(self, _cx: JobContext) -> JobResult {
        println!("thank you for buying {}", self.article);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> goqueue::Result<()> {
    let queue = Queue::connect_url("memory://").await?;
    let sale = |article: &str, count| Sale {
        article: article.into(),
        count,
    };
    let sales = [
        sale("bread", 2),
        sale("tea", 1),
        sale("unicorn", 1),
        sale("tea", 3),
    ];
    queue.enqueue_all(sales).await?;

    // In an `Arc`, since `main` looks at it afterwards.
    let ledger = Arc::new(Ledger::default());
    let worker = Worker::builder(&queue)
        .state(Prices(HashMap::from([("bread", 320), ("tea", 475)])))
        .state(Arc::clone(&ledger))
        .on_job_complete(|run| {
            if let JobOutcome::Dead(reason) = run.outcome {
                let error = run.error.as_deref().unwrap_or_default();
                println!("a sale went to the dead letters ({reason}): {error}");
            }
        })
        .build()?;
    let report = worker.drain().await?;

    let total = ledger.total();
    println!(
        "{} jobs ran; sold for {}.{:02}",
        report.finished,
        total / 100,
        total % 100
    );
    Ok(())
}
