use ale::{Action, AtariPlayersEnv, RgbImage};
use anyhow::{Context, Result};
use rl_env::{Actions, Batch};

use super::atari::{name, turned};
use super::{Description, ShownEnv, ShownStep, TELEVISION};
use crate::environments::copy_side;
use crate::learner::Player;

/// The side of the session: of the agent that is watched, or of a person.
const SHOWN: usize = 0;

/// A game of several players. An agent plays all sides except for the first one.
pub(super) struct ShownPlayers {
    env: AtariPlayersEnv,
    /// The codes of the agents' actions.
    codes: Vec<u8>,
    title: String,
    /// Plays the other sides, each of which is an environment.
    opponent: Box<dyn Player>,
    /// The observations of all sides, as the environment writes them.
    sides: Batch,
    /// The observations of the sides that the opponent plays.
    opposing: Batch,
}

impl ShownPlayers {
    /// Shows a game with sound. `opponent` has an environment for each of the other players, with observations of
    /// `observation_bytes` bytes and actions with these codes.
    pub(super) fn new(
        env: AtariPlayersEnv,
        codes: Vec<u8>,
        opponent: Box<dyn Player>,
        observation_bytes: usize,
    ) -> Self {
        let (players, row) = (env.players(), env.observation_space().byte_len());
        Self {
            title: env.ale().game().title.to_owned(),
            env: env.with_sound(),
            codes,
            opponent,
            sides: Batch::new(players, row, false),
            opposing: Batch::new(players - 1, observation_bytes, false),
        }
    }

    pub(super) fn description(&self, steps_per_second: f64) -> Description {
        Description {
            title: self.title.clone(),
            steps_per_second,
            aspect_ratio: Some(TELEVISION),
            has_joystick: true,
            options: self.codes.iter().filter_map(|&code| Action::new(code)).map(name).collect(),
            observation_bytes: self.opposing.observations.row_bytes(),
        }
    }

    /// Writes what the shown side sees, and remembers what the others see.
    fn observe(&mut self, observation: &mut [u8]) {
        let players = self.env.players();
        let mut observations = vec![0; players * self.sides.observations.row_bytes()];
        self.env.observe(&mut observations);
        for (side, row) in observations.chunks_exact(self.sides.observations.row_bytes()).enumerate() {
            self.sides.observations.row_mut(side).copy_from_slice(row);
        }
        let mut shown = Batch::new(1, observation.len(), false);
        copy_side(&self.sides, SHOWN, players, &mut shown, 0);
        observation.copy_from_slice(shown.observations.row(0));
        for row in 0..self.opposing.len() {
            copy_side(&self.sides, row + 1, players, &mut self.opposing, row);
        }
    }

    /// Takes a step with one of the console's actions of the shown side.
    fn take(&mut self, action: Action, observation: &mut [u8]) -> Result<ShownStep> {
        let replies = self.opponent.act(&self.opposing)?;
        let replies = replies.discrete().context("the agent has continuous actions")?;
        let codes = replies.iter().map(|&reply| self.codes.get(reply as usize).copied().unwrap_or_default());
        let all = self.env.action_codes();
        let index = |code: u8| all.iter().position(|&other| other == code).unwrap_or(0) as i32;
        let actions: Vec<i32> = [action.code()].into_iter().chain(codes).map(index).collect();
        let steps = self.env.advance(&actions)?;
        self.opposing.terminated.fill(false);
        self.observe(observation);
        let step = &steps[SHOWN];
        Ok(ShownStep {
            reward: f64::from(step.raw_reward),
            ends_episode: steps.iter().any(rl_env::Step::ends_episode),
            action: name(action),
            chosen: self.codes.iter().position(|&code| code == action.code()).into_iter().collect(),
        })
    }
}

impl ShownEnv for ShownPlayers {
    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) -> Result<()> {
        let mut first = vec![0; self.env.players() * self.sides.observations.row_bytes()];
        self.env.reset(seed, &mut first);
        self.opposing.terminated.fill(true);
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, actions: Actions<'_>, observation: &mut [u8]) -> Result<ShownStep> {
        let choices = actions.discrete().context("the agent has continuous actions")?;
        let code = choices.first().and_then(|&choice| self.codes.get(choice as usize));
        self.take(code.and_then(|&code| Action::new(code)).unwrap_or_default(), observation)
    }

    fn press(&mut self, action: Action, observation: &mut [u8]) -> Result<ShownStep> {
        let has_paddles = self.env.ale().game().has_paddles();
        self.take(if has_paddles { turned(action) } else { action }, observation)
    }

    fn screen(&self) -> Result<RgbImage> {
        Ok(self.env.render())
    }

    fn lives(&self) -> i32 {
        self.env.ale().lives_of(SHOWN).unwrap_or(0)
    }

    fn sound(&self) -> &[u8] {
        self.env.sound()
    }
}
