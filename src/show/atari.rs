use ale::{ACTION_NAMES, Action, AtariEnv, RgbImage};
use anyhow::{Context, Result};
use rl_env::{Actions, Env};

use super::{Description, ShownEnv, ShownStep, TELEVISION};

/// The directions that turn a paddle, and what they stand for if a person presses them.
const PADDLE_TURNS: [(&str, &str); 4] =
    [("UP", "RIGHT"), ("DOWN", "LEFT"), ("UPFIRE", "RIGHTFIRE"), ("DOWNFIRE", "LEFTFIRE")];

/// An Atari game.
pub(super) struct ShownAtari {
    env: AtariEnv,
    /// The console's code of each action of the agent; the environment's own list may differ.
    codes: Vec<u8>,
}

impl ShownAtari {
    /// Shows a game, with sound, for an agent with actions of these codes.
    pub(super) fn new(env: AtariEnv, codes: Vec<u8>) -> Self {
        Self { env: env.with_sound(), codes }
    }

    pub(super) fn description(&self, steps_per_second: f64) -> Description {
        Description {
            title: self.env.game().title.to_owned(),
            steps_per_second,
            aspect_ratio: Some(TELEVISION),
            has_joystick: true,
            options: self.codes.iter().filter_map(|&code| Action::new(code)).map(name).collect(),
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
            chosen: self.codes.iter().position(|&code| code == action.code()).into_iter().collect(),
        })
    }
}

impl ShownEnv for ShownAtari {
    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) -> Result<()> {
        self.env.reset(seed, observation);
        Ok(())
    }

    fn step(&mut self, actions: Actions<'_>, observation: &mut [u8]) -> Result<ShownStep> {
        let choices = actions.discrete().context("the agent has continuous actions")?;
        let code = choices.first().and_then(|&choice| self.codes.get(choice as usize));
        self.step_with(code.and_then(|&code| Action::new(code)).unwrap_or_default(), observation)
    }

    fn press(&mut self, action: Action, observation: &mut [u8]) -> Result<ShownStep> {
        self.step_with(if self.env.game().has_paddles() { turned(action) } else { action }, observation)
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

/// Returns the action that turns a paddle, for a person who presses up or down: Pong's paddle then moves that way.
pub(super) fn turned(action: Action) -> Action {
    let name = action.to_string();
    let turn = PADDLE_TURNS.iter().find(|(pressed, _)| *pressed == name);
    let code = turn.and_then(|(_, turn)| ACTION_NAMES.iter().position(|name| name == turn));
    code.and_then(|code| Action::new(code as u8)).unwrap_or(action)
}

pub(super) fn name(action: Action) -> String {
    action.to_string().to_lowercase()
}
