//! Medians, and one line per figure.

use std::time::Duration;

/// Runs of one measurement, in jobs per second or any other unit.
#[derive(Debug, Default)]
pub(crate) struct Runs(Vec<f64>);

impl Runs {
    pub(crate) fn add_rate(&mut self, jobs: usize, took: Duration) {
        self.0.push(jobs as f64 / took.as_secs_f64());
    }

    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    fn spread(&self) -> (f64, f64) {
        let least = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        (least, self.0.iter().copied().fold(0.0, f64::max))
    }
}

/// A rate with its spread, and whether it clears its bar, if it has one.
pub(crate) fn rate(name: &str, runs: &Runs, at_least: Option<f64>) {
    let (median, (low, high)) = (runs.median(), runs.spread());
    let bar = at_least.map_or(String::new(), |bar| {
        format!("  bar >= {} {}", thousands(bar), verdict(median >= bar))
    });
    println!(
        "{name:<44} {:>11} jobs/s   {:>11} to {:<11}{bar}",
        thousands(median),
        thousands(low),
        thousands(high)
    );
}

/// Any other figure with its bar.
pub(crate) fn figure(name: &str, value: f64, unit: &str, at_most: f64) {
    println!(
        "{name:<44} {value:>11.3} {unit:<8} bar <= {at_most} {}",
        verdict(value <= at_most)
    );
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "MISSED" }
}

fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
