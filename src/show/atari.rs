use ale::{Action, AtariEnv, RgbImage};
use anyhow::Result;
use rl_env::{Actions, Env};

use super::console_actions::{ConsoleActions, name, pressed};
use super::{Description, ShownEnv, ShownStep, TELEVISION};

/// An Atari game.
pub(super) struct ShownAtari {
    env: AtariEnv,
    agent_actions: ConsoleActions,
}

impl ShownAtari {
    /// Shows a game, with sound, for an agent with actions of these codes.
    pub(super) fn new(env: AtariEnv, codes: Vec<u8>) -> Self {
        Self { env: env.with_sound(), agent_actions: ConsoleActions::new(codes) }
    }

    pub(super) fn description(&self, steps_per_second: f64) -> Description {
        Description {
            title: self.env.game().title.to_owned(),
            steps_per_second,
            aspect_ratio: Some(TELEVISION),
            has_joystick: true,
            options: self.agent_actions.names(),
            observation_bytes: self.env.observation_space().byte_len(),
        }
    }

    /// Takes a step with one of the console's actions.
    fn step_with(&mut self, action: Action, observation: &mut [u8]) -> Result<ShownStep> {
        let index =
            self.env.action_codes().iter().position(|&code| code == action.code()).unwrap_or(0) as i32;
        let step = self.env.step(rl_env::Action::Discrete(std::slice::from_ref(&index)), observation)?;
        Ok(ShownStep {
            reward: f64::from(step.raw_reward),
            ends_episode: step.ends_episode(),
            action: name(action),
            chosen: self.agent_actions.index(action).into_iter().collect(),
        })
    }
}

impl ShownEnv for ShownAtari {
    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) -> Result<()> {
        self.env.reset(seed, observation);
        Ok(())
    }

    fn step(&mut self, actions: Actions<'_>, observation: &mut [u8]) -> Result<ShownStep> {
        self.step_with(self.agent_actions.first(actions)?, observation)
    }

    fn press(&mut self, action: Action, observation: &mut [u8]) -> Result<ShownStep> {
        self.step_with(pressed(action, self.env.game().has_paddles()), observation)
    }

    fn screen(&self) -> Result<RgbImage> {
        Ok(self.env.render())
    }

    fn lives(&self) -> i32 {
        self.env.ale().lives()
    }

    fn sound(&self) -> &[u8] {
        self.env.sound()
    }
}
