//! What a process costs, as Linux counts it, and how busy the machine is.

use std::{fs, time::Duration};

/// The kernel's clock ticks per second in `/proc`: 100 on every Linux since 2.4.
const TICKS_PER_SECOND: u64 = 100;

/// Processor time that this process has used so far, user and system.
pub(crate) fn cpu_time() -> Option<Duration> {
    ticks(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// The same of another process.
pub(crate) fn cpu_time_of(pid: u32) -> Option<Duration> {
    ticks(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn ticks(stat: &str) -> Option<Duration> {
    // The command's name is in parentheses and may hold spaces; utime and stime are the 12th and
    // 13th fields after it (proc(5)).
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// The most resident memory so far, in megabytes.
pub(crate) fn peak_resident_mb() -> Option<f64> {
    status_mb("VmHWM:")
}

/// Resident memory now, in megabytes.
pub(crate) fn resident_mb() -> Option<f64> {
    status_mb("VmRSS:")
}

fn status_mb(field: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// How many processes ran or waited to, on average over the last minute.
pub(crate) fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|load| load.parse().ok()).unwrap_or(f64::NAN)
}

/// The processor's name and the number of its cores.
pub(crate) fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown processor", |rest| {
            rest.trim_matches([' ', '\t', ':'])
        });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{name}, {cores} cores")
}
