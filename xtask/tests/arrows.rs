//! Which crate may depend on which. The drawing is in ARCHITECTURE.md; a crate that is new, or an
//! arrow that is not drawn there, fails here.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// A crate, and the crates of this workspace it may depend on.
type Rule = (&'static str, &'static [&'static str]);

const RULES: &[Rule] = &[
    ("goqueue-core", &[]),
    ("goqueue-macros", &[]),
    ("goqueue-memory", &["goqueue-core"]),
    ("goqueue-redis", &["goqueue-core"]),
    ("goqueue-mysql", &["goqueue-core"]),
    ("goqueue-sqs", &["goqueue-core"]),
    ("goqueue-middleware", &["goqueue-core"]),
    ("goqueue-conformance", &["goqueue-core"]),
    (
        "goqueue",
        &[
            "goqueue-core",
            "goqueue-macros",
            "goqueue-middleware",
            "goqueue-memory",
            "goqueue-redis",
            "goqueue-mysql",
            "goqueue-sqs",
        ],
    ),
    ("goqueue-cli", &["goqueue"]),
    // Breaks what users have, with the servers and lines that the suite breaks.
    ("goqueue-chaos", &["goqueue", "goqueue-conformance"]),
    ("goqueue-examples", &["goqueue"]),
    ("goqueue-examples-observability", &["goqueue"]),
    ("goqueue-guides", &["goqueue"]),
    ("goqueue-bench", &["goqueue", "xtask"]),
    ("xtask", &[]),
];

/// What the facade may have only as an optional dependency.
const OPTIONAL: &[&str] = &[
    "goqueue-memory",
    "goqueue-redis",
    "goqueue-mysql",
    "goqueue-sqs",
];

/// An arrow from one crate of the workspace to another. Those of tests are not drawn.
#[derive(Clone, Debug)]
struct Arrow {
    from: String,
    to: String,
    optional: bool,
}

fn arrows(packages: &[&Package]) -> Vec<Arrow> {
    let ours = |name: &str| packages.iter().any(|package| *package.name == name);
    let of = |package: &Package| -> Vec<Arrow> {
        let dependencies = package.dependencies.iter();
        let drawn = dependencies.filter(|d| d.kind != DependencyKind::Development && ours(&d.name));
        drawn
            .map(|dependency| Arrow {
                from: package.name.to_string(),
                to: dependency.name.clone(),
                optional: dependency.optional,
            })
            .collect()
    };
    packages.iter().flat_map(|package| of(package)).collect()
}

fn faults(crates: &[String], arrows: &[Arrow]) -> Vec<String> {
    let rule = |name: &str| {
        RULES
            .iter()
            .find(|(from, _)| *from == name)
            .map(|(_, to)| *to)
    };
    let unknown = crates
        .iter()
        .filter(|name| rule(name).is_none())
        .map(|name| format!("{name} has no rule"));
    let wrong = arrows.iter().filter_map(|Arrow { from, to, optional }| {
        if !rule(from)?.contains(&to.as_str()) {
            Some(format!("{from} -> {to} is not allowed"))
        } else if from == "goqueue" && OPTIONAL.contains(&to.as_str()) && !optional {
            Some(format!("{from} -> {to} is not optional"))
        } else {
            None
        }
    });
    unknown.chain(wrong).collect()
}

#[test]
fn every_arrow_is_allowed() {
    let metadata = MetadataCommand::new().no_deps().exec().unwrap();
    let packages = metadata.workspace_packages();
    let crates: Vec<_> = packages
        .iter()
        .map(|package| package.name.to_string())
        .collect();
    let arrows = arrows(&packages);
    assert!(
        arrows
            .iter()
            .any(|arrow| arrow.from == "goqueue" && arrow.to == "goqueue-core"),
        "the arrows cannot be read: {arrows:?}"
    );
    assert_eq!(faults(&crates, &arrows), [""; 0]);
}

#[test]
fn a_wrong_arrow_is_found() {
    let arrow = |from: &str, to: &str, optional| Arrow {
        from: from.into(),
        to: to.into(),
        optional,
    };
    let crates = ["goqueue", "goqueue-rabbit", "goqueue-core"].map(String::from);
    let arrows = [
        arrow("goqueue", "goqueue-core", false),
        arrow("goqueue", "goqueue-memory", true),
        arrow("goqueue", "goqueue-redis", false),
        arrow("goqueue-core", "goqueue-memory", true),
        arrow("goqueue-memory", "goqueue", false),
    ];
    assert_eq!(
        faults(&crates, &arrows),
        [
            "goqueue-rabbit has no rule",
            "goqueue -> goqueue-redis is not optional",
            "goqueue-core -> goqueue-memory is not allowed",
            "goqueue-memory -> goqueue is not allowed",
        ]
    );
}
