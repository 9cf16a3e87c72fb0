//! The processes of a run, their lines to the server, and what is done to them.

use std::{
    fs::File,
    io,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use goqueue_conformance::server::Proxy;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    process::{Child, Command},
    time::timeout,
};

use crate::{
    actor::{Planted, Role},
    backend::Backend,
    ledger::{Event, Ledger},
    schedule::{Cast, Fault},
};

/// How long an actor that was told to stop may take.
const FAREWELL: Duration = Duration::from_secs(30);

/// How the actors are started.
#[derive(Clone, Debug)]
pub struct Script {
    /// The program `goqueue-chaos`.
    pub program: PathBuf,
    /// The folder of the ledgers.
    pub folder: PathBuf,
    /// What the producers' choices are made of.
    pub seed: u64,
    /// A fault of the driver that is to be found.
    pub planted: Option<Planted>,
}

/// Everything that can be broken.
#[derive(Debug)]
pub struct Stage {
    script: Script,
    ledger: Ledger,
    backend: Box<dyn Backend>,
    actors: Vec<Actor>,
}

/// One process after another in the same place, each with a name of its own.
#[derive(Debug)]
struct Actor {
    role: Role,
    number: usize,
    life: u32,
    line: Proxy,
    process: Option<Child>,
}

impl Actor {
    fn name(&self) -> String {
        format!("{}-{}-{}", self.role, self.number, self.life)
    }

    fn signal(&self, signal: Signal) {
        let id = self.process.as_ref().and_then(Child::id);
        if let Some(id) = id.and_then(|id| i32::try_from(id).ok()) {
            // One that has ended by itself is noticed in the end.
            let _ = kill(Pid::from_raw(id), signal);
        }
    }
}

impl Stage {
    /// Starts everybody.
    ///
    /// # Errors
    /// When a process cannot be started.
    ///
    /// # Panics
    /// When the system has no ports left.
    pub async fn open(
        script: Script,
        backend: Box<dyn Backend>,
        ledger: Ledger,
        cast: Cast,
    ) -> io::Result<Self> {
        let mut stage = Self {
            script,
            ledger,
            backend,
            actors: Vec::new(),
        };
        let server = format!("127.0.0.1:{}", stage.backend.server().port());
        for number in 0..cast.len() {
            let role = if number < cast.producers {
                Role::Producer
            } else {
                Role::Worker
            };
            stage.actors.push(Actor {
                role,
                number,
                life: 0,
                line: Proxy::to(&server, stage.backend.call()).await,
                process: None,
            });
            stage.start(number)?;
        }
        Ok(stage)
    }

    fn start(&mut self, number: usize) -> io::Result<()> {
        let actor = &mut self.actors[number];
        actor.life += 1;
        let (name, script) = (actor.name(), &self.script);
        let seed = script.seed ^ (u64::from(actor.life) << 32) ^ ((number as u64) << 48);
        let log = File::create(script.folder.join(format!("{name}.log")))?;
        let mut command = Command::new(&script.program);
        command
            .arg("play")
            .args(["--role", &actor.role.to_string(), "--name", &name])
            .args(["--seed", &seed.to_string(), "--folder"])
            .arg(&script.folder)
            .args(["--config", &self.backend.config(actor.line.port())]);
        if let Some(planted) = script.planted {
            command.args(["--planted", &planted.to_string()]);
        }
        // The end of its standard input tells it to stop, also when this process is killed.
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true);
        actor.process = Some(command.spawn()?);
        Ok(())
    }

    /// Breaks something.
    ///
    /// # Errors
    /// When a process that was killed cannot be waited for.
    pub async fn breaks(&mut self, fault: Fault) -> io::Result<()> {
        self.ledger.note(Event::Broken {
            target: self.target(fault),
            fault: format!("{fault:?}"),
        });
        match fault {
            Fault::Kill(who) => {
                if let Some(mut process) = self.actors[who].process.take() {
                    process.kill().await?;
                }
            }
            Fault::Stop(who) => self.actors[who].signal(Signal::SIGSTOP),
            Fault::KillServer => self.backend.server().kill(),
            Fault::StopServer => self.backend.server().freeze(),
            Fault::Cut(who) => self.actors[who].line.cut(),
            Fault::LoseCalls(who, calls) => self.actors[who].line.fail_next(calls),
            Fault::LoseReplies(who, calls) => self.actors[who].line.lose_replies(calls),
            Fault::Tear(who, calls) => self.actors[who].line.tear_next(calls),
            Fault::Slow(who, millis) => {
                self.actors[who]
                    .line
                    .slow_down(Duration::from_millis(millis));
            }
        }
        Ok(())
    }

    /// Mends it again.
    ///
    /// # Errors
    /// When a process cannot be started.
    pub async fn mends(&mut self, fault: Fault) -> io::Result<()> {
        let target = self.target(fault);
        match fault {
            Fault::Kill(who) => self.start(who)?,
            Fault::Stop(who) => self.actors[who].signal(Signal::SIGCONT),
            Fault::KillServer => self.backend.resume().await,
            Fault::StopServer => self.backend.server().thaw(),
            Fault::Cut(who) => self.actors[who].line.restore(),
            Fault::LoseCalls(who, _) => self.actors[who].line.fail_next(0),
            Fault::LoseReplies(who, _) => self.actors[who].line.lose_replies(0),
            Fault::Tear(who, _) => self.actors[who].line.tear_next(0),
            Fault::Slow(who, _) => self.actors[who].line.slow_down(Duration::ZERO),
        }
        self.ledger.note(Event::Mended { target });
        Ok(())
    }

    fn target(&self, fault: Fault) -> String {
        let target = fault.target();
        target.map_or_else(|| "server".into(), |who| self.actors[who].name())
    }

    /// The configuration of a queue that reaches the server without a line in between.
    pub fn config(&mut self) -> String {
        let port = self.backend.server().port();
        self.backend.config(port)
    }

    /// Tells everybody of a role to stop, and waits until they have.
    ///
    /// # Errors
    /// Names the process that failed or did not stop.
    pub async fn dismiss(&mut self, role: Role) -> io::Result<()> {
        for actor in self.actors.iter_mut().filter(|actor| actor.role == role) {
            let name = actor.name();
            let Some(mut process) = actor.process.take() else {
                continue;
            };
            drop(process.stdin.take());
            let status = match timeout(FAREWELL, process.wait()).await {
                Ok(status) => status?,
                Err(_) => return Err(io::Error::other(format!("{name} does not stop"))),
            };
            failed(&name, status)?;
        }
        Ok(())
    }
}

fn failed(name: &str, status: ExitStatus) -> io::Result<()> {
    if status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("{name} ended with {status}")))
}
