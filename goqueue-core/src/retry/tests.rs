use proptest::prelude::*;

use super::*;

fn job(n: u128) -> JobId {
    uuid::Uuid::from_u128(n).into()
}

fn seconds(policy: RetryPolicy, attempts: std::ops::RangeInclusive<u32>) -> Vec<u64> {
    attempts
        .map(|n| policy.delay_after(n, job(7)).as_secs())
        .collect()
}

#[test]
fn the_classic_schedule() {
    let policy = RetryPolicy::exponential(Duration::from_secs(3));
    assert_eq!(seconds(policy, 1..=5), [3, 6, 12, 24, 48]);
}

#[test]
fn a_constant_schedule_ignores_the_attempt() {
    let policy = RetryPolicy::constant(Duration::from_secs(3));
    assert_eq!(seconds(policy, 1..=3), [3, 3, 3]);
    assert_eq!(policy.delay_after(u32::MAX, job(1)), Duration::from_secs(3));
}

#[test]
fn the_default_is_the_documented_one() {
    assert_eq!(seconds(RetryPolicy::default(), 1..=5), [2, 4, 8, 16, 32]);
    assert_eq!(seconds(RetryPolicy::default(), 10..=12), [600, 600, 600]);
}

#[test]
fn jitter_is_the_same_for_ever() {
    // Stored jobs keep their schedule across releases, so these numbers may never change.
    let policy = RetryPolicy::exponential(Duration::from_secs(10)).jitter(0.5);
    let delays: Vec<_> = (1..=3)
        .map(|n| policy.delay_after(n, job(1)).as_millis())
        .collect();
    assert_eq!(delays, [8_626, 16_331, 39_222]);
}

proptest! {
    #[test]
    fn never_longer_than_the_ceiling_and_never_panics(
        initial in 0u64..=u64::MAX,
        multiplier in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), -10.0..1e9],
        ceiling in 0u64..=u64::MAX,
        jitter in prop_oneof![Just(f64::NAN), -1.0..3.0],
        attempt in prop_oneof![Just(0), Just(1), Just(4_000_000_000), Just(u32::MAX), any::<u32>()],
        id in any::<u128>(),
    ) {
        let policy = RetryPolicy::exponential(Duration::from_millis(initial))
            .multiplier(multiplier)
            .max_delay(Duration::from_millis(ceiling))
            .jitter(jitter);
        let delay = policy.delay_after(attempt, job(id));
        // A double holds 53 bits: above that the ceiling itself is rounded.
        prop_assert!(delay.as_millis() as f64 <= ceiling as f64);
        prop_assert_eq!(delay, policy.delay_after(attempt, job(id)));
    }

    #[test]
    fn without_jitter_delays_never_shrink(
        initial in 0u64..1_000_000, multiplier in 1.0..10.0, attempt in 1u32..10_000,
    ) {
        let policy = RetryPolicy::exponential(Duration::from_millis(initial)).multiplier(multiplier);
        prop_assert!(policy.delay_after(attempt, job(1)) <= policy.delay_after(attempt + 1, job(1)));
    }

    #[test]
    fn jitter_stays_in_its_bounds(jitter in 0.0..=1.0, attempt in 1u32..8, id in any::<u128>()) {
        let plain = RetryPolicy::exponential(Duration::from_secs(5));
        let planned = plain.delay_after(attempt, job(id)).as_millis() as f64;
        let actual = plain.jitter(jitter).delay_after(attempt, job(id)).as_millis() as f64;
        prop_assert!(actual <= planned);
        prop_assert!(actual >= (planned * (1.0 - jitter)).floor());
    }

    #[test]
    fn zero_stays_zero(attempt in any::<u32>()) {
        let policy = RetryPolicy::exponential(Duration::ZERO);
        prop_assert_eq!(policy.delay_after(attempt, job(1)), Duration::ZERO);
    }

    #[test]
    fn the_stored_form_is_the_same_policy(initial in 0u64..1 << 40, jitter in 0.0..1.0) {
        let policy = RetryPolicy::exponential(Duration::from_millis(initial)).jitter(jitter);
        let text = serde_json::to_string(&policy).unwrap();
        let back: RetryPolicy = serde_json::from_str(&text).unwrap();
        let delays = |p: RetryPolicy| (1..9).map(|n| p.delay_after(n, job(3))).collect::<Vec<_>>();
        prop_assert_eq!(delays(policy), delays(back));
    }
}
