//! Rounds in which goqueue, the limit and the peers take turns, so that whatever else the machine is
//! busy with meets them all.

use crate::{
    process,
    report::{self, Bar, Figure},
    sample::{Failure, Sample, percentile},
};

/// The rates of one measurement, round by round.
#[derive(Debug)]
pub(crate) struct Contest {
    name: String,
    ours: Vec<Sample>,
    limit: Vec<Sample>,
    peers: Vec<(&'static str, Vec<Sample>)>,
    bars: Vec<Bar>,
}

/// Who takes a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    Limit,
    Ours,
    Peer(&'static str),
}

impl Contest {
    pub(crate) fn new(name: impl Into<String>, peers: &[&'static str], bars: &[Bar]) -> Self {
        Self {
            name: name.into(),
            ours: Vec::new(),
            limit: Vec::new(),
            peers: peers.iter().map(|peer| (*peer, Vec::new())).collect(),
            bars: bars.to_vec(),
        }
    }

    /// `rounds` rounds of turns. `turn` answers nothing where there is nothing to measure.
    pub(crate) async fn run<F>(
        mut self,
        rounds: usize,
        mut turn: impl FnMut(Turn) -> F,
    ) -> Result<Self, Failure>
    where
        F: Future<Output = Result<Option<Sample>, Failure>>,
    {
        for _ in 0..rounds {
            self.limit.extend(turn(Turn::Limit).await?);
            self.ours.extend(turn(Turn::Ours).await?);
            for (peer, samples) in &mut self.peers {
                samples.extend(turn(Turn::Peer(peer)).await?);
            }
        }
        Ok(self)
    }

    /// The figure, printed too. A ratio is the median of the rounds' ratios.
    pub(crate) fn figure(&self) -> Figure {
        let rates: Vec<f64> = self.ours.iter().map(Sample::rate).collect();
        let cpu: Vec<f64> = self.ours.iter().map(Sample::cpu_per_100k).collect();
        // The ratio is one of rounds: a peer that failed in one has none.
        let rounds = self.ours.len();
        let times_peer = self
            .peers
            .iter()
            .filter(|(_, samples)| rounds > 0 && samples.len() == rounds);
        let mut figure = Figure {
            name: self.name.clone(),
            unit: "jobs/s",
            value: percentile(&rates, 0.5),
            low: percentile(&rates, 0.0),
            high: percentile(&rates, 1.0),
            of_limit: (!self.limit.is_empty()).then(|| ratio(&self.ours, &self.limit)),
            times_peer: times_peer
                .map(|(peer, samples)| ((*peer).to_owned(), ratio(&self.ours, samples)))
                .collect(),
            cpu_per_100k: Some(percentile(&cpu, 0.5)),
            load: process::load(),
            verdicts: Vec::new(),
        };
        figure.judge(&self.bars);
        report::print(&figure);
        figure
    }
}

fn ratio(ours: &[Sample], theirs: &[Sample]) -> f64 {
    let ratios = ours.iter().zip(theirs).map(|(o, t)| o.rate() / t.rate());
    percentile(&ratios.collect::<Vec<_>>(), 0.5)
}
