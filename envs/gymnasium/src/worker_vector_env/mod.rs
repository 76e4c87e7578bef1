mod build;
mod faults;
mod receive;
mod render;
mod reset;
mod send;
mod snapshot;

pub use render::RgbFrame;
pub use snapshot::{join_snapshots, part_of_snapshot};

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rl_env::{Actions, AutoresetMode, Batch, ResetSeeds, Space, VectorEnv, VectorError, VectorPhase};

use crate::board::{Board, Command};
use crate::ring::Ring;
use crate::workers::Workers;

/// An environment, as far as this process knows it.
#[derive(Clone, Copy, Debug)]
struct EnvState {
    /// The command that was sent last.
    sent: Command,
    /// True if it has been sent to, and its result has not been received.
    in_flight: bool,
    /// True if the episode is over, so that a reset has to precede the next step.
    is_over: bool,
    /// The seed of the last reset that had one, for messages.
    seed: Option<u64>,
    /// The number of steps left, if they are limited.
    steps_left: Option<u64>,
}

/// Steps environments of Gymnasium in worker processes.
///
/// * **Same results.** Observations, rewards and flags equal those of `gymnasium.vector.SyncVectorEnv` with the same
///   seeds, actions and autoreset mode, for any number of workers.
/// * **Order.** If the batch size equals the number of environments, row `i` of every batch is environment `i`. With a
///   smaller one, batches hold the environments that finish first, or [groups take turns](crate::BatchOrder::InTurn).
/// * **Failures** are returned by `recv`. After an exception in an environment, an invalid result or an
///   [interruption](rl_env::interrupt), the environments must be reset or restored. If a worker ends or does not
///   respond, the vector environment can no longer be used: every call repeats the error, and
///   [`is_usable`](Self::is_usable) returns false.
///
/// Dropping it ends the workers: they have a second to close their environments. [The crate](crate) describes spaces,
/// errors and the protocol.
pub struct WorkerVectorEnv {
    workers: Mutex<Workers>,
    board: Board,
    ring: Ring,
    phase: VectorPhase,
    envs: Vec<EnvState>,
    /// The number of environments in flight.
    num_in_flight: usize,
    /// The first environment of the next batch, if rows are fixed.
    next_turn: usize,
    batch_size: usize,
    has_fixed_rows: bool,
    mode: AutoresetMode,
    observation_space: Space,
    /// The bytes of the floats in an observation, which must be finite.
    floats: Option<Range<usize>>,
    /// The bytes of each environment's observation, without the padding of its row.
    observation_lens: Vec<usize>,
    action_spaces: Vec<Space>,
    action_lens: Vec<usize>,
    tasks: Vec<String>,
    task_ids: Vec<usize>,
    /// Scratch: the environments of the current call, kept to avoid allocation.
    targets: Vec<usize>,
}

impl WorkerVectorEnv {
    /// Returns the number of worker processes.
    pub fn num_workers(&self) -> usize {
        self.lock().envs().len()
    }

    /// Returns the ids of the worker processes.
    pub fn worker_ids(&self) -> Vec<u32> {
        self.lock().process_ids()
    }

    /// Returns true if a batch holds all environments, so that row `i` is environment `i`.
    pub fn is_ordered(&self) -> bool {
        self.batch_size == self.envs.len()
    }

    /// Returns true unless a worker has ended or stopped responding.
    pub fn is_usable(&self) -> bool {
        !matches!(self.phase, VectorPhase::Broken(_)) && !self.lock().has_ended()
    }

    /// Returns true if an environment ignores actions, because it has used up its [steps](Self::limit_steps); false if
    /// there is no such environment.
    pub fn is_resting(&self, env: usize) -> bool {
        self.envs.get(env).is_some_and(|env| env.steps_left == Some(0))
    }

    /// Limits an environment, which must not be in flight, to `steps` more steps; `None` removes the limit.
    ///
    /// The last step sets [`Batch::truncated`] unless the episode terminates with it. The episode does not end because
    /// of the limit: no statistics are reported and the environment is not reset. After it the environment ignores its
    /// actions: its row repeats the observation with reward 0 and is marked as not a transition ([`Batch::autoreset`]).
    /// A [`snapshot`](VectorEnv::snapshot) does not contain the limit.
    pub fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError> {
        self.phase.check_usable()?;
        self.check_idle(env)?;
        self.envs[env].steps_left = steps;
        Ok(())
    }

    /// Returns the workers. No code panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, Workers> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the workers without locking.
    fn workers_mut(&mut self) -> &mut Workers {
        self.workers.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if fixed groups of environments take turns.
    fn takes_turns(&self) -> bool {
        self.has_fixed_rows && !self.is_ordered()
    }

    fn task_of(&self, env: usize) -> &str {
        &self.tasks[self.task_ids[env]]
    }

    /// Checks that all results have been received, if a batch holds all environments. Otherwise some are always in
    /// flight.
    fn check_not_stepping(&self, error_if_stepping: &'static str) -> Result<(), VectorError> {
        self.phase.check_usable()?;
        if self.is_ordered() && matches!(self.phase, VectorPhase::Ready) && self.num_in_flight > 0 {
            return Err(VectorError::OutOfOrder(error_if_stepping));
        }
        Ok(())
    }

    /// Checks that an environment exists and is not in flight.
    fn check_idle(&self, env: usize) -> Result<(), VectorError> {
        match self.envs.get(env) {
            Some(EnvState { in_flight: false, .. }) => Ok(()),
            Some(_) => Err(VectorError::InFlight { env }),
            None => Err(VectorError::UnknownEnv { env, num_envs: self.envs.len() }),
        }
    }
}

impl VectorEnv for WorkerVectorEnv {
    fn num_envs(&self) -> usize {
        self.envs.len()
    }

    fn batch_size(&self) -> usize {
        self.batch_size
    }

    fn single_observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_spaces(&self) -> &[Space] {
        &self.action_spaces
    }

    fn tasks(&self) -> &[String] {
        &self.tasks
    }

    fn task_ids(&self) -> &[usize] {
        &self.task_ids
    }

    fn autoreset_mode(&self) -> AutoresetMode {
        self.mode
    }

    fn reset(&mut self, seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError> {
        self.reset_selected(|_| true, self.envs.len(), seeds)
    }

    fn send(&mut self, actions: Actions<'_>) -> Result<(), VectorError> {
        self.send_to_last_batch(actions)
    }

    fn recv(&mut self) -> Result<&Batch, VectorError> {
        self.phase.check_ready("recv was called before the first reset")?;
        let in_flight = self.in_flight_for_next_batch();
        if in_flight < self.batch_size {
            return Err(VectorError::TooFewInFlight { in_flight, batch_size: self.batch_size });
        }
        self.receive()
    }

    fn batch(&self) -> &Batch {
        self.ring.last()
    }

    /// Returns the state of every environment: the environment with its wrappers, pickled, and its episode.
    ///
    /// If an environment cannot be pickled, or leaves out its state when it is, the result is [`VectorError::Env`],
    /// which says why; the vector environment can still be used. State outside the environments, such as that of
    /// Python's global generators of random numbers, is not part of the snapshot.
    fn snapshot(&self) -> Result<Vec<u8>, VectorError> {
        self.save()
    }

    /// Restores a state from [`snapshot`](VectorEnv::snapshot). Reading pickled data can execute any code: use only
    /// snapshots whose origin is trusted, like the code of the environments.
    fn restore(&mut self, snapshot: &[u8]) -> Result<&Batch, VectorError> {
        self.load(snapshot)
    }
}
