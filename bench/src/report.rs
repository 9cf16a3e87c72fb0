//! Figures with their bars: one line each, and JSON.

use std::time::Duration;

use serde::Serialize;

use crate::{process, sample::percentile};

/// Runs of one measurement, in jobs per second or any other unit.
#[derive(Debug, Default)]
pub(crate) struct Runs(Vec<f64>);

impl Runs {
    pub(crate) fn add_rate(&mut self, jobs: usize, took: Duration) {
        self.0.push(jobs as f64 / took.as_secs_f64());
    }

    pub(crate) fn median(&self) -> f64 {
        percentile(&self.0, 0.5)
    }

    fn spread(&self) -> (f64, f64) {
        (percentile(&self.0, 0.0), percentile(&self.0, 1.0))
    }
}

/// What a figure is held against.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bar {
    AtLeast(f64),
    AtMost(f64),
    OfLimit(f64),
    TimesPeer(&'static str, f64),
}

/// One measured figure.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    /// The median.
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// How much of what the bare loop reached.
    pub(crate) of_limit: Option<f64>,
    pub(crate) times_peer: Vec<(String, f64)>,
    /// Processor seconds of the client for 100,000 jobs.
    pub(crate) cpu_per_100k: Option<f64>,
    /// The machine's load average when it was measured.
    pub(crate) load: f64,
    pub(crate) verdicts: Vec<Verdict>,
}

/// A bar, and whether the figure clears it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Verdict {
    pub(crate) bar: String,
    pub(crate) is_met: bool,
}

impl Figure {
    /// A figure that is no rate, printed too.
    pub(crate) fn plain(name: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self {
            name: name.into(),
            unit,
            value,
            low: value,
            high: value,
            of_limit: None,
            times_peer: Vec::new(),
            cpu_per_100k: None,
            load: process::load(),
            verdicts: Vec::new(),
        }
    }

    /// The same, held against a bar.
    pub(crate) fn held(name: impl Into<String>, unit: &'static str, value: f64, bar: Bar) -> Self {
        let mut figure = Self::plain(name, unit, value);
        figure.judge(&[bar]);
        print(&figure);
        figure
    }

    pub(crate) fn judge(&mut self, bars: &[Bar]) {
        for bar in bars {
            let (bar, is_met) = match bar {
                Bar::AtLeast(least) => (format!(">= {least}"), self.value >= *least),
                Bar::AtMost(most) => (format!("<= {most}"), self.value <= *most),
                Bar::OfLimit(least) => match self.of_limit {
                    Some(of_limit) => (format!(">= {least} of the limit"), of_limit >= *least),
                    None => continue,
                },
                Bar::TimesPeer(peer, least) => {
                    // Nothing is said of a peer that was not measured.
                    let measured = self.times_peer.iter().find(|(name, _)| name == peer);
                    let Some((_, times)) = measured else { continue };
                    (format!(">= {least} x {peer}"), times >= least)
                }
            };
            self.verdicts.push(Verdict { bar, is_met });
        }
    }
}

/// One line, and one for each bar.
pub(crate) fn print(figure: &Figure) {
    let mut line = format!(
        "{:<46} {:>12} {}",
        figure.name,
        number(figure.value),
        figure.unit
    );
    if figure.low < figure.high {
        line += &format!("   {} to {}", number(figure.low), number(figure.high));
    }
    if let Some(of_limit) = figure.of_limit {
        line += &format!("   {of_limit:.2} of the limit");
    }
    for (peer, times) in &figure.times_peer {
        line += &format!("   {times:.1} x {peer}");
    }
    if let Some(cpu) = figure.cpu_per_100k {
        line += &format!("   {cpu:.2} cpu s per 100,000");
    }
    println!("{line}   (load {:.1})", figure.load);
    for Verdict { bar, is_met } in &figure.verdicts {
        println!("    bar {bar}: {}", if *is_met { "met" } else { "NOT met" });
    }
}

/// How many bars were met, as the last line.
pub(crate) fn summary(figures: &[Figure]) {
    let verdicts = || {
        figures
            .iter()
            .flat_map(|f| f.verdicts.iter().map(move |v| (f, v)))
    };
    let met = verdicts().filter(|(_, verdict)| verdict.is_met).count();
    println!("\n{met} of {} bars met", verdicts().count());
    for (figure, verdict) in verdicts().filter(|(_, verdict)| !verdict.is_met) {
        println!("NOT met: {}, {}", figure.name, verdict.bar);
    }
}

/// A rate with its spread, and whether it clears its bar, if it has one.
pub(crate) fn rate(name: &str, runs: &Runs, at_least: Option<f64>) {
    let (median, (low, high)) = (runs.median(), runs.spread());
    let mut figure = Figure::plain(name, "jobs/s", median);
    (figure.low, figure.high) = (low, high);
    figure.judge(&at_least.map(Bar::AtLeast).into_iter().collect::<Vec<_>>());
    print(&figure);
}

/// Any other figure with its bar.
pub(crate) fn figure(name: &str, value: f64, unit: &'static str, at_most: f64) {
    Figure::held(name, unit, value, Bar::AtMost(at_most));
}

/// A number short enough to read: with its thousands, or with three digits after the point.
pub(crate) fn number(value: f64) -> String {
    if value.abs() < 100.0 {
        return format!("{value:.3}");
    }
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
