//! Other job queues on Redis. `goqueue-bench` runs this as a process of its own:
//!
//! `goqueue-bench-peers-redis PEER MEASURE URL JOBS CALLERS PAYLOAD`
//!
//! PEER is `apalis` or `rsmq`, MEASURE `enqueue`, `bulk`, `drain` or `latency`. The answer is one line
//! of JSON on standard output.

#[path = "../../answer.rs"]
mod answer;
mod apalis_redis;
mod rsmq;

use answer::{Answer, Task};

fn main() -> Result<(), answer::Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let task = Task::from_args()?;
    let answer: Answer = match task.peer.as_str() {
        "apalis" => runtime.block_on(apalis_redis::measure(&task))?,
        "rsmq" => runtime.block_on(rsmq::measure(&task))?,
        other => return Err(format!("no peer `{other}`; there are apalis and rsmq").into()),
    };
    answer.print()?;
    // What a peer left running is of no interest.
    std::process::exit(0)
}
