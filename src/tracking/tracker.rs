use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::failure::RuntimeFailure;

/// The program that sends, which reads the requests.
const PROGRAM: &str = include_str!("tracker.py");

/// A Python process that sends a run to a service.
pub(super) struct Tracker {
    process: Child,
    requests: Option<ChildStdin>,
    responses: BufReader<ChildStdout>,
    python: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Response {
    /// The step of the last record that the service has.
    Step(Option<u64>),
    /// Where the run is shown.
    Place(String),
    /// The name of a module that Python does not have.
    Missing(String),
    Error(String),
}

impl Tracker {
    /// Starts the process.
    pub(super) fn start(python: &Path) -> Result<Self> {
        let mut command = Command::new(python);
        command.args(["-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C in the terminal ends this program, which then ends the process in order.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let python = python.display().to_string();
        let mut process = command
            .spawn()
            .with_context(|| format!("cannot start Python as {python}; set --python to an interpreter"))?;
        let requests = process.stdin.take();
        let responses = process.stdout.take().context("the process has no pipe")?;
        Ok(Self { process, requests, responses: BufReader::new(responses), python })
    }

    /// Opens a run. Returns the step of the last record that the service has of it.
    pub(super) fn open(&mut self, run: &Value) -> Result<Option<u64>> {
        match self.ask(&json!({ "start": run }))? {
            Response::Step(step) => Ok(step),
            _ => bail!("the response is out of order"),
        }
    }

    /// Sends records, of which there is at least one.
    pub(super) fn send(&mut self, records: &[Map<String, Value>]) -> Result<()> {
        self.ask(&json!({ "records": records })).map(drop)
    }

    /// Ends the process. Returns where the run, which is in this state, is shown.
    pub(super) fn end(mut self, state: &str) -> Result<String> {
        let response = self.ask(&json!({ "end": state }))?;
        self.requests = None;
        self.process.wait().context("the process has no exit status")?;
        match response {
            Response::Place(place) => Ok(place),
            _ => bail!("the response is out of order"),
        }
    }

    fn ask(&mut self, request: &Value) -> Result<Response> {
        self.exchange(request).context(RuntimeFailure("the run was not sent"))
    }

    fn exchange(&mut self, request: &Value) -> Result<Response> {
        let mut line = String::new();
        let requests = self.requests.as_mut().context("the process has ended")?;
        // A process that has ended is reported when its response is read.
        _ = writeln!(requests, "{request}").and_then(|()| requests.flush());
        self.responses.read_line(&mut line)?;
        if line.is_empty() {
            bail!("{} ended without a response", self.python);
        }
        match serde_json::from_str(&line).context("the response is damaged")? {
            Response::Missing(module) => {
                let top = module.split('.').next().unwrap_or(&module);
                Err(anyhow!(
                    "{0} has no module {module:?}; install it: {0} -m pip install {top}",
                    self.python
                ))
            }
            Response::Error(error) => Err(anyhow!(error)),
            response => Ok(response),
        }
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        // Without requests, the process ends; one that hangs is ended.
        self.requests = None;
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
