//! What a URL says: which servers, and as whom.

use std::fmt;

use goqueue_core::{config::ConfigError, driver::DriverUrl};
use percent_encoding::percent_decode_str;
use redis::{
    ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo,
    io::tcp::TcpSettings,
};

const DEFAULT_PORT: u16 = 6379;
const FORMS: &str = "`redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE]`, the same with `rediss`, \
                     `redis-cluster://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]…]`, the same with \
                     `rediss-cluster`, or \
                     `redis+unix:///PATH[?db=DATABASE][&user=USER][&pass=PASSWORD]`";

/// Where to connect to, and as whom. Shows no secret.
#[derive(Clone)]
pub(crate) struct Address {
    /// The server, or some nodes of a cluster, of which it learns the others.
    pub(crate) nodes: Vec<ConnectionInfo>,
    pub(crate) is_cluster: bool,
}

impl Address {
    /// Reads a URL.
    pub(crate) fn parse(url: &DriverUrl) -> Result<Self, ConfigError> {
        let rest = url.expose().split_once("://").map_or("", |(_, rest)| rest);
        match url.scheme().as_str() {
            "redis" => single(rest, false),
            "rediss" => single(rest, true),
            "redis-cluster" => cluster(rest, false),
            "rediss-cluster" => cluster(rest, true),
            "redis+unix" => unix(rest),
            _ => Err(wrong(format_args!("got `{url}`, allowed is {FORMS}"))),
        }
    }

    fn server(node: ConnectionInfo) -> Self {
        Self {
            nodes: vec![node],
            is_cluster: false,
        }
    }

    pub(crate) fn has_tls(&self) -> bool {
        self.nodes
            .iter()
            .any(|node| matches!(node.addr(), ConnectionAddr::TcpTls { .. }))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, node) in self.nodes.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}", node.addr())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// The parts of everything behind `://` that is not a unix socket.
struct Parts<'a> {
    hosts: &'a str,
    database: Option<&'a str>,
    login: Login,
}

#[derive(Default)]
struct Login {
    user: Option<String>,
    password: Option<String>,
}

fn single(rest: &str, tls: bool) -> Result<Address, ConfigError> {
    let Parts {
        hosts,
        database,
        login,
    } = parts(rest)?;
    if hosts.contains(',') {
        return Err(wrong(format_args!(
            "got several hosts, allowed is one (or `redis-cluster://` for the nodes of a cluster)"
        )));
    }
    let database = database.map_or(Ok(0), number_of_database)?;
    Ok(Address::server(info(host(hosts, tls)?, &login, database)))
}

fn cluster(rest: &str, tls: bool) -> Result<Address, ConfigError> {
    let Parts {
        hosts,
        database,
        login,
    } = parts(rest)?;
    if let Some(database) = database.filter(|database| *database != "0") {
        return Err(wrong(format_args!(
            "got database `{database}`, allowed is none: a cluster has only database 0"
        )));
    }
    let nodes = hosts
        .split(',')
        .map(|node| Ok(info(host(node, tls)?, &login, 0)));
    Ok(Address {
        nodes: nodes.collect::<Result<_, ConfigError>>()?,
        is_cluster: true,
    })
}

fn unix(rest: &str) -> Result<Address, ConfigError> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    if !path.starts_with('/') {
        return Err(wrong(format_args!(
            "got no absolute path of a socket, allowed is `redis+unix:///PATH`"
        )));
    }
    let (mut database, mut login) = (0, Login::default());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        match key {
            "db" => database = number_of_database(value)?,
            "user" => login.user = Some(decode("user", value)?),
            "pass" => login.password = Some(decode("password", value)?),
            _ => {
                return Err(wrong(format_args!(
                    "got the option `{key}`, allowed are `db`, `user` and `pass`"
                )));
            }
        }
    }
    let path = decode("path", path)?;
    Ok(Address::server(info(
        ConnectionAddr::Unix(path.into()),
        &login,
        database,
    )))
}

fn parts(rest: &str) -> Result<Parts<'_>, ConfigError> {
    // A password may itself hold `@`, `/` or `?`: all before the last `@` is the login, so that no
    // part of it is taken for a host and shown.
    let (login, rest) = match rest.rsplit_once('@') {
        Some((login, rest)) => (Some(login), rest),
        None => (None, rest),
    };
    if rest.contains(['?', '#']) {
        return Err(wrong(format_args!(
            "got options, allowed are none in the URL: they belong into the table `[redis]`"
        )));
    }
    let (hosts, database) = match rest.split_once('/') {
        Some((hosts, database)) => (hosts, Some(database).filter(|text| !text.is_empty())),
        None => (rest, None),
    };
    let login = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
        None => Login::default(),
        Some((user, password)) => Login {
            user: Some(decode("user", user)?).filter(|user| !user.is_empty()),
            password: Some(decode("password", password)?).filter(|text| !text.is_empty()),
        },
    };
    if login.user.is_some() && login.password.is_none() {
        return Err(wrong(format_args!(
            "got a user without a password, allowed is `USER:PASSWORD@` or `:PASSWORD@`"
        )));
    }
    Ok(Parts {
        hosts,
        database,
        login,
    })
}

fn host(text: &str, tls: bool) -> Result<ConnectionAddr, ConfigError> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, port)) => (
                host,
                port.strip_prefix(':').or(port.is_empty().then_some("")),
            ),
            None => (rest, None),
        },
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, Some("")),
        },
    };
    if host.is_empty() {
        return Err(wrong(format_args!("got no host, allowed is {FORMS}")));
    }
    if let Some(bad) = host
        .chars()
        .find(|c| !(c.is_alphanumeric() || "-._:%".contains(*c)))
    {
        return Err(wrong(format_args!(
            "got `{bad}` in a host, allowed is a name, an IPv4 address or an IPv6 address in `[…]`"
        )));
    }
    let number = match port {
        Some("") => Some(DEFAULT_PORT),
        port => port
            .and_then(|port| port.parse().ok())
            .filter(|port| *port != 0),
    };
    let Some(port) = number else {
        return Err(wrong(format_args!(
            "got port `{}`, allowed is 1 to 65535",
            port.unwrap_or(text)
        )));
    };
    let host = host.to_owned();
    Ok(if tls {
        ConnectionAddr::TcpTls {
            host,
            port,
            insecure: false,
            tls_params: None,
        }
    } else {
        ConnectionAddr::Tcp(host, port)
    })
}

fn number_of_database(text: &str) -> Result<i64, ConfigError> {
    text.parse::<u32>().map(i64::from).map_err(|_| {
        wrong(format_args!(
            "got database `{text}`, allowed is a number from 0 on"
        ))
    })
}

fn decode(what: &str, text: &str) -> Result<String, ConfigError> {
    percent_decode_str(text)
        .decode_utf8()
        .map(Into::into)
        .map_err(|_| wrong(format_args!("the {what} is not percent-encoded UTF-8")))
}

fn info(addr: ConnectionAddr, login: &Login, database: i64) -> ConnectionInfo {
    // With RESP3 the client notices at once that a connection is lost, not at the next call.
    let mut redis = RedisConnectionInfo::default()
        .set_db(database)
        .set_protocol(ProtocolVersion::RESP3)
        .set_lib_name("goqueue", env!("CARGO_PKG_VERSION"));
    if let Some(user) = &login.user {
        redis = redis.set_username(user);
    }
    if let Some(password) = &login.password {
        redis = redis.set_password(password);
    }
    #[expect(clippy::expect_used, reason = "an address converts by being wrapped")]
    let info = addr
        .into_connection_info()
        .expect("an address is connection info");
    info.set_tcp_settings(TcpSettings::default().set_nodelay(true))
        .set_redis_settings(redis)
}

/// Never with a secret in it.
fn wrong(problem: fmt::Arguments<'_>) -> ConfigError {
    ConfigError::new("driver", problem.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Address, String> {
        Address::parse(&DriverUrl::new(url)).map_err(|error| error.to_string())
    }

    fn login(address: &Address) -> (Option<&str>, Option<&str>, i64) {
        let redis = address.nodes[0].redis_settings();
        (redis.username(), redis.password(), redis.db())
    }

    #[test]
    fn every_form_is_read() {
        let cases = [
            ("redis://localhost", "localhost:6379", (None, None, 0)),
            (
                "redis://:pw@10.0.0.1:7000/3",
                "10.0.0.1:7000",
                (None, Some("pw"), 3),
            ),
            (
                "rediss://me:p%40w@h/",
                "h:6379",
                (Some("me"), Some("p@w"), 0),
            ),
            (
                "redis://me:a/b?c@d@h:1/2",
                "h:1",
                (Some("me"), Some("a/b?c@d"), 2),
            ),
            ("redis://[::1]:6380", "::1:6380", (None, None, 0)),
            (
                "redis-cluster://me:pw@a:1,b:2,c",
                "a:1,b:2,c:6379",
                (Some("me"), Some("pw"), 0),
            ),
            (
                "redis+unix:///run/r.sock?db=2&user=me&pass=p%26w",
                "/run/r.sock",
                (Some("me"), Some("p&w"), 2),
            ),
        ];
        for (url, shown, expected) in cases {
            let address = parse(url).unwrap();
            assert_eq!(
                (address.to_string().as_str(), login(&address)),
                (shown, expected)
            );
        }
        assert!(parse("rediss-cluster://a,b").unwrap().has_tls());
        assert!(!parse("redis://a").unwrap().has_tls());
    }

    #[test]
    fn each_wrong_part_is_named_and_no_secret_is_shown() {
        let cases = [
            ("redis://", "got no host"),
            ("redis://:hunter2@", "got no host"),
            (
                "redis://:hunter2@h:port",
                "got port `port`, allowed is 1 to 65535",
            ),
            (
                "redis://:hunter2@h:0",
                "got port `0`, allowed is 1 to 65535",
            ),
            (
                "redis://:hunter2@h:70000",
                "got port `70000`, allowed is 1 to 65535",
            ),
            (
                "redis://:hunter2@h/one",
                "got database `one`, allowed is a number from 0 on",
            ),
            (
                "redis://:hunter2@h/-1",
                "got database `-1`, allowed is a number from 0 on",
            ),
            ("redis://:hunter2@a,b", "got several hosts, allowed is one"),
            ("redis://hunter2@h", "got a user without a password"),
            (
                "redis://:hunter2@h?db=1",
                "got options, allowed are none in the URL",
            ),
            (
                "redis://:hunter2%FF@h",
                "the password is not percent-encoded UTF-8",
            ),
            ("redis://:hunter2@a b", "got ` ` in a host"),
            ("redis://[::1", "got port `[::1`"),
            (
                "redis-cluster://:hunter2@a,b/1",
                "got database `1`, allowed is none",
            ),
            ("redis-cluster://:hunter2@a,,b", "got no host"),
            (
                "redis+unix://run/r.sock?pass=hunter2",
                "got no absolute path of a socket",
            ),
            (
                "redis+unix:///r.sock?pass=hunter2&dbb=1",
                "got the option `dbb`, allowed are",
            ),
            ("redis+unix:///r.sock?pass=hunter2&db=x", "got database `x`"),
            (
                "amqp://:hunter2@h",
                "got `amqp://***@h`, allowed is `redis://",
            ),
        ];
        for (url, expected) in cases {
            let error = parse(url).unwrap_err();
            assert!(
                error.starts_with(&format!("config key `driver`: {expected}")),
                "{error}"
            );
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let text = format!("{:?}", parse("redis://me:hunter2@h/1").unwrap());
        assert_eq!(text, "\"h:6379\"");
    }
}
