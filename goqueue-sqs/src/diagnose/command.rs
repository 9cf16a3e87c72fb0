//! The commands that mend, as one would type them.

use url::Url;

use crate::{config::Settings, queues::attributes_of_new};

/// The command-line program of the service, aimed at the place that is looked at.
pub(super) struct Aws {
    options: String,
}

impl Aws {
    pub(super) fn new(settings: &Settings, region: &str) -> Self {
        let mut options = format!(" --region {}", quoted(region));
        let table = &settings.table;
        for (name, value) in [
            ("endpoint-url", table.endpoint.as_deref().map(shown)),
            ("profile", table.profile.clone()),
        ] {
            if let Some(value) = value {
                options += &format!(" --{name} {}", quoted(&value));
            }
        }
        Self { options }
    }

    /// Sets attributes of a queue: `NAME=VALUE,…`, or JSON.
    pub(super) fn set(&self, url: &str, attributes: &str) -> String {
        let (options, url) = (&self.options, quoted(url));
        let attributes = quoted(attributes);
        format!("aws sqs set-queue-attributes{options} --queue-url {url} --attributes {attributes}")
    }

    /// Makes a queue as the driver would.
    pub(super) fn create(&self, settings: &Settings, on_sqs: &str, is_dead: bool) -> String {
        let attributes = attributes_of_new(settings, is_dead);
        let attributes: Vec<_> = attributes
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!(
            "aws sqs create-queue{} --queue-name {} --attributes {}",
            self.options,
            quoted(on_sqs),
            attributes.join(","),
        )
    }
}

/// An address without what may be secret in it.
pub(super) fn shown(endpoint: &str) -> String {
    let Ok(mut url) = Url::parse(endpoint) else {
        return "the endpoint".into();
    };
    url.set_query(None);
    url.set_fragment(None);
    // Neither fails for a URL with a host, which a setting was checked to have.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.as_str().trim_end_matches('/').to_owned()
}

/// As one word for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::tests::settings;

    #[test]
    fn a_command_says_where_and_makes_what_the_driver_makes() {
        let settings = settings(
            "sqs://eu-west-1/shop-?fifo=true",
            "profile = \"my jobs\"\nendpoint = \"http://127.0.0.1:4566/\"",
        );
        let aws = Aws::new(&settings, "eu-west-1");
        assert_eq!(
            aws.create(&settings, "shop-mail-dead.fifo", true),
            "aws sqs create-queue --region eu-west-1 --endpoint-url http://127.0.0.1:4566 --profile \
             'my jobs' --queue-name shop-mail-dead.fifo --attributes MessageRetentionPeriod=1209600,\
             MaximumMessageSize=1048576,ReceiveMessageWaitTimeSeconds=20,FifoQueue=true"
        );
        assert!(
            aws.set("http://q", r#"{"RedrivePolicy":""}"#)
                .ends_with(r#"--queue-url http://q --attributes '{"RedrivePolicy":""}'"#)
        );
    }

    #[test]
    fn nothing_secret_of_an_endpoint_is_shown_and_nothing_reaches_the_shell() {
        assert_eq!(shown("https://user@h:1/path?token=x#y"), "https://h:1/path");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
