//! Where the services are that `cargo xtask test` starts.

/// The URL that a variable holds.
pub(crate) fn url(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: `cargo xtask test` starts the service and sets it")
    })
}

/// The URL of SQS, with a prefix for the names of the queues.
pub(crate) fn sqs(prefix: &str, is_fifo: bool) -> String {
    let url = url("GOQUEUE_TEST_SQS_URL");
    let (region, options) = url.split_once("/?").unwrap();
    format!("{region}/{prefix}-?fifo={is_fifo}&{options}")
}

/// A name that nobody else has.
pub(crate) fn unique() -> String {
    goqueue::JobId::new().to_string().replace('-', "")
}
