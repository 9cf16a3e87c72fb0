use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::service::Program;
use super::{Error, Place, Service, free_port};
use crate::process::Group;

const PROBE_EVERY: Duration = Duration::from_millis(25);
const PROBE_PATIENCE: Duration = Duration::from_secs(2);
const PORT_TRIES: usize = 3;

/// A server that runs and answers. Dropping it kills it and leaves its log.
#[derive(Debug)]
pub struct Instance {
    service: Service,
    place: Place,
    port: u16,
    group: Group,
}

impl Instance {
    /// Starts `service` on a free port, with its data and log below `root`, and waits until it is
    /// ready. When somebody else takes the port first, another one is tried.
    ///
    /// # Errors
    ///
    /// When the program cannot be started, ends, or is not ready in time; the last two with the
    /// end of its log.
    pub async fn start(service: &Service, root: &Path) -> Result<Self, Error> {
        let mut tries = 1;
        loop {
            match Self::start_once(service, root).await {
                Err(Error::Ended { tail, .. }) if tries < PORT_TRIES && port_was_taken(&tail) => {
                    tries += 1;
                }
                result => return result,
            }
        }
    }

    async fn start_once(service: &Service, root: &Path) -> Result<Self, Error> {
        let failed = |what| {
            move |source| Error::Io {
                service: service.name.clone(),
                what,
                source,
            }
        };
        let place = Place::create(root, &service.name).map_err(failed("make its directory"))?;
        let port = free_port().map_err(failed("find a free port"))?;
        File::create(place.log()).map_err(failed("make its log"))?;
        let spawn = |program: &Program| -> io::Result<Group> {
            let log = File::options().append(true).open(place.log())?;
            let also_log = log.try_clone()?;
            let mut command = program.command(port, &place);
            command.stdout(log).stderr(also_log);
            Group::spawn(command)
        };

        for program in &service.setup {
            let mut group = spawn(program).map_err(failed("start what sets it up"))?;
            let status = group
                .wait()
                .await
                .map_err(failed("wait for what sets it up"))?;
            if !status.success() {
                return Err(Error::Setup {
                    service: service.name.clone(),
                    program: program.path.display().to_string(),
                    status,
                    log: place.log().to_owned(),
                    tail: place.log_tail(),
                });
            }
        }
        let group = spawn(&service.server).map_err(failed("start its program"))?;
        let mut instance = Self {
            service: service.clone(),
            place,
            port,
            group,
        };
        instance.until_ready().await?;
        Ok(instance)
    }

    async fn until_ready(&mut self) -> Result<(), Error> {
        let started = Instant::now();
        loop {
            let left = self.service.ready_within.saturating_sub(started.elapsed());
            let answer = self
                .service
                .probe
                .ask(self.port, left.min(PROBE_PATIENCE))
                .await;
            // Asked after the probe: had the program lost its port to a stranger, the stranger
            // would have answered.
            if let Some(status) = self
                .ended()
                .map_err(|source| self.error("wait for it", source))?
            {
                let (log, tail) = (self.place.log().to_owned(), self.place.log_tail());
                return Err(Error::Ended {
                    service: self.service.name.clone(),
                    status,
                    log,
                    tail,
                });
            }
            let Err(reason) = answer else { return Ok(()) };
            if started.elapsed() >= self.service.ready_within {
                return Err(Error::NotReady {
                    service: self.service.name.clone(),
                    after: self.service.ready_within,
                    reason: reason.to_string(),
                    log: self.place.log().to_owned(),
                    tail: self.place.log_tail(),
                });
            }
            sleep(PROBE_EVERY).await;
        }
    }

    /// The description it was started from.
    #[must_use]
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// The URL that tests use.
    #[must_use]
    pub fn url(&self) -> String {
        self.service.url_on(self.port)
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process id, or `None` once it has ended.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.group.id()
    }

    /// Where its data and log are.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// How it ended, or `None` while it runs.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.group.try_wait()
    }

    /// Stops it: SIGTERM, then SIGKILL when it does not end in time. Its data is removed, and its
    /// log too unless `keep_log`. Returns how it ended.
    ///
    /// # Errors
    ///
    /// When it cannot be waited for or its directory cannot be removed.
    pub async fn stop(mut self, keep_log: bool) -> Result<ExitStatus, Error> {
        let stopped = self.group.stop(self.service.stop_within).await;
        let status = stopped.map_err(|source| self.error("stop it", source))?;
        let cleared = self.place.clear(keep_log);
        cleared.map_err(|source| self.error("remove its directory", source))?;
        Ok(status)
    }

    fn error(&self, what: &'static str, source: io::Error) -> Error {
        Error::Io {
            service: self.service.name.clone(),
            what,
            source,
        }
    }
}

fn port_was_taken(log: &str) -> bool {
    log.to_lowercase().contains("address already in use")
}
