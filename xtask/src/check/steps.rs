use crate::workspace::FACADE;

/// One cargo command that has to succeed.
#[derive(Clone, Debug)]
pub struct Step {
    name: String,
    args: Vec<String>,
    env: Option<(&'static str, &'static str)>,
}

impl Step {
    fn new(name: impl Into<String>, args: &[&str]) -> Self {
        let args = args.iter().copied().map(String::from).collect();
        Self {
            name: name.into(),
            args,
            env: None,
        }
    }

    /// What it checks.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arguments of cargo.
    #[must_use]
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// What it needs in its environment.
    #[must_use]
    pub fn env(&self) -> Option<(&'static str, &'static str)> {
        self.env
    }

    /// What one would type to run it by hand.
    #[must_use]
    pub fn command_line(&self) -> String {
        let env = self
            .env
            .map(|(name, value)| format!("{name}=\"{value}\" "))
            .unwrap_or_default();
        format!("{env}cargo {}", self.args.join(" "))
    }
}

/// All steps, for a facade with these features. `advisories` adds the one that needs the advisory
/// database from the network.
#[must_use]
pub fn steps(features: &[String], advisories: bool) -> Vec<Step> {
    let mut steps = vec![
        Step::new("formatting", &["fmt", "--all", "--check"]),
        Step::new(
            "clippy",
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--all-features",
                "--",
                "-D",
                "warnings",
            ],
        ),
        Step {
            env: Some(("RUSTDOCFLAGS", "-D warnings")),
            ..Step::new(
                "rustdoc",
                &["doc", "--workspace", "--no-deps", "--all-features"],
            )
        },
        Step::new(
            "licences, bans and sources",
            &[
                "deny",
                "--all-features",
                "check",
                "licenses",
                "bans",
                "sources",
            ],
        ),
    ];
    steps.extend(each_feature(features));
    if advisories {
        steps.push(Step::new(
            "advisories",
            &["deny", "--all-features", "check", "advisories"],
        ));
    }
    steps
}

/// The facade without features, with each one alone, and with all of them.
fn each_feature(features: &[String]) -> Vec<Step> {
    let clippy = |what: &str, flags: &[&str]| {
        let args = [
            &["clippy", "--package", FACADE],
            flags,
            &["--", "-D", "warnings"],
        ]
        .concat();
        Step::new(format!("{FACADE} with {what}"), &args)
    };
    let none = clippy("no feature", &["--no-default-features"]);
    let alone = features.iter().map(|feature| {
        let flags = ["--no-default-features", "--features", feature];
        clippy(&format!("only the feature `{feature}`"), &flags)
    });
    let all = clippy("all features", &["--all-features"]);
    std::iter::once(none).chain(alone).chain([all]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(features: &[&str], advisories: bool) -> Vec<String> {
        let features: Vec<String> = features.iter().copied().map(String::from).collect();
        steps(&features, advisories)
            .iter()
            .map(Step::command_line)
            .collect()
    }

    #[test]
    fn every_feature_is_checked_alone_with_none_and_with_all() {
        let facade: Vec<String> = lines(&["memory", "middleware"], false)
            .into_iter()
            .filter(|line| line.contains("--package goqueue"))
            .collect();
        let expected = [
            "--no-default-features",
            "--no-default-features --features memory",
            "--no-default-features --features middleware",
            "--all-features",
        ]
        .map(|flags| format!("cargo clippy --package goqueue {flags} -- -D warnings"));
        assert_eq!(facade, expected);
    }

    #[test]
    fn advisories_are_checked_only_when_asked() {
        let about_advisories = |advisories| {
            lines(&[], advisories)
                .iter()
                .filter(|line| line.contains("advisories"))
                .count()
        };
        assert_eq!((about_advisories(false), about_advisories(true)), (0, 1));
    }

    #[test]
    fn a_command_line_can_be_pasted_into_a_shell() {
        let rustdoc = "RUSTDOCFLAGS=\"-D warnings\" cargo doc --workspace --no-deps --all-features";
        assert!(lines(&[], false).iter().any(|line| line == rustdoc));
    }
}
