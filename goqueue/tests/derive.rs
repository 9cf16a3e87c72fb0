//! What `#[derive(Job)]` makes of each attribute.

use std::time::Duration;

use goqueue::{Job, JobOptions, RetryPolicy};
use serde::{Deserialize, Serialize};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[derive(Serialize, Deserialize, Job)]
#[job(register = false)]
struct SendHTTPRequest2;

#[derive(Serialize, Deserialize, Job)]
#[job(register = false)]
#[allow(non_camel_case_types)]
struct r#match;

#[test]
fn the_name_defaults_to_the_type_in_snake_case() {
    assert_eq!(SendHTTPRequest2::NAME, "send_http_request2");
    assert_eq!(r#match::NAME, "match");
    assert_eq!(SendHTTPRequest2::QUEUE, "default");
    assert_eq!(SendHTTPRequest2.options(), JobOptions::default());
}

#[derive(Serialize, Deserialize, Job)]
#[job(
    name = "mail.welcome",
    queue = "mail",
    max_attempts = 5,
    timeout = "30s",
    register = false
)]
struct WelcomeMail {
    user_id: u64,
}

#[test]
fn name_queue_attempts_and_timeout() {
    let job = WelcomeMail { user_id: 1 };
    assert_eq!(job.user_id, 1);
    assert_eq!(
        (WelcomeMail::NAME, WelcomeMail::QUEUE),
        ("mail.welcome", "mail")
    );
    let options = job.options();
    assert_eq!(options.max_attempts, Some(5));
    assert_eq!(options.timeout, Some(seconds(30)));
    let mut rest = options;
    (rest.max_attempts, rest.timeout) = (None, None);
    assert_eq!(rest, JobOptions::default());
}

#[derive(Serialize, Deserialize, Job)]
#[job(register = false)]
#[job(name = "reports/monthly:v2", max_attempts = 4_294_967_295)]
#[job(timeout = "1h 30m 500ms")]
struct InSeveral;

#[test]
fn attributes_may_stand_in_several_places() {
    assert_eq!(InSeveral::NAME, "reports/monthly:v2");
    assert_eq!(InSeveral.options().max_attempts, Some(u32::MAX));
    assert_eq!(
        InSeveral.options().timeout,
        Some(Duration::from_millis(5_400_500))
    );
}

/// A type per retry attribute, and the policy that it should have.
macro_rules! retry {
    ($($type:ident($($attribute:tt)*) => $policy:expr,)*) => {
        $(
            #[derive(Serialize, Deserialize, Job)]
            #[job(register = false, $($attribute)*)]
            struct $type;
        )*

        #[test]
        fn retry_attributes_make_a_policy() {
            $(assert_eq!($type.options().retry, Some($policy), stringify!($type));)*
        }
    };
}

retry! {
    Initial(initial_delay = "5s") => RetryPolicy::exponential(seconds(5)),
    AtOnce(initial_delay = "0s") => RetryPolicy::exponential(Duration::ZERO),
    AsLongAsTheDefault(initial_delay = "10m") => RetryPolicy::exponential(seconds(600)),
    Multiplier(multiplier = 1.5) => RetryPolicy::exponential(seconds(2)).multiplier(1.5),
    WholeMultiplier(multiplier = 3) => RetryPolicy::exponential(seconds(2)).multiplier(3.0),
    Longest(max_delay = "1d") => RetryPolicy::exponential(seconds(2)).max_delay(seconds(86_400)),
    Jitter(jitter = 0.25) => RetryPolicy::exponential(seconds(2)).jitter(0.25),
    FullJitter(jitter = 1) => RetryPolicy::exponential(seconds(2)).jitter(1.0),
    Exponential(backoff = "exponential") => RetryPolicy::exponential(seconds(2)),
    Constant(backoff = "constant") => RetryPolicy::constant(seconds(2)),
    SlowConstant(backoff = "constant", initial_delay = "1h", jitter = 0.5)
        => RetryPolicy::constant(seconds(3600)).jitter(0.5),
    Everything(jitter = 0.1, max_delay = "2h", initial_delay = "90s", multiplier = 4.0)
        => RetryPolicy::exponential(seconds(90))
            .multiplier(4.0)
            .max_delay(seconds(7200))
            .jitter(0.1),
}

#[test]
fn retry_attributes_leave_the_attempts_to_the_worker() {
    let options = Initial.options();
    assert_eq!(options.max_attempts, None);
    assert_eq!(options.retry.unwrap().attempts(), None);
}

#[derive(Serialize, Deserialize, Job)]
#[job(
    register = false,
    unique_key = "self.user_id",
    ordering_key = "self.country"
)]
struct ByField {
    user_id: u64,
    country: String,
}

#[derive(Serialize, Deserialize, Job)]
#[job(
    register = false,
    unique_key = "format!(\"user-{}\", self.user_id)",
    unique_for = "1h",
    ordering_key = "self.first + self.second"
)]
struct ByExpression {
    user_id: u64,
    first: u32,
    second: u32,
}

#[derive(Serialize, Deserialize, Job)]
#[job(
    register = false,
    unique_key = "match self { Self::Start(id) => format!(\"start {id}\"), Self::Stop => options() }",
    ordering_key = r#"if matches!(self, Self::Stop) { "stop" } else { "start" }"#
)]
enum Choice {
    Start(u8),
    Stop,
}

fn options() -> String {
    "a function of the module".into()
}

#[test]
fn keys_are_computed_from_the_job() {
    let job = ByField {
        user_id: 7,
        country: "de".into(),
    };
    assert_eq!(job.options().unique_key.as_deref(), Some("7"));
    assert_eq!(job.options().ordering_key.as_deref(), Some("de"));
    assert_eq!(job.options().unique_for, None);

    let job = ByExpression {
        user_id: 7,
        first: 2,
        second: 3,
    };
    assert_eq!(job.options().unique_key.as_deref(), Some("user-7"));
    assert_eq!(job.options().unique_for, Some(seconds(3600)));
    assert_eq!(job.options().ordering_key.as_deref(), Some("5"));

    let keys = |job: Choice| {
        (
            job.options().unique_key.unwrap(),
            job.options().ordering_key.unwrap(),
        )
    };
    assert_eq!(keys(Choice::Start(3)), ("start 3".into(), "start".into()));
    assert_eq!(
        keys(Choice::Stop),
        ("a function of the module".into(), "stop".into())
    );
}

#[derive(Serialize, Deserialize, Job)]
#[job(name = "batch", register = false)]
struct Batch<T, const N: usize>
where
    T: Clone,
{
    items: Vec<T>,
}

#[test]
fn a_generic_type_is_a_job_where_its_instance_is() {
    fn name_of<J: Job>(_: &J) -> &'static str {
        J::NAME
    }
    assert_eq!(
        name_of(&Batch::<String, 3> {
            items: vec!["a".into()]
        }),
        "batch"
    );
}

mod elsewhere {
    pub(crate) mod renamed {
        pub(crate) use goqueue::*;
    }
}

#[derive(Serialize, Deserialize, goqueue::Job)]
#[job(
    name = "renamed",
    max_attempts = 2,
    jitter = 0.5,
    crate = "crate::elsewhere::renamed"
)]
struct Renamed;

impl goqueue::Handler for Renamed {
    async fn handle(self, _: goqueue::JobContext) -> goqueue::JobResult {
        Ok(())
    }
}

#[test]
fn the_facade_may_be_reached_through_another_path() {
    assert_eq!(Renamed::NAME, "renamed");
    assert_eq!(Renamed.options().max_attempts, Some(2));
}

/// Names that collide with what the derive's code needs.
mod hostile {
    #![allow(dead_code, non_camel_case_types)]

    struct Option;
    struct String;
    struct Some;
    struct Default;
    struct Duration;
    struct Result;
    struct u32;
    trait ToString {}
    mod core {}
    mod std {}
    mod goqueue {}

    #[derive(serde::Serialize, serde::Deserialize, ::goqueue::Job)]
    #[job(
        register = false,
        max_attempts = 3,
        timeout = "1s",
        unique_key = "7",
        unique_for = "2s"
    )]
    pub(super) struct Isolated;
}

#[test]
fn the_code_depends_on_no_name_in_scope() {
    let options = hostile::Isolated.options();
    assert_eq!(options.max_attempts, Some(3));
    assert_eq!(options.unique_key.as_deref(), Some("7"));
}

macro_rules! from_a_macro {
    ($type:ident, $name:literal, $attempts:expr) => {
        #[derive(Serialize, Deserialize, Job)]
        #[job(name = $name, max_attempts = $attempts, register = false)]
        struct $type;
    };
}

from_a_macro!(FromMacro, "from.macro", 9);

#[test]
fn values_may_come_through_a_macro() {
    assert_eq!(FromMacro::NAME, "from.macro");
    assert_eq!(FromMacro.options().max_attempts, Some(9));
}
