//! The derive macro of goqueue. Use it through the facade crate `goqueue`, which re-exports it.

mod attributes;
mod expand;
mod key;
mod retry;
mod value;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `goqueue::Job` for a type and registers its `Handler`.
///
/// The type is a struct or an enum that implements serde's `Serialize` and `Deserialize`. Its
/// settings stand in `#[job(…)]`:
///
/// | attribute | what it sets | left out |
/// | --- | --- | --- |
/// | `name = "mail.welcome"` | the name stored with every job: 1 to 128 ASCII letters, digits, `_`, `-`, `.`, `:` or `/` | the type's name in `snake_case` |
/// | `queue = "mail"` | the queue the jobs go to: 1 to 64 ASCII letters, digits, `_`, `-` or `.` | `default` |
/// | `max_attempts = 5` | how many times a job may run in all, 1 or more | the worker's setting |
/// | `timeout = "30s"` | how long one run may take | the worker's setting |
/// | `backoff = "exponential"` | `"exponential"`, or `"constant"` for the same delay every time | `"exponential"` |
/// | `initial_delay = "2s"` | the delay after the first failure | `"2s"` |
/// | `multiplier = 2.0` | what each delay is multiplied by to give the next, 1 or more | `2.0` |
/// | `max_delay = "10m"` | the longest delay | `"10m"` |
/// | `jitter = 0.1` | shortens each delay by up to this share of it, 0 to 1 | `0.0` |
/// | `unique_key = "self.user_id"` | an expression: one live job per key | no key |
/// | `unique_for = "1h"` | keeps the key taken for this long from the enqueueing | until the job is done |
/// | `ordering_key = "self.account"` | an expression: jobs of one key run one at a time, in order | no key |
/// | `register = false` | leaves the type out of what workers find, so it needs no `Handler` | `true` |
/// | `crate = "my_crate::goqueue"` | where the facade is found when it is not a direct dependency | `"::goqueue"` |
///
/// **Set `name`.** Stored jobs are found by it. With the default, renaming the type orphans the
/// jobs that are already stored.
///
/// Durations are written with their unit, such as `"500ms"`, `"30s"`, `"5m"` or `"1h 30m"`, and are
/// whole milliseconds.
///
/// The five retry attributes make one `RetryPolicy`. When none of them is given, the worker's
/// policy holds. When one is given, the others have the values of the last column, whatever the
/// worker says. `multiplier` and `max_delay` go with exponential backoff only.
///
/// A key is a Rust expression in quotes. It sees the job as `self`, and its value is anything that
/// implements `ToString`: `"self.user_id"`, `"format!(\"{}/{}\", self.country, self.city)"`.
///
/// A generic type has no single name for all its instances, so it has to say `register = false`.
/// Add an instance by hand with `Worker::builder(..).register::<T>()`.
#[proc_macro_derive(Job, attributes(job))]
pub fn derive_job(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::job(&input)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
