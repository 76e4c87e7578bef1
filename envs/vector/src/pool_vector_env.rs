use std::num::NonZeroUsize;

use rl_env::{Actions, AutoresetMode, Batch, Env, EnvError, ResetSeeds, Space, VectorEnv};

use crate::pool::{Caller, Pool, Threads};
use crate::slot::Order;
use crate::slots::Slots;
use crate::spaces::{action_masks, check_spaces, number_tasks};
use crate::{BuildError, PoolOptions};

/// Where a vector environment stands between two calls.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Nothing has been reset yet, or an environment's error left a step half done.
    NeedsReset,
    /// A batch has been received, actions may come.
    Ready,
    /// An environment has panicked.
    Broken(EnvError),
}

/// Steps environments of one type on a work-stealing pool.
///
/// * **Order.** When the batch size equals the number of environments, row `i` of every batch is environment `i`. With a
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
    pub(crate) pool: Pool<Slots<E>>,
    /// Enough for the batch that is being read and for the results of all environments.
    pub(crate) batches: Box<[Batch]>,
    batch_size: usize,
    /// Number of batches received so far, and so the position of the next one. The last one is being read.
    pub(crate) received: usize,
    /// Where groups take turns: the first environment of the next batch.
    next_turn: usize,
    infos: Vec<E::Info>,
    final_infos: Vec<E::Info>,
    pub(crate) phase: Phase,
    /// For each environment whether it has been sent to and its result has not been received.
    pub(crate) under_way: Box<[bool]>,
    /// How many are.
    pub(crate) num_under_way: usize,
    observation_space: Space,
    action_spaces: Vec<Space>,
    /// Integers or floats of one action of each environment.
    pub(crate) action_lens: Vec<usize>,
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
        let (tasks, task_ids) = number_tasks(&envs);
        let mode = options.autoreset_mode;
        let batch = || Batch::new(batch_size, observation_space.byte_len(), mode == AutoresetMode::SameStep);
        let ring = 1 + envs.len().div_ceil(batch_size);
        let mut batches: Box<[Batch]> = std::iter::repeat_with(batch).take(ring).collect();
        let slots = Slots::new(envs.into_iter().map(|(_, env)| env), mode, options.batch_order, &mut batches);
        slots.seek(0, 0);
        let caller = if slots.is_ordered() { Caller::WorksAlong } else { Caller::Waits };
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
            under_way: vec![false; num_envs.get()].into(),
            num_under_way: 0,
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
    pub(crate) fn last_batch(&self) -> usize {
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
    pub fn num_under_way(&self) -> usize {
        self.num_under_way
    }

    /// Whether calls can still succeed: no environment has panicked.
    pub fn is_usable(&self) -> bool {
        !matches!(self.phase, Phase::Broken(_))
    }

    /// Which actions an environment has, out of as many as the one with the most has: true for valid indices. For action
    /// spaces other than [`Space::Discrete`] there is nothing to mask, and the mask is empty.
    pub fn action_mask(&self, env: usize) -> Result<&[bool], EnvError> {
        let width = self.action_masks.len() / self.num_envs();
        let mask = self.action_masks.get(env * width..(env + 1) * width).filter(|_| env < self.num_envs());
        mask.ok_or(EnvError::UnknownEnv { env, num_envs: self.num_envs() })
    }

    /// Looks at an environment that is not under way.
    pub fn with_env<R>(&self, env: usize, look: impl FnOnce(&E) -> R) -> Result<R, EnvError> {
        self.check_not_broken()?;
        self.check_idle(env)?;
        Ok(look(&self.pool.task().lock(env).env))
    }

    /// Resets the environments whose entry in `mask` is true. The others stay as they are and are reported again,
    /// with reward 0 and no flags; one that waits for its autoreset goes on waiting.
    ///
    /// The seeds count the selected environments only: the first of them gets the first seed. Resetting only some needs
    /// batches in order.
    pub fn reset_masked(&mut self, mask: &[bool], seeds: ResetSeeds<'_>) -> Result<&Batch, EnvError> {
        check_len("entries of the reset mask", mask.len(), self.num_envs())?;
        let selected = mask.iter().filter(|&&selected| selected).count();
        if selected < mask.len() {
            self.check_ready("some environments can be reset only after all have been reset once")?;
            if !self.is_ordered() {
                return Err(EnvError::OutOfOrder(
                    "some environments can be reset by themselves only when a batch holds all of them",
                ));
            }
        }
        self.reset_selected(|env| mask[env], selected, seeds)
    }

    fn reset_selected(
        &mut self,
        selects: impl Fn(usize) -> bool,
        selected: usize,
        seeds: ResetSeeds<'_>,
    ) -> Result<&Batch, EnvError> {
        if let ResetSeeds::Each(seeds) = seeds {
            check_len("seeds", seeds.len(), selected)?;
        }
        self.check_not_stepping("reset came between send and recv")?;
        self.discard()?;
        let mut position = 0;
        self.start_round(|env| {
            if !selects(env) {
                return Order::Report;
            }
            position += 1;
            Order::Reset(seeds.of(position - 1))
        });
        // From here on everything has been reset, or is being reset.
        self.phase = Phase::Ready;
        self.receive()
    }

    /// In ordered mode all results have to be received before anything but `send` and `recv`, unless an error came. Else
    /// some are always under way.
    pub(crate) fn check_not_stepping(&self, reason_if_not: &'static str) -> Result<(), EnvError> {
        self.check_not_broken()?;
        if self.is_ordered() && matches!(self.phase, Phase::Ready) && self.num_under_way > 0 {
            return Err(EnvError::OutOfOrder(reason_if_not));
        }
        Ok(())
    }

    /// Waits for what is under way and forgets its results.
    pub(crate) fn discard(&mut self) -> Result<(), EnvError> {
        self.discard_from(0)
    }

    /// The same; where groups take turns, the next one is that of `first_env`.
    pub(crate) fn discard_from(&mut self, first_env: usize) -> Result<(), EnvError> {
        self.wait_for_all();
        let slots = self.pool.task();
        if let Some(error @ EnvError::Panicked { .. }) = slots.arrivals.failure() {
            self.phase = Phase::Broken(error.clone());
            return Err(error);
        }
        slots.arrivals.clear();
        slots.seek(self.received * self.batch_size, first_env);
        self.next_turn = first_env;
        self.under_way.fill(false);
        self.num_under_way = 0;
        Ok(())
    }

    /// Number of environments under way whose results the next batch may hold.
    fn under_way_for_next_batch(&self) -> usize {
        if !self.pool.task().takes_turns() {
            return self.num_under_way;
        }
        let turn = &self.under_way[self.next_turn..self.next_turn + self.batch_size];
        turn.iter().filter(|&&under_way| under_way).count()
    }

    /// Waits until nothing is under way.
    pub(crate) fn wait_for_all(&self) {
        let arrivals = &self.pool.task().arrivals;
        let is_quiet = || arrivals.is_quiet();
        self.pool.run_until(is_quiet, || arrivals.wait_until(is_quiet));
    }

    /// Gives every environment its order and starts the pool. Nothing may be under way.
    fn start_round(&mut self, mut order_of: impl FnMut(usize) -> Order) {
        let num_envs = self.num_envs();
        let slots = self.pool.task();
        for env in 0..num_envs {
            slots.lock(env).order = order_of(env);
        }
        slots.arrivals.expect(num_envs);
        self.under_way.fill(true);
        self.num_under_way = num_envs;
        self.pool.start_round(num_envs);
    }

    /// Waits for the next batch and reports it.
    pub(crate) fn receive(&mut self) -> Result<&Batch, EnvError> {
        let arrivals = &self.pool.task().arrivals;
        let next = self.received % self.batches.len();
        let is_settled = || arrivals.is_settled(next);
        self.pool.run_until(is_settled, || arrivals.wait_until(is_settled));
        if let Some(error) = arrivals.failure() {
            self.phase = match error {
                EnvError::Panicked { .. } => Phase::Broken(error.clone()),
                _ => Phase::NeedsReset,
            };
            return Err(error);
        }
        arrivals.empty(next);
        Ok(self.report())
    }

    /// Makes the next batch, whose observations are complete, the received one.
    fn report(&mut self) -> &Batch {
        let slots = self.pool.task();
        let start = self.received * self.batch_size;
        self.received += 1;
        self.next_turn = (self.next_turn + self.batch_size) % self.num_envs();
        let last = self.last_batch();
        let batch = &mut self.batches[last];
        for row in 0..self.batch_size {
            let env = slots.owner(start + row);
            self.under_way[env] = false;
            let slot = slots.lock(env);
            let outcome = &slot.outcome;
            batch.env_ids[row] = env;
            batch.rewards[row] = outcome.step.reward;
            batch.raw_rewards[row] = outcome.step.raw_reward;
            batch.terminated[row] = outcome.step.terminated;
            batch.truncated[row] = outcome.step.truncated;
            batch.continues[row] = outcome.step.continues;
            batch.steps[row] = outcome.steps;
            batch.autoreset[row] = outcome.autoreset;
            batch.episodes[row] = outcome.episode;
            batch.episode_seconds[row] = outcome.episode_seconds;
            self.infos[row].clone_from(&slot.info);
            self.final_infos[row].clone_from(&slot.final_info);
        }
        self.num_under_way -= self.batch_size;
        batch
    }

    pub(crate) fn check_not_broken(&self) -> Result<(), EnvError> {
        match &self.phase {
            Phase::Broken(error) => Err(error.clone()),
            Phase::NeedsReset | Phase::Ready => Ok(()),
        }
    }

    pub(crate) fn check_ready(&self, reason_if_not: &'static str) -> Result<(), EnvError> {
        self.check_not_broken()?;
        match &self.phase {
            Phase::Ready => Ok(()),
            _ => Err(EnvError::OutOfOrder(reason_if_not)),
        }
    }

    pub(crate) fn check_idle(&self, env: usize) -> Result<(), EnvError> {
        check_idle(&self.under_way, env)
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

    fn reset(&mut self, seeds: ResetSeeds<'_>) -> Result<&Batch, EnvError> {
        self.reset_selected(|_| true, self.num_envs(), seeds)
    }

    fn send(&mut self, actions: Actions<'_>) -> Result<(), EnvError> {
        self.send_to_last_batch(actions)
    }

    fn recv(&mut self) -> Result<&Batch, EnvError> {
        self.check_ready("recv needs a reset before it, and a send after every batch")?;
        let under_way = self.under_way_for_next_batch();
        if under_way < self.batch_size {
            return Err(EnvError::TooFewUnderWay { under_way, batch_size: self.batch_size });
        }
        self.receive()
    }

    fn batch(&self) -> &Batch {
        Self::batch(self)
    }

    fn snapshot(&self) -> Result<Vec<u8>, EnvError> {
        self.save()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<&Batch, EnvError> {
        self.load(snapshot)
    }
}

/// Whether an environment is there and not under way.
pub(crate) fn check_idle(under_way: &[bool], env: usize) -> Result<(), EnvError> {
    match under_way.get(env) {
        Some(false) => Ok(()),
        Some(true) => Err(EnvError::UnderWay { env }),
        None => Err(EnvError::UnknownEnv { env, num_envs: under_way.len() }),
    }
}

pub(crate) fn check_len(what: &'static str, got: usize, expected: usize) -> Result<(), EnvError> {
    if got == expected { Ok(()) } else { Err(EnvError::WrongLength { what, got, expected }) }
}
