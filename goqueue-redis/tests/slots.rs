//! What every call touches: only keys that it names, all in one slot.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{collections::BTreeSet, time::Duration};

use futures_util::StreamExt;
use goqueue_core::{
    DeadLetters,
    dead_letter::DeadReason,
    driver::{Driver, Inspect, JobState, PageRequest, Selection, Settlement, UniqueKey, Verdict},
};
use goqueue_redis::{RedisDeadLetters, RedisDriver};
use support::*;
use tokio::time::{sleep, timeout};

/// The slot of a key, as the cluster specification has it.
fn slot(key: &str) -> u16 {
    let tag = key
        .split_once('{')
        .and_then(|(_, rest)| Some(rest.split_once('}')?.0));
    let hashed = tag.filter(|tag| !tag.is_empty()).unwrap_or(key);
    let crc = hashed.bytes().fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 {
                crc << 1
            } else {
                (crc << 1) ^ 0x1021
            }
        })
    });
    crc % 16_384
}

/// The arguments of one line of `MONITOR`, and whether a script sent it.
fn parse(line: &str) -> (bool, Vec<String>) {
    let (head, rest) = line.split_once(']').unwrap();
    let mut words = Vec::new();
    let (mut word, mut inside, mut escaped) = (String::new(), false, false);
    for character in rest.chars() {
        match character {
            _ if escaped => {
                word.push(character);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' if inside => {
                words.push(std::mem::take(&mut word));
                inside = false;
            }
            '"' => inside = true,
            _ if inside => word.push(character),
            _ => {}
        }
    }
    (head.ends_with("lua"), words)
}

/// Every verb, in every way that changes what it touches.
async fn do_everything(driver: &RedisDriver) {
    let queue = queue("q");
    let mut jobs: Vec<_> = (0..12).map(|n| job("q", format!("{n}"))).collect();
    for (n, job) in jobs.iter_mut().enumerate() {
        job.ordering_key = (n % 3 == 0).then(|| "k".into());
        job.unique = (n % 4 == 0).then(|| UniqueKey {
            key: format!("{n}"),
            hold: Duration::from_millis(50),
        });
        job.delay = Duration::from_millis(if n % 5 == 4 { 20 } else { 0 });
    }
    driver.push(vec![job("q", "plain")]).await.unwrap();
    driver.push(jobs.clone()).await.unwrap();
    driver.push(jobs).await.unwrap();
    sleep(Duration::from_millis(30)).await;
    for state in [JobState::Ready, JobState::Scheduled, JobState::Running] {
        driver
            .peek(&queue, state, PageRequest::first(5))
            .await
            .unwrap();
    }
    loop {
        let wait = Duration::from_millis(100);
        let taken = driver.reserve(waiting("q", 5, wait)).await.unwrap();
        if taken.is_empty() {
            break;
        }
        driver
            .extend(taken.iter().map(|job| job.lease.clone()).collect(), LEASE)
            .await
            .unwrap();
        let verdict = |n: usize, attempt: u32| match n % 4 {
            _ if attempt > 1 => Verdict::Ack,
            0 => Verdict::Retry {
                delay: Duration::from_millis(5),
                error: "again".into(),
            },
            1 => Verdict::Dead {
                reason: DeadReason::Permanent,
                error: "no".into(),
            },
            2 => Verdict::Retry {
                delay: Duration::ZERO,
                error: String::new(),
            },
            _ => Verdict::Ack,
        };
        let settlements = taken.iter().enumerate().map(|(n, job)| Settlement {
            lease: job.lease.clone(),
            verdict: verdict(n, job.attempt),
        });
        driver.settle(settlements.collect()).await.unwrap();
    }
    driver.maintain(std::slice::from_ref(&queue)).await.unwrap();
    driver.stats(&queue).await.unwrap();
    let letters = driver
        .dead_letters(&queue, PageRequest::first(2))
        .await
        .unwrap()
        .items;
    driver.dead_letter(&queue, letters[0].id).await.unwrap();
    driver
        .delete_dead(&queue, Selection::Ids(vec![letters[0].id]))
        .await
        .unwrap();
    driver.requeue_dead(&queue, Selection::All).await.unwrap();
    RedisDeadLetters::from(driver.clone())
        .store(letter("q", "from elsewhere").await)
        .await
        .unwrap();
    driver.purge(&queue).await.unwrap();
    driver.queues().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_names_its_keys_and_they_share_a_slot() {
    let server = Server::start().await;
    let client = redis::Client::open(server.url()).unwrap();
    let mut monitor = client.get_async_monitor().await.unwrap();
    let driver = connect(&server.url()).await;
    do_everything(&driver).await;
    server.ask("ECHO the-end").await;

    let mut lines = monitor.on_message::<String>();
    let (mut named, mut verbs, mut touched) = (Vec::<String>::new(), BTreeSet::new(), 0);
    while let Ok(Some(line)) = timeout(Duration::from_secs(5), lines.next()).await {
        let (is_scripted, words) = parse(&line);
        match words[0].to_uppercase().as_str() {
            "EVALSHA" | "EVAL" => {
                let count: usize = words[2].parse().unwrap();
                named = words[3..3 + count].to_vec();
                verbs.insert((words[1].clone(), count));
                let slots: BTreeSet<_> = named.iter().map(|key| slot(key)).collect();
                assert_eq!(slots.len(), 1, "{words:?}");
            }
            "ECHO" => break,
            "TIME" | "PUBLISH" => {}
            command if is_scripted => {
                touched += 1;
                assert!(
                    named.contains(&words[1]),
                    "{command} {} is not in {named:?}",
                    words[1]
                );
            }
            _ => {}
        }
    }
    // Fourteen scripts, each the first time with its text; one has two sets of keys.
    assert!(verbs.len() >= 15, "{verbs:?}");
    assert!(touched > 200, "{touched}");
}

#[test]
fn slots_are_those_of_the_specification() {
    assert_eq!(slot("123456789"), 0x31C3);
    assert_eq!(slot("goqueue:{mail}:ready"), slot("mail"));
}
