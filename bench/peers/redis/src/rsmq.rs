//! rsmq_async: a queue without a worker. The loop around it takes messages in batches of 100 and
//! deletes each once it is done, `callers` at a time.

use rsmq_async::{Rsmq, RsmqConnection, RsmqOptions};

use crate::answer::{Answer, Clock, Failure, Task};

const QUEUE: &str = "bench-rsmq";

pub async fn measure(task: &Task) -> Result<Answer, Failure> {
    match task.measure.as_str() {
        "enqueue" => enqueue(task).await,
        "bulk" => bulk(task).await,
        "drain" => drain(task).await,
        _ => Err(task.unknown()),
    }
}

async fn connect(task: &Task) -> Result<Rsmq, Failure> {
    let port = task
        .url
        .rsplit(':')
        .next()
        .and_then(|end| end.split('/').next());
    let options = RsmqOptions {
        host: "127.0.0.1".into(),
        port: port.unwrap_or_default().parse()?,
        ..RsmqOptions::default()
    };
    let mut rsmq = Rsmq::new(options).await?;
    // Another run may have made it.
    let _ = rsmq.create_queue(QUEUE, None, None, Some(-1)).await;
    Ok(rsmq)
}

async fn enqueue(task: &Task) -> Result<Answer, Failure> {
    let rsmq = connect(task).await?;
    let clock = Clock::new();
    let mut callers = Vec::new();
    for _ in 0..task.callers {
        let (mut rsmq, job, jobs) = (rsmq.clone(), task.job(), task.jobs / task.callers);
        callers.push(tokio::spawn(async move {
            for _ in 0..jobs {
                let text = serde_json::to_string(&job)?;
                rsmq.send_message(QUEUE, text, None).await?;
            }
            Ok::<_, Failure>(())
        }));
    }
    for caller in callers {
        caller.await??;
    }
    Ok(clock.stop())
}

async fn fill(task: &Task) -> Result<(), Failure> {
    let mut rsmq = connect(task).await?;
    let mut left = task.jobs;
    while left > 0 {
        let some = left.min(100);
        let texts = (0..some).map(|_| serde_json::to_string(&task.job()));
        rsmq.send_message_batch(QUEUE, texts.collect::<Result<Vec<_>, _>>()?, None)
            .await?;
        left -= some;
    }
    Ok(())
}

async fn bulk(task: &Task) -> Result<Answer, Failure> {
    let clock = Clock::new();
    fill(task).await?;
    Ok(clock.stop())
}

async fn drain(task: &Task) -> Result<Answer, Failure> {
    fill(task).await?;
    let mut rsmq = connect(task).await?;
    let clock = Clock::new();
    let mut left = task.jobs;
    while left > 0 {
        let messages = rsmq
            .receive_message_batch::<String>(QUEUE, None, 100)
            .await?;
        left -= messages.len();
        let mut deletions = Vec::new();
        for message in messages {
            let mut rsmq = rsmq.clone();
            deletions.push(tokio::spawn(async move {
                rsmq.delete_message(QUEUE, &message.id).await
            }));
        }
        for deletion in deletions {
            deletion.await??;
        }
    }
    Ok(clock.stop())
}
