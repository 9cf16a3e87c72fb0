//! What a queue of goqueue is called on SQS, where names have up to 80 letters, digits, `-` and `_`,
//! and `.fifo` ends the name of a FIFO queue.

use goqueue_core::{Error, QueueName, Result};

/// The longest name of a queue on SQS.
const LONGEST: usize = 80;
/// The longest prefix: a queue name of 64, `-dead` and `.fifo` have to fit behind a short one.
const LONGEST_PREFIX: usize = 40;
const DEAD: &str = "-dead";
const FIFO: &str = ".fifo";
/// What stands for a dot.
const DOT: &str = "_-";

/// Translates between names of goqueue and of SQS.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) prefix: String,
    pub(crate) is_fifo: bool,
}

/// Says what is wrong with a prefix.
pub(crate) fn check_prefix(prefix: &str) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if prefix.len() <= LONGEST_PREFIX && prefix.bytes().all(fits) {
        return Ok(());
    }
    Err(format!(
        "got prefix `{prefix}`, allowed are up to {LONGEST_PREFIX} ASCII letters, digits, `-` or `_`"
    ))
}

impl Names {
    /// The name of the queue for jobs of `queue`.
    pub(crate) fn jobs(&self, queue: &QueueName) -> Result<String> {
        self.name(queue, "")
    }

    /// The name of the queue for the dead letters of `queue`.
    pub(crate) fn dead(&self, queue: &QueueName) -> Result<String> {
        self.name(queue, DEAD)
    }

    fn name(&self, queue: &QueueName, kind: &str) -> Result<String> {
        let text = queue.as_str();
        let refuse = |allowed| {
            Err(Error::Invalid {
                what: "queue name on SQS",
                given: text.to_owned(),
                allowed,
            })
        };
        if text.ends_with(DEAD) {
            return refuse("one that does not end in `-dead`, which is for dead letters");
        }
        if text.contains(DOT) {
            return refuse("one without `_-`, which stands for a dot there");
        }
        let text = text.replace('.', DOT);
        let suffix = if self.is_fifo { FIFO } else { "" };
        // A queue that has no room for its dead letters could lose them.
        if self.prefix.len() + text.len() + DEAD.len() + suffix.len() > LONGEST {
            return refuse(
                "80 characters at most, with the prefix, `-dead`, two for each dot, and `.fifo` \
                 where it is one",
            );
        }
        Ok(format!("{}{text}{kind}{suffix}", self.prefix))
    }

    /// The queue whose jobs or dead letters lie under this name, if it is one of ours.
    pub(crate) fn queue_of(&self, name: &str) -> Option<QueueName> {
        let text = name.strip_prefix(&self.prefix)?;
        let text = match text.strip_suffix(FIFO) {
            Some(text) if self.is_fifo => text,
            None if !self.is_fifo => text,
            _ => return None,
        };
        let text = text.strip_suffix(DEAD).unwrap_or(text);
        QueueName::new(text.replace(DOT, ".")).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(prefix: &str, is_fifo: bool) -> Names {
        Names {
            prefix: prefix.into(),
            is_fifo,
        }
    }

    #[test]
    fn names_come_back_as_they_were() {
        for (prefix, is_fifo) in [("", false), ("shop-", false), ("shop-", true)] {
            let names = names(prefix, is_fifo);
            for text in ["mail", "mail.out", "a-b_c", "a._b", "_.", ".-", "deadline"] {
                let queue = QueueName::new(text).unwrap();
                let (jobs, dead) = (names.jobs(&queue).unwrap(), names.dead(&queue).unwrap());
                assert_ne!(jobs, dead);
                assert_eq!(names.queue_of(&jobs), Some(queue.clone()), "{jobs}");
                assert_eq!(names.queue_of(&dead), Some(queue), "{dead}");
            }
        }
    }

    #[test]
    fn no_two_queues_share_a_name() {
        let names = names("", false);
        let texts = [
            "a.b", "a_b", "a-b", "a_.b", "a._b", "a.-b", "a-.b", "a..b", "a__b",
        ];
        let mut all: Vec<_> = texts
            .iter()
            .map(|text| names.jobs(&QueueName::new(text).unwrap()).unwrap())
            .collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), texts.len());
    }

    #[test]
    fn the_kind_of_the_queue_is_part_of_its_name() {
        let queue = QueueName::new("mail.out").unwrap();
        assert_eq!(
            names("shop-", false).dead(&queue).unwrap(),
            "shop-mail_-out-dead"
        );
        assert_eq!(
            names("shop-", true).jobs(&queue).unwrap(),
            "shop-mail_-out.fifo"
        );
        assert_eq!(names("", false).queue_of("mail.fifo"), None);
        assert_eq!(names("", true).queue_of("mail"), None);
        assert_eq!(names("shop-", false).queue_of("mail"), None);
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused_by_name() {
        let long = "q".repeat(64);
        for (prefix, text, part) in [
            ("", "mail-dead", "`-dead`"),
            ("", "a_-b", "`_-`"),
            ("seventeen-letters", long.as_str(), "80 characters"),
        ] {
            let error = names(prefix, false)
                .jobs(&QueueName::new(text).unwrap())
                .unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
        assert!(
            names("short-", true)
                .jobs(&QueueName::new(&long).unwrap())
                .is_ok()
        );
        assert!(check_prefix(&"p".repeat(41)).is_err());
    }
}
