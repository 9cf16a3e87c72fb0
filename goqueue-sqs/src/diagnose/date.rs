//! The service's clock, as the date of its answers shows it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use aws_sdk_sqs::{
    config::{
        ConfigBag, Intercept, RuntimeComponents,
        interceptors::BeforeDeserializationInterceptorContextRef,
    },
    error::BoxError,
    primitives::{DateTime, DateTimeFormat},
};

/// A date has whole seconds: the middle of that second is the best guess.
const MIDDLE: Duration = Duration::from_millis(500);

/// Reads the date of an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch(Arc<Mutex<Option<f64>>>);

impl Watch {
    /// By how many seconds the service's clock is ahead of this machine's, within a second.
    pub(super) fn ahead(&self) -> Option<f64> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn saw(&self, date: &str, now: SystemTime) {
        let Ok(date) = DateTime::from_str(date, DateTimeFormat::HttpDate) else {
            return;
        };
        let now = DateTime::from(now).as_secs_f64();
        let ahead = date.as_secs_f64() + MIDDLE.as_secs_f64() - now;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(ahead);
    }
}

impl Intercept for Watch {
    fn name(&self) -> &'static str {
        "goqueue date"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(date) = context.response().headers().get("date") {
            self.saw(date, SystemTime::now());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_says_how_far_the_clocks_are_apart() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_887_151);
        for (date, ahead) in [
            ("Tue, 15 Nov 1994 08:12:31 GMT", Some(0.5)),
            ("Tue, 15 Nov 1994 08:22:31 GMT", Some(600.5)),
            ("Tue, 15 Nov 1994 08:02:31 GMT", Some(-599.5)),
            ("yesterday", None),
        ] {
            let watch = Watch::default();
            watch.saw(date, now);
            assert_eq!(watch.ahead(), ahead, "{date}");
        }
    }
}
