use std::path::PathBuf;

/// Which server the tests of this binary are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    MariaDb,
    Mysql,
}

impl Kind {
    /// MySQL in the binary that has its name.
    pub fn of_this_binary() -> Self {
        if module_path!().starts_with("mysql9::") {
            Self::Mysql
        } else {
            Self::MariaDb
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadb",
            Self::Mysql => "mysql9",
        }
    }

    /// The server that all tests share.
    pub fn url(self) -> String {
        let variable = match self {
            Self::MariaDb => "GOQUEUE_TEST_MYSQL_URL",
            Self::Mysql => "GOQUEUE_TEST_MYSQL9_URL",
        };
        std::env::var(variable).unwrap_or_else(|_| {
            panic!(
                "{variable} is not set: `cargo xtask test` starts the server and sets it; it is a \
                 URL with or without a database, such as mysql://root@127.0.0.1:3306"
            )
        })
    }

    pub fn program(self) -> PathBuf {
        match self {
            Self::MariaDb => "mariadbd".into(),
            Self::Mysql => std::env::var_os("GOQUEUE_TEST_MYSQLD")
                .map_or_else(|| "mysqld".into(), PathBuf::from),
        }
    }

    pub fn hint(self) -> &'static str {
        match self {
            Self::MariaDb => "`apt-get install mariadb-server` brings what a test needs",
            Self::Mysql => "`cargo xtask test` brings a `mysqld`, or put one into the PATH",
        }
    }

    /// What makes it quick to start and small.
    pub fn args(self) -> &'static [&'static str] {
        match self {
            Self::MariaDb => &[],
            Self::Mysql => &[
                "--mysqlx=OFF",
                "--skip-log-bin",
                "--performance-schema=OFF",
                "--innodb-redo-log-capacity=32M",
                "--secure-file-priv=NULL",
                // What is committed outlives the process all the same, though not the machine.
                "--innodb-flush-log-at-trx-commit=2",
            ],
        }
    }
}
