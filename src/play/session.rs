use ale::{Action, AtariEnv, Game, RgbImage};
use anyhow::Result;
use rl_env::{Batch, Env};

use crate::learner::{Player, Reading};

/// An agent that was trained on the game.
pub(super) struct Agent {
    pub(super) player: Box<dyn Player>,
    /// The codes of the actions that it chooses among.
    pub(super) codes: Vec<u8>,
}

/// A game under way.
pub(super) struct Session {
    env: AtariEnv,
    /// The agent's view of it.
    batch: Batch,
    agent: Option<Agent>,
    score: f64,
    action: Action,
    is_over: bool,
}

impl Session {
    /// The first episode of an environment with all 18 actions.
    pub(super) fn new(mut env: AtariEnv, agent: Option<Agent>, seed: u64) -> Self {
        let mut batch = Batch::new(1, env.observation_space().byte_len(), false);
        env.reset(Some(seed), batch.observations.row_mut(0));
        Self { env, batch, agent, score: 0.0, action: Action::NOOP, is_over: false }
    }

    /// Begins another episode.
    pub(super) fn restart(&mut self) {
        self.env.reset(None, self.batch.observations.row_mut(0));
        (self.score, self.action, self.is_over) = (0.0, Action::NOOP, false);
    }

    /// One step of the game; nothing when it is over.
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
        self.score += f64::from(step.raw_reward);
        self.action = action;
        self.is_over = step.ends_episode();
        Ok(())
    }

    /// What the agent does, if there is one.
    pub(super) fn agent_action(&mut self) -> Result<Option<Action>> {
        let Some(agent) = &mut self.agent else { return Ok(None) };
        let choice = agent.player.act(&self.batch)?[0];
        Ok(agent.codes.get(choice as usize).and_then(|&code| Action::new(code)))
    }

    /// How the agent reads the game: each of its actions with what it says about it, and the value of the position.
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

    /// Points so far, unclipped.
    pub(super) fn score(&self) -> f64 {
        self.score
    }

    /// Lives that are left; 0 in games without any.
    pub(super) fn lives(&self) -> i32 {
        self.env.ale().lives()
    }

    /// What was done last.
    pub(super) fn action(&self) -> Action {
        self.action
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }
}
