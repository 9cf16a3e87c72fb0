//! Looking again and again.

use crossterm::event::EventStream;
use futures_util::StreamExt;
use goqueue::QueueName;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{
    history::History,
    screen::{Screen, is_end},
    view::{View, signed},
};
use crate::{
    args::Stats,
    backend::Backend,
    commands::queues::{counts, oldest},
    failure::Result,
    output::{
        self,
        human::{now, time},
        json::{Look, WatchedQueue},
        style,
    },
};

pub(super) async fn run(backend: &Backend, args: &Stats) -> Result {
    let watch = Watch {
        backend,
        args,
        history: History::default(),
        looks: 0,
    };
    if args.takes_screen() {
        watch.on_screen().await
    } else {
        watch.in_lines().await
    }
}

struct Watch<'a> {
    backend: &'a Backend,
    args: &'a Stats,
    history: History,
    looks: u64,
}

impl Watch<'_> {
    async fn look(&mut self) -> Result<Vec<WatchedQueue>> {
        self.looks += 1;
        let names: Vec<QueueName> = if self.args.queues.is_empty() {
            self.backend.inspect()?.queues().await?
        } else {
            self.args.queues.clone()
        };
        let lines = counts(self.backend, &names).await?;
        Ok(self.history.add(Instant::now(), lines))
    }

    fn is_enough(&self) -> bool {
        self.args.count.is_some_and(|count| self.looks >= count)
    }

    fn ticks(&self) -> tokio::time::Interval {
        let mut ticks = interval(self.args.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    }

    /// A line per queue and look. A backend that is away is waited for.
    async fn in_lines(mut self) -> Result {
        let mut ticks = self.ticks();
        let end = goqueue::shutdown_signal();
        tokio::pin!(end);
        loop {
            tokio::select! {
                () = &mut end => return Ok(()),
                _ = ticks.tick() => {}
            }
            let looked = tokio::select! {
                () = &mut end => return Ok(()),
                looked = self.look() => looked,
            };
            let at = now();
            match looked {
                Ok(queues) if self.args.output.json => {
                    output::json_line(&Look {
                        at,
                        error: None,
                        queues,
                    })?;
                }
                Ok(queues) => output::text(&lines(at, &queues))?,
                Err(failure) if failure.is_lasting() => return Err(failure),
                Err(failure) if self.args.output.json => {
                    let error = Some(failure.text().to_owned());
                    output::json_line(&Look {
                        at,
                        error,
                        queues: Vec::new(),
                    })?;
                }
                Err(failure) => eprintln!("{}  {}", time(at), failure.text()),
            }
            if self.is_enough() {
                return Ok(());
            }
        }
    }

    /// A view that stays in its place, until somebody ends it.
    async fn on_screen(mut self) -> Result {
        let mut screen = Screen::open()?;
        let has_colour = style::has_colour(&std::io::stdout());
        let backend = self.backend.queue().config().driver.to_string();
        let mut events = EventStream::new();
        let mut ticks = self.ticks();
        let end = goqueue::shutdown_signal();
        tokio::pin!(end);
        let mut queues: Vec<WatchedQueue> = Vec::new();
        let (mut at, mut seen) = (String::new(), Instant::now());
        let mut error: Option<String> = None;
        loop {
            let is_time = tokio::select! {
                () = &mut end => return Ok(()),
                event = events.next() => match event {
                    Some(Ok(event)) if is_end(&event) => return Ok(()),
                    // A size that changed, a key without a meaning: draw again.
                    Some(Ok(_)) => false,
                    Some(Err(error)) => return Err(error.into()),
                    None => return Ok(()),
                },
                _ = ticks.tick() => true,
            };
            if is_time {
                let looked = tokio::select! {
                    () = &mut end => return Ok(()),
                    looked = self.look() => looked,
                };
                match looked {
                    Ok(looked) => {
                        (queues, error, seen) = (looked, None, Instant::now());
                        at = time(now());
                    }
                    Err(failure) if failure.is_lasting() => return Err(failure),
                    Err(failure) => error = Some(failure.text().to_owned()),
                }
            }
            let view = View {
                backend: &backend,
                at: at.clone(),
                interval: self.args.interval,
                queues: &queues,
                error: error.clone().map(|error| (error, seen.elapsed())),
            };
            let (columns, rows) = Screen::size();
            screen.draw(&view.lines(columns, rows, has_colour))?;
            if is_time && self.is_enough() {
                return Ok(());
            }
        }
    }
}

fn lines(at: u64, queues: &[WatchedQueue]) -> String {
    let mut text = String::new();
    let rate = |rate: Option<f64>| rate.map_or_else(|| "-".into(), signed);
    for queue in queues {
        let line = &queue.line;
        text += &format!(
            "{}  {}  ready {} ({}/s)  scheduled {}  running {}  dead {} ({}/min)  oldest {}\n",
            time(at),
            line.queue,
            line.ready,
            rate(queue.ready_per_second),
            line.scheduled,
            line.running,
            line.dead,
            rate(queue.dead_per_minute),
            oldest(line),
        );
    }
    text
}
