use ale::{Action, RgbImage};
use anyhow::Result;
use rl_env::Batch;

use super::{Description, ShownEnv, ShownStep};
use crate::learner::{Player, Reading};

/// An episode in progress, with the agent that watches or plays.
pub(crate) struct Session {
    description: Description,
    env: Box<dyn ShownEnv>,
    /// The current observation, as the agent receives it.
    batch: Batch,
    player: Option<Box<dyn Player>>,
    /// True if the agent has chosen an action in this episode.
    agent_has_acted: bool,
    score: f64,
    /// The last step of the episode.
    last: Option<ShownStep>,
}

impl Session {
    /// Starts an episode. The first one depends on `seed` alone. Fails if the environment cannot show its screen.
    pub(super) fn start(
        description: Description,
        env: Box<dyn ShownEnv>,
        player: Option<Box<dyn Player>>,
        seed: u64,
    ) -> Result<Self> {
        let batch = Batch::new(1, description.observation_bytes, false);
        let mut session =
            Self { description, env, batch, player, agent_has_acted: false, score: 0.0, last: None };
        session.env.reset(Some(seed), session.batch.observations.row_mut(0))?;
        session.screen()?;
        Ok(session)
    }

    /// Starts another episode.
    pub(crate) fn restart(&mut self) -> Result<()> {
        self.env.reset(None, self.batch.observations.row_mut(0))?;
        // Resets the memory of a recurrent agent before its first action, which may come later than a person's.
        self.batch.terminated[0] = true;
        self.agent_has_acted = false;
        (self.score, self.last) = (0.0, None);
        Ok(())
    }

    /// Takes a step with a position of the joystick. Does nothing once the episode is over.
    pub(crate) fn press(&mut self, action: Action) -> Result<()> {
        if self.is_over() {
            return Ok(());
        }
        let step = self.env.press(action, self.batch.observations.row_mut(0))?;
        self.count(step);
        Ok(())
    }

    /// Takes a step with the agent's action. Does nothing once the episode is over, or if there is no agent.
    pub(crate) fn act(&mut self) -> Result<()> {
        if self.is_over() {
            return Ok(());
        }
        let Some(player) = &mut self.player else { return Ok(()) };
        let actions = player.act(&self.batch)?;
        self.agent_has_acted = true;
        let step = self.env.step(actions.as_actions(), self.batch.observations.row_mut(0))?;
        self.count(step);
        Ok(())
    }

    fn count(&mut self, step: ShownStep) {
        self.batch.terminated[0] &= !self.agent_has_acted;
        self.score += step.reward;
        self.last = Some(step);
    }

    /// Returns the agent's reading of the current observation.
    pub(crate) fn reading(&self) -> Result<Option<Reading>> {
        let Some(player) = &self.player else { return Ok(None) };
        Ok(Some(player.readings(&self.batch)?.swap_remove(0)))
    }

    pub(crate) fn has_agent(&self) -> bool {
        self.player.is_some()
    }

    /// Returns true if a person and the agent can take turns.
    pub(crate) fn is_shared(&self) -> bool {
        self.has_agent() && self.description.has_joystick
    }

    pub(crate) fn description(&self) -> &Description {
        &self.description
    }

    pub(crate) fn screen(&self) -> Result<RgbImage> {
        self.env.screen()
    }

    /// Returns the sum of the unclipped rewards.
    pub(crate) fn score(&self) -> f64 {
        self.score
    }

    /// Returns the remaining lives; 0 in environments without lives.
    pub(crate) fn lives(&self) -> i32 {
        self.env.lives()
    }

    /// Returns the [sound](ale::AtariEnv::sound) of the last step; empty in environments without sound.
    pub(crate) fn sound(&self) -> &[u8] {
        self.env.sound()
    }

    /// Returns the last action; empty before the first one of an episode.
    pub(crate) fn action(&self) -> &str {
        self.last.as_ref().map_or("", |last| &last.action)
    }

    /// Returns the indices of the agent's options that the last action consists of.
    pub(crate) fn chosen(&self) -> &[usize] {
        self.last.as_ref().map_or(&[], |last| &last.chosen)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.last.as_ref().is_some_and(|last| last.ends_episode)
    }
}
