//! Overlapped acting and learning.

use std::io::Write;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};
use rl_env::{Actions, Batch};

use super::{Learner, Resumable};
use crate::error::ensure_in_order;
use crate::networks::{NamedWeights, NetworkDescription, TrainedNetwork, TransferError, Transferred};
use crate::{LearnerError, VectorSpec};

/// The interval at which a waiting thread checks whether it should stop.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// An on-policy learner of which one instance can act while another updates.
pub trait Overlap: Resumable<Metrics: Send> + Send + 'static {
    /// Returns the number of updates that are planned.
    fn planned_updates(&self) -> u64;

    /// Copies the weights, and all other state needed for acting, from an updated learner.
    fn adopt(&mut self, learner: &Self);

    /// Takes the complete rollout of `actor`, which can then collect the next one.
    fn take_rollout(&mut self, actor: &mut Self);

    /// Writes the state of both learners, and the metrics of the last update if they have not been reported.
    fn write_both(
        actor: &Self,
        learner: &Self,
        metrics: Option<&Self::Metrics>,
        out: &mut dyn Write,
    ) -> Result<(), LearnerError>;
}

/// A learner that collects the next rollout while it learns from the last one. It consists of two learners: the
/// *actor*, with the weights before the update in progress, and the *learner*, which updates in its own thread.
///
/// The actor collects a rollout with the weights before the last update, so each rollout but the first is one update
/// old when the learner takes it. Each waits for the other, so the results do not depend on their speed.
pub struct Overlapped<L: Overlap> {
    actor: L,
    /// Locked because a state is written through a shared reference.
    learner_state: Mutex<LearnerState<L>>,
    /// The threads of the learner. It needs its own because those of the actor may be waiting for it.
    threads: Arc<ThreadPool>,
    /// The number of rollouts that the learner has taken.
    rollouts_taken: u64,
}

/// The state of the learner.
enum LearnerState<L: Overlap> {
    /// Between two updates. The metrics are those of the last one, if they have not been reported.
    Resting {
        learner: Box<L>,
        metrics: Option<L::Metrics>,
    },
    Updating(Updating<L>),
    /// The last update failed. All later calls return its error.
    Failed(LearnerError),
    /// Only during a transition between the other states, and after a panic.
    Absent,
}

/// An update in progress.
struct Updating<L: Overlap> {
    thread: JoinHandle<Finished<L>>,
    /// Disconnected at the end of the update.
    done: Receiver<()>,
    stop_flag: Arc<AtomicBool>,
}

type Finished<L> = (Box<L>, Result<Option<<L as Resumable>::Metrics>, LearnerError>);

/// The outcome of [`Overlapped::update_unless`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UpdateOutcome<M> {
    /// The caller stopped the wait. The update is still due.
    Stopped,
    /// The first update has begun; there are no metrics yet.
    Started,
    /// An update is complete, with these metrics. The next one has begun, unless training is complete.
    Completed(M),
}

impl<L: Overlap> Updating<L> {
    fn begin(mut learner: Box<L>, threads: Arc<ThreadPool>) -> Self {
        let stop_flag = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop_flag);
        let (done_sender, done) = channel();
        let update = move || {
            let result = threads.install(|| learner.update_unless(&|| flag.load(Ordering::Relaxed)));
            drop(done_sender);
            (learner, result)
        };
        let thread = thread::Builder::new().name("update".to_owned()).spawn(update);
        Self { thread: thread.expect("a thread can be started"), done, stop_flag }
    }

    /// Waits for the end of the update. Returns false if `stop` returns true before that.
    fn wait(&self, stop: &dyn Fn() -> bool) -> bool {
        while self.done.recv_timeout(STOP_POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if stop() {
                return false;
            }
        }
        true
    }

    /// Waits for the end of the update and returns its result. Resumes a panic of its thread.
    fn finish(self) -> Finished<L> {
        self.thread.join().unwrap_or_else(|payload| resume_unwind(payload))
    }
}

impl<L: Overlap> LearnerState<L> {
    /// Takes the learner and the metrics that have not been reported. Waits for the end of an update in progress.
    fn wait_and_take(&mut self) -> Result<(Box<L>, Option<L::Metrics>), LearnerError> {
        match std::mem::replace(self, Self::Absent) {
            Self::Resting { learner, metrics } => Ok((learner, metrics)),
            Self::Updating(updating) => {
                let (learner, result) = updating.finish();
                result
                    .map(|metrics| (learner, metrics))
                    .inspect_err(|error| *self = Self::Failed(error.clone()))
            }
            Self::Failed(error) => {
                *self = Self::Failed(error.clone());
                Err(error)
            }
            Self::Absent => Err(LearnerError::OutOfOrder("an earlier update panicked")),
        }
    }

    /// Like [`wait_and_take`](Self::wait_and_take), but first stops an update in progress, which is undone unless it is
    /// complete.
    fn stop_and_take(&mut self) -> Result<(Box<L>, Option<L::Metrics>), LearnerError> {
        if let Self::Updating(updating) = self {
            updating.stop_flag.store(true, Ordering::Relaxed);
        }
        self.wait_and_take()
    }

    /// Puts the learner back after [`wait_and_take`](Self::wait_and_take) or [`stop_and_take`](Self::stop_and_take),
    /// and begins the update that is due, if any.
    fn begin_due_update(&mut self, learner: Box<L>, metrics: Option<L::Metrics>, threads: &Arc<ThreadPool>) {
        *self = if learner.is_ready() {
            Self::Updating(Updating::begin(learner, Arc::clone(threads)))
        } else {
            Self::Resting { learner, metrics }
        };
    }
}

impl<L: Overlap> Overlapped<L> {
    /// Creates an overlapped learner from two learners in the same state, neither of which has made a step. For PPO,
    /// [`overlap`](crate::ppo::PpoConfig::overlap) should be set: only then does it correct for rollouts that are one
    /// update old.
    pub fn new(actor: L, learner: L) -> Self {
        Self::restored(actor, learner, None)
    }

    /// Restores an overlapped learner from the states that [`Overlap::write_both`] wrote.
    pub(crate) fn restored(actor: L, learner: L, metrics: Option<L::Metrics>) -> Self {
        let rollouts_taken = learner.updates() + u64::from(learner.is_ready());
        let threads = ThreadPoolBuilder::new().num_threads(rayon::current_num_threads()).build();
        let threads = Arc::new(threads.expect("threads can be started"));
        let mut learner_state = LearnerState::Absent;
        learner_state.begin_due_update(Box::new(learner), metrics, &threads);
        Self { actor, learner_state: Mutex::new(learner_state), threads, rollouts_taken }
    }

    /// Returns the part that acts, with the weights after the last reported update.
    pub fn actor(&self) -> &L {
        &self.actor
    }

    /// Waits for the update in progress and begins the next one, with the rollout that the actor has collected. If
    /// `stop` returns true before the end, nothing changes.
    pub fn update_unless(
        &mut self,
        stop: &dyn Fn() -> bool,
    ) -> Result<UpdateOutcome<L::Metrics>, LearnerError> {
        ensure_in_order(self.is_ready(), "update was called before the rollout was complete")?;
        let learner_state = self.learner_state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let LearnerState::Updating(updating) = learner_state
            && !updating.wait(stop)
        {
            return Ok(UpdateOutcome::Stopped);
        }
        let (mut learner, metrics) = learner_state.wait_and_take()?;
        self.actor.adopt(&learner);
        if self.actor.is_ready() {
            learner.take_rollout(&mut self.actor);
            self.rollouts_taken += 1;
        }
        learner_state.begin_due_update(learner, None, &self.threads);
        Ok(metrics.map_or(UpdateOutcome::Started, UpdateOutcome::Completed))
    }

    /// Returns true if the last planned update is in progress. After it no rollout is collected.
    fn is_last_update_running(&self) -> bool {
        self.rollouts_taken >= self.actor.planned_updates() && self.actor.updates() < self.rollouts_taken
    }
}

impl<L: Overlap> Drop for Overlapped<L> {
    fn drop(&mut self) {
        // There is no caller left to handle an error.
        drop(self.learner_state.get_mut().unwrap_or_else(PoisonError::into_inner).stop_and_take());
    }
}

impl<L: Overlap> Learner for Overlapped<L> {
    fn spec(&self) -> &VectorSpec {
        self.actor.spec()
    }

    fn act(&mut self, batch: &Batch) -> Result<Actions<'_>, LearnerError> {
        ensure_in_order(
            !self.is_last_update_running(),
            "act was called during the last update: call update",
        )?;
        self.actor.act(batch)
    }

    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        self.actor.observe(batch)
    }

    fn can_act(&self, batch: &Batch) -> bool {
        !self.is_last_update_running() && self.actor.can_act(batch)
    }

    fn is_ready(&self) -> bool {
        self.actor.is_ready() || self.is_last_update_running()
    }

    fn is_idle(&self) -> bool {
        self.actor.is_idle()
    }

    /// Returns the number of updates whose weights act.
    fn updates(&self) -> u64 {
        self.actor.updates()
    }

    fn is_complete(&self) -> bool {
        self.actor.is_complete()
    }

    /// Writes the state. An update in progress is undone first, and begins again afterwards.
    fn write_state(&self, out: &mut dyn Write) -> Result<(), LearnerError> {
        let mut learner_state = self.learner_state.lock().unwrap_or_else(PoisonError::into_inner);
        let (learner, metrics) = learner_state.stop_and_take()?;
        let written = L::write_both(&self.actor, &learner, metrics.as_ref(), out);
        learner_state.begin_due_update(learner, metrics, &self.threads);
        written
    }

    fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        self.actor.torch_weights()
    }

    fn description(&self) -> NetworkDescription {
        self.actor.description()
    }

    fn start_from(&mut self, source: &TrainedNetwork) -> Result<Transferred, TransferError> {
        let learner_state = self.learner_state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let LearnerState::Resting { learner, .. } = learner_state else {
            return Err(LearnerError::OutOfOrder("start_from was called after the first update began").into());
        };
        learner.start_from(source)?;
        self.actor.start_from(source)
    }
}

#[cfg(test)]
mod tests;
