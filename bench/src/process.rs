//! What this process costs, as Linux counts it.

use std::{fs, time::Duration};

/// The kernel's clock ticks per second in `/proc`: 100 on every Linux since 2.4.
const TICKS_PER_SECOND: u64 = 100;

/// Processor time used so far, user and system.
pub(crate) fn cpu_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The command's name is in parentheses and may hold spaces; utime and stime are the 12th and
    // 13th fields after it (proc(5)).
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// The most resident memory so far, in megabytes.
pub(crate) fn peak_resident_mb() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}
