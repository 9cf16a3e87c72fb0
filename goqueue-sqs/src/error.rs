//! Every error of the service and of the line to it, told apart in one place.

use std::{error::Error as StdError, fmt::Write};

use aws_sdk_sqs::{
    config::http::HttpResponse,
    error::{ProvideErrorMetadata, SdkError},
    types::BatchResultErrorEntry,
};
use goqueue_core::Error;

use crate::driver::NAME;

/// What was asked, as a verb for "failed to …".
pub(crate) type Operation = &'static str;

/// An error, and what it means for the call that met it.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) meaning: Meaning,
    operation: Operation,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The receipt is no longer that of a message in flight.
    Gone,
    /// There is no such queue.
    NoQueue,
    /// The service did not act, and will later.
    Refused,
    /// The line broke, stayed silent, or the service failed within. Whether it acted is not known.
    Unknown,
    /// The service says no, and would say so again.
    Denied,
    /// Nothing but a person can mend it.
    Permanent,
}

/// Codes with which the service puts a call off, as `aws_runtime` has them for its own retries, and
/// those of this service.
const REFUSED: &[&str] = &[
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottled",
    "RequestThrottledException",
    "TooManyRequestsException",
    "RequestLimitExceeded",
    "BandwidthLimitExceeded",
    "LimitExceededException",
    "SlowDown",
    "PriorRequestNotComplete",
    "TransactionInProgressException",
    "OverLimit",
    "KmsThrottled",
    "QueueDeletedRecently",
    "AWS.SimpleQueueService.QueueDeletedRecently",
    // New credentials are fetched for the next call.
    "ExpiredToken",
    "ExpiredTokenException",
    "RequestExpired",
];

const GONE: &[&str] = &[
    "ReceiptHandleIsInvalid",
    "MessageNotInflight",
    "AWS.SimpleQueueService.MessageNotInflight",
];

const NO_QUEUE: &[&str] = &[
    "QueueDoesNotExist",
    "AWS.SimpleQueueService.NonExistentQueue",
];

const DENIED: &[&str] = &["AccessDenied", "AccessDeniedException", "KmsAccessDenied"];

const INTERNAL: &[&str] = &["InternalError", "InternalFailure", "ServiceUnavailable"];

impl Fault {
    pub(crate) fn new(meaning: Meaning, operation: Operation, text: impl Into<String>) -> Self {
        Self {
            meaning,
            operation,
            text: text.into(),
        }
    }

    /// Of what was not sent, because what comes before it failed.
    pub(crate) fn behind(first: &Self) -> Self {
        let text = format!(
            "not sent, since what comes before it in order failed: {}",
            first.text
        );
        Self::new(Meaning::Refused, first.operation, text)
    }

    /// Of an entry that could not be sent for this error.
    pub(crate) fn caused(operation: Operation, error: &Error) -> Self {
        let is_transient = error.is_transient();
        let meaning = if is_transient {
            Meaning::Refused
        } else {
            Meaning::Permanent
        };
        Self::new(meaning, operation, error.to_string())
    }

    /// Of a whole call.
    pub(crate) fn of<E>(operation: Operation, error: &SdkError<E, HttpResponse>) -> Self
    where
        E: ProvideErrorMetadata + StdError + 'static,
    {
        let code = error.code();
        let meaning = match error {
            SdkError::ServiceError(answer) => {
                let status = answer.raw().status().as_u16();
                let message = answer.err().message().unwrap_or_default();
                of_answer(code.unwrap_or_default(), message, status)
            }
            SdkError::ResponseError(answer) => match answer.raw().status().as_u16() {
                // Something in between that does not speak the protocol.
                400..=499 => Meaning::Permanent,
                _ => Meaning::Unknown,
            },
            SdkError::TimeoutError(_) => Meaning::Unknown,
            // Not of the line: credentials that cannot be found, or a call that cannot be made.
            SdkError::DispatchFailure(failure)
                if failure.is_user() || (failure.is_other() && failure.as_other().is_none()) =>
            {
                Meaning::Permanent
            }
            SdkError::DispatchFailure(_) => Meaning::Unknown,
            // The call was not sent, for a wrong setting.
            _ => Meaning::Permanent,
        };
        Self::new(meaning, operation, told(error, code))
    }

    /// Of one entry of a batch call that was answered.
    pub(crate) fn of_entry(operation: Operation, entry: &BatchResultErrorEntry) -> Self {
        let message = entry.message().unwrap_or("no reason given");
        let status = if entry.sender_fault() { 400 } else { 500 };
        let meaning = match of_answer(entry.code(), message, status) {
            // The answer says that this entry was not acted upon.
            Meaning::Unknown => Meaning::Refused,
            meaning => meaning,
        };
        Self::new(meaning, operation, format!("{}: {message}", entry.code()))
    }

    pub(crate) fn is_transient(&self) -> bool {
        matches!(self.meaning, Meaning::Refused | Meaning::Unknown)
    }

    /// What was said, beginning with the service's code where it gave one.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

fn of_answer(code: &str, message: &str, status: u16) -> Meaning {
    // Some of the service's shapes carry their name twice, and some implementations add a suffix.
    let code = code.rsplit(['#', ':']).next().unwrap_or(code);
    let is_of = |codes: &[&str]| {
        codes.contains(&code) || codes.contains(&code.strip_suffix("Exception").unwrap_or(code))
    };
    if is_of(GONE) || (is_of(&["InvalidParameterValue"]) && tells_of_no_flight(message)) {
        Meaning::Gone
    } else if is_of(NO_QUEUE) {
        Meaning::NoQueue
    } else if is_of(DENIED) {
        Meaning::Denied
    } else if is_of(REFUSED) || status == 429 {
        Meaning::Refused
    } else if status >= 500 || is_of(INTERNAL) {
        Meaning::Unknown
    } else {
        Meaning::Permanent
    }
}

/// The service has one code for a receipt that is over and for a wrong number.
fn tells_of_no_flight(message: &str) -> bool {
    message.contains("ReceiptHandle")
        || message.contains("not available for visibility timeout change")
        || message.contains("Total VisibilityTimeout")
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Backend {
            driver: NAME,
            operation: fault.operation,
            transient: fault.is_transient(),
            source: fault.text.into(),
        }
    }
}

/// What the service begins to repeat the request with, session token included, when a signature is
/// wrong.
const REPEATS_REQUEST: &str = "The Canonical String for this request";

/// The error and its causes, each once. The `Debug` form would show the request.
fn told(error: &dyn StdError, code: Option<&str>) -> String {
    let mut text = code.map(|code| format!("{code}: ")).unwrap_or_default();
    let mut cause = Some(error);
    let mut last = String::new();
    while let Some(error) = cause {
        let said = error.to_string();
        let said = without_request(&said).to_owned();
        if said != last && !said.is_empty() {
            let between = if last.is_empty() { "" } else { ": " };
            let _ = write!(text, "{between}{said}");
            last = said;
        }
        cause = error.source();
    }
    text
}

fn without_request(said: &str) -> &str {
    let end = said.find(REPEATS_REQUEST).unwrap_or(said.len());
    said[..end].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_the_service_repeats_is_not_shown() {
        let said = "The signature does not match.\n\nThe Canonical String for this request should \
                    have been\n'POST\n/\nx-amz-security-token:hunter2'";
        assert_eq!(without_request(said), "The signature does not match.");
        assert_eq!(without_request("short"), "short");
    }

    fn entry(code: &str, message: &str, is_senders: bool) -> Fault {
        let entry = BatchResultErrorEntry::builder()
            .id("0")
            .code(code)
            .message(message)
            .sender_fault(is_senders);
        Fault::of_entry("settle", &entry.build().unwrap())
    }

    #[test]
    fn codes_mean_what_the_service_says() {
        for (code, message, is_senders, meaning) in [
            ("ReceiptHandleIsInvalid", "", true, Meaning::Gone),
            (
                "InvalidParameterValue",
                "Value x for parameter ReceiptHandle is invalid",
                true,
                Meaning::Gone,
            ),
            (
                "InvalidParameterValueException",
                "Message does not exist or is not available for visibility timeout change.",
                false,
                Meaning::Gone,
            ),
            (
                "InvalidParameterValue",
                "Value 99999 for parameter DelaySeconds is invalid",
                true,
                Meaning::Permanent,
            ),
            (
                "AWS.SimpleQueueService.NonExistentQueue",
                "",
                true,
                Meaning::NoQueue,
            ),
            ("InternalError", "", false, Meaning::Refused),
            ("RequestThrottled", "", true, Meaning::Refused),
            ("AccessDeniedException", "", true, Meaning::Denied),
            ("InvalidMessageContents", "", true, Meaning::Permanent),
        ] {
            assert_eq!(
                entry(code, message, is_senders).meaning,
                meaning,
                "{code} {message}"
            );
        }
    }

    #[test]
    fn only_what_passes_by_itself_is_transient() {
        let is_transient =
            |code, is_senders| Error::from(entry(code, "m", is_senders)).is_transient();
        assert!(is_transient("RequestThrottled", true) && is_transient("InternalError", false));
        assert!(!is_transient("InvalidMessageContents", true));
        let error = Error::from(entry("InvalidMessageContents", "bad", true)).to_string();
        assert_eq!(
            error,
            "driver `sqs` failed to settle: InvalidMessageContents: bad"
        );
    }
}
