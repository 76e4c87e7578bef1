//! Games with several players. The first player's state is that of a game with one player; [`Others`] is the rest.

use serde::{Deserialize, Serialize};

use super::act::{Rendering, is_interrupted_at};
use super::input::Paddles;
use super::{Ale, LastAction};
use crate::limits::MAX_PLAYERS;
use crate::{Action, AleError};

/// The players but the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Others {
    /// The number of players, the first included.
    players: usize,
    /// The codes of the actions that their frames repeat.
    last_actions: [u8; MAX_PLAYERS - 1],
    /// Their actions in the frame that is being emulated; NOOP between acts.
    #[serde(skip)]
    held: [Action; MAX_PLAYERS - 1],
    /// The paddles in the right port.
    pub(super) paddles: Paddles,
}

impl Others {
    pub(super) fn new(players: usize) -> Self {
        Self { players, last_actions: [0; _], held: [Action::NOOP; _], paddles: Paddles::default() }
    }

    /// Returns true if a snapshot can continue with these players.
    pub(super) fn accepts(&self, restored: &Self) -> bool {
        self.players == restored.players
    }

    /// Returns their actions in the frame that is being emulated.
    pub(super) fn held(&self) -> [Action; MAX_PLAYERS - 1] {
        self.held
    }

    /// Forgets the actions that their frames repeat.
    pub(super) fn forget_actions(&mut self) {
        self.last_actions = [0; _];
    }

    /// Turns their paddles by one frame of what they hold. `first` is the port with the first player's paddle.
    pub(super) fn turn_paddles(&mut self, first: &mut Paddles, range: Option<(i32, i32)>) {
        let [second, third, fourth] = self.held;
        first.turn(1, range, second, 1.0);
        self.paddles.turn(0, range, third, 1.0);
        self.paddles.turn(1, range, fourth, 1.0);
    }
}

impl Ale {
    /// Returns the number of players.
    pub fn players(&self) -> usize {
        self.settings.players
    }

    /// Returns the remaining lives of a player, counted from 0, by the game's rules. As in multi-agent-ale-py, most
    /// games count the lives in reserve. `None` if there is no such player.
    pub fn lives_of(&self, player: usize) -> Option<i32> {
        (player < self.players()).then(|| self.state.variables.lives_of(player))
    }

    /// Performs one action of each player for [`frame_skip`](crate::AleSettings::frame_skip) frames and returns the
    /// sums of their rewards, by player. Players who do not exist receive 0.
    ///
    /// Every frame draws one random number for each player, but at least two, even without sticky actions and after the
    /// end of the episode. An [interruption](rl_env::interrupt) skips the remaining frames.
    ///
    /// Returns an error and emulates nothing unless there is exactly one action for each player.
    ///
    /// ```no_run
    /// use ale::{Action, Ale, AleSettings, PoweredGame, game};
    ///
    /// let rom = std::fs::read("pong.bin")?;
    /// let powered = PoweredGame::new(game("pong")?, rom.into())?;
    /// let settings = AleSettings { players: 2, mode: Some(3), ..AleSettings::default() };
    /// let mut ale = Ale::new(&powered, settings, 1)?;
    /// ale.reset_game();
    /// let [left, right, ..] = ale.act_players(&[Action::FIRE, Action::NOOP])?;
    /// assert_eq!((left, right), (0, 0));
    ///
    /// let error = ale.act_players(&[Action::FIRE; 3]).unwrap_err();
    /// assert_eq!(error.to_string(), "pong has 2 players, but there are actions for 3");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn act_players(&mut self, actions: &[Action]) -> Result<[i32; MAX_PLAYERS], AleError> {
        let rewards = self.act_players_undrawn(actions)?;
        self.show();
        Ok(rewards)
    }

    /// Like [`act_players`](Self::act_players), but does not draw the screen, which takes less time.
    /// [`screen`](Self::screen) is valid only after the next `act_players` or after [`show`](Self::show).
    pub fn act_players_undrawn(&mut self, actions: &[Action]) -> Result<[i32; MAX_PLAYERS], AleError> {
        let players = self.players();
        if actions.len() != players {
            let (game, given) = (self.game().id, actions.len());
            return Err(AleError::Actions { game, players, given });
        }
        let mut all = [Action::NOOP; MAX_PLAYERS];
        all[..players].copy_from_slice(actions);
        Ok(self.act_all(all))
    }

    /// Lets all players press FIRE for an act. The screen is not drawn.
    pub(crate) fn fire_undrawn(&mut self) {
        if self.others.is_some() {
            self.act_all([Action::FIRE; MAX_PLAYERS]);
        } else {
            self.act_undrawn(Action::FIRE, 1.0);
        }
    }

    /// Performs the actions of all players, of whom those who do not exist are ignored.
    pub(super) fn act_all(&mut self, actions: [Action; MAX_PLAYERS]) -> [i32; MAX_PLAYERS] {
        let mut rewards = [0_i32; MAX_PLAYERS];
        for remaining in (0..self.settings.frame_skip).rev() {
            self.take_up(actions);
            let runs = !self.game_over() && !self.truncated();
            self.record_frame(Rendering::Deferred);
            for (player, reward) in rewards[..self.players()].iter_mut().enumerate().filter(|_| runs) {
                *reward = reward.wrapping_add(self.state.variables.reward_of(player));
            }
            if is_interrupted_at(remaining) {
                break;
            }
        }
        self.generate_sound();
        rewards
    }

    /// Lets each player take up the new action, or repeat the last one (sticky actions).
    fn take_up(&mut self, [first, others @ ..]: [Action; MAX_PLAYERS]) {
        let p = f64::from(self.settings.repeat_action_probability);
        let random = &mut self.state.random;
        if random.next_f64() >= p {
            self.state.last_action = LastAction { code: first.code(), strength: 1.0 };
        }
        let Some(state) = &mut self.others else {
            // The draw of player B, who does nothing.
            random.next_f64();
            return;
        };
        for (last, action) in state.last_actions.iter_mut().zip(others).take(state.players - 1) {
            if random.next_f64() >= p {
                *last = action.code();
            }
        }
    }

    /// Lets the players but the first hold their last actions for one frame, unless they are illegal.
    pub(super) fn hold_last_actions(&mut self) {
        let game = self.game();
        if let Some(others) = &mut self.others {
            let legal = game.legal_actions;
            others.held = others
                .last_actions
                .map(|code| Action::new(code).filter(|_| legal.contains(&code)).unwrap_or(Action::NOOP));
        }
    }

    /// Lets the players but the first release everything.
    pub(super) fn release(&mut self) {
        self.hold_as_second(Action::NOOP);
    }

    /// Lets the second player hold an action, and those after the second nothing.
    pub(super) fn hold_as_second(&mut self, action: Action) {
        if let Some(others) = &mut self.others {
            others.held = [action, Action::NOOP, Action::NOOP];
        }
    }
}
