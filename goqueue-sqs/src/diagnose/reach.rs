//! Whether the service answers, how fast, and what time it says it is.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aws_sdk_sqs::{
    Client,
    config::{
        ConfigBag, Intercept, RuntimeComponents,
        interceptors::BeforeDeserializationInterceptorContextRef,
    },
    error::BoxError,
    primitives::{DateTime, DateTimeFormat},
};
use goqueue_core::{Error, driver::Finding};
use tokio::time::Instant;

use super::command::shown;
use crate::{
    clock,
    config::Settings,
    connection::ping,
    error::{Fault, Meaning},
};

const REACHABLE: &str = "reachable";
const CLOCK: &str = "clock offset";
/// A clock that is further off than this is said. The service gives whole seconds.
const TOLERATED_MS: u64 = 2_000;
/// From here on the service takes a signature for too old or too new.
const REFUSED_MS: u64 = 5 * 60 * 1_000;

/// What is asked.
pub(super) struct Place<'a> {
    region: &'a str,
    endpoint: Option<String>,
    role: Option<&'a str>,
    response_timeout: Duration,
}

impl<'a> Place<'a> {
    pub(super) fn new(settings: &'a Settings, region: &'a str) -> Self {
        Self {
            region,
            endpoint: settings.table.endpoint.as_deref().map(shown),
            role: settings.table.role_arn.as_deref(),
            response_timeout: settings.table.response_timeout,
        }
    }

    fn name(&self) -> String {
        match &self.endpoint {
            Some(endpoint) => format!("{} at {endpoint}", self.region),
            None => self.region.to_owned(),
        }
    }

    fn address(&self) -> String {
        let own = || format!("https://sqs.{}.amazonaws.com", self.region);
        self.endpoint.clone().unwrap_or_else(own)
    }
}

/// No client could be made. The only reason is a region that nobody names.
pub(super) fn no_region(error: &Error) -> Finding {
    let fix = "write the region into the URL, `sqs://REGION/PREFIX`, or set `AWS_REGION`";
    Finding::problem(REACHABLE, error.to_string(), fix)
}

/// Asks twice: the first answer waits for credentials and a connection, the second is measured.
pub(super) async fn ask(client: &Client, place: &Place<'_>) -> Result<Vec<Finding>, Finding> {
    if let Err(fault) = ping(client, "connect").await {
        return Err(unreachable(place, fault));
    }
    let date = LastDate::default();
    let call = client.list_queues().max_results(1).customize();
    let (asked, begun) = (clock::own(), Instant::now());
    let answer = call.interceptor(date.clone()).send().await;
    let (took, answered) = (begun.elapsed(), clock::own());
    if let Err(error) = answer {
        let fault = Fault::of("connect", &error);
        // Whoever may not list queues was told so by a service that lives.
        if fault.meaning != Meaning::Denied {
            return Err(unreachable(place, fault));
        }
    }
    Ok(vec![
        speed(place, took),
        offset(date.get(), asked, answered),
    ])
}

fn speed(place: &Place<'_>, took: Duration) -> Finding {
    let name = place.name();
    if took < place.response_timeout / 5 {
        return Finding::good(REACHABLE, format!("{name} answers within {took:.1?}"));
    }
    Finding::warning(
        REACHABLE,
        format!(
            "{name} answers after {took:.1?}, with `sqs.response_timeout` {:?}",
            place.response_timeout
        ),
        "use a region that is nearer, look for what slows the line down, or raise \
         `sqs.response_timeout`",
    )
}

fn unreachable(place: &Place<'_>, fault: Fault) -> Finding {
    let fix = fix(place, &fault);
    // The SDK gives each place where it looked for credentials a line.
    let text = Error::from(fault).to_string();
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let found = format!("{}: {}", place.name(), lines.join("; "));
    Finding::problem(REACHABLE, found, fix)
}

fn fix(place: &Place<'_>, fault: &Fault) -> String {
    let text = fault.text();
    let says = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    if says(&[
        "RequestTimeTooSkewed",
        "Signature expired",
        "Signature not yet current",
    ]) {
        return "let this machine follow a time server: the service refuses signatures that are five \
                minutes off"
            .into();
    }
    if says(&["the credential provider was not enabled"]) {
        return "set `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, `sqs.profile`, or \
                `sqs.access_key_id` and `sqs.secret_access_key`, or give the machine a role; `aws sts \
                get-caller-identity` shows what there is"
            .into();
    }
    if says(&["ExpiredToken", "RequestExpired"]) {
        return "fetch new temporary credentials: these are over".into();
    }
    if says(&["Credential should be scoped to"]) {
        return format!(
            "correct the region in the URL: `{}` is not that of the endpoint",
            place.region
        );
    }
    if says(&["SignatureDoesNotMatch", "InvalidSignature"]) {
        return "correct the secret (`sqs.secret_access_key`, `AWS_SECRET_ACCESS_KEY` or the profile's): \
                it is not that of the key id; in the URL special characters are percent-encoded"
            .into();
    }
    if says(&[
        "InvalidClientTokenId",
        "UnrecognizedClient",
        "InvalidAccessKeyId",
        "MissingAuthenticationToken",
        "InvalidSecurity",
    ]) {
        return "correct the key id (`sqs.access_key_id`, `AWS_ACCESS_KEY_ID` or the profile's), and its \
                session token where the credentials are temporary: the service does not know it"
            .into();
    }
    let address = place.address();
    if says(&["OptInRequired"]) {
        return format!("enable the region `{}` for the account", place.region);
    }
    // Behind what says that the credentials that ask for the role are wrong.
    if let Some(role) = place.role.filter(|_| says(&["while loading credentials"])) {
        return format!(
            "let the credentials assume `{role}`: `sts:AssumeRole` for them, and themselves in the \
             role's trust policy; `aws sts assume-role --role-arn {role} --role-session-name test` \
             tries it"
        );
    }
    match fault.meaning {
        Meaning::Unknown => format!(
            "see that `{address}` can be reached from this machine (`curl -sS {address}`), and that the \
             region and `sqs.endpoint` are right"
        ),
        Meaning::Refused => "wait a moment and run it again: the service puts calls off".into(),
        _ if says(&["credential"]) => {
            "see to the credentials: `aws sts get-caller-identity` tries \
                                       those that are found"
                .into()
        }
        _ => format!("see that it is SQS that answers at `{address}`, and correct `sqs.endpoint`"),
    }
}

/// How far the service's clock is from this machine's, whose time is that between asking and answer.
fn offset(date: Option<u64>, asked: u64, answered: u64) -> Finding {
    let Some(date) = date else {
        let fix = "compare the clocks yourself: `date` and `timedatectl`";
        return Finding::unknown(CLOCK, "the service's answer has no readable date", fix);
    };
    // A date without its fraction is a second that it lies in.
    let last = date.saturating_add(999);
    let (off, side) = if last < asked {
        (asked - last, "behind")
    } else {
        (date.saturating_sub(answered), "ahead of")
    };
    if off <= TOLERATED_MS {
        return Finding::good(CLOCK, "none that matters");
    }
    let found = format!("the service's clock is {off} ms {side} this machine's");
    if off >= REFUSED_MS {
        let fix = "let this machine follow a time server: the service refuses signatures that are five \
                   minutes off, and what is not sent twice fails";
        return Finding::problem(CLOCK, found, fix);
    }
    let fix = "let this machine follow a time server: the driver goes by its clock until a first job has \
               told it the service's";
    Finding::warning(CLOCK, found, fix)
}

/// The date of the last answer, in milliseconds since the Unix epoch.
#[derive(Clone, Debug, Default)]
struct LastDate(Arc<Mutex<Option<u64>>>);

impl LastDate {
    fn get(&self) -> Option<u64> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Intercept for LastDate {
    fn name(&self) -> &'static str {
        "LastDate"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date").and_then(millis_of);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = date;
        Ok(())
    }
}

fn millis_of(date: &str) -> Option<u64> {
    let date = DateTime::from_str(date, DateTimeFormat::HttpDate).ok()?;
    u64::try_from(date.to_millis().ok()?).ok()
}

#[cfg(test)]
mod tests;
