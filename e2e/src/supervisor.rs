//! Keeps the parts of a box: starts, stops and signals them on order, and starts again what ends by itself.
//!
//! Orders are lines on a unix socket: `start NAME`, `stop NAME`, `signal NAME NUMBER`, `status`. Each is answered by one line.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde::{Deserialize, Serialize};

use crate::component::Component;
use crate::files::{RunDir, tail};

/// How long a part may take to end on SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(20);
/// How long after its end a part is started again.
const RESTART_AFTER: Duration = Duration::from_secs(1);

/// What the supervisor says about one part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Whether it is meant to run.
    pub wanted: bool,
    /// Its process in the box, while it runs.
    pub pid: Option<i32>,
    /// How often it ended by itself.
    pub failures: u32,
    /// How it last ended.
    pub last_exit: Option<String>,
}

#[derive(Default)]
struct Part {
    state: State,
    again_at: Option<Instant>,
}

/// The parts of a box.
pub struct Supervisor {
    run: RunDir,
    parts: BTreeMap<String, Part>,
}

impl Supervisor {
    /// No parts yet.
    pub fn new(run: RunDir) -> Self {
        Self { run, parts: BTreeMap::new() }
    }

    /// Collects what has ended, and starts again what should run.
    pub fn tick(&mut self) {
        self.reap();
        let now = Instant::now();
        let due: Vec<String> =
            self.parts.iter().filter(|(_, p)| p.again_at.is_some_and(|t| t <= now)).map(|(n, _)| n.clone()).collect();
        for name in due {
            if let Err(error) = self.start(&name) {
                println!("{name}: {error:#}");
            }
        }
    }

    /// Reads one order from the connection and answers it.
    pub fn serve(&mut self, stream: &UnixStream) -> Result<()> {
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.set_write_timeout(Some(Duration::from_secs(2)))?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        let answer = match self.obey(line.trim()) {
            Ok(text) => format!("ok {text}\n"),
            Err(error) => format!("error {error:#}\n").replace('\n', " ") + "\n",
        };
        let mut out = stream;
        out.write_all(answer.as_bytes())?;
        Ok(())
    }

    fn obey(&mut self, order: &str) -> Result<String> {
        let words: Vec<&str> = order.split_whitespace().collect();
        match words[..] {
            ["status"] => {
                self.reap();
                Ok(serde_json::to_string(&self.parts.iter().map(|(n, p)| (n, &p.state)).collect::<BTreeMap<_, _>>())?)
            }
            ["start", name] => self.start(name).map(|()| String::new()),
            ["stop", name] => self.stop(name).map(|()| String::new()),
            ["signal", name, number] => self.signal(name, number.parse()?).map(|()| String::new()),
            _ => bail!("no such order: {order:?}"),
        }
    }

    fn start(&mut self, name: &str) -> Result<()> {
        self.reap();
        let part = self.parts.entry(name.to_string()).or_default();
        part.again_at = None;
        if part.state.pid.is_some() {
            return Ok(());
        }
        let spec = Component::load(&self.run, name)?;
        let log = OpenOptions::new().create(true).append(true).open(self.run.log(name))?;
        let path = std::env::var("PATH").unwrap_or_default();
        let child = Command::new(&spec.program)
            .args(&spec.args)
            .env_clear()
            .env("PATH", format!("{path}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"))
            .env("HOME", "/tmp")
            .envs(&spec.env)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", spec.program))?;
        part.state.wanted = true;
        part.state.pid = Some(child.id().cast_signed());
        println!("{name}: started");
        Ok(())
    }

    fn stop(&mut self, name: &str) -> Result<()> {
        let part = self.parts.get_mut(name).ok_or_else(|| anyhow!("{name} was never started"))?;
        part.state.wanted = false;
        part.again_at = None;
        let asked = Instant::now();
        let mut signal = Signal::TERM;
        while let Some(pid) = self.pid(name) {
            let _ = kill_process(pid, signal);
            let _ = kill_process(pid, Signal::CONT);
            let limit = if signal == Signal::TERM { GRACE } else { Duration::from_secs(60) };
            while self.pid(name).is_some() && asked.elapsed() < limit {
                std::thread::sleep(Duration::from_millis(5));
                self.reap();
            }
            if signal == Signal::KILL && self.pid(name).is_some() {
                bail!("{name} does not end");
            }
            signal = Signal::KILL;
        }
        println!("{name}: stopped");
        Ok(())
    }

    fn signal(&mut self, name: &str, number: i32) -> Result<()> {
        let signal = Signal::from_named_raw(number).ok_or_else(|| anyhow!("no signal {number}"))?;
        let pid = self.pid(name).ok_or_else(|| anyhow!("{name} does not run"))?;
        kill_process(pid, signal)?;
        Ok(())
    }

    fn pid(&self, name: &str) -> Option<Pid> {
        Pid::from_raw(self.parts.get(name)?.state.pid?)
    }

    /// Collects every ended process, the orphans of the box too: this process is their parent.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = waitpid(None, WaitOptions::NOHANG) {
            let raw = pid.as_raw_nonzero().get();
            let Some((name, part)) = self.parts.iter_mut().find(|(_, p)| p.state.pid == Some(raw)) else {
                continue;
            };
            let how = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => format!("exit code {code}"),
                (_, Some(signal)) => format!("signal {signal}"),
                _ => "unknown".into(),
            };
            println!("{name}: ended with {how}");
            part.state.pid = None;
            part.state.last_exit = Some(how);
            if part.state.wanted {
                part.state.failures += 1;
                part.again_at = Some(Instant::now() + RESTART_AFTER);
            }
        }
    }
}

/// Sends one order to the box at `run` and returns the answer.
pub fn order(run: &RunDir, order: &str) -> Result<String> {
    let socket = run.control_socket();
    let mut stream =
        UnixStream::connect(&socket).with_context(|| format!("no cluster answers at {}", socket.display()))?;
    stream.set_read_timeout(Some(GRACE + Duration::from_secs(70)))?;
    stream.write_all(format!("{order}\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer)?;
    match answer.trim_end().split_once(' ') {
        Some(("ok", text)) => Ok(text.to_string()),
        Some(("error", text)) => bail!("{order}: {text}"),
        _ if answer.trim_end() == "ok" => Ok(String::new()),
        _ => bail!("{order}: the cluster's first process gave no answer"),
    }
}

/// The state of every part of the box at `run`.
pub fn status(run: &RunDir) -> Result<BTreeMap<String, State>> {
    Ok(serde_json::from_str(&order(run, "status")?)?)
}

/// Fails where a part of the box does not stay up, with the end of its log: waiting longer would not help.
pub fn check_parts(run: &RunDir) -> Result<()> {
    for (name, state) in status(run)? {
        if state.failures >= 4 {
            let log = run.log(&name);
            let text = tail(&log, 12);
            let exit = state.last_exit.unwrap_or_default();
            anyhow::bail!("{name} does not stay up ({exit}), see {}:\n{text}", log.display());
        }
    }
    Ok(())
}
