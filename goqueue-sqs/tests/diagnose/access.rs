//! What keeps the driver from the service: the line, the credentials, the rights, the clock.

use std::process::Command;

use goqueue_core::driver::FindingStatus;
use tokio::net::TcpListener;

use super::{about, all, diagnose, fill, of, support::*};

const CHILD: &str = "GOQUEUE_TEST_SQS_CHILD";

fn with_keys(endpoint: &str) -> String {
    format!(
        "sqs://us-east-1/shop-?endpoint={endpoint}&access_key_id=key&secret_access_key=hunter2\
         &session_token=hunter2-session"
    )
}

/// The only finding, which is why there are no others.
async fn the_problem(url: &str, text: &str) -> (String, String) {
    let findings = diagnose(url, text).await;
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].status, FindingStatus::Problem);
    let finding = &findings[0];
    (
        format!("{}: {}", finding.check, finding.found),
        finding.fix.clone().unwrap(),
    )
}

#[tokio::test]
async fn a_wrong_setting_is_all_that_is_told() {
    let (found, fix) = the_problem("sqs://us-east-1/?endpoint=localhost", "").await;
    assert!(
        found.starts_with("configuration: config key `sqs.endpoint`: allowed is"),
        "{found}"
    );
    assert_eq!(fix, "correct the setting");
}

#[tokio::test]
async fn nobody_there_and_nobody_who_answers_are_told() {
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", unused.local_addr().unwrap());
    let text = "[sqs]\nresponse_timeout = \"200ms\"";
    // It listens, and takes no connection.
    let (found, fix) = the_problem(&with_keys(&endpoint), text).await;
    assert!(
        found.starts_with(&format!("reachable: us-east-1 at {endpoint}: ")),
        "{found}"
    );
    assert!(fix.contains(&format!("`curl -sS {endpoint}`")), "{fix}");
    drop(unused);
    let (found, fix) = the_problem(&with_keys(&endpoint), text).await;
    assert!(
        found.starts_with(&format!("reachable: us-east-1 at {endpoint}: ")),
        "{found}"
    );
    assert!(fix.contains(&format!("`curl -sS {endpoint}`")), "{fix}");
}

#[tokio::test]
async fn credentials_that_are_refused_are_told_apart() {
    for (code, message, part) in [
        (
            "UnrecognizedClientException",
            "The security token is invalid.",
            "correct the key id",
        ),
        ("InvalidClientTokenId", "no such id", "correct the key id"),
        (
            "SignatureDoesNotMatch",
            "no match.\\n\\nThe Canonical String for this request should have been\\n'POST hunter2",
            "correct the secret",
        ),
        (
            "ExpiredTokenException",
            "it is over",
            "fetch new temporary credentials",
        ),
    ] {
        let body =
            format!(r#"{{"__type":"com.amazon.coral.service#{code}","message":"{message}"}}"#);
        let (endpoint, _requests) = answering("403 Forbidden", body).await;
        let (found, fix) = the_problem(&with_keys(&endpoint), "").await;
        assert!(found.contains(code), "{found}");
        assert!(fix.starts_with(part), "{fix}");
    }
    let (endpoint, _requests) = answering("404 Not Found", "<html>hello</html>".into()).await;
    let (_, fix) = the_problem(&with_keys(&endpoint), "").await;
    assert!(fix.starts_with("see that it is SQS that answers"), "{fix}");
}

#[tokio::test]
async fn a_role_that_is_not_given_is_named() {
    let body = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not for you</Message></Error>\
        </ErrorResponse>";
    let (sts, _requests) = answering("403 Forbidden", body.into()).await;
    let (endpoint, _requests) = answering("200 OK", r#"{"QueueUrls":[]}"#.into()).await;
    let role = "arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fjobs&external_id=hunter2-external";
    let url = format!(
        "{}&sts_endpoint={sts}&role_arn={role}",
        with_keys(&endpoint)
    );
    let (found, fix) = the_problem(&url, "").await;
    assert!(
        fix.starts_with("let the credentials assume `arn:aws:iam::1:role/jobs`"),
        "{found} {fix}"
    );
}

#[tokio::test]
async fn a_clock_that_is_far_off_is_told() {
    let answer = "200 OK\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT";
    let (endpoint, _requests) = answering(answer, r#"{"QueueUrls":[]}"#.into()).await;
    let findings = diagnose(&with_keys(&endpoint), "").await;
    let clock = of(&findings, "clock offset");
    assert_eq!(clock.status, FindingStatus::Problem);
    assert!(clock.found.ends_with(" behind this machine's"), "{clock:?}");
    let (endpoint, _requests) = answering("200 OK", r#"{"QueueUrls":[]}"#.into()).await;
    let findings = diagnose(&with_keys(&endpoint), "").await;
    assert_eq!(of(&findings, "clock offset").status, FindingStatus::Unknown);
}

/// The environment is that of a process, so this runs in one of its own.
#[tokio::test(flavor = "multi_thread")]
async fn credentials_and_a_region_that_nobody_gives_are_told() {
    if let Ok(url) = std::env::var(CHILD) {
        let (found, fix) = the_problem(&url, "").await;
        println!("found {found} fix {fix}");
        return;
    }
    let (endpoint, _requests) = answering("200 OK", r#"{"QueueUrls":[]}"#.into()).await;
    for (url, found, fix) in [
        (
            format!("sqs://us-east-1/?endpoint={endpoint}"),
            "found reachable: us-east-1 at http://127.0.0.1:",
            "fix set `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`",
        ),
        (
            format!("sqs:///?endpoint={endpoint}"),
            "names no region",
            "fix write the region into the URL, `sqs://REGION/PREFIX`",
        ),
    ] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let test = "access::credentials_and_a_region_that_nobody_gives_are_told";
        command
            .args(["--exact", "--nocapture", test])
            .env_clear()
            .env(CHILD, url)
            .env("AWS_EC2_METADATA_DISABLED", "true");
        let output = tokio::task::block_in_place(|| command.output().unwrap());
        let output = String::from_utf8_lossy(&output.stdout);
        assert!(output.contains(found) && output.contains(fix), "{output}");
    }
}

#[tokio::test]
async fn rights_that_are_missing_are_named() {
    const DENIED: &str = r#"{"__type":"com.amazon.coral.service#AccessDeniedException",
        "message":"User: arn:aws:iam::1:user/jobs is not authorized"}"#;
    let url = MINISTACK.url(Kind::Standard);
    fill(&url, "mail").await;
    let proxy = Proxy::before(&url).await;
    for (call, action, status) in [
        ("ListQueues", "sqs:ListQueues", FindingStatus::Warning),
        (
            "GetQueueAttributes",
            "sqs:GetQueueAttributes",
            FindingStatus::Warning,
        ),
        ("GetQueueUrl", "sqs:GetQueueUrl", FindingStatus::Problem),
        (
            "SendMessageBatch",
            "sqs:SendMessage",
            FindingStatus::Problem,
        ),
        (
            "DeleteMessageBatch",
            "sqs:DeleteMessage",
            FindingStatus::Problem,
        ),
        (
            "ChangeMessageVisibilityBatch",
            "sqs:ChangeMessageVisibility",
            FindingStatus::Problem,
        ),
    ] {
        proxy.answer(Instead {
            action: call,
            status: "403 Forbidden",
            body: DENIED.into(),
            times: 100,
        });
        let findings = diagnose(&proxy.through(&url), "worker.queues = { mail = 1 }").await;
        let permissions = of(&findings, "permissions");
        assert_eq!(permissions.status, status, "{permissions:?}");
        let (found, fix) = (&permissions.found, permissions.fix.as_deref().unwrap());
        assert!(
            found.starts_with(&format!("refused: `{action}` (AccessDenied")),
            "{found}"
        );
        assert!(
            fix.starts_with(&format!("allow `{action}` on `arn:aws:sqs:us-east-1:")),
            "{fix}"
        );
        match call {
            "ListQueues" => {
                let only = about(&findings, "queues", "only `mail` was looked at");
                assert_eq!(only.status, FindingStatus::Unknown);
                about(&findings, "queues", "`mail` with dead letters");
            }
            "GetQueueAttributes" => {
                let unread = of(&findings, "attributes");
                assert_eq!(unread.status, FindingStatus::Unknown);
                assert!(all(&findings, "retention").is_empty());
            }
            _ => assert_eq!(of(&findings, "queues").status, FindingStatus::Good),
        }
    }
}
