//! Reading what the scripts answer.

use bytes::Bytes;
use goqueue_core::Result;
use redis::Value;

use crate::error::{Operation, unexpected};

/// The answer of one call, and of which.
pub(crate) struct Reply {
    value: Value,
    operation: Operation,
}

impl Reply {
    pub(crate) fn of(value: Value, operation: Operation) -> Self {
        Self { value, operation }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.value == Value::Nil
    }

    pub(crate) fn number(self) -> Result<i64> {
        match self.value {
            Value::Int(number) => Ok(number),
            _ => Err(unexpected(self.operation)),
        }
    }

    pub(crate) fn list(self) -> Result<List> {
        let operation = self.operation;
        match self.value {
            Value::Array(items) | Value::Set(items) => Ok(List {
                items: items.into_iter(),
                operation,
            }),
            Value::Nil => Ok(List {
                items: Vec::new().into_iter(),
                operation,
            }),
            _ => Err(unexpected(operation)),
        }
    }

    /// Positions counted from 1, as the scripts tell them.
    pub(crate) fn positions(self) -> Result<Vec<usize>> {
        let mut list = self.list()?;
        let mut positions = Vec::new();
        while !list.is_empty() {
            let position = usize::try_from(list.number()?).map_err(|_| list.unexpected())?;
            positions.push(position);
        }
        Ok(positions)
    }
}

/// An answer of several values, read one after the other.
pub(crate) struct List {
    items: std::vec::IntoIter<Value>,
    operation: Operation,
}

impl List {
    pub(crate) fn is_empty(&self) -> bool {
        self.items.as_slice().is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn number(&mut self) -> Result<i64> {
        match self.items.next() {
            Some(Value::Int(number)) => Ok(number),
            _ => Err(self.unexpected()),
        }
    }

    pub(crate) fn count(&mut self) -> Result<u64> {
        let number = self.number()?;
        Ok(u64::try_from(number).unwrap_or_default())
    }

    pub(crate) fn bytes(&mut self) -> Result<Bytes> {
        match self.items.next() {
            Some(Value::BulkString(bytes)) => Ok(bytes.into()),
            _ => Err(self.unexpected()),
        }
    }

    pub(crate) fn list(&mut self) -> Result<List> {
        let value = self.items.next().unwrap_or(Value::Nil);
        Reply::of(value, self.operation).list()
    }

    pub(crate) fn unexpected(&self) -> goqueue_core::Error {
        unexpected(self.operation)
    }
}
