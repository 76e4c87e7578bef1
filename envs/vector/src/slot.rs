use std::time::Instant;

use rl_env::{Actions, AutoresetMode, Env, EnvError, EpisodeStats, Step, VectorError};
use serde::{Deserialize, Serialize};

use crate::action_sequence::ActionSequence;

/// What an environment is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Start a new episode, with a seed or with the random numbers going on.
    Reset(Option<u64>),
    /// Perform the slot's actions, or reset where the autoreset mode says so.
    Step,
    /// Leave the environment as it is and report its present state.
    Report,
    /// The same for an environment that has no steps left.
    Idle,
}

/// What an order made of an environment.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) step: Step,
    /// Actions performed.
    pub(crate) steps: u32,
    /// The step was a reset under [`AutoresetMode::NextStep`], or none at all: the environment has no steps left.
    pub(crate) autoreset: bool,
    /// The episode that the step ended.
    pub(crate) episode: Option<EpisodeStats>,
    /// Seconds that this episode took.
    #[serde(skip)]
    pub(crate) episode_seconds: f64,
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
    pub(crate) outcome: Outcome,
    pub(crate) info: E::Info,
    /// Under [`AutoresetMode::SameStep`]: the info before the reset, if there was one.
    pub(crate) final_info: E::Info,
    pub(crate) command: Command,
    pub(crate) actions: ActionSequence,
    /// How many steps it may still make, if they are limited.
    pub(crate) steps_left: Option<u64>,
    /// Memory for observations that have no row yet.
    pub(crate) scratch: Box<[u8]>,
    /// Where its next result goes, if it has rows of its own.
    pub(crate) next_position: usize,
    episode_began: Instant,
}

impl<E: Env> Slot<E> {
    /// An environment that has not been reset, and so many bytes that it may observe into.
    pub(crate) fn new(env: E, scratch_bytes: usize) -> Self {
        Self {
            actions: ActionSequence::new(env.action_space()),
            env,
            episode: EpisodeStats::default(),
            episode_over: false,
            outcome: Outcome::default(),
            info: E::Info::default(),
            final_info: E::Info::default(),
            command: Command::Report,
            steps_left: None,
            scratch: vec![0; scratch_bytes].into(),
            next_position: 0,
            episode_began: Instant::now(),
        }
    }

    /// Takes the actions of the coming step, if the environment, with index `env`, can perform them now.
    ///
    /// An environment that rests, or is going to be reset instead, ignores its actions, so that any will do.
    pub(crate) fn accept(
        &mut self,
        env: usize,
        actions: Actions<'_>,
        mode: AutoresetMode,
    ) -> Result<(), VectorError> {
        if self.steps_left == Some(0) {
            self.command = Command::Idle;
            return Ok(());
        }
        self.command = Command::Step;
        match (self.episode_over, mode) {
            (true, AutoresetMode::NextStep) => return Ok(()),
            (true, _) => {
                return Err(VectorError::OutOfOrder(
                    "the episode of an environment is over and nothing resets it by itself: reset it before the next step",
                ));
            }
            (false, _) => {}
        }
        self.actions.fill(actions).map_err(|error| VectorError::Env { env, error })
    }

    /// Carries the order out. `scratch` has room for an observation, which [`show`](Self::show) writes where it belongs;
    /// the last one of an episode that is over goes to `final_observation` under [`AutoresetMode::SameStep`].
    pub(crate) fn perform(
        &mut self,
        mode: AutoresetMode,
        scratch: &mut [u8],
        final_observation: Option<&mut [u8]>,
    ) -> Result<(), EnvError> {
        self.outcome = Outcome::default();
        match self.command {
            Command::Report => {}
            Command::Idle => self.outcome.autoreset = true,
            Command::Reset(seed) => self.begin_episode(seed, scratch),
            Command::Step if self.episode_over && mode == AutoresetMode::NextStep => {
                self.begin_episode(None, scratch);
                self.outcome.autoreset = true;
            }
            Command::Step => self.step(scratch)?,
        }
        self.final_info = self.env.info();
        if self.episode_over && mode == AutoresetMode::SameStep {
            if let Some(final_observation) = final_observation {
                self.env.observe(final_observation);
            }
            self.begin_episode(None, scratch);
            self.info = self.env.info();
        } else {
            self.info.clone_from(&self.final_info);
        }
        Ok(())
    }

    /// Writes the present observation, and the final one where no episode ended: there it is the same.
    pub(crate) fn observe(&self, observation: &mut [u8], final_observation: Option<&mut [u8]>) {
        self.env.observe(observation);
        if let Some(final_observation) = final_observation
            && self.outcome.episode.is_none()
        {
            final_observation.copy_from_slice(observation);
        }
    }

    fn begin_episode(&mut self, seed: Option<u64>, scratch: &mut [u8]) {
        self.env.reset(seed, scratch);
        self.episode = EpisodeStats::default();
        self.episode_over = false;
        self.episode_began = Instant::now();
    }

    /// Performs the actions one after another, up to the first that ends something.
    fn step(&mut self, scratch: &mut [u8]) -> Result<(), EnvError> {
        let outcome = &mut self.outcome;
        for action in self.actions.iter() {
            let step = self.env.advance(action, scratch)?;
            let before = outcome.step;
            outcome.step = Step {
                reward: before.reward + step.reward,
                raw_reward: before.raw_reward + step.raw_reward,
                ..step
            };
            outcome.steps += 1;
            self.episode.total_reward += f64::from(step.raw_reward);
            self.episode.length += 1;
            self.episode_over = step.ends_episode();
            if step.terminated || step.truncated {
                break;
            }
        }
        if self.episode_over {
            outcome.episode = Some(self.episode);
            outcome.episode_seconds = self.episode_began.elapsed().as_secs_f64();
        }
        if let Some(left) = &mut self.steps_left {
            *left -= 1;
            // What would come next is not known, as at every end that is no termination.
            outcome.step.truncated |= *left == 0 && !outcome.step.terminated;
        }
        Ok(())
    }
}
