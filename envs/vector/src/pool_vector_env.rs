use std::num::NonZeroUsize;
use std::thread;

use rl_env::{Action, Actions, AutoresetMode, Batch, Env, EnvError, ResetSeeds, Space, VectorEnv};

use crate::BuildError;
use crate::pool::Pool;
use crate::row;
use crate::slot::{ActionBuffer, Order, Slots};
use crate::snapshot::{SlotState, VectorState};

/// How a [`PoolVectorEnv`] works, beside the environments themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolOptions {
    /// Threads that step environments, the one that calls `recv` among them; 0 means as many as the machine has
    /// cores. Never more than there are environments.
    pub num_threads: usize,
    /// What happens at the end of an episode.
    pub autoreset_mode: AutoresetMode,
}

impl PoolOptions {
    fn threads_for(&self, num_envs: NonZeroUsize) -> NonZeroUsize {
        let wanted = match NonZeroUsize::new(self.num_threads) {
            Some(num_threads) => num_threads,
            None => thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        };
        wanted.min(num_envs)
    }
}

/// Where a vector environment stands between two calls.
#[derive(Debug)]
enum Phase {
    /// Nothing has been reset yet, or an environment's error left a step half done.
    NeedsReset,
    /// A batch has been received, actions may come.
    Ready,
    /// Actions have been sent, the batch is being made.
    Stepping,
    /// An environment has panicked.
    Broken(EnvError),
}

/// Steps environments of one type on a work-stealing pool. Row `i` of every batch is environment `i`.
///
/// * **One write.** Observations are written straight into the row that the caller reads. Two batches alternate: the
///   received one stays as it is, and readable through [`batch`](Self::batch), while the next is being made.
/// * **The caller works along.** `recv` steps environments itself until none is left. With one thread `send` only
///   notes the actions; with more, the other threads begin at `send`.
/// * **No allocation** from the first step on, unless an environment allocates or something fails.
/// * **Failures** come back from `recv`, once every environment has finished its step. After an error that an
///   environment returned, the vector environment has to be reset (or restored). After a panic it cannot be used any
///   more: every further call repeats the error, and [`is_usable`](Self::is_usable) says no. Of several failures the
///   one with the lowest index is reported, panics first.
///
/// The order of calls is `reset` (or `restore`), then `send` and `recv` in turn; anything else is
/// [`EnvError::OutOfOrder`]. Dropping it in the middle of a step waits for the environments being stepped and leaves
/// the others.
pub struct PoolVectorEnv<E: Env + 'static> {
    // The pool comes before the batches: fields are dropped in order, so its threads have ended when the rows go.
    pool: Pool<Slots<E>>,
    batches: [Batch; 2],
    /// Which batch was received last; the other one is being made, or waits to be.
    received: usize,
    infos: Vec<E::Info>,
    phase: Phase,
    observation_space: Space,
    action_spaces: Vec<Space>,
    /// Integers or floats of each environment's action.
    action_lens: Vec<usize>,
    tasks: Vec<String>,
    task_ids: Vec<usize>,
}

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// A vector environment of these environments, each with the name of its task.
    pub fn new(envs: Vec<(String, E)>, options: PoolOptions) -> Result<Self, BuildError> {
        let num_envs = NonZeroUsize::new(envs.len()).ok_or(BuildError::NoEnvironments)?;
        check_spaces(&envs)?;
        let observation_space = envs[0].1.observation_space().clone();
        let action_spaces: Vec<Space> = envs.iter().map(|(_, env)| env.action_space().clone()).collect();
        let mut tasks: Vec<String> = Vec::new();
        let mut task_ids = Vec::with_capacity(envs.len());
        for (task, _) in &envs {
            let known = tasks.iter().position(|name| name == task);
            task_ids.push(known.unwrap_or(tasks.len()));
            if known.is_none() {
                tasks.push(task.clone());
            }
        }
        let mode = options.autoreset_mode;
        let slots = Slots::new(envs.into_iter().map(|(_, env)| env), mode);
        let pool = Pool::new(options.threads_for(num_envs), slots).map_err(BuildError::Threads)?;
        let batch =
            || Batch::new(num_envs.get(), observation_space.byte_len(), mode == AutoresetMode::SameStep);
        Ok(Self {
            pool,
            batches: [batch(), batch()],
            received: 0,
            infos: vec![E::Info::default(); num_envs.get()],
            phase: Phase::NeedsReset,
            observation_space,
            action_lens: action_spaces.iter().map(|space| ActionBuffer::new(space).len()).collect(),
            action_spaces,
            tasks,
            task_ids,
        })
    }

    /// Number of threads that step environments, the calling one included.
    pub fn num_threads(&self) -> usize {
        self.pool.num_threads()
    }

    /// The batch that was received last, also between `send` and `recv`. All zero before the first reset.
    pub fn batch(&self) -> &Batch {
        &self.batches[self.received]
    }

    /// What the environments report beside the batch that was received last, row after row.
    pub fn infos(&self) -> &[E::Info] {
        &self.infos
    }

    /// Whether calls can still succeed: no environment has panicked.
    pub fn is_usable(&self) -> bool {
        !matches!(self.phase, Phase::Broken(_))
    }

    /// Resets the environments whose entry in `mask` is true. The others stay as they are and are reported again,
    /// with reward 0 and no flags; one that waits for its autoreset goes on waiting.
    ///
    /// The seeds count the selected environments only: the first of them gets the first seed.
    pub fn reset_masked(&mut self, mask: &[bool], seeds: ResetSeeds<'_>) -> Result<&Batch, EnvError> {
        check_len("entries of the reset mask", mask.len(), self.num_envs())?;
        let selected = mask.iter().filter(|&&selected| selected).count();
        if selected < mask.len() {
            self.expect_ready("some environments can be reset only after all have been reset once")?;
        }
        self.reset_selected(|env| mask[env], selected, seeds)
    }

    fn reset_selected(
        &mut self,
        selects: impl Fn(usize) -> bool,
        selected: usize,
        seeds: ResetSeeds<'_>,
    ) -> Result<&Batch, EnvError> {
        match &self.phase {
            Phase::NeedsReset | Phase::Ready => {}
            Phase::Stepping => return Err(EnvError::OutOfOrder("reset came between send and recv")),
            Phase::Broken(error) => return Err(error.clone()),
        }
        if let ResetSeeds::Each(seeds) = seeds {
            check_len("seeds", seeds.len(), selected)?;
        }
        let mut position = 0;
        self.start_round(|env| {
            if !selects(env) {
                return Order::Report;
            }
            position += 1;
            Order::Reset(seeds.of(position - 1))
        });
        self.finish_round()
    }

    /// Gives every environment its order and the rows of the batch that is not being read, and starts the pool.
    fn start_round(&mut self, mut order_of: impl FnMut(usize) -> Order) {
        let batch = &mut self.batches[1 - self.received];
        // SAFETY: the rows are used until the pool has finished the round, or has been dropped. Until then nobody
        // touches this batch: it is the received one's twin, which only `finish_round` (after the round) and
        // `restore` (refused during a round) use. It is dropped after the pool.
        #[allow(unsafe_code)]
        let (rows, mut final_rows) =
            unsafe { (row::lend(&mut batch.observations), row::lend(&mut batch.final_observations)) };
        let slots = self.pool.task();
        for (env, row) in rows.enumerate() {
            slots.lock(env).accept(order_of(env), row, final_rows.next());
        }
        self.pool.start(self.num_envs());
    }

    /// Waits for the end of the round and reports it.
    fn finish_round(&mut self) -> Result<&Batch, EnvError> {
        self.pool.finish();
        if let Some(error) = self.failure() {
            self.phase = match error {
                EnvError::Panicked { .. } => Phase::Broken(error.clone()),
                _ => Phase::NeedsReset,
            };
            return Err(error);
        }
        Ok(self.report())
    }

    /// The round's failure, if there is one.
    fn failure(&self) -> Option<EnvError> {
        let mut first = None;
        for env in 0..self.num_envs() {
            match &self.pool.task().lock(env).outcome {
                Ok(_) => {}
                Err(error @ EnvError::Panicked { .. }) => return Some(error.clone()),
                // An environment does not know its index among the others.
                Err(EnvError::InvalidAction { action, space, .. }) if first.is_none() => {
                    first =
                        Some(EnvError::InvalidAction { env, action: action.clone(), space: space.clone() });
                }
                Err(error) => first = first.or_else(|| Some(error.clone())),
            }
        }
        first
    }

    /// Makes the twin batch, whose observations are complete, the received one.
    fn report(&mut self) -> &Batch {
        self.received = 1 - self.received;
        let batch = &mut self.batches[self.received];
        for (env, info) in self.infos.iter_mut().enumerate() {
            let slot = self.pool.task().lock(env);
            // A round with a failure is never reported.
            let outcome = slot.outcome.as_ref().copied().unwrap_or_default();
            batch.rewards[env] = outcome.step.reward;
            batch.raw_rewards[env] = outcome.step.raw_reward;
            batch.terminated[env] = outcome.step.terminated;
            batch.truncated[env] = outcome.step.truncated;
            batch.autoreset[env] = outcome.autoreset;
            batch.episodes[env] = outcome.episode;
            info.clone_from(&slot.info);
        }
        self.phase = Phase::Ready;
        batch
    }

    fn expect_ready(&self, reason_if_not: &'static str) -> Result<(), EnvError> {
        match &self.phase {
            Phase::Ready => Ok(()),
            Phase::NeedsReset | Phase::Stepping => Err(EnvError::OutOfOrder(reason_if_not)),
            Phase::Broken(error) => Err(error.clone()),
        }
    }

    /// The task of every environment.
    fn task_names(&self) -> Vec<String> {
        self.task_ids.iter().map(|&id| self.tasks[id].clone()).collect()
    }

    /// Puts the environments' own snapshots back; on an error those that were changed already are put back too.
    fn restore_envs(&mut self, states: &[SlotState]) -> Result<(), EnvError> {
        let slots = self.pool.task();
        let mut changed = Vec::with_capacity(states.len());
        for (env, state) in states.iter().enumerate() {
            let mut slot = slots.lock(env);
            let before = slot.env.snapshot();
            match slot.env.restore(&state.env) {
                Ok(()) => changed.push(before),
                Err(error) => {
                    drop(slot);
                    for (env, before) in changed.iter().enumerate() {
                        slots.lock(env).env.restore(before)?;
                    }
                    return Err(EnvError::BadSnapshot(format!("environment {env}: {error}")));
                }
            }
        }
        Ok(())
    }
}

impl<E: Env + 'static> VectorEnv for PoolVectorEnv<E> {
    fn num_envs(&self) -> usize {
        self.pool.task().len()
    }

    fn batch_size(&self) -> usize {
        self.num_envs()
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
        self.expect_ready(
            "send needs a batch that has been received: reset first, then take turns with recv",
        )?;
        let got = match actions {
            Actions::Discrete(values) => values.len(),
            Actions::Continuous(values) => values.len(),
        };
        check_len("action values", got, self.action_lens.iter().sum())?;
        let mut start = 0;
        for (env, len) in self.action_lens.iter().enumerate() {
            let range = start..start + len;
            start = range.end;
            let action = match actions {
                Actions::Discrete(values) => Action::Discrete(&values[range]),
                Actions::Continuous(values) => Action::Continuous(&values[range]),
            };
            let mut slot = self.pool.task().lock(env);
            slot.accept_action(env, action, self.autoreset_mode())?;
        }
        self.start_round(|_| Order::Step);
        self.phase = Phase::Stepping;
        Ok(())
    }

    fn recv(&mut self) -> Result<&Batch, EnvError> {
        match &self.phase {
            Phase::Stepping => self.finish_round(),
            Phase::Broken(error) => Err(error.clone()),
            Phase::NeedsReset | Phase::Ready => {
                Err(EnvError::OutOfOrder("recv came without a send before it"))
            }
        }
    }

    fn snapshot(&self) -> Result<Vec<u8>, EnvError> {
        self.expect_ready("a snapshot can be taken after reset, and not between send and recv")?;
        let same_step = self.autoreset_mode() == AutoresetMode::SameStep;
        let slots = (0..self.num_envs()).map(|env| {
            let slot = self.pool.task().lock(env);
            let outcome = slot.outcome.as_ref().copied().map_err(EnvError::clone)?;
            let has_final = same_step && outcome.episode.is_some();
            Ok(SlotState {
                env: slot.env.snapshot(),
                episode: slot.episode,
                episode_over: slot.episode_over,
                outcome,
                final_observation: has_final.then(|| self.batch().final_observations.row(env).to_vec()),
            })
        });
        VectorState::new(self.autoreset_mode(), self.task_names(), slots.collect::<Result<_, EnvError>>()?)
            .encode()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<&Batch, EnvError> {
        match &self.phase {
            Phase::NeedsReset | Phase::Ready => {}
            Phase::Stepping => return Err(EnvError::OutOfOrder("restore came between send and recv")),
            Phase::Broken(error) => return Err(error.clone()),
        }
        let row_bytes = self.observation_space.byte_len();
        let state = VectorState::decode(snapshot, self.autoreset_mode(), &self.task_names(), row_bytes)?;
        self.restore_envs(&state.slots)?;
        let batch = &mut self.batches[1 - self.received];
        for (env, state) in state.slots.into_iter().enumerate() {
            let mut slot = self.pool.task().lock(env);
            slot.env.observe(batch.observations.row_mut(env));
            if batch.final_observations.rows() > 0 {
                match state.final_observation {
                    Some(row) => batch.final_observations.row_mut(env).copy_from_slice(&row),
                    None => slot.env.observe(batch.final_observations.row_mut(env)),
                }
            }
            slot.episode = state.episode;
            slot.episode_over = state.episode_over;
            slot.outcome = Ok(state.outcome);
            slot.info = slot.env.info();
        }
        Ok(self.report())
    }
}

fn check_len(what: &'static str, got: usize, expected: usize) -> Result<(), EnvError> {
    if got == expected { Ok(()) } else { Err(EnvError::WrongLength { what, got, expected }) }
}

/// Whether the environments can share batches of observations and of actions.
fn check_spaces<E: Env>(envs: &[(String, E)]) -> Result<(), BuildError> {
    let is_continuous = |space: &Space| matches!(space, Space::Box { .. });
    let (observations, actions) = (envs[0].1.observation_space(), envs[0].1.action_space());
    for (index, (task, env)) in envs.iter().enumerate() {
        if env.observation_space() != observations {
            return Err(BuildError::DifferentObservations {
                env: index,
                task: task.clone(),
                found: env.observation_space().clone(),
                expected: observations.clone(),
            });
        }
        if is_continuous(env.action_space()) != is_continuous(actions) {
            return Err(BuildError::DifferentActions {
                env: index,
                task: task.clone(),
                found: env.action_space().clone(),
                expected: actions.clone(),
            });
        }
    }
    Ok(())
}
