mod copies;
mod receive;
mod reset;
mod send;
mod snapshot;
mod step_limit;
mod take_observations;
mod vector_state;

use std::num::NonZeroUsize;

use rl_env::{Actions, AutoresetMode, Batch, Env, ResetSeeds, Space, VectorEnv, VectorError};

use crate::pool::{Caller, Pool, Threads};
use crate::slots::Slots;
use crate::spaces::{action_masks, check_spaces, index_tasks};
use crate::{BuildError, PoolOptions};

/// Where a vector environment stands between two calls.
#[derive(Debug)]
enum Phase {
    /// Nothing has been reset yet, or an environment's error left a step half done.
    NeedsReset,
    /// A batch has been received, actions may come.
    Ready,
    /// An environment has panicked.
    Broken(VectorError),
}

/// Steps environments of one type on a work-stealing pool.
///
/// * **Command.** When the batch size equals the number of environments, row `i` of every batch is environment `i`. With a
///   smaller one [`recv`](VectorEnv::recv) gives the results that come first, in the order in which they came, and
///   [`Batch::env_ids`] says whose they are; the others follow in later batches. Or groups of environments
///   [take turns](crate::BatchOrder::InTurn). What an environment does never depends on the others, nor on the number of threads.
/// * **One write.** Observations are written straight into the row that the caller reads. The batches are a ring: the
///   received one stays as it is, and readable through [`batch`](Self::batch), while others are being filled.
/// * **The caller works along** where batches are in order: `recv` steps environments itself until none is left. With
///   one thread `send` only notes the actions; with more, the other threads begin at `send`.
/// * **No allocation** from the first steps on, unless an environment allocates or something fails.
/// * **Failures** come back from `recv`, as soon as they happen. After an error that an environment returned, the vector
///   environment has to be reset (or restored). After a panic it cannot be used any more: every further call repeats the
///   error, and [`is_usable`](Self::is_usable) says no. Of several failures panics are reported first.
///
/// The order of calls is `reset` (or `restore`), then `send` and `recv` in turn. Whatever would wait for ever, or send to
/// an environment twice, is an error at once. Dropping it in the middle of a step waits for the environments being
/// stepped and leaves the others.
pub struct PoolVectorEnv<E: Env + 'static> {
    // The pool comes before the batches: fields are dropped in order, so its threads have ended when the rows go.
    pool: Pool<Slots<E>>,
    /// Enough for the batch that is being read and for the results of all environments.
    batches: Box<[Batch]>,
    batch_size: usize,
    /// Number of batches received so far, and so the position of the next one. The last one is being read.
    received: usize,
    /// Where groups take turns: the first environment of the next batch.
    next_turn: usize,
    infos: Vec<E::Info>,
    final_infos: Vec<E::Info>,
    phase: Phase,
    /// For each environment whether it has been sent to and its result has not been received.
    in_flight: Box<[bool]>,
    /// How many are.
    num_in_flight: usize,
    observation_space: Space,
    action_spaces: Vec<Space>,
    /// Integers or floats of one action of each environment.
    action_lens: Vec<usize>,
    /// Which actions are valid, environment after environment, each padded to the largest number of actions.
    action_masks: Vec<bool>,
    tasks: Vec<String>,
    task_ids: Vec<usize>,
}

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// A vector environment of these environments, each with the name of its task.
    pub fn new(envs: Vec<(String, E)>, options: PoolOptions) -> Result<Self, BuildError> {
        let num_envs = NonZeroUsize::new(envs.len()).ok_or(BuildError::NoEnvironments)?;
        let batch_size = options.batch_size_for(num_envs)?;
        let num_threads = options.threads_for(num_envs, batch_size);
        check_spaces(&envs)?;
        let observation_space = envs[0].1.observation_space().clone();
        let action_spaces: Vec<Space> = envs.iter().map(|(_, env)| env.action_space().clone()).collect();
        let (tasks, task_ids) = index_tasks(&envs);
        let mode = options.autoreset_mode;
        let batch = || Batch::new(batch_size, observation_space.byte_len(), mode == AutoresetMode::SameStep);
        let ring = 1 + envs.len().div_ceil(batch_size);
        let mut batches: Box<[Batch]> = std::iter::repeat_with(batch).take(ring).collect();
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
            phase: Phase::NeedsReset,
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

    /// Number of threads that step environments.
    pub fn num_threads(&self) -> usize {
        self.pool.num_threads()
    }

    /// Whether row `i` of every batch is environment `i`.
    pub fn is_ordered(&self) -> bool {
        self.pool.task().is_ordered()
    }

    /// The batch that was received last, also between `send` and `recv`. All zero before the first reset.
    pub fn batch(&self) -> &Batch {
        &self.batches[self.last_batch()]
    }

    /// Where in the ring the batch is that was received last.
    fn last_batch(&self) -> usize {
        (self.received + self.batches.len() - 1) % self.batches.len()
    }

    /// What the environments report beside the batch that was received last, row after row.
    pub fn infos(&self) -> &[E::Info] {
        &self.infos
    }

    /// What the environments reported before [`AutoresetMode::SameStep`] reset them, row after row; equal to
    /// [`infos`](Self::infos) in rows that were not reset, and after a [`restore`](VectorEnv::restore).
    pub fn final_infos(&self) -> &[E::Info] {
        &self.final_infos
    }

    /// Number of environments that have been sent to and whose results have not been received.
    pub fn num_in_flight(&self) -> usize {
        self.num_in_flight
    }

    /// Whether calls can still succeed: no environment has panicked.
    pub fn is_usable(&self) -> bool {
        !matches!(self.phase, Phase::Broken(_))
    }

    /// Which actions an environment has, out of as many as the one with the most has: true for valid indices. For action
    /// spaces other than [`Space::Discrete`] there is nothing to mask, and the mask is empty.
    pub fn action_mask(&self, env: usize) -> Result<&[bool], VectorError> {
        let width = self.action_masks.len() / self.num_envs();
        let mask = self.action_masks.get(env * width..(env + 1) * width).filter(|_| env < self.num_envs());
        mask.ok_or(VectorError::UnknownEnv { env, num_envs: self.num_envs() })
    }

    /// Looks at an environment that is not under way.
    pub fn with_env<R>(&self, env: usize, look: impl FnOnce(&E) -> R) -> Result<R, VectorError> {
        self.check_not_broken()?;
        self.check_idle(env)?;
        Ok(look(&self.pool.task().lock(env).env))
    }

    /// In ordered mode all results have to be received before anything but `send` and `recv`, unless an error came. Else
    /// some are always under way.
    fn check_not_stepping(&self, reason_if_not: &'static str) -> Result<(), VectorError> {
        self.check_not_broken()?;
        if self.is_ordered() && matches!(self.phase, Phase::Ready) && self.num_in_flight > 0 {
            return Err(VectorError::OutOfOrder(reason_if_not));
        }
        Ok(())
    }

    fn check_not_broken(&self) -> Result<(), VectorError> {
        match &self.phase {
            Phase::Broken(error) => Err(error.clone()),
            Phase::NeedsReset | Phase::Ready => Ok(()),
        }
    }

    fn check_ready(&self, reason_if_not: &'static str) -> Result<(), VectorError> {
        self.check_not_broken()?;
        match &self.phase {
            Phase::Ready => Ok(()),
            _ => Err(VectorError::OutOfOrder(reason_if_not)),
        }
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
        self.check_ready("recv needs a reset before it, and a send after every batch")?;
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

/// Whether an environment is there and not under way.
fn check_idle(in_flight: &[bool], env: usize) -> Result<(), VectorError> {
    match in_flight.get(env) {
        Some(false) => Ok(()),
        Some(true) => Err(VectorError::InFlight { env }),
        None => Err(VectorError::UnknownEnv { env, num_envs: in_flight.len() }),
    }
}

fn check_len(what: &'static str, got: usize, expected: usize) -> Result<(), VectorError> {
    if got == expected { Ok(()) } else { Err(VectorError::WrongLength { what, got, expected }) }
}
