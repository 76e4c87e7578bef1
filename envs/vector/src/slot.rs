use std::time::Instant;

use rl_env::{
    Actions, AutoresetMode, Env, EnvError, EpisodeStats, ObservationBuffer, Step, VectorError, interrupt,
};
use serde::{Deserialize, Serialize};

use crate::action_sequence::ActionSequence;

/// The number of actions of a sequence between two polls for an interruption.
const ACTIONS_PER_POLL: u32 = 64;

/// A command to an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Starts a new episode, with a seed or with the random number generator continuing.
    Reset(Option<u64>),
    /// Performs the actions of the slot, or resets if the autoreset mode requires it.
    Step,
    /// Reports the current state again.
    Report,
    /// Reports the current state of an environment that has used up its steps.
    Idle,
}

/// The result of a command.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) step: Step,
    /// The number of actions performed.
    pub(crate) steps: u32,
    /// True if the row is not a transition: a reset under [`AutoresetMode::NextStep`], or no steps left.
    pub(crate) autoreset: bool,
    /// Statistics of the episode that the step ended.
    pub(crate) episode: Option<EpisodeStats>,
    /// Wall-clock seconds of that episode.
    #[serde(skip)]
    pub(crate) episode_seconds: f64,
}

/// One environment, its episode, its next command and the outcome of its last one.
///
/// Aligned to avoid false sharing between neighbours that different threads step: 128 bytes are the pair of cache lines
/// that processors prefetch together.
#[repr(align(128))]
pub(crate) struct Slot<E: Env> {
    pub(crate) env: E,
    /// Statistics of the current episode.
    pub(crate) episode: EpisodeStats,
    /// True if the episode is over, so that a reset has to precede the next step.
    pub(crate) episode_over: bool,
    pub(crate) outcome: Outcome,
    pub(crate) info: E::Info,
    /// Under [`AutoresetMode::SameStep`]: the info before the reset, if any.
    pub(crate) final_info: E::Info,
    pub(crate) command: Command,
    pub(crate) actions: ActionSequence,
    /// The number of steps left, if they are limited.
    pub(crate) steps_left: Option<u64>,
    /// Scratch memory for an observation whose row is not known yet, and for a final one.
    pub(crate) scratch: ObservationBuffer,
    /// The position of the next result, if positions are fixed.
    pub(crate) next_position: usize,
    episode_began: Instant,
}

impl<E: Env> Slot<E> {
    /// Wraps an environment that has not been reset.
    pub(crate) fn new(env: E, scratch: ObservationBuffer) -> Self {
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
            scratch,
            next_position: 0,
            episode_began: Instant::now(),
        }
    }

    /// Accepts the actions of the next step, if environment `env` can perform them now.
    ///
    /// An environment that has no steps left or will be reset instead ignores its actions, so any actions are valid.
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
            (true, _) => return Err(VectorError::EpisodeOver { env }),
            (false, _) => {}
        }
        self.actions.fill(actions).map_err(|error| VectorError::Env { env, error })
    }

    /// Carries out the command. `scratch` has the length of an observation; [`observe`](Self::observe) writes the
    /// actual one. Under [`AutoresetMode::SameStep`] the last observation of an episode goes to `final_observation`.
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
            Command::Reset(seed) => {
                self.env.reset(seed, scratch);
                self.begin_episode();
            }
            Command::Step if self.episode_over && mode == AutoresetMode::NextStep => {
                self.env.autoreset(scratch);
                self.begin_episode();
                self.outcome.autoreset = true;
            }
            Command::Step => self.step(scratch)?,
        }
        self.final_info = self.env.info();
        if self.episode_over && mode == AutoresetMode::SameStep {
            if let Some(final_observation) = final_observation {
                self.env.observe(final_observation);
            }
            self.env.autoreset(scratch);
            self.begin_episode();
            self.info = self.env.info();
        } else {
            self.info.clone_from(&self.final_info);
        }
        Ok(())
    }

    /// Writes the current observation, and copies it to the final one unless an episode ended.
    pub(crate) fn observe(&self, observation: &mut [u8], final_observation: Option<&mut [u8]>) {
        self.env.observe(observation);
        if let Some(final_observation) = final_observation
            && self.outcome.episode.is_none()
        {
            final_observation.copy_from_slice(observation);
        }
    }

    fn begin_episode(&mut self) {
        self.continue_episode(EpisodeStats::default(), false);
    }

    /// Continues an episode with these statistics. Its wall-clock time starts from zero.
    pub(crate) fn continue_episode(&mut self, episode: EpisodeStats, is_over: bool) {
        (self.episode, self.episode_over) = (episode, is_over);
        self.episode_began = Instant::now();
    }

    /// Performs the actions in order, up to the first that terminates or truncates, or fewer after an
    /// [interruption](interrupt).
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
            let is_interrupted = outcome.steps.is_multiple_of(ACTIONS_PER_POLL) && interrupt::poll();
            if step.terminated || step.truncated || is_interrupted {
                break;
            }
        }
        if self.episode_over {
            outcome.episode = Some(self.episode);
            outcome.episode_seconds = self.episode_began.elapsed().as_secs_f64();
        }
        if let Some(left) = &mut self.steps_left {
            *left -= 1;
            // The learner has to bootstrap, as after every truncation.
            outcome.step.truncated |= *left == 0 && !outcome.step.terminated;
        }
        Ok(())
    }
}
