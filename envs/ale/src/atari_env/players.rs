//! A game of several players as an environment in which each player is a row.

use rl_env::{Env, EnvError, RgbImage, Space, Step};

use super::{AtariEnv, AtariInfo, AtariOptions, Outcome};
use crate::limits::MAX_PLAYERS;
use crate::{Action, Ale, AleError, PoweredGame};

/// One Atari game of several players with the preprocessing of [`AtariEnv`]. Each player is a row of the batch: it
/// chooses an action, and it has an observation, a reward and an end. The players see the same screen, so their
/// observations are equal.
///
/// The game ends for all players at the same time. A player with less than no lives left is out of the game before: as
/// in `PettingZoo`, that step terminates his row, and the episode [continues](Step::continues) without rewards for him.
///
/// `use_fire_reset` lets all players press FIRE. `continuous` and the options about lives exist for one player only.
///
/// ```no_run
/// use ale::{AtariOptions, AtariPlayersEnv, PoweredGame, game};
///
/// let rom = std::fs::read("pong.bin")?;
/// let powered = PoweredGame::new(game("pong")?, rom.into())?;
/// let mut env = AtariPlayersEnv::new(&powered, 2, AtariOptions::default(), 0)?;
/// let mut observations = vec![0; env.players() * env.observation_space().byte_len()];
/// env.reset(Some(1), &mut observations);
///
/// let steps = env.step(&[1, 0], &mut observations)?;
/// assert_eq!(steps[0].reward, -steps[1].reward);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AtariPlayersEnv {
    env: AtariEnv,
}

impl AtariPlayersEnv {
    /// Creates an environment of a game with a number of players. The modes of the options are those for this number.
    /// The random generators start from `seed` until a reset gives another one.
    pub fn new(
        powered: &PoweredGame,
        players: usize,
        options: AtariOptions,
        seed: u64,
    ) -> Result<Self, AleError> {
        if players > 1 {
            options.check_for_players()?;
        }
        Ok(Self { env: AtariEnv::with_players(powered, players, options, seed)? })
    }

    /// Returns the number of players, which is that of the rows.
    pub fn players(&self) -> usize {
        self.env.ale.players()
    }

    /// Returns the space of the observations of each player.
    pub fn observation_space(&self) -> &Space {
        self.env.observation_space()
    }

    /// Returns the space of the actions of each player.
    pub fn action_space(&self) -> &Space {
        self.env.action_space()
    }

    /// Returns the code of every available action by index.
    pub fn action_codes(&self) -> &'static [u8] {
        self.env.action_codes()
    }

    /// Returns the emulated game. Its screen is not drawn.
    pub fn ale(&self) -> &Ale {
        self.env.ale()
    }

    /// Returns a copy with this seed. It shares the tables of the game.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        Self { env: self.env.with_seed(seed) }
    }

    /// Starts a new episode and writes the first observation of each player, one after the other. With a seed, this and
    /// all later episodes depend only on the seed and the actions.
    ///
    /// `observations` has a row of equal length for each player. Rows may be longer than an observation.
    pub fn reset(&mut self, seed: Option<u64>, observations: &mut [u8]) {
        if let Some(seed) = seed {
            self.env.seed(seed);
        }
        let row_len = self.row_len();
        self.env.begin_episode(false, &mut observations[..row_len]);
        self.copy_to_rows(observations);
    }

    /// Performs one action of each player and writes the observations after it as [`reset`](Self::reset) does. Returns
    /// a step for each player; those of players who do not exist are empty.
    ///
    /// Unless there is exactly one action for each player and all are in the action space, this is
    /// [`EnvError::InvalidAction`] and changes nothing.
    pub fn step(
        &mut self,
        actions: &[i32],
        observations: &mut [u8],
    ) -> Result<[Step; MAX_PLAYERS], EnvError> {
        let steps = self.advance(actions)?;
        self.observe(observations);
        Ok(steps)
    }

    /// Performs actions as [`step`](Self::step) does, without observations, which [`observe`](Self::observe) writes.
    pub fn advance(&mut self, actions: &[i32]) -> Result<[Step; MAX_PLAYERS], EnvError> {
        let actions = self.decode(actions)?;
        Ok(self.play(&actions[..self.players()]))
    }

    /// Writes the current observations, the same as the last `reset` or `step` wrote.
    pub fn observe(&self, observations: &mut [u8]) {
        self.env.observe(&mut observations[..self.row_len()]);
        self.copy_to_rows(observations);
    }

    /// Returns the screen.
    pub fn render(&self) -> RgbImage {
        self.env.render()
    }

    /// Emulates the sound, as [`AtariEnv::with_sound`] does.
    #[must_use]
    pub fn with_sound(self) -> Self {
        Self { env: self.env.with_sound() }
    }

    /// Returns the sound of the last step, as [`AtariEnv::sound`] does.
    pub fn sound(&self) -> &[u8] {
        self.env.sound()
    }

    /// Returns the information about the current state, with the lives of a player. `None` if there is no such player.
    pub fn info(&self, player: usize) -> Option<AtariInfo> {
        let lives = self.ale().lives_of(player)?;
        Some(AtariInfo { lives, ..self.env.info() })
    }

    /// Returns the complete state as bytes.
    pub fn snapshot(&self) -> Vec<u8> {
        self.env.snapshot()
    }

    /// Restores a state from [`snapshot`](Self::snapshot). On an error nothing changes.
    pub fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.env.restore(snapshot)
    }

    /// Returns the bytes of an observation.
    fn row_len(&self) -> usize {
        self.observation_space().byte_len()
    }

    /// Copies the observation of the first row to all others.
    fn copy_to_rows(&self, observations: &mut [u8]) {
        let (first, others) = observations.split_at_mut(observations.len() / self.players());
        for row in others.chunks_exact_mut(first.len()) {
            row[..self.row_len()].copy_from_slice(&first[..self.row_len()]);
        }
    }

    /// Returns the actions of the players, and NOOP for those who do not exist.
    fn decode(&self, indices: &[i32]) -> Result<[Action; MAX_PLAYERS], EnvError> {
        let invalid = || EnvError::InvalidAction {
            action: format!("{indices:?}"),
            space: format!("{} of each of {} players", self.action_space(), self.players()),
        };
        if indices.len() != self.players() {
            return Err(invalid());
        }
        let mut actions = [Action::NOOP; MAX_PLAYERS];
        for (action, &index) in actions.iter_mut().zip(indices) {
            let code = usize::try_from(index).ok().and_then(|index| self.action_codes().get(index));
            *action = code.and_then(|&code| Action::new(code)).ok_or_else(invalid)?;
        }
        Ok(actions)
    }

    fn play(&mut self, actions: &[Action]) -> [Step; MAX_PLAYERS] {
        let was_out = self.are_out();
        let mut rewards = [0_i32; MAX_PLAYERS];
        self.env.sound.clear();
        let Outcome { over, ends, .. } = self.env.play_frames(|ale, seen| {
            let act = if seen { Ale::act_players } else { Ale::act_players_undrawn };
            let earned = act(ale, actions).expect("an action for each player");
            for (sum, reward) in rewards.iter_mut().zip(earned) {
                *sum = sum.wrapping_add(reward);
            }
        });
        let is_out = self.are_out();
        let mut steps = [Step::default(); MAX_PLAYERS];
        for player in 0..self.players() {
            let terminated = over || is_out[player] && !was_out[player];
            let continues = terminated && !ends;
            let truncated = ends && !terminated;
            steps[player] =
                Step { terminated, truncated, continues, ..self.env.step_with(rewards[player], terminated) };
        }
        steps
    }

    /// Returns true for each player who is out of the game.
    fn are_out(&self) -> [bool; MAX_PLAYERS] {
        std::array::from_fn(|player| self.ale().lives_of(player).is_some_and(|lives| lives < 0))
    }
}
