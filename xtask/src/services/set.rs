use std::env;
use std::path::{Path, PathBuf};

use futures_util::future::{join_all, try_join_all};

use super::{Error, Instance, Service};

/// The services of one run: those we started, and those whose URL we were given.
#[derive(Debug)]
pub struct Services {
    running: Vec<Instance>,
    given: Vec<Service>,
}

/// What is left of the services of a run.
#[derive(Debug, Default)]
pub struct Remains {
    /// The logs that were kept.
    pub logs: Vec<PathBuf>,
    /// What went wrong, in words.
    pub problems: Vec<String>,
}

impl Services {
    /// Splits `wanted` into those to start and those whose variable already has a URL.
    #[must_use]
    pub fn split(wanted: Vec<Service>) -> (Vec<Service>, Vec<Service>) {
        let has_no_url =
            |service: &Service| env::var_os(&service.variable).is_none_or(|url| url.is_empty());
        wanted.into_iter().partition(has_no_url)
    }

    /// Starts all of `to_start` at once, with their data and logs below `root`. When one fails or
    /// the caller stops waiting, the others are killed.
    ///
    /// # Errors
    ///
    /// The first failure of [`Instance::start`].
    pub async fn start(
        to_start: &[Service],
        given: Vec<Service>,
        root: &Path,
    ) -> Result<Self, Error> {
        let starting = to_start
            .iter()
            .map(|service| Instance::start(service, root));
        Ok(Self {
            running: try_join_all(starting).await?,
            given,
        })
    }

    /// The variables that tell tests where the services are.
    pub fn environment(&self) -> impl Iterator<Item = (&str, String)> {
        self.running.iter().flat_map(|instance| {
            let service = instance.service();
            let also = service
                .also
                .iter()
                .map(|(name, value)| (&**name, value.clone()));
            also.chain([(service.variable(), instance.url())])
        })
    }

    /// One line for each service. A URL that was given may hold a password, so it is not shown.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        let running = self.running.iter().map(|instance| {
            format!(
                "{}: started for this run at {}",
                instance.service().name(),
                instance.url()
            )
        });
        let given = self
            .given
            .iter()
            .map(|service| format!("{}: the one of {}", service.name(), service.variable()));
        running.chain(given).collect()
    }

    /// Stops what was started. The logs are kept when `keep_logs`, and the log of a service that
    /// had ended by itself in any case.
    pub async fn stop(self, keep_logs: bool) -> Remains {
        let stops = self.running.into_iter().map(|mut instance| async move {
            let mut remains = Remains::default();
            let name = instance.service().name().to_owned();
            let log = instance.place().log().to_owned();
            let ended = instance.ended().ok().flatten();
            if let Some(status) = ended {
                remains
                    .problems
                    .push(format!("`{name}` ended during the run ({status})"));
            }
            let keep_log = keep_logs || ended.is_some();
            if let Err(error) = instance.stop(keep_log).await {
                remains.problems.push(error.to_string());
            }
            if keep_log {
                remains.logs.push(log);
            }
            remains
        });
        let mut all = Remains::default();
        for remains in join_all(stops).await {
            all.logs.extend(remains.logs);
            all.problems.extend(remains.problems);
        }
        all
    }
}
