//! How the SDK's client is made, and the calls that are not about messages.

use std::time::Duration;

use aws_config::{
    BehaviorVersion, Region, retry::RetryConfig, sts::AssumeRoleProvider, timeout::TimeoutConfig,
};
use aws_sdk_sqs::{
    Client,
    config::{Config, Credentials},
};
use goqueue_core::{Result, config::ConfigError};

use crate::{
    config::Settings,
    error::{Fault, Meaning},
};

/// Tries of one call by the SDK, with its own backoff in between.
const TRIES: u32 = 3;

/// A client, and the region that it speaks to.
pub(crate) async fn client(settings: &Settings) -> Result<(Client, String)> {
    let table = &settings.table;
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(table.connect_timeout)
        .operation_attempt_timeout(table.response_timeout)
        .build();
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .timeout_config(timeouts)
        .retry_config(RetryConfig::standard().with_max_attempts(TRIES));
    if let Some(region) = &settings.region {
        loader = loader.region(Region::new(region.clone()));
    }
    if let Some(profile) = &table.profile {
        loader = loader.profile_name(profile);
    }
    if let (Some(id), Some(secret)) = (&table.access_key_id, &table.secret_access_key) {
        let token = table.session_token.clone();
        loader = loader.credentials_provider(Credentials::new(id, secret, token, None, "goqueue"));
    }
    let sdk = loader.load().await;
    let Some(region) = sdk.region().map(ToString::to_string) else {
        let problem = "the SQS URL names no region and neither does the environment or the \
                       profile; allowed is `sqs://REGION/PREFIX`";
        return Err(ConfigError::new("driver", problem).into());
    };
    let mut config = aws_sdk_sqs::config::Builder::from(&sdk);
    if let Some(endpoint) = &table.endpoint {
        config = config.endpoint_url(endpoint);
    }
    if let Some(role) = &table.role_arn {
        let sdk = match &table.sts_endpoint {
            Some(endpoint) => sdk.to_builder().endpoint_url(endpoint).build(),
            None => sdk,
        };
        let mut provider = AssumeRoleProvider::builder(role)
            .session_name("goqueue")
            .configure(&sdk);
        if let Some(id) = &table.external_id {
            provider = provider.external_id(id);
        }
        config = config.credentials_provider(provider.build().await);
    }
    Ok((Client::from_conf(config.build()), region))
}

/// For calls that must not be sent again when it is not known whether the first one acted.
pub(crate) fn once() -> aws_sdk_sqs::config::Builder {
    Config::builder().retry_config(RetryConfig::disabled())
}

/// For a receive that waits for its first message.
pub(crate) fn patient(wait: Duration, response: Duration) -> aws_sdk_sqs::config::Builder {
    Config::builder().timeout_config(
        TimeoutConfig::builder()
            .operation_attempt_timeout(wait.saturating_add(response))
            .build(),
    )
}

/// Asks for a sign of life.
pub(crate) async fn ping(client: &Client, operation: &'static str) -> Result<(), Fault> {
    match client.list_queues().max_results(1).send().await {
        Ok(_) => Ok(()),
        Err(error) => match Fault::of(operation, &error) {
            // Whoever may not list queues was told so by a service that lives.
            fault if fault.meaning == Meaning::Denied => Ok(()),
            fault => Err(fault),
        },
    }
}
