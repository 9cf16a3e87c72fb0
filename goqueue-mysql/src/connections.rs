//! Connections: a pool of the driver's own, or one that the user brought.

use std::{
    io,
    ops::{Deref, DerefMut},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::TryStreamExt;
use goqueue_core::retry::TransientBackoff;
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, Either, MySql, MySqlConnection, MySqlPool,
    mysql::{MySqlConnectOptions, MySqlRow},
    pool::PoolConnection,
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep, timeout},
};

use crate::{error::Fault, sql::Message};

/// A connection that was idle for this long is asked for a sign of life before it is used.
const TRUSTED_FOR: Duration = Duration::from_millis(500);
/// How long that may take.
const SIGN_OF_LIFE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) enum Connections {
    /// Made by the driver. sqlx's pool asks the server for a sign of life before and after every
    /// use; here that would cost more than the queries.
    Own(Box<Own>),
    /// Shared with the program.
    Given(MySqlPool),
}

#[derive(Debug)]
pub(crate) struct Own {
    options: MySqlConnectOptions,
    idle: Mutex<Vec<Idle>>,
    permits: Semaphore,
    max: u32,
    acquire_timeout: Duration,
}

#[derive(Debug)]
struct Idle {
    connection: MySqlConnection,
    since: Instant,
}

impl Own {
    pub(crate) fn new(options: MySqlConnectOptions, max: u32, acquire_timeout: Duration) -> Self {
        Self {
            options,
            idle: Mutex::default(),
            permits: Semaphore::new(max as usize),
            max,
            acquire_timeout,
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn open(&self) -> Result<MySqlConnection, Fault> {
        while let Some(Idle {
            mut connection,
            since,
        }) = { self.idle().pop() }
        {
            if since.elapsed() < TRUSTED_FOR {
                return Ok(connection);
            }
            if let Ok(Ok(())) = timeout(SIGN_OF_LIFE, connection.ping()).await {
                return Ok(connection);
            }
        }
        dial(&self.options, self.acquire_timeout).await
    }
}

/// A new connection, whose statements commit by themselves whatever the server's default is.
pub(crate) async fn dial(
    options: &MySqlConnectOptions,
    longest: Duration,
) -> Result<MySqlConnection, Fault> {
    let dialling = async {
        let connected = options.connect().await;
        let mut connection = connected.map_err(|error| named(error, options))?;
        sqlx::raw_sql("SET SESSION autocommit = 1")
            .execute(&mut connection)
            .await?;
        Ok(connection)
    };
    timeout(longest, dialling).await.unwrap_or_else(|_| {
        Err(Fault::ConnectTimeout {
            to: address(options),
            waited: longest,
        })
    })
}

/// An error of the line with the address that was tried, which sqlx leaves out.
fn named(error: sqlx::Error, options: &MySqlConnectOptions) -> sqlx::Error {
    match error {
        sqlx::Error::Io(error) => {
            let said = format!("{}: {error}", address(options));
            sqlx::Error::Io(io::Error::new(error.kind(), said))
        }
        error => error,
    }
}

fn address(options: &MySqlConnectOptions) -> String {
    match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}

impl Connections {
    /// A connection of one's own until it is dropped. Keeps trying for `patience` while the server
    /// cannot be reached.
    pub(crate) async fn session(&self, patience: Duration) -> Result<Session<'_>, Fault> {
        let give_up = Instant::now() + patience;
        let mut backoff = TransientBackoff::new();
        loop {
            match self.connect().await {
                Err(fault) if fault.is_unconnected() => {
                    let pause = backoff.next_pause();
                    if Instant::now() + pause >= give_up {
                        return Err(fault);
                    }
                    sleep(pause).await;
                }
                connected => return connected,
            }
        }
    }

    async fn connect(&self) -> Result<Session<'_>, Fault> {
        let lent = match self {
            Self::Own(own) => {
                let permit = timeout(own.acquire_timeout, own.permits.acquire()).await;
                let Ok(permit) = permit else {
                    return Err(Fault::PoolExhausted {
                        max: own.max,
                        waited: own.acquire_timeout,
                    });
                };
                let Ok(permit) = permit else {
                    return Err(closed());
                };
                Lent::Own {
                    connection: own.open().await?,
                    own,
                    _permit: permit,
                }
            }
            Self::Given(pool) => Lent::Given(acquire(pool).await?),
        };
        Ok(Session {
            lent: Some(lent),
            is_clean: true,
        })
    }

    /// A connection, if there is one that nobody has to be waited for.
    pub(crate) async fn spare_session(&self) -> Option<Session<'_>> {
        let lent = match self {
            Self::Own(own) => {
                let permit = own.permits.try_acquire().ok()?;
                Lent::Own {
                    connection: own.open().await.ok()?,
                    own,
                    _permit: permit,
                }
            }
            Self::Given(pool) => Lent::Given(pool.try_acquire()?),
        };
        Some(Session {
            lent: Some(lent),
            is_clean: true,
        })
    }

    /// Ends the idle connections of the driver's own pool, once nobody uses any.
    pub(crate) async fn close(&self) {
        let Self::Own(own) = self else { return };
        own.permits.close();
        let idle = std::mem::take(&mut *own.idle());
        for Idle { connection, .. } in idle {
            // The server forgets a connection that ends without a farewell just as well.
            let _ = timeout(SIGN_OF_LIFE, connection.close()).await;
        }
    }
}

fn closed() -> Fault {
    Fault::Refused(goqueue_core::Error::Closed {
        driver: crate::driver::NAME,
    })
}

/// sqlx's pool says only that it ran out of time; this finds out why.
async fn acquire(pool: &MySqlPool) -> Result<PoolConnection<MySql>, Fault> {
    match pool.acquire().await {
        Ok(connection) => Ok(connection),
        Err(sqlx::Error::PoolTimedOut) => {
            let (max, waited) = (
                pool.options().get_max_connections(),
                pool.options().get_acquire_timeout(),
            );
            if pool.size() >= max {
                return Err(Fault::PoolExhausted { max, waited });
            }
            match timeout(SIGN_OF_LIFE, pool.connect_options().connect()).await {
                Ok(Err(error)) => Err(named(error, &pool.connect_options()).into()),
                Ok(Ok(_)) | Err(_) => Err(Fault::ConnectTimeout {
                    to: address(&pool.connect_options()),
                    waited,
                }),
            }
        }
        Err(sqlx::Error::PoolClosed) => Err(closed()),
        Err(error) => Err(error.into()),
    }
}

/// What one statement answered.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) rows: Vec<MySqlRow>,
    /// Rows that matched, changed or not.
    pub(crate) matched: u64,
}

/// Sends statements and collects their answers, one per statement.
pub(crate) async fn send(
    connection: &mut MySqlConnection,
    message: Message,
) -> Result<Vec<Answer>, sqlx::Error> {
    let mut answers = Vec::new();
    let mut answer = Answer::default();
    let mut stream = sqlx::raw_sql(AssertSqlSafe(message.into_text())).fetch_many(connection);
    while let Some(item) = stream.try_next().await? {
        match item {
            Either::Right(row) => answer.rows.push(row),
            Either::Left(done) => {
                answer.matched = done.rows_affected();
                answers.push(std::mem::take(&mut answer));
            }
        }
    }
    Ok(answers)
}

/// One connection for one call. Unless its last transaction ended well it is not used again.
pub(crate) struct Session<'a> {
    lent: Option<Lent<'a>>,
    is_clean: bool,
}

enum Lent<'a> {
    Own {
        connection: MySqlConnection,
        own: &'a Own,
        _permit: SemaphorePermit<'a>,
    },
    Given(PoolConnection<MySql>),
}

impl Deref for Lent<'_> {
    type Target = MySqlConnection;

    fn deref(&self) -> &MySqlConnection {
        match self {
            Self::Own { connection, .. } => connection,
            Self::Given(connection) => connection,
        }
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut MySqlConnection {
        match self {
            Self::Own { connection, .. } => connection,
            Self::Given(connection) => connection,
        }
    }
}

impl Session<'_> {
    /// Sends statements after which a transaction is open.
    pub(crate) async fn open(&mut self, message: Message) -> Result<Vec<Answer>, Fault> {
        self.is_clean = false;
        match send(self.connection()?, message).await {
            Ok(answers) => Ok(answers),
            Err(error) => Err(self.failed(error.into()).await),
        }
    }

    /// Sends statements after which none is.
    pub(crate) async fn finish(&mut self, message: Message) -> Result<Vec<Answer>, Fault> {
        let answers = self.open(message).await?;
        self.is_clean = true;
        Ok(answers)
    }

    /// The bare connection, for bound statements. Call [`failed`](Session::failed) with what goes
    /// wrong, and [`settled`](Session::settled) when no transaction is open any more.
    pub(crate) fn connection(&mut self) -> Result<&mut MySqlConnection, Fault> {
        self.is_clean = false;
        match &mut self.lent {
            Some(lent) => Ok(lent),
            None => Err(closed()),
        }
    }

    /// No transaction is open.
    pub(crate) fn settled(&mut self) {
        self.is_clean = true;
    }

    /// Undoes what was begun, when the server still answers.
    pub(crate) async fn failed(&mut self, fault: Fault) -> Fault {
        if fault.is_answer() {
            self.roll_back().await;
        }
        fault
    }

    /// Undoes what was begun.
    pub(crate) async fn roll_back(&mut self) {
        if let Some(lent) = &mut self.lent {
            let rolled_back = sqlx::raw_sql("ROLLBACK").execute(&mut **lent).await;
            self.is_clean = rolled_back.is_ok();
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        match self.lent.take() {
            Some(Lent::Own {
                connection, own, ..
            }) if self.is_clean => {
                own.idle().push(Idle {
                    connection,
                    since: Instant::now(),
                });
            }
            Some(Lent::Given(mut connection)) if !self.is_clean => connection.close_on_drop(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_cannot_be_made_is_named() {
        let longest = Duration::from_secs(5);
        let options = MySqlConnectOptions::new().host("127.0.0.1").port(1);
        let fault = dial(&options, longest).await.unwrap_err();
        assert!(fault.is_unconnected() && fault.is_transient(), "{fault}");
        assert!(fault.to_string().contains(": 127.0.0.1:1: "), "{fault}");

        let options = options.socket("/no/such/mysqld.sock");
        let fault = dial(&options, longest).await.unwrap_err();
        assert!(
            fault.to_string().contains(": /no/such/mysqld.sock: "),
            "{fault}"
        );

        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let options = MySqlConnectOptions::new().host("127.0.0.1").port(port);
        let fault = dial(&options, Duration::from_millis(50)).await.unwrap_err();
        assert_eq!(
            fault.to_string(),
            format!("no connection to 127.0.0.1:{port} within 50ms")
        );
    }
}
