//! Other job queues on MySQL. `goqueue-bench` runs this as a process of its own:
//!
//! `goqueue-bench-peers-mysql PEER MEASURE URL JOBS CALLERS PAYLOAD`
//!
//! PEER is `apalis`, MEASURE `enqueue`, `bulk`, `drain` or `latency`. The answer is one line of JSON
//! on standard output.

#[path = "../../answer.rs"]
mod answer;
mod apalis_mysql;

use answer::Task;

fn main() -> Result<(), answer::Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let task = Task::from_args()?;
    let answer = match task.peer.as_str() {
        "apalis" => runtime.block_on(apalis_mysql::measure(&task))?,
        other => return Err(format!("no peer `{other}`; there is apalis").into()),
    };
    answer.print()?;
    // What a peer left running is of no interest.
    std::process::exit(0)
}
