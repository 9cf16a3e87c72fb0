//! Batch calls of ten, of which each entry is answered for, and only what failed is sent again.

use std::{future::Future, time::Duration};

use aws_sdk_sqs::types::BatchResultErrorEntry;
use futures_util::{StreamExt, stream};
use goqueue_core::retry::TransientBackoff;

use crate::{
    error::{Fault, Meaning, Operation},
    limits::{MAX_BATCH, MAX_MESSAGE},
};

/// Calls of one batch that are under way at once, where their order does not matter.
const AT_ONCE: usize = 8;
/// Tries of entries that the service puts off, before the caller hears of it.
const TRIES: usize = 5;

/// One entry of a call: its place among all entries, its size in bytes, and what it is about.
#[derive(Clone, Debug)]
pub(crate) struct Entry<T> {
    pub(crate) place: usize,
    pub(crate) size: usize,
    pub(crate) what: T,
}

/// What a call answered: places that succeeded, each with the id of its message where there is one,
/// and places that failed.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    pub(crate) done: Vec<(usize, String)>,
    pub(crate) failed: Vec<(usize, Fault)>,
}

impl Answers {
    pub(crate) fn of(
        operation: Operation,
        done: impl IntoIterator<Item = (String, String)>,
        failed: &[BatchResultErrorEntry],
    ) -> Self {
        let place = |id: &str| id.parse().ok();
        Self {
            done: done
                .into_iter()
                .filter_map(|(id, of)| Some((place(&id)?, of)))
                .collect(),
            failed: failed
                .iter()
                .filter_map(|entry| Some((place(entry.id())?, Fault::of_entry(operation, entry))))
                .collect(),
        }
    }
}

/// Sends entries in calls of ten, one after the other or several at once, and answers by place.
pub(crate) async fn send<T, F, Fut>(
    entries: Vec<Entry<T>>,
    in_order: bool,
    call: F,
) -> Vec<(usize, Result<String, Fault>)>
where
    T: Clone,
    F: Fn(Vec<Entry<T>>) -> Fut,
    Fut: Future<Output = Result<Answers, Fault>>,
{
    let calls = split(entries);
    if in_order {
        let (mut all, mut failed) = (Vec::new(), None);
        for entries in calls {
            // What comes behind a failure must not get in front of it.
            if let Some(fault) = &failed {
                all.extend(
                    entries
                        .iter()
                        .map(|entry| (entry.place, Err(Fault::behind(fault)))),
                );
                continue;
            }
            let answers = one_call(entries, in_order, &call).await;
            failed = answers
                .iter()
                .find_map(|(_, answer)| answer.as_ref().err().cloned());
            all.extend(answers);
        }
        return all;
    }
    let calls = calls
        .into_iter()
        .map(|entries| one_call(entries, in_order, &call));
    let answers: Vec<_> = stream::iter(calls)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    answers.into_iter().flatten().collect()
}

/// Cuts in order, so that no call has more entries or bytes than it may carry.
fn split<T>(entries: Vec<Entry<T>>) -> Vec<Vec<Entry<T>>> {
    let mut calls: Vec<Vec<_>> = Vec::new();
    let mut bytes = 0;
    for entry in entries {
        match calls.last_mut() {
            Some(call) if call.len() < MAX_BATCH && bytes + entry.size <= MAX_MESSAGE => {
                bytes += entry.size;
                call.push(entry);
            }
            _ => {
                bytes = entry.size;
                calls.push(vec![entry]);
            }
        }
    }
    calls
}

async fn one_call<T, F, Fut>(
    mut entries: Vec<Entry<T>>,
    in_order: bool,
    call: &F,
) -> Vec<(usize, Result<String, Fault>)>
where
    T: Clone,
    F: Fn(Vec<Entry<T>>) -> Fut,
    Fut: Future<Output = Result<Answers, Fault>>,
{
    let mut answered = Vec::with_capacity(entries.len());
    let mut backoff = TransientBackoff::new();
    for tried in 1.. {
        let (again, fault) = match call(entries.clone()).await {
            Ok(answers) => {
                answered.extend(answers.done.into_iter().map(|(place, of)| (place, Ok(of))));
                let mut again = Vec::new();
                for (place, fault) in answers.failed {
                    // Sent again, it would be behind those of its call that were taken.
                    let may_repeat = !in_order && tried < TRIES;
                    if fault.meaning == Meaning::Refused && may_repeat {
                        again.push(place);
                    } else {
                        answered.push((place, Err(fault)));
                    }
                }
                (again, None)
            }
            Err(fault) => (
                entries.iter().map(|entry| entry.place).collect(),
                Some(fault),
            ),
        };
        match fault {
            // Only a call that was put off has certainly done nothing.
            Some(fault) if fault.meaning != Meaning::Refused || tried >= TRIES => {
                let lost = entries
                    .iter()
                    .map(|entry| (entry.place, Err(fault.clone())));
                answered.extend(lost);
                break;
            }
            _ => {}
        }
        entries.retain(|entry| again.contains(&entry.place));
        if entries.is_empty() {
            break;
        }
        tokio::time::sleep(backoff.next_pause().max(Duration::from_millis(20))).await;
    }
    answered
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn entries(sizes: &[usize]) -> Vec<Entry<()>> {
        let entry = |(place, size): (usize, &usize)| Entry {
            place,
            size: *size,
            what: (),
        };
        sizes.iter().enumerate().map(entry).collect()
    }

    fn fault(meaning: Meaning) -> Fault {
        Fault::new(meaning, "push", "no")
    }

    fn places(entries: &[Entry<()>]) -> Vec<usize> {
        entries.iter().map(|entry| entry.place).collect()
    }

    #[test]
    fn calls_keep_to_ten_entries_and_to_their_bytes() {
        let lengths = |sizes: &[usize]| {
            split(entries(sizes))
                .iter()
                .map(Vec::len)
                .collect::<Vec<_>>()
        };
        assert_eq!(lengths(&[1; 25]), [10, 10, 5]);
        assert_eq!(lengths(&[400_000; 5]), [2, 2, 1]);
        assert_eq!(lengths(&[MAX_MESSAGE, 1, MAX_MESSAGE]), [1, 1, 1]);
        assert_eq!(lengths(&[]), [0; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_was_put_off_is_sent_again() {
        let calls = Mutex::new(Vec::new());
        let answers = send(entries(&[1; 4]), false, |entries| {
            let sent = places(&entries);
            calls.lock().unwrap().push(sent.clone());
            async move {
                let mut answers = Answers::default();
                for place in sent {
                    match (place, entries.len()) {
                        (1, _) => answers.failed.push((1, fault(Meaning::Permanent))),
                        (2, 4) => answers.failed.push((2, fault(Meaning::Refused))),
                        _ => answers.done.push((place, format!("m{place}"))),
                    }
                }
                Ok(answers)
            }
        })
        .await;
        assert_eq!(*calls.lock().unwrap(), [vec![0, 1, 2, 3], vec![2]]);
        let mut told: Vec<_> = answers
            .iter()
            .map(|(place, answer)| (*place, answer.is_ok()))
            .collect();
        told.sort_unstable();
        assert_eq!(told, [(0, true), (1, false), (2, true), (3, true)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_may_have_acted_is_not_sent_again_and_one_put_off_is() {
        for (meaning, expected) in [
            (Meaning::Unknown, 1),
            (Meaning::Permanent, 1),
            (Meaning::Refused, TRIES),
        ] {
            let calls = Mutex::new(0);
            let answers = send(entries(&[1; 2]), false, |_| {
                *calls.lock().unwrap() += 1;
                async move { Err(fault(meaning)) }
            })
            .await;
            assert_eq!(*calls.lock().unwrap(), expected, "{meaning:?}");
            assert!(answers.len() == 2 && answers.iter().all(|(_, answer)| answer.is_err()));
        }
    }

    #[tokio::test]
    async fn what_comes_behind_a_failure_stays_unsent_where_order_counts() {
        let call = |entries: Vec<Entry<()>>| async move {
            let mut answers = Answers::default();
            for place in places(&entries) {
                if place == 12 {
                    answers.failed.push((place, fault(Meaning::Permanent)));
                } else {
                    answers.done.push((place, String::new()));
                }
            }
            Ok(answers)
        };
        for (in_order, expected) in [(true, 19), (false, 34)] {
            let answers = send(entries(&[1; 35]), in_order, call).await;
            assert_eq!(answers.len(), 35, "each is answered for");
            let done = answers.iter().filter(|(_, answer)| answer.is_ok()).count();
            assert_eq!(done, expected);
        }
    }
}
