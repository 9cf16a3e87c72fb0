//! The message log: its topics, messages, groups, dead letters, offsets and leases.

mod dead;
mod json;
mod leases;
mod messages;
mod offsets;
mod topics;

use goqueue::log::{Log, LogAdmin, TopicName};

use crate::{
    args::{
        Global,
        log::{Dead, Leases, Log as Args, Offsets},
    },
    backend,
    failure::{Failure, Result},
};

pub(super) async fn run(global: &Global, args: Args) -> Result {
    let log = connect(global).await?;
    let done = on_log(&log.admin(), args).await;
    // What the farewell answers changes nothing any more.
    let _ = log.close().await;
    done
}

async fn connect(global: &Global) -> Result<Log> {
    let log = Log::connect(&backend::config(global)?).await;
    let log = log.map_err(|error| {
        Failure::from(error).instead(
            "the log is on MySQL: name one, `--driver mysql://…`; the queues of this backend are at \
             `goqueue queues`",
        )
    })?;
    let capabilities = log.capabilities();
    if !capabilities.durable {
        return Err(backend::inside_one_process(capabilities.driver));
    }
    Ok(log)
}

async fn on_log(admin: &LogAdmin, args: Args) -> Result {
    match args {
        Args::Topics(output) => topics::list(admin, output).await,
        Args::Stats(args) => topics::stats(admin, &args).await,
        Args::Purge(args) => topics::purge(admin, &args).await,
        Args::Messages(args) => messages::list(admin, &args).await,
        Args::Show(args) => messages::show(admin, &args).await,
        Args::Delete(args) => messages::delete(admin, &args).await,
        Args::Lag(args) => offsets::lag(admin, &args).await,
        Args::Dead(Dead::List(args)) => dead::list(admin, &args).await,
        Args::Dead(Dead::Requeue(args)) => dead::requeue(admin, args).await,
        Args::Dead(Dead::Purge(args)) => dead::purge(admin, &args).await,
        Args::Offsets(Offsets::List(args)) => offsets::list(admin, &args).await,
        Args::Offsets(Offsets::Reset(args)) => offsets::reset(admin, &args).await,
        Args::Leases(Leases::List(args)) => leases::list(admin, &args).await,
        Args::Leases(Leases::Stale(args)) => leases::stale(admin, &args).await,
        Args::Leases(Leases::Release(args)) => leases::release(admin, &args).await,
    }
}

/// Notes on the standard error that a topic has never been used.
async fn note_unknown(admin: &LogAdmin, topic: &TopicName) -> Result {
    let topics = admin.topics().await?;
    let names: Vec<&str> = topics.iter().map(|info| info.topic.as_str()).collect();
    backend::note_unknown("topic", topic.as_str(), &names, "goqueue log topics");
    Ok(())
}
