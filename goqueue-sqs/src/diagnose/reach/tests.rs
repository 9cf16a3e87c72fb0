use goqueue_core::driver::FindingStatus;

use super::*;

fn place(endpoint: Option<&str>, role: Option<&'static str>) -> Place<'static> {
    Place {
        region: "eu-west-1",
        endpoint: endpoint.map(Into::into),
        role,
        response_timeout: Duration::from_secs(5),
    }
}

#[test]
fn each_refusal_has_its_own_fix() {
    let fix = |text: &str| {
        fix(
            &place(None, None),
            &Fault::new(Meaning::Permanent, "c", text),
        )
    };
    for (text, part) in [
        (
            "UnrecognizedClientException: The security token included in the request is invalid.",
            "correct the key id (`sqs.access_key_id`",
        ),
        ("InvalidClientTokenId: no", "correct the key id"),
        (
            "SignatureDoesNotMatch: no",
            "correct the secret (`sqs.secret_access_key`",
        ),
        (
            "InvalidSignatureException: Signature expired: 2026 is now earlier than 2027",
            "follow a time server",
        ),
        (
            "SignatureDoesNotMatch: Credential should be scoped to a valid region",
            "correct the region in the URL: `eu-west-1`",
        ),
        ("ExpiredTokenException: over", "fetch new temporary"),
        (
            "an error occurred while loading credentials: a: the credential provider was not enabled",
            "set `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, `sqs.profile`",
        ),
        ("OptInRequired: no", "enable the region `eu-west-1`"),
        (
            "unhandled error: <html>",
            "see that it is SQS that answers at `https://sqs.eu-west-1.amazonaws.com`",
        ),
    ] {
        assert!(fix(text).contains(part), "{text}: {}", fix(text));
    }
}

#[test]
fn a_role_and_an_endpoint_are_named() {
    let refused = Fault::new(
        Meaning::Permanent,
        "c",
        "an error occurred while loading credentials: AccessDenied",
    );
    let role = fix(&place(None, Some("arn:aws:iam::1:role/jobs")), &refused);
    assert!(
        role.contains("let the credentials assume `arn:aws:iam::1:role/jobs`"),
        "{role}"
    );
    // The credentials that ask for it may be wrong.
    let wrong = Fault::new(
        Meaning::Permanent,
        "c",
        "an error occurred while loading credentials: InvalidClientTokenId",
    );
    let key = fix(&place(None, Some("arn:aws:iam::1:role/jobs")), &wrong);
    assert!(key.starts_with("correct the key id"), "{key}");
    let silent = Fault::new(
        Meaning::Unknown,
        "c",
        "dispatch failure: connection refused",
    );
    let finding = unreachable(&place(Some("http://127.0.0.1:1"), None), silent);
    assert_eq!(finding.status, FindingStatus::Problem);
    assert!(
        finding
            .found
            .starts_with("eu-west-1 at http://127.0.0.1:1: "),
        "{finding:?}"
    );
    let fix = finding.fix.unwrap();
    assert!(fix.contains("`curl -sS http://127.0.0.1:1`"), "{fix}");
}

#[test]
fn a_slow_answer_is_told() {
    let of = |took| speed(&place(None, None), Duration::from_millis(took));
    assert_eq!(of(999).status, FindingStatus::Good);
    let slow = of(1_000);
    assert_eq!(slow.status, FindingStatus::Warning);
    assert!(
        slow.found.starts_with("eu-west-1 answers after 1.0s"),
        "{slow:?}"
    );
}

#[test]
fn a_clock_counts_as_off_only_beyond_what_the_answer_leaves_open() {
    const NOW: u64 = 1_000_000_000;
    let status = |date: u64| offset(Some(date), NOW, NOW + 100).status;
    for (date, expected) in [
        (NOW, FindingStatus::Good),
        (NOW - 999 - TOLERATED_MS, FindingStatus::Good),
        (NOW - 1_000 - TOLERATED_MS, FindingStatus::Warning),
        (NOW + 100 + TOLERATED_MS, FindingStatus::Good),
        (NOW + 101 + TOLERATED_MS, FindingStatus::Warning),
        (NOW + 100 + REFUSED_MS, FindingStatus::Problem),
        (NOW - 999 - REFUSED_MS, FindingStatus::Problem),
    ] {
        assert_eq!(status(date), expected, "{date}");
    }
    assert_eq!(offset(None, NOW, NOW).status, FindingStatus::Unknown);
    let behind = offset(Some(NOW - 10_999), NOW, NOW);
    assert_eq!(
        behind.found,
        "the service's clock is 10000 ms behind this machine's"
    );
}

#[test]
fn the_date_of_an_answer_is_read() {
    assert_eq!(
        millis_of("Sun, 06 Nov 1994 08:49:37 GMT"),
        Some(784_111_777_000)
    );
    assert_eq!(millis_of("yesterday"), None);
}
