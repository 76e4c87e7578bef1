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
use crate::error::in_order;
use crate::networks::{NamedWeights, NetworkDescription, TrainedNetwork, TransferError, Transferred};
use crate::{LearnerError, VectorSpec};

/// The interval at which a waiting thread checks whether it should stop.
const PATIENCE: Duration = Duration::from_millis(20);

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
    /// The learner, locked because a state is written through a shared reference.
    updater: Mutex<Updater<L>>,
    /// The threads of the learner. It needs its own because those of the actor may be waiting for it.
    threads: Arc<ThreadPool>,
    /// The number of rollouts that the learner has taken.
    taken: u64,
}

/// The learner.
enum Updater<L: Overlap> {
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
    is_running: Receiver<()>,
    stop: Arc<AtomicBool>,
}

type Finished<L> = (Box<L>, Result<Option<<L as Resumable>::Metrics>, LearnerError>);

/// The outcome of [`Overlapped::update_unless`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Turn<M> {
    /// The caller stopped the wait. The update is still due.
    Stopped,
    /// The first update has begun; there are no metrics yet.
    First,
    /// An update has ended, with these metrics. The next one has begun, unless training is complete.
    Ended(M),
}

impl<L: Overlap> Updating<L> {
    fn begin(mut learner: Box<L>, threads: Arc<ThreadPool>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (ends, is_running) = channel();
        let stops = Arc::clone(&stop);
        let update = move || {
            let learn = || learner.update_unless(&|| stops.load(Ordering::Relaxed));
            let result = threads.install(learn);
            drop(ends);
            (learner, result)
        };
        let thread = thread::Builder::new().name("update".to_owned()).spawn(update);
        Self { thread: thread.expect("a thread can be started"), is_running, stop }
    }

    /// Waits for the end of the update. Returns false if `stop` returns true before that.
    fn wait(&self, stop: &dyn Fn() -> bool) -> bool {
        while self.is_running.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
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

impl<L: Overlap> Updater<L> {
    /// Returns the learner and the metrics that have not been reported. Waits for the end of an update in progress.
    fn rest(&mut self) -> Result<(Box<L>, Option<L::Metrics>), LearnerError> {
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

    /// Like [`rest`](Self::rest), but first stops an update in progress, which is undone unless it is complete.
    fn halt(&mut self) -> Result<(Box<L>, Option<L::Metrics>), LearnerError> {
        if let Self::Updating(updating) = self {
            updating.stop.store(true, Ordering::Relaxed);
        }
        self.rest()
    }

    /// Continues after [`rest`](Self::rest) or [`halt`](Self::halt): begins the update that is due, if any.
    fn go_on(&mut self, learner: Box<L>, metrics: Option<L::Metrics>, threads: &Arc<ThreadPool>) {
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
        let taken = learner.updates() + u64::from(learner.is_ready());
        let threads = ThreadPoolBuilder::new().num_threads(rayon::current_num_threads()).build();
        let threads = Arc::new(threads.expect("threads can be started"));
        let mut updater = Updater::Absent;
        updater.go_on(Box::new(learner), metrics, &threads);
        Self { actor, updater: Mutex::new(updater), threads, taken }
    }

    /// Returns the part that acts, with the weights after the last reported update.
    pub fn actor(&self) -> &L {
        &self.actor
    }

    /// Waits for the update in progress and begins the next one, with the rollout that the actor has collected. If
    /// `stop` returns true before the end, nothing changes.
    pub fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Turn<L::Metrics>, LearnerError> {
        in_order(self.is_ready(), "update was called before the rollout was complete")?;
        let updater = self.updater.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Updater::Updating(updating) = updater
            && !updating.wait(stop)
        {
            return Ok(Turn::Stopped);
        }
        let (mut learner, metrics) = updater.rest()?;
        self.actor.adopt(&learner);
        if self.actor.is_ready() {
            learner.take_rollout(&mut self.actor);
            self.taken += 1;
        }
        updater.go_on(learner, None, &self.threads);
        Ok(metrics.map_or(Turn::First, Turn::Ended))
    }

    /// Returns true if the last planned update is in progress. After it no rollout is collected.
    fn is_last_update_due(&self) -> bool {
        self.taken >= self.actor.planned_updates() && self.actor.updates() < self.taken
    }
}

impl<L: Overlap> Drop for Overlapped<L> {
    fn drop(&mut self) {
        // There is no caller left to handle an error.
        drop(self.updater.get_mut().unwrap_or_else(PoisonError::into_inner).halt());
    }
}

impl<L: Overlap> Learner for Overlapped<L> {
    fn spec(&self) -> &VectorSpec {
        self.actor.spec()
    }

    fn act(&mut self, batch: &Batch) -> Result<Actions<'_>, LearnerError> {
        in_order(!self.is_last_update_due(), "act was called before the last update")?;
        self.actor.act(batch)
    }

    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        self.actor.observe(batch)
    }

    fn can_act(&self, batch: &Batch) -> bool {
        !self.is_last_update_due() && self.actor.can_act(batch)
    }

    fn is_ready(&self) -> bool {
        self.actor.is_ready() || self.is_last_update_due()
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
        let mut updater = self.updater.lock().unwrap_or_else(PoisonError::into_inner);
        let (learner, metrics) = updater.halt()?;
        let written = L::write_both(&self.actor, &learner, metrics.as_ref(), out);
        updater.go_on(learner, metrics, &self.threads);
        written
    }

    fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        self.actor.torch_weights()
    }

    fn description(&self) -> NetworkDescription {
        self.actor.description()
    }

    fn start_from(&mut self, source: &TrainedNetwork) -> Result<Transferred, TransferError> {
        let updater = self.updater.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Updater::Resting { learner, .. } = updater else {
            return Err(LearnerError::OutOfOrder("start_from was called after the first update began").into());
        };
        learner.start_from(source)?;
        self.actor.start_from(source)
    }
}

#[cfg(test)]
mod tests;
