//! All worker processes, the requests that they have not answered, and the results that have arrived.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rl_env::interrupt;
use serde::Serialize;

use crate::memory::SharedWords;
use crate::process::Process;
use crate::protocol::{EnvFault, Frame, Response, frame, write_request};

/// The time for all workers to end after they have been asked to.
const TIME_TO_END: Duration = Duration::from_secs(1);

/// A worker that has not finished an environment is looked at this many times before its time is up.
const LOOKS: u32 = 8;

/// The reason why results do not arrive.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// A request to interrupt the call.
    Interrupted,
    /// An environment raised an error, after which it can be reset.
    Env { fault: EnvFault, output: String },
    /// A worker has ended.
    Ended { env: usize, reason: String, output: String },
}

/// A request that a worker has not answered.
enum Request {
    /// All environments of the worker carry out their commands.
    All,
    /// These environments do.
    Some(Vec<usize>),
    /// A frame.
    Control,
}

/// A worker with its environments.
struct Worker {
    process: Process,
    envs: Range<usize>,
    /// The requests that have not been answered, oldest first.
    requests: VecDeque<Request>,
    /// The answer to a frame.
    reply: Option<Result<Frame, Fault>>,
    /// The environments of the next request, as indices within the worker.
    indices: Vec<u32>,
    /// The environment that was running when the worker was last looked at.
    running: i64,
    /// The time since which it has been running.
    since: Instant,
}

/// The time for which a worker looks for its next request, and the parent for the next response, before it sleeps. A
/// process that sleeps, on a core that has become idle, takes up to 0.2 ms to continue: as long as the steps of eight
/// small environments. Only if there is a core for each process.
const WORKER_SPIN: Duration = Duration::from_micros(300);
const SPIN: Duration = Duration::from_millis(2);

/// All worker processes.
pub(crate) struct Workers {
    list: Vec<Worker>,
    /// The time for which responses are looked for before this process sleeps.
    spin: Duration,
    /// The environment that each worker is running; -1 if none. `None` before there is shared memory.
    running: Option<SharedWords>,
    /// The most time for an environment.
    timeout: Duration,
    message: Vec<u8>,
    /// True for each environment whose result has arrived and has not been taken.
    arrived: Box<[bool]>,
    /// These environments in the order of arrival, if that matters.
    order: Option<VecDeque<usize>>,
    failure: Option<Fault>,
    /// True once a worker has ended.
    has_ended: bool,
}

impl Workers {
    /// Starts `count` workers, each with a consecutive part of the environments. All requests have to be answered
    /// within `timeout` until there is shared memory.
    pub(crate) fn start(
        python: &Path,
        count: usize,
        num_envs: usize,
        keeps_order: bool,
        timeout: Duration,
    ) -> io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let (spin, worker_spin) =
            if cores > count { (SPIN, WORKER_SPIN) } else { (Duration::ZERO, Duration::ZERO) };
        let worker = |index: usize| -> io::Result<Worker> {
            Ok(Worker {
                process: Process::start(python, worker_spin)?,
                envs: index * num_envs / count..(index + 1) * num_envs / count,
                requests: VecDeque::new(),
                reply: None,
                indices: Vec::new(),
                running: -1,
                since: Instant::now(),
            })
        };
        Ok(Self {
            list: (0..count).map(worker).collect::<io::Result<_>>()?,
            spin,
            running: None,
            timeout,
            message: Vec::new(),
            arrived: vec![false; num_envs].into(),
            order: keeps_order.then(VecDeque::new),
            failure: None,
            has_ended: false,
        })
    }

    /// Uses words in shared memory to see which environment each worker is running. From now on each environment has
    /// `timeout` for itself.
    pub(crate) fn watch(&mut self, running: SharedWords, timeout: Duration) {
        (self.running, self.timeout) = (Some(running), timeout);
    }

    /// Returns the environments of each worker.
    pub(crate) fn envs(&self) -> impl ExactSizeIterator<Item = Range<usize>> {
        self.list.iter().map(|worker| worker.envs.clone())
    }

    /// Returns the ids of the processes.
    pub(crate) fn process_ids(&self) -> Vec<u32> {
        self.list.iter().map(|worker| worker.process.id()).collect()
    }

    /// Returns true if the result of an environment has arrived.
    pub(crate) fn has_arrived(&self, env: usize) -> bool {
        self.arrived[env]
    }

    /// Returns the number of results that have arrived, if their order matters.
    pub(crate) fn num_in_order(&self) -> usize {
        self.order.as_ref().map_or(0, VecDeque::len)
    }

    /// Returns the environments whose results have arrived, in the order of arrival.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = usize> {
        self.order.iter().flatten().copied()
    }

    /// Takes the result of an environment, which makes room for the next one.
    pub(crate) fn take(&mut self, env: usize) {
        self.arrived[env] = false;
    }

    /// Takes the result that arrived first.
    pub(crate) fn take_first(&mut self) -> Option<usize> {
        let env = self.order.as_mut()?.pop_front()?;
        self.take(env);
        Some(env)
    }

    /// Replaces the order in which results have arrived.
    pub(crate) fn reorder(&mut self, envs: impl Iterator<Item = usize>) {
        if let Some(order) = &mut self.order {
            order.clear();
            order.extend(envs);
        }
    }

    /// Drops all results and failures. Nothing may be in flight.
    pub(crate) fn clear(&mut self) {
        self.arrived.fill(false);
        self.order.iter_mut().for_each(VecDeque::clear);
        self.failure = None;
    }

    /// Makes environments carry out their commands, without waiting.
    pub(crate) fn perform(&mut self, envs: &[usize]) -> Result<(), Fault> {
        for worker in &mut self.list {
            worker.indices.clear();
        }
        for &env in envs {
            let index = self.worker_of(env);
            let worker = &mut self.list[index];
            worker.indices.push((env - worker.envs.start) as u32);
        }
        for index in 0..self.list.len() {
            let worker = &mut self.list[index];
            if worker.indices.is_empty() {
                continue;
            }
            let all = worker.indices.len() == worker.envs.len();
            write_request(&mut self.message, (!all).then_some(&worker.indices));
            let request = if all {
                Request::All
            } else {
                Request::Some(
                    worker.indices.iter().map(|&index| worker.envs.start + index as usize).collect(),
                )
            };
            worker.expect(request);
            if worker.process.send(&self.message).is_err() {
                return Err(self.ended(index));
            }
        }
        Ok(())
    }

    /// Sends a frame to a worker and waits for the reply.
    pub(crate) fn ask(
        &mut self,
        worker: usize,
        value: &impl Serialize,
        bytes: &[u8],
    ) -> Result<Frame, Fault> {
        self.send_frame(worker, value, bytes)?;
        self.reply(worker)
    }

    /// Sends a frame to a worker without waiting.
    pub(crate) fn send_frame(
        &mut self,
        index: usize,
        value: &impl Serialize,
        bytes: &[u8],
    ) -> Result<(), Fault> {
        // Results that are outstanding come first: the worker may be writing while this process does.
        self.wait_until(|workers| workers.list[index].requests.is_empty())?;
        let worker = &mut self.list[index];
        worker.reply = None;
        worker.expect(Request::Control);
        let sent = frame(value, bytes).and_then(|message| worker.process.send(&message));
        if sent.is_err() { Err(self.ended(index)) } else { Ok(()) }
    }

    /// Waits for the reply to a frame.
    pub(crate) fn reply(&mut self, index: usize) -> Result<Frame, Fault> {
        self.wait_until(|workers| workers.list[index].requests.is_empty())?;
        self.list[index].reply.take().unwrap_or(Err(Fault::Interrupted))
    }

    /// Returns the worker of an environment.
    pub(crate) fn worker_of(&self, env: usize) -> usize {
        self.list.partition_point(|worker| worker.envs.end <= env)
    }

    /// Waits until everything has been answered, whatever the answers are.
    pub(crate) fn wait_for_all(&mut self) -> Result<(), Fault> {
        self.wait_until(|workers| workers.list.iter().all(|worker| worker.requests.is_empty()))
    }

    /// Returns true if a worker is known to have ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns the failure of an environment among the answers.
    pub(crate) fn failure(&self) -> Option<&Fault> {
        self.failure.as_ref()
    }

    /// Takes the failure of an environment among the answers.
    pub(crate) fn take_failure(&mut self) -> Option<Fault> {
        self.failure.take()
    }

    /// Waits until `is_over` returns true.
    pub(crate) fn wait_until(&mut self, is_over: impl Fn(&Self) -> bool) -> Result<(), Fault> {
        while !is_over(self) {
            if interrupt::poll() {
                return Err(Fault::Interrupted);
            }
            self.wait_for_response()?;
            self.check_time()?;
        }
        Ok(())
    }

    /// Waits for responses of workers, but not longer than until the next check.
    fn wait_for_response(&mut self) -> Result<(), Fault> {
        let busy = |worker: &&Worker| !worker.requests.is_empty();
        let fds = self.list.iter().filter(busy).map(|worker| worker.process.responses());
        let mut fds: Vec<PollFd<'_>> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let look = self.timeout / LOOKS;
        let limit = if interrupt::has_check() { look.min(interrupt::CHECK_INTERVAL) } else { look };
        // At least a millisecond, so that the wait is not busy.
        let limit = PollTimeout::try_from(limit.max(Duration::from_millis(1))).unwrap_or(PollTimeout::MAX);
        let end = Instant::now() + self.spin;
        let mut polled = poll(&mut fds, PollTimeout::ZERO);
        while polled == Ok(0) && Instant::now() < end {
            thread::yield_now();
            polled = poll(&mut fds, PollTimeout::ZERO);
        }
        if polled == Ok(0) {
            polled = poll(&mut fds, limit);
        }
        match polled {
            Ok(0) | Err(Errno::EINTR) => return Ok(()),
            // Any other error is impossible: the descriptors are open.
            _ => {}
        }
        let is_ready = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
        let ready: Vec<bool> = fds.iter().map(is_ready).collect();
        let busy: Vec<usize> = (0..self.list.len()).filter(|&index| busy(&&self.list[index])).collect();
        for (index, _) in busy.into_iter().zip(ready).filter(|(_, is_ready)| *is_ready) {
            self.read_response(index)?;
        }
        Ok(())
    }

    fn read_response(&mut self, index: usize) -> Result<(), Fault> {
        let worker = &mut self.list[index];
        let Ok(Some(response)) = worker.process.receive() else { return Err(self.ended(index)) };
        let Some(request) = worker.requests.pop_front() else { return Ok(()) };
        worker.begin();
        let answer = match response {
            Response::Done => None,
            Response::Reply(frame) => Some(Ok(frame)),
            Response::Failed(fault) => {
                let output = worker.process.last_lines();
                Some(Err(Fault::Env { fault, output }))
            }
        };
        match (&request, answer) {
            (Request::Control, answer) => worker.reply = answer,
            (_, Some(Err(fault))) => {
                self.failure.get_or_insert(fault);
            }
            _ => {}
        }
        match request {
            Request::Control => {}
            Request::All => self.arrive(self.list[index].envs.clone()),
            Request::Some(envs) => self.arrive(envs.into_iter()),
        }
        Ok(())
    }

    fn arrive(&mut self, envs: impl Iterator<Item = usize>) {
        for env in envs {
            self.arrived[env] = true;
            if let Some(order) = &mut self.order {
                order.push_back(env);
            }
        }
    }

    /// Ends a worker that has been running the same environment for too long.
    fn check_time(&mut self) -> Result<(), Fault> {
        for index in 0..self.list.len() {
            let worker = &mut self.list[index];
            if worker.requests.is_empty() {
                continue;
            }
            let running = self.running.as_ref().map_or(-1, |running| running.load(index));
            if running != worker.running {
                (worker.running, worker.since) = (running, Instant::now());
            } else if worker.since.elapsed() >= self.timeout {
                worker.process.end_hanging();
                let reason = format!("did not respond for {} seconds", self.timeout.as_secs_f64());
                return Err(self.end(index, reason));
            }
        }
        Ok(())
    }

    /// Returns the fault of a worker whose pipe is closed.
    fn ended(&mut self, index: usize) -> Fault {
        let reason = self.list[index].process.describe_end();
        self.end(index, reason)
    }

    /// Ends a worker whose reply has the wrong format, and returns its fault.
    pub(crate) fn end_after_bad_reply(&mut self, index: usize) -> Fault {
        self.list[index].process.end_by(Instant::now());
        self.end(index, "sent a bad reply".to_owned())
    }

    fn end(&mut self, index: usize, reason: String) -> Fault {
        let running = self.running.as_ref().map_or(-1, |running| running.load(index));
        self.has_ended = true;
        let worker = &self.list[index];
        let env = usize::try_from(running).unwrap_or(worker.envs.start);
        Fault::Ended { env, reason, output: worker.process.last_lines() }
    }
}

impl Worker {
    /// Notes a request.
    fn expect(&mut self, request: Request) {
        if self.requests.is_empty() {
            self.begin();
        }
        self.requests.push_back(request);
    }

    /// Notes that the worker begins with a request.
    fn begin(&mut self) {
        (self.running, self.since) = (-1, Instant::now());
    }
}

impl Drop for Workers {
    /// Ends all workers: they close their environments, or are killed if that takes long.
    fn drop(&mut self) {
        for worker in &mut self.list {
            worker.process.ask_to_end();
        }
        let deadline = Instant::now() + TIME_TO_END;
        for worker in &mut self.list {
            worker.process.end_by(deadline);
        }
    }
}
