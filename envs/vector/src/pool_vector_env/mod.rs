mod copies;
mod receive;
mod reset;
mod send;
mod snapshot;
mod step_limit;
mod take_observations;
mod vector_state;

pub use vector_state::{join_snapshots, part_of_snapshot};

use std::num::NonZeroUsize;

use rl_env::{Actions, AutoresetMode, Batch, Env, ResetSeeds, Space, VectorEnv, VectorError, VectorPhase};

use crate::memory;
use crate::pool::{Caller, Pool, Threads};
use crate::slot::Slot;
use crate::slots::Slots;
use crate::spaces::{action_masks, check_spaces, index_tasks};
use crate::{BuildError, PoolOptions};

/// Steps environments of one type on a work-stealing pool.
///
/// * **Order.** If the batch size equals the number of environments, row `i` of every batch is environment `i`. With a
///   smaller one, [`recv`](VectorEnv::recv) returns the environments that finish first, and [`Batch::env_ids`] names
///   them; alternatively, groups of environments [take turns](crate::BatchOrder::InTurn). The behaviour of an
///   environment never depends on the others or on the number of threads.
/// * **No copies.** Environments write observations directly to the row that the caller reads. Batches form a ring: the
///   last one received stays valid, and readable through [`batch`](Self::batch), while others are being filled.
/// * **The caller participates** if a batch holds all environments: `recv` steps environments until none is left. With
///   one thread `send` only records the actions; with more, the other threads start at `send`.
/// * **No allocation** after the first steps, unless an environment allocates or something fails.
/// * **Failures** are returned by `recv` as soon as they happen. After an environment returns an error, the vector
///   environment must be reset or restored; the same applies to an [interruption](rl_env::interrupt). After a panic it
///   can no longer be used: every call repeats the error, and [`is_usable`](Self::is_usable) returns false. Panics are
///   reported before other failures.
///
/// Call `reset` (or `restore`) first, then `send` and `recv` in turn. A call that would block forever, or that sends to
/// an environment twice, returns an error immediately. Dropping the vector environment waits only for the environments
/// that are being stepped at that moment.
///
/// ```
/// use classic_control::{CartPole, Control};
/// use rl_env::{Actions, ResetSeeds, VectorEnv};
/// use vector::{PoolOptions, PoolVectorEnv};
///
/// let envs = (0..4).map(|_| ("CartPole".to_owned(), Control::new(CartPole::default()))).collect();
/// let mut envs = PoolVectorEnv::new(envs, PoolOptions { num_threads: 2, ..PoolOptions::default() })?;
/// envs.reset(ResetSeeds::From(42))?;
/// for _ in 0..10 {
///     let batch = envs.step(Actions::Discrete(&[0, 1, 0, 1]))?;
///     assert_eq!(batch.observations.row_f32(3).len(), 4);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PoolVectorEnv<E: Env + 'static> {
    // Declared before the batches: fields are dropped in order, so the threads end before their rows are freed.
    pool: Pool<Slots<E>>,
    /// A ring with room for the batch being read and for the results of all environments.
    batches: Box<[Batch]>,
    batch_size: usize,
    /// The number of batches received, which is also the position of the next one.
    received: usize,
    /// The first environment of the next batch, if groups take turns.
    next_turn: usize,
    infos: Vec<E::Info>,
    final_infos: Vec<E::Info>,
    phase: VectorPhase,
    /// True for each environment in flight: it has been sent to, and its result has not been received.
    in_flight: Box<[bool]>,
    /// The number of environments in flight.
    num_in_flight: usize,
    observation_space: Space,
    action_spaces: Vec<Space>,
    /// The number of values of an action of each environment.
    action_lens: Vec<usize>,
    /// The action masks of all environments, each padded to the largest number of actions.
    action_masks: Vec<bool>,
    tasks: Vec<String>,
    task_ids: Vec<usize>,
}

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// Creates a vector environment of these environments, each with the name of its task.
    pub fn new(envs: Vec<(String, E)>, options: PoolOptions) -> Result<Self, BuildError> {
        let num_envs = NonZeroUsize::new(envs.len()).ok_or(BuildError::NoEnvironments)?;
        let batch_size = options.batch_size_for(num_envs)?;
        let num_threads = options.threads_for(num_envs, batch_size)?;
        check_spaces(&envs)?;
        let observation_space = envs[0].1.observation_space().clone();
        let action_spaces: Vec<Space> = envs.iter().map(|(_, env)| env.action_space().clone()).collect();
        let (tasks, task_ids) = index_tasks(&envs);
        let mode = options.autoreset_mode;
        check_memory::<E>(envs.len(), batch_size, &observation_space, mode)?;
        let batch = || Batch::new(batch_size, observation_space.byte_len(), mode == AutoresetMode::SameStep);
        let num_batches = rows_of_ring(envs.len(), batch_size) / batch_size;
        let mut batches: Box<[Batch]> = std::iter::repeat_with(batch).take(num_batches).collect();
        let slots = Slots::new(envs.into_iter().map(|(_, env)| env), mode, options.batch_order, &mut batches);
        slots.seek(0, 0);
        let caller = if slots.is_ordered() { Caller::Participates } else { Caller::Waits };
        let threads = Threads { count: num_threads, caller, affinity_offset: options.thread_affinity_offset };
        let pool = Pool::new(threads, num_envs.get(), slots).map_err(BuildError::Threads)?;
        Ok(Self {
            pool,
            batches,
            batch_size,
            received: 0,
            next_turn: 0,
            infos: vec![E::Info::default(); batch_size],
            final_infos: vec![E::Info::default(); batch_size],
            phase: VectorPhase::NeedsReset,
            in_flight: vec![false; num_envs.get()].into(),
            num_in_flight: 0,
            observation_space,
            action_masks: action_masks(&action_spaces),
            action_lens: action_spaces.iter().map(Space::num_elements).collect(),
            action_spaces,
            tasks,
            task_ids,
        })
    }

    /// Returns the number of threads that step environments.
    pub fn num_threads(&self) -> usize {
        self.pool.num_threads()
    }

    /// Returns true if a batch holds all environments, so that row `i` is environment `i`.
    pub fn is_ordered(&self) -> bool {
        self.pool.task().is_ordered()
    }

    /// Returns the last batch received, also between `send` and `recv`. The batch is all zeros before the first reset.
    pub fn batch(&self) -> &Batch {
        &self.batches[self.last_batch()]
    }

    /// Returns the index in the ring of the last batch.
    fn last_batch(&self) -> usize {
        (self.received + self.batches.len() - 1) % self.batches.len()
    }

    /// Returns the info of each row of the last batch.
    pub fn infos(&self) -> &[E::Info] {
        &self.infos
    }

    /// Returns the info of each row before [`AutoresetMode::SameStep`] reset the environment. Equal to
    /// [`infos`](Self::infos) in rows that were not reset and after a [`restore`](VectorEnv::restore).
    pub fn final_infos(&self) -> &[E::Info] {
        &self.final_infos
    }

    /// Returns true for each environment in flight: it has been sent to, and its result has not been received.
    pub fn in_flight(&self) -> &[bool] {
        &self.in_flight
    }

    /// Returns the number of environments in flight.
    pub fn num_in_flight(&self) -> usize {
        self.num_in_flight
    }

    /// Returns true unless an environment has panicked.
    pub fn is_usable(&self) -> bool {
        !matches!(self.phase, VectorPhase::Broken(_))
    }

    /// Returns the action mask of an environment: true for valid indices, padded to the largest number of actions of
    /// any environment. Empty for action spaces other than [`Space::Discrete`].
    pub fn action_mask(&self, env: usize) -> Result<&[bool], VectorError> {
        let width = self.action_masks.len() / self.num_envs();
        if env >= self.num_envs() {
            return Err(VectorError::UnknownEnv { env, num_envs: self.num_envs() });
        }
        let is_discrete = matches!(self.action_spaces[env], Space::Discrete { .. });
        Ok(if is_discrete { &self.action_masks[env * width..][..width] } else { &[] })
    }

    /// Calls `look` with an environment that is not in flight.
    pub fn with_env<R>(&self, env: usize, look: impl FnOnce(&E) -> R) -> Result<R, VectorError> {
        self.phase.check_usable()?;
        self.check_idle(env)?;
        Ok(look(&self.pool.task().lock(env).env))
    }

    /// Calls `change` with an environment that is not in flight.
    pub fn with_env_mut<R>(
        &mut self,
        env: usize,
        change: impl FnOnce(&mut E) -> R,
    ) -> Result<R, VectorError> {
        self.phase.check_usable()?;
        self.check_idle(env)?;
        Ok(change(&mut self.pool.task().lock(env).env))
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

    fn check_idle(&self, env: usize) -> Result<(), VectorError> {
        check_idle(&self.in_flight, env)
    }
}

impl<E: Env + 'static> VectorEnv for PoolVectorEnv<E> {
    fn num_envs(&self) -> usize {
        self.pool.task().len()
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
        self.pool.task().mode()
    }

    fn reset(&mut self, seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError> {
        self.reset_selected(|_| true, self.num_envs(), seeds)
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
        Self::batch(self)
    }

    fn snapshot(&self) -> Result<Vec<u8>, VectorError> {
        self.save()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<&Batch, VectorError> {
        self.load(snapshot)
    }
}

impl<E: Env + 'static> Drop for PoolVectorEnv<E> {
    /// Ends the environments in flight early.
    fn drop(&mut self) {
        self.pool.task().arrivals.stop();
    }
}

/// Returns an error if there is too little memory for environments of this type and their batches.
fn check_memory<E: Env>(
    num_envs: usize,
    batch_size: usize,
    observation_space: &Space,
    mode: AutoresetMode,
) -> Result<(), BuildError> {
    let rows = rows_of_ring(num_envs, batch_size);
    memory::check_available([(num_envs, size_of::<Slot<E>>()), (rows, row_memory(observation_space, mode))])
}

/// Returns the number of rows of all batches in the ring: those of the batch being read, and one for each environment.
pub(crate) fn rows_of_ring(num_envs: usize, batch_size: usize) -> usize {
    batch_size + num_envs.next_multiple_of(batch_size)
}

/// Returns the bytes of a row of a batch, including its final observation if there is one.
pub(crate) fn row_memory(observation_space: &Space, mode: AutoresetMode) -> usize {
    let observations = if mode == AutoresetMode::SameStep { 2 } else { 1 };
    observations * observation_space.byte_len().next_multiple_of(size_of::<u64>())
}

/// Checks that an environment exists and is not in flight.
fn check_idle(in_flight: &[bool], env: usize) -> Result<(), VectorError> {
    match in_flight.get(env) {
        Some(false) => Ok(()),
        Some(true) => Err(VectorError::InFlight { env }),
        None => Err(VectorError::UnknownEnv { env, num_envs: in_flight.len() }),
    }
}
