use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// The workspace's own commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) task: Task,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Start the services that the tests need, run `cargo test`, stop them
    ///
    /// A service whose variable (GOQUEUE_TEST_REDIS_URL and so on) already has a URL is not
    /// started. The exit code is that of cargo.
    Test {
        /// Arguments for `cargo test`, as in `cargo xtask test -- -p goqueue-core lease`
        #[arg(last = true, value_name = "ARGS")]
        args: Vec<String>,
    },
    /// Start services by name, run a command with their URLs in its environment, stop them
    With {
        /// The services
        #[arg(required = true, value_name = "SERVICE")]
        services: Vec<String>,
        /// The command and its arguments
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Kill, freeze and cut off servers, lines and processes under load, and check the contract
    ///
    /// Takes the arguments of the program `goqueue-chaos`; `cargo xtask chaos --help` lists them. It
    /// starts its own servers, which have to be installed: `cargo xtask test` sees to that.
    #[command(disable_help_flag = true)]
    Chaos {
        /// Arguments for it, as in `cargo xtask chaos --driver redis --seeds 20`
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGS"
        )]
        args: Vec<String>,
    },
    /// Check formatting, lints, documentation, licences and every feature of the facade
    Check(CheckArgs),
    /// Everything that is checked besides the tests, as `.ci/run` does
    Ci(CheckArgs),
    #[command(name = "__echo-server", hide = true)]
    EchoServer {
        #[arg(long)]
        port: u16,
    },
    #[command(name = "__redis-cluster", hide = true)]
    RedisCluster {
        #[arg(long)]
        port: u16,
        #[arg(long)]
        dir: PathBuf,
    },
    #[command(name = "__sqs", hide = true)]
    Sqs {
        /// One of the two implementations
        name: String,
        /// Install it instead of becoming it
        #[arg(long)]
        install: bool,
        #[arg(long, required_unless_present = "install")]
        port: Option<u16>,
        #[arg(long, required_unless_present = "install")]
        dir: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Also look for known vulnerabilities. Fetches the advisory database from the network, and
    /// fails where that cannot be reached
    #[arg(long)]
    pub(crate) advisories: bool,
}
