//! Reading `#[job(…)]`.

use std::time::Duration;

use proc_macro2::Span;
use syn::{
    Attribute, Error, Expr, Ident, Path, Result, Token,
    ext::IdentExt as _,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
};

use crate::{key::KeyExpression, retry::Retry, value::Value};

/// Every attribute, as it is written.
const ALLOWED: [(&str, &str); 14] = [
    ("name", r#"name = "mail.welcome""#),
    ("queue", r#"queue = "mail""#),
    ("max_attempts", "max_attempts = 5"),
    ("timeout", r#"timeout = "30s""#),
    ("backoff", r#"backoff = "exponential""#),
    ("initial_delay", r#"initial_delay = "2s""#),
    ("multiplier", "multiplier = 2.0"),
    ("max_delay", r#"max_delay = "10m""#),
    ("jitter", "jitter = 0.1"),
    ("unique_key", r#"unique_key = "self.user_id""#),
    ("unique_for", r#"unique_for = "1h""#),
    ("ordering_key", r#"ordering_key = "self.account""#),
    ("register", "register = false"),
    ("crate", r#"crate = "my_crate::goqueue""#),
];

/// The settings of one job type.
#[derive(Default)]
pub(crate) struct Attributes {
    pub(crate) name: Option<Setting<String>>,
    pub(crate) queue: Option<Setting<String>>,
    pub(crate) max_attempts: Option<Setting<u32>>,
    pub(crate) timeout: Option<Setting<Duration>>,
    pub(crate) retry: Retry,
    pub(crate) unique_key: Option<Setting<KeyExpression>>,
    pub(crate) unique_for: Option<Setting<Duration>>,
    pub(crate) ordering_key: Option<Setting<KeyExpression>>,
    pub(crate) register: Option<Setting<bool>>,
    krate: Option<Setting<Path>>,
}

/// A value and the word that set it, for errors that concern both.
pub(crate) struct Setting<T> {
    pub(crate) key: Ident,
    pub(crate) value: T,
}

impl Attributes {
    /// Reads them all; what is wrong is told in one go.
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut all = Self::default();
        let mut problems = Problems::default();
        for attribute in attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("job"))
        {
            match attribute.parse_args_with(Punctuated::<Entry, Token![,]>::parse_terminated) {
                Ok(entries) => entries
                    .into_iter()
                    .for_each(|entry| problems.note(all.set(entry))),
                Err(problem) => problems.note(Err(problem)),
            }
        }
        problems.note(all.check());
        problems.into_result()?;
        Ok(all)
    }

    /// Where the facade is.
    pub(crate) fn krate(&self) -> Path {
        match &self.krate {
            Some(setting) => setting.value.clone(),
            None => syn::parse_quote!(::goqueue),
        }
    }

    pub(crate) fn is_registered(&self) -> bool {
        self.register.as_ref().is_none_or(|setting| setting.value)
    }

    fn set(&mut self, Entry { key, value }: Entry) -> Result<()> {
        match key.to_string().as_str() {
            "name" => put(&mut self.name, key, value.job_name()),
            "queue" => put(&mut self.queue, key, value.queue_name()),
            "max_attempts" => put(&mut self.max_attempts, key, value.attempts()),
            "timeout" => put(&mut self.timeout, key, value.positive_duration()),
            "backoff" => put(&mut self.retry.backoff, key, value.backoff()),
            "initial_delay" => put(&mut self.retry.initial_delay, key, value.duration()),
            "multiplier" => put(&mut self.retry.multiplier, key, value.number(1.0, None)),
            "max_delay" => put(&mut self.retry.max_delay, key, value.duration()),
            "jitter" => put(&mut self.retry.jitter, key, value.number(0.0, Some(1.0))),
            "unique_key" => put(&mut self.unique_key, key, KeyExpression::read(&value)),
            "unique_for" => put(&mut self.unique_for, key, value.positive_duration()),
            "ordering_key" => put(&mut self.ordering_key, key, KeyExpression::read(&value)),
            "register" => put(&mut self.register, key, value.flag()),
            "crate" => put(&mut self.krate, key, value.path()),
            _ => Err(unknown(&key)),
        }
    }

    fn check(&self) -> Result<()> {
        self.retry.check()?;
        match (&self.unique_for, &self.unique_key) {
            (Some(Setting { key, .. }), None) => Err(Error::new(
                key.span(),
                "`unique_for` holds a `unique_key`, and there is none: add \
                 `unique_key = \"self.user_id\"`",
            )),
            _ => Ok(()),
        }
    }
}

fn put<T>(place: &mut Option<Setting<T>>, key: Ident, value: Result<T>) -> Result<()> {
    if place.is_some() {
        return Err(Error::new(
            key.span(),
            format!("attribute `{key}` is given twice"),
        ));
    }
    *place = Some(Setting { key, value: value? });
    Ok(())
}

/// One `key = value`.
struct Entry {
    key: Ident,
    value: Value,
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        // `crate` is a keyword.
        let key = input
            .call(Ident::parse_any)
            .map_err(|error| Error::new(error.span(), format!("expected one of {}", allowed())))?;
        let known = ALLOWED.iter().find(|(known, _)| key == known);
        let (attribute, example) = known.ok_or_else(|| unknown(&key))?;
        if !input.peek(Token![=]) {
            let problem = format!("`{key}` needs a value: write it as `{example}`");
            return Err(Error::new(key.span(), problem));
        }
        input.parse::<Token![=]>()?;
        let expr = input.parse::<Expr>()?;
        Ok(Self {
            key,
            value: Value {
                expr,
                attribute,
                example,
            },
        })
    }
}

fn unknown(key: &Ident) -> Error {
    Error::new(
        key.span(),
        format!("unknown attribute `{key}`: allowed are {}", allowed()),
    )
}

fn allowed() -> String {
    ALLOWED.map(|(known, _)| format!("`{known}`")).join(", ")
}

/// Errors gathered on the way, so that the reader mends them in one go.
#[derive(Default)]
pub(crate) struct Problems(Option<Error>);

impl Problems {
    pub(crate) fn note(&mut self, result: Result<()>) {
        match (&mut self.0, result) {
            (_, Ok(())) => {}
            (Some(known), Err(new)) => known.combine(new),
            (none, Err(new)) => *none = Some(new),
        }
    }

    pub(crate) fn add(&mut self, span: Span, problem: &str) {
        self.note(Err(Error::new(span, problem)));
    }

    pub(crate) fn into_result(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
