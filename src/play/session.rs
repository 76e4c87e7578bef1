use ale::{Action, AtariEnv, Game, RgbImage};
use anyhow::Result;
use rl_env::{Batch, Env};

use crate::learner::{Player, Reading};

/// The player who moves the joystick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Controller {
    Human,
    Agent,
}

/// A trained agent.
pub(super) struct Agent {
    pub(super) player: Box<dyn Player>,
    /// The codes of its actions.
    pub(super) codes: Vec<u8>,
}

/// An episode in progress, with the agent that watches or plays.
pub(super) struct Session {
    env: AtariEnv,
    /// The current observation, as the agent receives it.
    batch: Batch,
    agent: Option<Agent>,
    /// True if the agent has chosen an action in this episode.
    agent_has_acted: bool,
    score: f64,
    action: Action,
    is_over: bool,
}

impl Session {
    /// Starts an episode in an environment with all 18 actions.
    pub(super) fn new(mut env: AtariEnv, agent: Option<Agent>, seed: u64) -> Self {
        let mut batch = Batch::new(1, env.observation_space().byte_len(), false);
        env.reset(Some(seed), batch.observations.row_mut(0));
        Self { env, batch, agent, agent_has_acted: false, score: 0.0, action: Action::NOOP, is_over: false }
    }

    /// Starts another episode.
    pub(super) fn restart(&mut self) {
        self.env.reset(None, self.batch.observations.row_mut(0));
        // Resets the memory of a recurrent agent before its first action, which may come later than a person's.
        self.batch.terminated[0] = true;
        self.agent_has_acted = false;
        (self.score, self.action, self.is_over) = (0.0, Action::NOOP, false);
    }

    /// Takes one step. Does nothing once the episode is over.
    pub(super) fn step(&mut self, action: Action) -> Result<()> {
        if self.is_over {
            return Ok(());
        }
        let codes = self.env.action_codes();
        let index = codes.iter().position(|&code| code == action.code()).unwrap_or(0) as i32;
        let step = self.env.step(
            rl_env::Action::Discrete(std::slice::from_ref(&index)),
            self.batch.observations.row_mut(0),
        )?;
        self.batch.terminated[0] &= !self.agent_has_acted;
        self.score += f64::from(step.raw_reward);
        self.action = action;
        self.is_over = step.ends_episode();
        Ok(())
    }

    /// Returns the agent's action, if there is an agent.
    pub(super) fn agent_action(&mut self) -> Result<Option<Action>> {
        let Some(agent) = &mut self.agent else { return Ok(None) };
        let actions = agent.player.act(&self.batch)?;
        self.agent_has_acted = true;
        let choice = actions.discrete().and_then(|choices| choices.first().copied());
        Ok(choice.and_then(|choice| Action::new(*agent.codes.get(choice as usize)?)))
    }

    /// Returns the agent's actions and its reading of the current observation.
    pub(super) fn reading(&self) -> Result<Option<(Vec<Action>, Reading)>> {
        let Some(agent) = &self.agent else { return Ok(None) };
        let reading = agent.player.readings(&self.batch)?.swap_remove(0);
        Ok(Some((agent.codes.iter().filter_map(|&code| Action::new(code)).collect(), reading)))
    }

    pub(super) fn has_agent(&self) -> bool {
        self.agent.is_some()
    }

    pub(super) fn game(&self) -> &'static Game {
        self.env.game()
    }

    pub(super) fn screen(&self) -> RgbImage {
        self.env.render()
    }

    /// Returns the sum of the unclipped rewards.
    pub(super) fn score(&self) -> f64 {
        self.score
    }

    /// Returns the remaining lives; 0 in games without lives.
    pub(super) fn lives(&self) -> i32 {
        self.env.ale().lives()
    }

    /// Returns the last action.
    pub(super) fn action(&self) -> Action {
        self.action
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }
}
