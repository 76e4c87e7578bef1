use ale::{Action, AtariPlayersEnv, RgbImage};
use anyhow::{Context, Result};
use rl_env::{Actions, Batch};

use super::console_actions::{ConsoleActions, name, pressed};
use super::{Description, ShownEnv, ShownStep, TELEVISION};
use crate::environments::copy_side;
use crate::learner::Player;

/// The index of the side that is shown, played by the watched agent or by a person.
const SHOWN: usize = 0;

/// A game of several players. An agent plays all sides except for the first one.
pub(super) struct ShownPlayers {
    env: AtariPlayersEnv,
    agent_actions: ConsoleActions,
    title: String,
    /// Plays the other sides, each of which is an environment.
    opponent: Box<dyn Player>,
    /// The observations of all sides, one after the other, as the environment writes them.
    observations: Vec<u8>,
    /// The same observations as rows of a batch, whose flags stay false.
    sides: Batch,
    /// The observation of the shown side, as the agent receives it.
    shown: Batch,
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
        let (players, row_bytes) = (env.players(), env.observation_space().byte_len());
        Self {
            title: env.ale().game().title.to_owned(),
            env: env.with_sound(),
            agent_actions: ConsoleActions::new(codes),
            opponent,
            observations: vec![0; players * row_bytes],
            sides: Batch::new(players, row_bytes, false),
            shown: Batch::new(1, observation_bytes, false),
            opposing: Batch::new(players - 1, observation_bytes, false),
        }
    }

    pub(super) fn description(&self, steps_per_second: f64) -> Description {
        Description {
            title: self.title.clone(),
            steps_per_second,
            aspect_ratio: Some(TELEVISION),
            has_joystick: true,
            options: self.agent_actions.names(),
            observation_bytes: self.opposing.observations.row_bytes(),
        }
    }

    /// Writes what the shown side sees, and remembers what the others see. Clears the flags of the others.
    fn observe(&mut self, observation: &mut [u8]) {
        let players = self.env.players();
        self.env.observe(&mut self.observations);
        let row_bytes = self.sides.observations.row_bytes();
        for (side, row) in self.observations.chunks_exact(row_bytes).enumerate() {
            self.sides.observations.row_mut(side).copy_from_slice(row);
        }
        copy_side(&self.sides, SHOWN, players, &mut self.shown, 0);
        observation.copy_from_slice(self.shown.observations.row(0));
        for row in 0..self.opposing.len() {
            copy_side(&self.sides, row + 1, players, &mut self.opposing, row);
        }
    }

    /// Takes a step in which the shown side performs one of the console's actions.
    fn step_with(&mut self, action: Action, observation: &mut [u8]) -> Result<ShownStep> {
        let replies = self.opponent.act(&self.opposing)?;
        let replies = replies.discrete().context("the agent has continuous actions")?;
        let available = self.env.action_codes();
        let index = |code: u8| available.iter().position(|&other| other == code).map(|index| index as i32);
        // A person may press a button that the game lacks. That does nothing.
        let mut actions = vec![index(action.code()).unwrap_or(0)];
        for &reply in replies {
            let code = self.agent_actions.action(reply)?.code();
            actions.push(index(code).with_context(|| format!("the game has no action {code}"))?);
        }
        let steps = self.env.advance(&actions)?;
        self.observe(observation);
        let step = &steps[SHOWN];
        Ok(ShownStep {
            reward: f64::from(step.raw_reward),
            ends_episode: steps.iter().any(rl_env::Step::ends_episode),
            action: name(action),
            chosen: self.agent_actions.index(action).into_iter().collect(),
        })
    }
}

impl ShownEnv for ShownPlayers {
    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) -> Result<()> {
        // `observe` writes the first observations again, with the channel that tells the players apart.
        self.env.reset(seed, &mut self.observations);
        self.observe(observation);
        // Resets the memory of a recurrent opponent at its next action.
        self.opposing.terminated.fill(true);
        Ok(())
    }

    fn step(&mut self, actions: Actions<'_>, observation: &mut [u8]) -> Result<ShownStep> {
        self.step_with(self.agent_actions.first(actions)?, observation)
    }

    fn press(&mut self, action: Action, observation: &mut [u8]) -> Result<ShownStep> {
        self.step_with(pressed(action, self.env.ale().game().has_paddles()), observation)
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use ale::{AtariOptions, PoweredGame, multiplayer_game, roms};
    use algorithms::LearnerError;
    use rl_env::ActionBuffer;

    use super::*;
    use crate::learner::Reading;

    /// `terminated` of each batch that an opponent acted on.
    type Flags = Rc<RefCell<Vec<Vec<bool>>>>;

    /// Always replies with the same actions, and remembers the flags of the batches that it acted on.
    struct Recorder {
        replies: Vec<i32>,
        terminated: Flags,
    }

    impl Player for Recorder {
        fn act(&mut self, batch: &Batch) -> Result<ActionBuffer, LearnerError> {
            self.terminated.borrow_mut().push(batch.terminated.clone());
            Ok(ActionBuffer::Discrete(self.replies.clone()))
        }

        fn reseed(&mut self, _: u64) {}

        fn readings(&self, _: &Batch) -> Result<Vec<Reading>, LearnerError> {
            Ok(Vec::new())
        }
    }

    /// Returns pong for four players with an opponent that always gives these replies, the flags that it has seen, and
    /// memory for an observation. `None` without ROMs.
    fn pong(replies: [i32; 3]) -> Option<(ShownPlayers, Flags, Vec<u8>)> {
        let powered = PoweredGame::new(multiplayer_game("pong").unwrap(), roms::for_tests("pong")?).unwrap();
        let env = AtariPlayersEnv::new(&powered, 4, AtariOptions::default(), 1).unwrap();
        let (codes, bytes) = (env.action_codes().to_vec(), env.observation_space().byte_len());
        let terminated = Flags::default();
        let opponent = Recorder { replies: replies.to_vec(), terminated: Rc::clone(&terminated) };
        Some((ShownPlayers::new(env, codes, Box::new(opponent), bytes), terminated, vec![0; bytes]))
    }

    #[test]
    fn a_reset_ends_the_episode_of_the_opponent() {
        let Some((mut shown, terminated, mut observation)) = pong([0, 1, 2]) else { return };
        for _ in 0..2 {
            shown.reset(Some(3), &mut observation).unwrap();
            assert_eq!(shown.opposing.terminated, [true; 3]);
            for _ in 0..2 {
                shown.press(Action::NOOP, &mut observation).unwrap();
                assert_eq!(shown.opposing.terminated, [false; 3]);
            }
        }
        assert_eq!(*terminated.borrow(), [[true; 3], [false; 3], [true; 3], [false; 3]]);
    }

    #[test]
    fn impossible_replies_are_errors() {
        for reply in [-1, 18] {
            let Some((mut shown, _, mut observation)) = pong([0, reply, 0]) else { return };
            shown.reset(Some(3), &mut observation).unwrap();
            let error = shown.press(Action::NOOP, &mut observation).err().expect("an impossible reply");
            assert_eq!(error.to_string(), format!("the agent has no action {reply}"));
        }
    }
}
