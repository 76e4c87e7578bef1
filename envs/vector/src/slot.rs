use std::sync::{Mutex, MutexGuard, PoisonError};

use rl_env::{Action, AutoresetMode, Env, EnvError, EpisodeStats, Space, Step};
use serde::{Deserialize, Serialize};

use crate::pool::Task;
use crate::row::Row;

/// What an environment is to do in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Start a new episode, with a seed or with the random numbers going on.
    Reset(Option<u64>),
    /// Perform the slot's action, or reset where the autoreset mode says so.
    Step,
    /// Leave the environment as it is and report its present state.
    Report,
}

/// What a round made of an environment.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) step: Step,
    /// The step was a reset under [`AutoresetMode::NextStep`].
    pub(crate) autoreset: bool,
    /// The episode that the step ended.
    pub(crate) episode: Option<EpisodeStats>,
}

/// The action that an environment performs next, in memory that is never reallocated.
#[derive(Debug)]
pub(crate) enum ActionBuffer {
    Discrete(Box<[i32]>),
    Continuous(Box<[f32]>),
}

impl ActionBuffer {
    /// Room for one action of `space`.
    pub(crate) fn new(space: &Space) -> Self {
        match space {
            Space::Box { shape, .. } => Self::Continuous(vec![0.0; shape.iter().product()].into()),
            Space::Discrete { .. } => Self::Discrete([0].into()),
            Space::MultiDiscrete { nvec } => Self::Discrete(vec![0; nvec.len()].into()),
        }
    }

    /// Number of integers or floats in one action.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Discrete(values) => values.len(),
            Self::Continuous(values) => values.len(),
        }
    }

    /// Copies an action in. It must be of the buffer's kind and length.
    fn set(&mut self, action: Action<'_>) {
        match (self, action) {
            (Self::Discrete(own), Action::Discrete(values)) => own.copy_from_slice(values),
            (Self::Continuous(own), Action::Continuous(values)) => own.copy_from_slice(values),
            _ => unreachable!("the action has been checked against the action space"),
        }
    }

    fn action(&self) -> Action<'_> {
        match self {
            Self::Discrete(values) => Action::Discrete(values),
            Self::Continuous(values) => Action::Continuous(values),
        }
    }
}

/// One environment, the course of its episode, its next order and the outcome of its last one.
///
/// Aligned so that neighbours, which different threads step, share no cache line (nor the pair of lines that
/// processors prefetch together).
#[repr(align(128))]
pub(crate) struct Slot<E: Env> {
    pub(crate) env: E,
    /// The episode so far.
    pub(crate) episode: EpisodeStats,
    /// The episode is over: a reset has to come before the next step.
    pub(crate) episode_over: bool,
    pub(crate) outcome: Result<Outcome, EnvError>,
    pub(crate) info: E::Info,
    order: Order,
    action: ActionBuffer,
    /// The row of the batch that the observation goes to.
    row: Option<Row>,
    /// The row that the last observation of an ended episode goes to, under [`AutoresetMode::SameStep`].
    final_row: Option<Row>,
}

impl<E: Env> Slot<E> {
    pub(crate) fn new(env: E) -> Self {
        Self {
            action: ActionBuffer::new(env.action_space()),
            env,
            episode: EpisodeStats::default(),
            episode_over: false,
            outcome: Ok(Outcome::default()),
            info: E::Info::default(),
            order: Order::Report,
            row: None,
            final_row: None,
        }
    }

    /// Takes an order for the coming round, with the rows that its observations go to.
    pub(crate) fn accept(&mut self, order: Order, row: Row, final_row: Option<Row>) {
        self.order = order;
        self.row = Some(row);
        self.final_row = final_row;
    }

    /// Takes the action of the coming step, if it is one that the environment, with index `env`, can perform now.
    ///
    /// An environment that is going to be reset instead ignores its action, so that any will do.
    pub(crate) fn accept_action(
        &mut self,
        env: usize,
        action: Action<'_>,
        mode: AutoresetMode,
    ) -> Result<(), EnvError> {
        match (self.episode_over, mode) {
            (true, AutoresetMode::NextStep) => return Ok(()),
            (true, _) => {
                return Err(EnvError::OutOfOrder(
                    "the episode of an environment is over and nothing resets it by itself: reset it before the next step",
                ));
            }
            (false, _) => {}
        }
        if !action.is_in(self.env.action_space()) {
            return Err(EnvError::InvalidAction {
                env,
                action: match action {
                    Action::Discrete([value]) => value.to_string(),
                    Action::Discrete(values) => format!("{values:?}"),
                    Action::Continuous(values) => format!("{values:?}"),
                },
                space: self.env.action_space().to_string(),
            });
        }
        self.action.set(action);
        Ok(())
    }

    /// Carries the order out.
    fn perform(&mut self, mode: AutoresetMode) {
        let Some(mut row) = self.row.take() else {
            return;
        };
        let mut final_row = self.final_row.take();
        let observation = row.bytes();
        let final_observation = final_row.as_mut().map(Row::bytes);
        self.outcome = self.obey(mode, observation, final_observation);
        self.info = self.env.info();
    }

    fn obey(
        &mut self,
        mode: AutoresetMode,
        observation: &mut [u8],
        final_observation: Option<&mut [u8]>,
    ) -> Result<Outcome, EnvError> {
        let mut outcome = Outcome::default();
        match self.order {
            Order::Report => self.env.observe(observation),
            Order::Reset(seed) => self.begin_episode(seed, observation),
            Order::Step if self.episode_over && mode == AutoresetMode::NextStep => {
                self.begin_episode(None, observation);
                outcome.autoreset = true;
            }
            Order::Step => outcome = self.step(observation)?,
        }
        if let Some(final_observation) = final_observation {
            final_observation.copy_from_slice(observation);
        }
        if self.episode_over && mode == AutoresetMode::SameStep {
            self.begin_episode(None, observation);
        }
        Ok(outcome)
    }

    fn begin_episode(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        self.env.reset(seed, observation);
        self.episode = EpisodeStats::default();
        self.episode_over = false;
    }

    fn step(&mut self, observation: &mut [u8]) -> Result<Outcome, EnvError> {
        let step = self.env.step(self.action.action(), observation)?;
        self.episode.total_reward += f64::from(step.raw_reward);
        self.episode.length += 1;
        self.episode_over = step.ends_episode();
        Ok(Outcome { step, autoreset: false, episode: self.episode_over.then_some(self.episode) })
    }
}

/// All slots: the task that the pool runs.
pub(crate) struct Slots<E: Env> {
    slots: Box<[Mutex<Slot<E>>]>,
    mode: AutoresetMode,
}

impl<E: Env> Slots<E> {
    pub(crate) fn new(envs: impl IntoIterator<Item = E>, mode: AutoresetMode) -> Self {
        Self { slots: envs.into_iter().map(|env| Mutex::new(Slot::new(env))).collect(), mode }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn mode(&self) -> AutoresetMode {
        self.mode
    }

    /// Exclusive use of one slot. Rounds and the calling thread never want a slot at the same time, so the lock is
    /// always free; it costs a few nanoseconds and proves to the compiler what the order of calls promises.
    pub(crate) fn lock(&self, index: usize) -> MutexGuard<'_, Slot<E>> {
        // A panic poisons the lock, but is kept as the slot's outcome, which nobody overlooks.
        self.slots[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: Env + 'static> Task for Slots<E> {
    fn run(&self, index: usize) {
        self.lock(index).perform(self.mode);
    }

    fn panicked(&self, index: usize, message: String) {
        self.lock(index).outcome = Err(EnvError::Panicked { env: index, message });
    }
}
