//! What each command does.

mod config;
mod dead;
mod doctor;
mod enqueue;
mod log;
mod peek;
mod purge;
mod queues;
mod stats;

use clap::CommandFactory;

use crate::{
    args::{Cli, Command, ConfigCommand, Global, dead::Dead},
    backend::{self, Backend},
    failure::Result,
    output,
};

/// Carries out the command line.
pub(crate) async fn run(cli: Cli) -> Result {
    let global = &cli.global;
    match cli.command {
        Command::Migrate => migrate(global).await,
        Command::Config(ConfigCommand::Check(output)) => config::check(global, output),
        Command::Doctor(output) => doctor::run(global, output).await,
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "goqueue", &mut text);
            output::text(&String::from_utf8_lossy(&text))
        }
        Command::Log(args) => log::run(global, args).await,
        command => {
            if let Command::Dead(dead) = &command {
                dead.check()?;
            }
            let backend = Backend::connect(global).await?;
            let done = on_backend(&backend, command).await;
            backend.close().await;
            done
        }
    }
}

async fn on_backend(backend: &Backend, command: Command) -> Result {
    match command {
        Command::Queues(output) => queues::run(backend, output).await,
        Command::Stats(args) => stats::run(backend, &args).await,
        Command::Peek(args) => peek::run(backend, &args).await,
        Command::Enqueue(args) => enqueue::run(backend, args).await,
        Command::Purge(args) => purge::run(backend, &args).await,
        Command::Dead(Dead::List(args)) => dead::list::run(backend, &args).await,
        Command::Dead(Dead::Show(args)) => dead::show::run(backend, &args).await,
        Command::Dead(Dead::Retry(args)) => dead::steer::retry(backend, args).await,
        Command::Dead(Dead::Delete(args)) => dead::steer::delete(backend, args).await,
        Command::Dead(Dead::Purge(args)) => dead::steer::purge(backend, args).await,
        // These need no backend, and have been carried out.
        Command::Migrate
        | Command::Config(_)
        | Command::Doctor(_)
        | Command::Log(_)
        | Command::Completions { .. } => Ok(()),
    }
}

async fn migrate(global: &Global) -> Result {
    let config = backend::config(global)?;
    match goqueue::driver::migrate(&config).await {
        Ok(done) if done.from == done.to => output::text(&format!(
            "the tables are of version {}: nothing to do\n",
            done.to
        )),
        Ok(done) => output::text(&format!(
            "the tables were of version {}, and are of version {} now\n",
            done.from, done.to
        )),
        // A deployment says `goqueue migrate` whatever the URL is.
        Err(goqueue::Error::Unsupported { driver, .. }) => output::text(&format!(
            "driver `{driver}` has no tables to bring up to date: nothing to do\n"
        )),
        Err(error) => Err(error.into()),
    }
}
