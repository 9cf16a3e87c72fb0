//! What can go wrong with the server, and which of it is worth another try.

use std::time::Duration;

use goqueue_core::Error;
use sqlx::{error::DatabaseError, mysql::MySqlDatabaseError};

use crate::driver::NAME;

/// A failure before it is known to which call it belongs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error(
        "the pool is exhausted: all of its {max} connections were in use for {waited:?}; raise \
         `mysql.max_connections`, or look for transactions that stay open"
    )]
    PoolExhausted { max: u32, waited: Duration },
    #[error("no connection to {to} within {waited:?}")]
    ConnectTimeout { to: String, waited: Duration },
    #[error("no answer within {0:?}")]
    Silent(Duration),
    #[error("{0}")]
    Unusable(String),
    #[error("a row that goqueue did not write: {0}")]
    Corrupt(String),
    #[error(transparent)]
    Refused(#[from] Error),
}

/// The server's error numbers that mean something here.
mod code {
    pub(super) const TOO_MANY_CONNECTIONS: u16 = 1040;
    pub(super) const OUT_OF_RESOURCES: u16 = 1041;
    pub(super) const SHUTDOWN: u16 = 1053;
    pub(super) const RECORD_CHANGED: u16 = 1020;
    pub(super) const PACKET_TOO_LARGE: u16 = 1153;
    pub(super) const LOCK_WAIT_TIMEOUT: u16 = 1205;
    pub(super) const DEADLOCK: u16 = 1213;
    pub(super) const DUPLICATE: u16 = 1062;
    pub(super) const TOO_MANY_USER_CONNECTIONS: u16 = 1203;
    pub(super) const READ_ONLY: u16 = 1290;
    pub(super) const QUERY_INTERRUPTED: u16 = 1317;
    pub(super) const READ_ONLY_TRANSACTION: u16 = 1792;
    pub(super) const READ_ONLY_MODE: u16 = 1836;
    pub(super) const KILLED: u16 = 1927;
    pub(super) const NODE_NOT_READY: u16 = 1047;
    pub(super) const GONE_AWAY: u16 = 2006;
    pub(super) const LOST_CONNECTION: u16 = 2013;
    pub(super) const MAX_EXECUTION_TIME: u16 = 3024;
    pub(super) const SERVER_OFFLINE: u16 = 3032;
    pub(super) const DISK_FULL: u16 = 1021;
    pub(super) const TABLE_FULL: u16 = 1114;
    pub(super) const DEBUG_SYNC_TIMEOUT: u16 = 4031;
}

impl Fault {
    /// Whether the same call may succeed later without anyone mending anything.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::PoolExhausted { .. } | Self::ConnectTimeout { .. } | Self::Silent(_) => true,
            Self::Unusable(_) | Self::Corrupt(_) => false,
            Self::Refused(error) => error.is_transient(),
            Self::Sql(error) => match error {
                sqlx::Error::Io(error) => is_transient_io(error.kind()),
                sqlx::Error::PoolTimedOut => true,
                // A connection that broke in the middle of a packet.
                sqlx::Error::Protocol(_) => true,
                _ => self.number().is_some_and(is_transient_number),
            },
        }
    }

    /// Whether the server undid the whole transaction because of what others were doing.
    pub(crate) fn is_contention(&self) -> bool {
        matches!(
            self.number(),
            Some(code::DEADLOCK | code::LOCK_WAIT_TIMEOUT | code::RECORD_CHANGED)
        )
    }

    /// Whether a row was refused because its key is taken. Only its statement is undone.
    pub(crate) fn is_duplicate(&self) -> bool {
        self.number() == Some(code::DUPLICATE)
    }

    /// Whether no connection could be made, so that nothing can have happened.
    pub(crate) fn is_unconnected(&self) -> bool {
        match self {
            Self::ConnectTimeout { .. } => true,
            Self::Sql(sqlx::Error::Io(error)) => is_transient_io(error.kind()),
            _ => matches!(
                self.number(),
                Some(
                    code::TOO_MANY_CONNECTIONS
                        | code::TOO_MANY_USER_CONNECTIONS
                        | code::OUT_OF_RESOURCES
                        | code::SHUTDOWN
                )
            ),
        }
    }

    /// Whether the server still answers on the connection that this came from.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Sql(sqlx::Error::Database(_)))
    }

    /// The server's number for it.
    pub(crate) fn number(&self) -> Option<u16> {
        let Self::Sql(sqlx::Error::Database(error)) = self else {
            return None;
        };
        number_of(&**error)
    }

    /// The error that the caller meets. `operation` is a verb: "push", "reserve".
    pub(crate) fn during(self, operation: &'static str) -> Error {
        match self {
            Self::Refused(error) => error,
            Self::Silent(after) => Error::Timeout {
                driver: NAME,
                operation,
                after,
            },
            _ => {
                let transient = self.is_transient();
                let source = match self {
                    Self::Sql(error) => error.into(),
                    fault => fault.into(),
                };
                Error::Backend {
                    driver: NAME,
                    operation,
                    transient,
                    source,
                }
            }
        }
    }
}

fn number_of(error: &dyn DatabaseError) -> Option<u16> {
    error
        .try_downcast_ref::<MySqlDatabaseError>()
        .map(MySqlDatabaseError::number)
}

/// Everything that passes by itself: contention, a server that starts, stops, is full or takes no
/// writes for a while.
fn is_transient_number(number: u16) -> bool {
    matches!(
        number,
        code::TOO_MANY_CONNECTIONS
            | code::OUT_OF_RESOURCES
            | code::SHUTDOWN
            | code::RECORD_CHANGED
            | code::LOCK_WAIT_TIMEOUT
            | code::DEADLOCK
            | code::TOO_MANY_USER_CONNECTIONS
            | code::READ_ONLY
            | code::QUERY_INTERRUPTED
            | code::READ_ONLY_TRANSACTION
            | code::READ_ONLY_MODE
            | code::KILLED
            | code::NODE_NOT_READY
            | code::GONE_AWAY
            | code::LOST_CONNECTION
            | code::MAX_EXECUTION_TIME
            | code::SERVER_OFFLINE
            | code::DISK_FULL
            | code::TABLE_FULL
            | code::DEBUG_SYNC_TIMEOUT
    ) && number != code::PACKET_TOO_LARGE
}

fn is_transient_io(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind;
    // A name that does not resolve comes as `Uncategorized`, and may resolve tomorrow.
    !matches!(
        kind,
        ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::PermissionDenied
    )
}

#[cfg(test)]
mod tests {
    use sqlx::{AssertSqlSafe, ConnectOptions, mysql::MySqlConnectOptions};

    use super::*;

    /// The fault that a server reports with this number.
    async fn reported(number: u16) -> Fault {
        let url = std::env::var("GOQUEUE_TEST_MYSQL_URL").expect(
            "GOQUEUE_TEST_MYSQL_URL is not set: `cargo xtask test` starts the server and sets it",
        );
        let options: MySqlConnectOptions = url.parse().unwrap();
        let mut connection = options.connect().await.unwrap();
        let text = format!("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}");
        let said = sqlx::raw_sql(AssertSqlSafe(text))
            .execute(&mut connection)
            .await;
        said.unwrap_err().into()
    }

    #[tokio::test]
    async fn every_number_is_told_apart() {
        for (number, is_transient, is_contention, is_unconnected) in [
            (1205, true, true, false),
            (1213, true, true, false),
            (1040, true, false, true),
            (1053, true, false, true),
            (1290, true, false, false),
            (1836, true, false, false),
            (2006, true, false, false),
            (2013, true, false, false),
            // What stays as it is until somebody mends it.
            (1045, false, false, false),
            (1049, false, false, false),
            (1064, false, false, false),
            (1146, false, false, false),
            (1153, false, false, false),
        ] {
            let fault = reported(number).await;
            assert_eq!(fault.number(), Some(number));
            let told = (
                fault.is_transient(),
                fault.is_contention(),
                fault.is_unconnected(),
            );
            assert_eq!(
                told,
                (is_transient, is_contention, is_unconnected),
                "{number}"
            );
            assert_eq!(fault.during("push").is_transient(), is_transient);
        }
    }

    #[test]
    fn a_pool_that_is_exhausted_says_so() {
        let fault = Fault::PoolExhausted {
            max: 3,
            waited: Duration::from_secs(5),
        };
        let error = fault.during("push");
        assert!(error.is_transient());
        assert!(
            error.to_string().contains("all of its 3 connections"),
            "{error}"
        );
    }
}
