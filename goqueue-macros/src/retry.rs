//! The attributes that make a `RetryPolicy`.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Path, Result};

use crate::{attributes::Setting, expand, value::Backoff};

/// `RetryPolicy::exponential` starts from these.
const INITIAL_DELAY: Duration = Duration::from_secs(2);
const MAX_DELAY: Duration = Duration::from_secs(600);

#[derive(Default)]
pub(crate) struct Retry {
    pub(crate) backoff: Option<Setting<Backoff>>,
    pub(crate) initial_delay: Option<Setting<Duration>>,
    pub(crate) multiplier: Option<Setting<f64>>,
    pub(crate) max_delay: Option<Setting<Duration>>,
    pub(crate) jitter: Option<Setting<f64>>,
}

impl Retry {
    /// What one attribute alone cannot tell.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_constant() {
            let multiplier = self.multiplier.as_ref().map(|setting| &setting.key);
            let max_delay = self.max_delay.as_ref().map(|setting| &setting.key);
            return match multiplier.or(max_delay) {
                Some(key) => {
                    let problem = format!(
                        "`{key}` means nothing beside `backoff = \"constant\"`: every delay is \
                         the `initial_delay`"
                    );
                    Err(Error::new(key.span(), problem))
                }
                None => Ok(()),
            };
        }
        let longest = self
            .max_delay
            .as_ref()
            .map_or(MAX_DELAY, |setting| setting.value);
        match &self.initial_delay {
            Some(initial) if initial.value > longest => {
                let longest = humantime::format_duration(longest);
                let problem = format!(
                    "`initial_delay` is longer than the `max_delay` of {longest}: raise that as well"
                );
                Err(Error::new(initial.key.span(), problem))
            }
            _ => Ok(()),
        }
    }

    /// The policy, if any attribute asks for one.
    pub(crate) fn policy(&self, krate: &Path) -> Option<TokenStream> {
        let Self {
            backoff,
            initial_delay,
            multiplier,
            max_delay,
            jitter,
        } = self;
        if backoff.is_none()
            && initial_delay.is_none()
            && multiplier.is_none()
            && max_delay.is_none()
            && jitter.is_none()
        {
            return None;
        }
        let start = initial_delay
            .as_ref()
            .map_or(INITIAL_DELAY, |setting| setting.value);
        let start = expand::duration(start);
        let mut policy = if self.is_constant() {
            quote!(#krate::RetryPolicy::constant(#start))
        } else {
            quote!(#krate::RetryPolicy::exponential(#start))
        };
        if let Some(Setting { value, .. }) = multiplier {
            policy = quote!(#policy.multiplier(#value));
        }
        if let Some(Setting { value, .. }) = max_delay {
            let longest = expand::duration(*value);
            policy = quote!(#policy.max_delay(#longest));
        }
        if let Some(Setting { value, .. }) = jitter {
            policy = quote!(#policy.jitter(#value));
        }
        Some(policy)
    }

    fn is_constant(&self) -> bool {
        self.backoff
            .as_ref()
            .is_some_and(|setting| setting.value == Backoff::Constant)
    }
}
