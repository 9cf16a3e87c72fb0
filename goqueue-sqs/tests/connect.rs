//! What is refused when the driver connects or meets a queue that is not there, and where its
//! credentials come from.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{
    process::{Command, Output},
    time::Duration,
};

use goqueue_core::{
    Config, Handler, Job, JobContext, JobResult, Queue, Worker,
    driver::{Driver, PushOutcome},
};
use goqueue_sqs::SqsDriver;
use serde::{Deserialize, Serialize};
use support::*;
use tokio::{net::TcpListener, time::timeout};

const CHILD: &str = "GOQUEUE_TEST_SQS_CHILD";
const SECRETS: [&str; 3] = ["hunter2-secret", "hunter2-session", "hunter2-external"];

async fn refused(url: &str) -> goqueue_core::Error {
    let config = Config::default().with_driver(url);
    SqsDriver::connect(&config).await.unwrap_err()
}

fn shows_no_secret(text: &str) {
    assert!(
        !SECRETS.iter().any(|secret| text.contains(secret)),
        "{text}"
    );
}

fn with_keys(endpoint: &str) -> String {
    format!(
        "sqs://us-east-1/?endpoint={endpoint}&access_key_id=key&secret_access_key=hunter2-secret\
         &session_token=hunter2-session"
    )
}

#[tokio::test]
async fn an_unreachable_host_is_a_transient_error() {
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", unused.local_addr().unwrap());
    drop(unused);
    let error = timeout(Duration::from_secs(30), refused(&with_keys(&endpoint)))
        .await
        .unwrap();
    assert!(error.is_transient(), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("driver `sqs` failed to connect: "),
        "{error}"
    );
    shows_no_secret(&format!("{error} {error:?}"));
}

#[tokio::test]
async fn a_host_that_never_answers_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let text = format!(
        "driver = \"{}\"\n[sqs]\nresponse_timeout = \"200ms\"",
        with_keys(&endpoint)
    );
    let config = Config::from_toml(&text).unwrap();
    let connect = timeout(Duration::from_secs(30), SqsDriver::connect(&config));
    let error = connect.await.unwrap().unwrap_err();
    assert!(
        error.is_transient() && error.to_string().contains("time"),
        "{error}"
    );
}

#[tokio::test]
async fn wrong_credentials_are_no_transient_error_and_are_not_shown() {
    let body = r#"{"__type":"com.amazon.coral.service#UnrecognizedClientException",
        "message":"The security token included in the request is invalid."}"#;
    let (endpoint, _requests) = answering("403 Forbidden", body.into()).await;
    let error = refused(&with_keys(&endpoint)).await;
    assert!(!error.is_transient(), "{error}");
    assert!(error.to_string().contains("security token"), "{error}");
    shows_no_secret(&format!("{error} {error:?}"));
}

#[tokio::test]
async fn something_else_than_sqs_is_told() {
    let (endpoint, _requests) = answering("404 Not Found", "<html>hello</html>".into()).await;
    let error = refused(&with_keys(&endpoint)).await;
    assert!(!error.is_transient(), "{error}");
}

#[derive(Serialize, Deserialize)]
struct Good;

impl Job for Good {
    const NAME: &'static str = "good";
    const QUEUE: &'static str = "there";
}

impl Handler for Good {
    async fn handle(self, _: JobContext) -> JobResult {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_queue_is_named_and_holds_up_no_other() {
    let url = MINISTACK.url(Kind::Standard);
    let maker = Queue::new(connect(&url).await);
    maker.enqueue(Good).await.unwrap();
    let proxy = Proxy::before(&url).await;
    let driver = connect(
        &proxy
            .through(&url)
            .replace("create_queues=true", "create_queues=false"),
    )
    .await;
    let outcomes = driver.push(vec![job("missing", "job")]).await.unwrap();
    let PushOutcome::Refused(error) = &outcomes[0] else {
        panic!("{outcomes:?}")
    };
    let told = format!(
        "there is no queue `{}` in us-east-1",
        on_sqs(&url, "missing")
    );
    assert!(error.to_string().contains(&told), "{error}");
    assert!(error.to_string().contains("`sqs.create_queues = true`") && !error.is_transient());

    let queue = Queue::new(driver);
    let worker = Worker::builder(&queue)
        .only_registered()
        .register::<Good>()
        .queue("there", 1)
        .queue("missing", 1)
        .build()
        .unwrap();
    let running = worker.run_until(tokio::time::sleep(Duration::from_secs(4)));
    assert_eq!(running.await.unwrap().finished, 1);
    let asked = proxy
        .calls()
        .get("GetQueueUrl")
        .copied()
        .unwrap_or_default();
    assert!(
        asked <= 6,
        "{asked} times: a missing queue must not be asked for without pause"
    );
}

#[tokio::test]
async fn a_driver_and_its_settings_show_no_secret() {
    let body = r#"{"QueueUrls":[]}"#;
    let (endpoint, mut requests) = answering("200 OK", body.into()).await;
    let driver = connect(&with_keys(&endpoint)).await;
    shows_no_secret(&format!("{driver:?} {driver:#?}"));
    let request = requests.recv().await.unwrap();
    assert!(request.contains("Credential=key/") && request.contains("hunter2-session"));
    assert!(!request.contains("hunter2-secret"));
}

#[tokio::test]
async fn a_role_is_assumed_with_the_credentials_found() {
    let assumed = "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
        <AssumeRoleResult><Credentials><AccessKeyId>ROLEKEY</AccessKeyId>\
        <SecretAccessKey>role-secret</SecretAccessKey><SessionToken>role-session</SessionToken>\
        <Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult>\
        </AssumeRoleResponse>";
    let (sts, mut asked_sts) = answering("200 OK", assumed.into()).await;
    let (endpoint, mut asked) = answering("200 OK", r#"{"QueueUrls":[]}"#.into()).await;
    let url = format!(
        "{}&sts_endpoint={sts}&role_arn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fjobs\
         &external_id=hunter2-external",
        with_keys(&endpoint)
    );
    let driver = connect(&url).await;
    shows_no_secret(&format!("{driver:?}"));
    let request = asked_sts.recv().await.unwrap();
    assert!(
        request.contains("Action=AssumeRole") && request.contains("hunter2-external"),
        "{request}"
    );
    assert!(request.contains("Credential=key/"), "{request}");
    let request = asked.recv().await.unwrap();
    assert!(
        request.contains("Credential=ROLEKEY/") && request.contains("role-session"),
        "{request}"
    );
}

/// The environment is that of a process, so these run in one of their own.
#[tokio::test(flavor = "multi_thread")]
async fn credentials_and_region_come_from_the_environment_and_from_profiles() {
    if let Ok(url) = std::env::var(CHILD) {
        match SqsDriver::connect(&Config::default().with_driver(url.as_str())).await {
            Ok(driver) => println!("connected {driver:?}"),
            Err(error) => println!("refused {error}"),
        }
        return;
    }
    let dir = std::env::temp_dir().join(format!("goqueue-sqs-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (config, keys) = (dir.join("config"), dir.join("credentials"));
    std::fs::write(&config, "[profile jobs]\nregion = eu-north-1\n").unwrap();
    let text = "[jobs]\naws_access_key_id = PROFILEKEY\naws_secret_access_key = hunter2-secret\n";
    std::fs::write(&keys, text).unwrap();
    let child = |url: String, variables: Vec<(&'static str, &'static str)>| -> Output {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--exact",
                "--nocapture",
                "credentials_and_region_come_from_the_environment_and_from_profiles",
            ])
            .env_clear()
            .env(CHILD, url)
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_CONFIG_FILE", &config)
            .env("AWS_SHARED_CREDENTIALS_FILE", &keys)
            .envs(variables);
        command.output().unwrap()
    };
    let (endpoint, mut asked) = answering("200 OK", r#"{"QueueUrls":[]}"#.into()).await;
    let run = async |url: String, variables| {
        let output = tokio::task::block_in_place(|| child(url, variables));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let environment = vec![
        ("AWS_ACCESS_KEY_ID", "ENVKEY"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2-secret"),
        ("AWS_REGION", "eu-south-1"),
    ];
    for (query, variables, key, region) in [
        ("", environment, "ENVKEY", "eu-south-1"),
        ("&profile=jobs", Vec::new(), "PROFILEKEY", "eu-north-1"),
    ] {
        let url = format!("sqs:///?endpoint={endpoint}{query}");
        let output = run(url, variables).await;
        assert!(
            output.contains("connected") && output.contains(region),
            "{output}"
        );
        shows_no_secret(&output);
        let request = asked.recv().await.unwrap();
        assert!(request.contains(&format!("Credential={key}/")), "{request}");
        assert!(request.contains(&format!("/{region}/sqs/")), "{request}");
    }
    let output = run(format!("sqs:///?endpoint={endpoint}"), Vec::new()).await;
    assert!(output.contains("names no region"), "{output}");
    let output = run(format!("sqs://us-east-1/?endpoint={endpoint}"), Vec::new()).await;
    assert!(
        output.contains("refused driver `sqs` failed to connect"),
        "{output}"
    );
    assert!(output.contains("credential"), "{output}");
    std::fs::remove_dir_all(dir).unwrap();
}
