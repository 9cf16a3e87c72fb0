use serde_json::{Value, value::RawValue};

/// A payload without its type: JSON as a [`Value`] or as text.
///
/// Text is taken as JSON, not as a JSON string; what is no JSON is refused when it is enqueued.
#[derive(Debug)]
pub struct RawPayload(pub(super) Result<Box<RawValue>, serde_json::Error>);

impl From<Value> for RawPayload {
    fn from(value: Value) -> Self {
        Self(serde_json::value::to_raw_value(&value))
    }
}

impl From<Box<RawValue>> for RawPayload {
    fn from(json: Box<RawValue>) -> Self {
        Self(Ok(json))
    }
}

impl From<String> for RawPayload {
    fn from(json: String) -> Self {
        Self(RawValue::from_string(json))
    }
}

impl From<&str> for RawPayload {
    fn from(json: &str) -> Self {
        json.to_owned().into()
    }
}
