//! Reading what the server answered.

use goqueue_core::{JobId, QueueName, dead_letter::DeadReason};
use sqlx::{MySql, Row, mysql::MySqlRow};
use uuid::Uuid;

use crate::error::Fault;

/// A column by its name. The types are those of the statements in `sql/`, so they are not compared
/// with what the server declares: that differs from server to server for computed columns.
pub(crate) fn get<'r, T>(row: &'r MySqlRow, column: &str) -> Result<T, Fault>
where
    T: sqlx::Decode<'r, MySql>,
{
    row.try_get_unchecked(column).map_err(Fault::Sql)
}

pub(crate) fn id(row: &MySqlRow) -> Result<JobId, Fault> {
    let bytes: &[u8] = get(row, "id")?;
    match Uuid::from_slice(bytes) {
        Ok(id) => Ok(id.into()),
        Err(_) => Err(Fault::Corrupt(format!(
            "{} bytes where a job's id should be",
            bytes.len()
        ))),
    }
}

pub(crate) fn queue(row: &MySqlRow) -> Result<QueueName, Fault> {
    let name: String = get(row, "queue")?;
    QueueName::new(name).map_err(|error| Fault::Corrupt(error.to_string()))
}

/// Why a job died. A reason that a newer program wrote counts as `exhausted`.
pub(crate) fn reason(row: &MySqlRow) -> Result<DeadReason, Fault> {
    let text: String = get(row, "reason")?;
    Ok(text.parse().unwrap_or(DeadReason::Exhausted))
}
