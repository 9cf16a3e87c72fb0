//! Dead letters: list, show, run again, remove.

pub(super) mod list;
pub(super) mod show;
pub(super) mod steer;

use goqueue::{
    Envelope, JobId, QueueName,
    driver::{DeadLetterInfo, Inspect, Page, PageRequest},
};

use crate::{
    args::dead::Filter,
    backend::Backend,
    failure::{Failure, Result},
};

/// How many letters are read and steered at a time: few enough that an interrupt is noticed soon.
const STEP: usize = 200;
/// The same where each page goes through all letters: as many as one page can be asked for.
const WHOLE: usize = 10_000;

fn step(backend: &Backend) -> usize {
    if backend.can_page() { STEP } else { WHOLE }
}

impl Filter {
    fn matches(&self, letter: &DeadLetterInfo) -> bool {
        let has_reason = self.reason.is_none_or(|reason| reason == letter.reason);
        let has_error = self.error.as_ref().is_none_or(|text| {
            let error = letter.error.to_lowercase();
            error.contains(&text.to_lowercase())
        });
        let has_name = self.name.as_ref().is_none_or(|name| {
            let envelope = Envelope::decode(&letter.body);
            envelope.is_ok_and(|envelope| envelope.name == *name)
        });
        has_reason && has_error && has_name
    }

    fn matching(&self, letters: &[DeadLetterInfo]) -> Vec<JobId> {
        let matching = letters.iter().filter(|letter| self.matches(letter));
        matching.map(|letter| letter.id).collect()
    }
}

async fn page(
    inspect: &dyn Inspect,
    queue: &QueueName,
    after: Option<String>,
    limit: usize,
) -> Result<Page<DeadLetterInfo>> {
    let page = inspect
        .dead_letters(queue, PageRequest { limit, after })
        .await;
    page.map_err(|error| {
        Failure::from(error).instead(
            "look at the dead letters with the backend's own tools, or give the workers a sink for \
             them that can be listed",
        )
    })
}

#[cfg(test)]
mod tests {
    use goqueue::dead_letter::DeadReason;

    use super::*;

    fn letter(error: &str, body: &str) -> DeadLetterInfo {
        DeadLetterInfo {
            id: JobId::new(),
            queue: QueueName::new("mail").unwrap(),
            reason: DeadReason::Exhausted,
            error: error.into(),
            attempts: 5,
            died_at: 0,
            body: body.to_owned().into(),
        }
    }

    #[test]
    fn a_letter_has_to_meet_every_condition() {
        let body = format!(
            r#"{{"v":1,"id":"{}","name":"mail.welcome","queue":"mail","payload":1,"enqueued_at":1}}"#,
            JobId::new()
        );
        let letters = [
            letter("Connection refused", &body),
            letter("timeout", "broken"),
        ];
        let of = |name: Option<&str>, error: Option<&str>, reason: Option<DeadReason>| {
            let (name, error) = (name.map(Into::into), error.map(Into::into));
            let filter = Filter {
                name,
                error,
                reason,
            };
            filter.matching(&letters).len()
        };
        assert_eq!(of(None, None, None), 2);
        assert_eq!(of(None, Some("REFUSED"), None), 1);
        assert_eq!(of(Some("mail.welcome"), None, None), 1);
        assert_eq!(of(Some("mail"), None, None), 0);
        assert_eq!(of(Some("mail.welcome"), Some("timeout"), None), 0);
        assert_eq!(of(None, None, Some(DeadReason::Exhausted)), 2);
        assert_eq!(of(None, Some("refused"), Some(DeadReason::Permanent)), 0);
    }
}
