//! One worker process with its pipes.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{self, Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::output::Output;
use crate::protocol::{Response, read_response};

/// The program of a worker.
pub static PROGRAM: &str = include_str!("worker.py");

/// The time for a dead worker to be reaped, or for a hanging one to print its traceback.
const GRACE: Duration = Duration::from_millis(500);

/// The time between two looks at a worker that is ending.
const LOOK: Duration = Duration::from_millis(2);

/// A worker process.
pub(crate) struct Process {
    child: Child,
    /// The pipe of requests. `None` once the worker has been asked to end.
    requests: Option<File>,
    responses: File,
    output: Arc<Output>,
    /// Dropping it ends the thread of [`keep`].
    _kept: Sender<()>,
}

impl Process {
    /// Starts a worker, which looks for its next request for the time `spin` before it sleeps.
    pub(crate) fn start(python: &Path, spin: Duration) -> io::Result<Self> {
        let output = Arc::new(Output::default());
        let (started, starting) = mpsc::channel();
        let (kept, ended) = mpsc::channel();
        let thread = thread::Builder::new().name("python worker".to_owned());
        let python = python.to_owned();
        thread.spawn({
            let output = Arc::clone(&output);
            move || keep(command(&python, spin), &output, &started, &ended)
        })?;
        let mut child = starting.recv().map_err(io::Error::other)??;
        let requests = child.stdin.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let responses = child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let responses = responses.ok_or_else(|| io::Error::other("the worker has no pipe"))?;
        let mut process = Self { child, requests, responses, output, _kept: kept };
        match process.send(PROGRAM.as_bytes()) {
            // An interpreter that ends at once is reported when its response is read.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(process),
        }
    }

    /// Returns the id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes bytes to the pipe of requests.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.requests {
            Some(pipe) => pipe.write_all(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Returns the pipe of responses, to wait for it.
    pub(crate) fn responses(&self) -> BorrowedFd<'_> {
        self.responses.as_fd()
    }

    /// Reads the next response. `None` if the worker has ended.
    pub(crate) fn receive(&self) -> io::Result<Option<Response>> {
        read_response(&self.responses)
    }

    /// Returns the last lines that the worker printed.
    pub(crate) fn last_lines(&self) -> String {
        self.output.last_lines()
    }

    /// Asks the worker to close its environments and to end.
    pub(crate) fn ask_to_end(&mut self) {
        self.requests = None;
    }

    /// Waits for the end of the worker, at most until `deadline`. After that it is killed.
    pub(crate) fn end_by(&mut self, deadline: Instant) {
        if self.wait_until(deadline).is_none() {
            self.kill();
        }
    }

    /// Describes the end of a worker whose pipe is closed.
    pub(crate) fn describe_end(&mut self) -> String {
        let status = self.wait_until(Instant::now() + GRACE);
        self.kill();
        status.map_or_else(|| "closed its pipe".to_owned(), describe)
    }

    /// Ends a worker that does not respond. It prints where it is.
    pub(crate) fn end_hanging(&mut self) {
        let id = Pid::from_raw(self.child.id().cast_signed());
        if kill(id, Signal::SIGUSR1).is_ok() {
            self.output.last_lines();
        }
        self.kill();
    }

    fn kill(&mut self) {
        // Errors mean that the process has ended.
        _ = self.child.kill();
        _ = self.child.wait();
    }

    fn wait_until(&mut self, deadline: Instant) -> Option<ExitStatus> {
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < deadline => thread::sleep(LOOK),
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a worker, keeps the end of its output, and stays until the process is dropped: on Linux a worker is ended
/// with the thread that started it.
fn keep(mut command: Command, output: &Output, started: &Sender<io::Result<Child>>, ended: &Receiver<()>) {
    let mut child = command.spawn();
    let printed = child.as_mut().ok().and_then(|child| child.stderr.take());
    if started.send(child).is_ok()
        && let Some(printed) = printed
    {
        output.drain(printed);
        // An error: nothing is ever sent.
        _ = ended.recv();
    }
}

/// Returns the command of a worker. It reads its program from the pipe of requests, so that no file is needed.
fn command(python: &Path, spin: Duration) -> Command {
    let load = format!(
        "import os\nprogram = b''\nwhile len(program) < {length}:\n    part = os.read(0, {length} - len(program))\n    \
         program += part or exit(0)\n__file__ = 'worker.py'\nexec(compile(program, __file__, 'exec'))",
        length = PROGRAM.len()
    );
    let mut command = Command::new(python);
    // Without buffers for output and files of bytecode.
    command
        .args(["-u", "-B", "-c", &load])
        .arg(process::id().to_string())
        .arg(spin.as_secs_f64().to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Describes the end of a process.
fn describe(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => {
            let name = Signal::try_from(signal).map_or("an unknown signal", Signal::as_str);
            format!("was ended by signal {signal} ({name})")
        }
        (None, code) => format!("ended with exit status {}", code.unwrap_or_default()),
    }
}
