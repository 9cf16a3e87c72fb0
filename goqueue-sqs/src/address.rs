//! The forms of the URL: `sqs://REGION/PREFIX?OPTION=VALUE&…`.

use goqueue_core::{config::ConfigError, driver::DriverUrl};
use percent_encoding::percent_decode_str;

use crate::names;

/// Where the queues are, as the URL says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// `None` leaves it to the SDK: environment, profile, machine.
    pub(crate) region: Option<String>,
    /// What the name of every queue begins with.
    pub(crate) prefix: String,
}

impl Address {
    pub(crate) fn parse(url: &DriverUrl) -> Result<Self, ConfigError> {
        let rest = url
            .expose()
            .split_once("://")
            .map_or("", |(_, rest)| rest)
            .split(['?', '#'])
            .next()
            .unwrap_or_default();
        if rest.contains('@') {
            return Err(wrong(
                "it has a user, allowed is none: credentials come from the environment, a profile \
                 or the table `[sqs]`",
            ));
        }
        let (region, path) = rest.split_once('/').unwrap_or((rest, ""));
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !region.bytes().all(fits) || region.len() > 63 {
            return Err(wrong(&format!(
                "got region `{region}`, allowed are lower-case letters, digits and `-`, such as \
                 `eu-west-1`"
            )));
        }
        let prefix = percent_decode_str(path)
            .decode_utf8()
            .map_err(|_| wrong("the prefix is not UTF-8"))?;
        names::check_prefix(&prefix).map_err(|problem| wrong(&problem))?;
        Ok(Self {
            region: (!region.is_empty()).then(|| region.to_owned()),
            prefix: prefix.into_owned(),
        })
    }
}

/// The options of the URL, decoded.
pub(crate) fn options(url: &DriverUrl) -> Result<Vec<(String, String)>, ConfigError> {
    let decode = |(key, value): (&str, &str)| {
        let value = percent_decode_str(value)
            .decode_utf8()
            .map_err(|_| wrong(&format!("the value of option `{key}` is not UTF-8")))?;
        Ok((key.to_owned(), value.into_owned()))
    };
    url.options().into_iter().map(decode).collect()
}

pub(crate) fn wrong(problem: &str) -> ConfigError {
    ConfigError::new("driver", format!("the SQS URL cannot be used: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Address, String> {
        Address::parse(&DriverUrl::new(url)).map_err(|error| error.to_string())
    }

    #[test]
    fn region_and_prefix_are_read_and_either_may_be_missing() {
        let of = |region: Option<&str>, prefix: &str| Address {
            region: region.map(Into::into),
            prefix: prefix.into(),
        };
        assert_eq!(
            parse("sqs://eu-west-1/shop-"),
            Ok(of(Some("eu-west-1"), "shop-"))
        );
        assert_eq!(parse("sqs://eu-west-1"), Ok(of(Some("eu-west-1"), "")));
        assert_eq!(parse("sqs:///shop_"), Ok(of(None, "shop_")));
        assert_eq!(parse("SQS://?fifo=true"), Ok(of(None, "")));
    }

    #[test]
    fn each_wrong_part_is_named() {
        for (url, part) in [
            ("sqs://AKIA:hunter2@eu-west-1/", "it has a user"),
            ("sqs://Ireland/", "got region `Ireland`"),
            ("sqs://localhost:4566/", "got region `localhost:4566`"),
            ("sqs://eu-west-1/a/b", "got prefix `a/b`"),
            ("sqs://eu-west-1/a.b", "got prefix `a.b`"),
            ("sqs://eu-west-1/%ff", "not UTF-8"),
        ] {
            let error = parse(url).unwrap_err();
            assert!(error.contains(part), "{url}: {error}");
            assert!(
                !error.contains("hunter2") && !error.contains("AKIA"),
                "{error}"
            );
        }
    }

    #[test]
    fn options_are_decoded() {
        let url = DriverUrl::new("sqs://r/?endpoint=http%3A%2F%2Flocalhost%3A1&fifo=true");
        let options = options(&url).unwrap();
        assert_eq!(options[0], ("endpoint".into(), "http://localhost:1".into()));
        assert_eq!(options[1], ("fifo".into(), "true".into()));
    }
}
