//! The states that ale-py's `cloneState` saves, which leave out part of a [snapshot](Ale::snapshot).

use rl_env::snapshot;
use serde::{Deserialize, Serialize};
use vcs::{Console, Mt19937};

use super::{Ale, Paddles, State};
use crate::rules::Variables;
use crate::{AleError, games};

/// A state of a game, like ale-py's `ALEState`: it omits the screen and the action that a sticky frame repeats.
///
/// ```
/// use ale::{Action, Ale, AleSettings, PoweredGame, game, roms};
///
/// let rom = roms::built_in("harvest").expect("the open game is built in");
/// let powered = PoweredGame::new(game("harvest")?, rom.into())?;
/// let mut ale = Ale::new(&powered, AleSettings::default(), 1)?;
/// let saved = ale.save_state(false);
/// let ram = *ale.ram();
/// ale.act(Action::FIRE, 1.0);
/// ale.restore_state(&saved)?;
/// assert_eq!((ale.frame_number(), *ale.ram()), (0, ram));
/// # Ok::<(), ale::AleError>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedState {
    game: String,
    /// The console without its screens.
    console: Console,
    /// The generator of sticky actions, if it was requested.
    random: Option<Mt19937>,
    variables: Variables,
    paddles: Paddles,
    mode: u32,
    difficulty: u32,
    frame_number: u32,
    episode_frame_number: u32,
}

impl SavedState {
    /// Returns the state as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("the state can be serialized")
    }

    /// Restores a state from the bytes of [`to_bytes`](Self::to_bytes).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, AleError> {
        match snapshot::decode::<Self>(bytes) {
            Ok(state) if games().iter().any(|game| game.id == state.game) => Ok(state),
            _ => Err(AleError::BadState),
        }
    }

    /// Returns the number of frames since the game was loaded.
    pub fn frame_number(&self) -> u32 {
        self.frame_number
    }

    /// Returns the number of frames since the last reset.
    pub fn episode_frame_number(&self) -> u32 {
        self.episode_frame_number
    }

    /// Returns the game's mode.
    pub fn mode(&self) -> u32 {
        self.mode
    }

    /// Returns the difficulty switches.
    pub fn difficulty(&self) -> u32 {
        self.difficulty
    }
}

impl Ale {
    /// Saves the state, with the generator of sticky actions if `include_random`.
    pub fn save_state(&mut self, include_random: bool) -> SavedState {
        let game = self.game().id.to_owned();
        let state = &mut self.state;
        SavedState {
            game,
            console: state.console.without_screens(),
            random: include_random.then(|| state.random.clone()),
            variables: state.variables.clone(),
            paddles: state.paddles,
            mode: state.mode,
            difficulty: state.difficulty,
            frame_number: state.frame_number,
            episode_frame_number: state.episode_frame_number,
        }
    }

    /// Restores a saved state. As in ale-py, the screen does not change until the next frame, and a sticky frame
    /// repeats the action that was performed before. On an error nothing changes.
    pub fn restore_state(&mut self, saved: &SavedState) -> Result<(), AleError> {
        let game = self.game();
        let bad = AleError::BadSnapshot { game: game.id };
        if saved.game != game.id || !game.rules.accepts(&saved.variables) {
            return Err(bad);
        }
        self.state.console.restore_under_screens(saved.console.clone()).map_err(|_| bad)?;
        let State { random, variables, paddles, .. } = &mut self.state;
        if let Some(saved) = &saved.random {
            random.clone_from(saved);
        }
        variables.clone_from(&saved.variables);
        *paddles = saved.paddles;
        (self.state.mode, self.state.difficulty) = (saved.mode, saved.difficulty);
        self.state.frame_number = saved.frame_number;
        self.state.episode_frame_number = saved.episode_frame_number;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Action, Ale, AleSettings, PoweredGame, game, roms};

    #[test]
    fn a_restored_state_is_saved_as_the_same_bytes() {
        let rom = roms::built_in("harvest").expect("the open game is built in");
        let powered = PoweredGame::new(game("harvest").unwrap(), rom.into()).unwrap();
        let mut ale = Ale::new(&powered, AleSettings::default(), 1).unwrap();
        for acts in 1..5 {
            let saved = ale.save_state(true);
            for _ in 0..acts {
                ale.act(Action::FIRE, 1.0);
            }
            assert_ne!(ale.save_state(true).to_bytes(), saved.to_bytes());
            ale.restore_state(&saved).unwrap();
            assert_eq!(ale.save_state(true).to_bytes(), saved.to_bytes(), "after {acts} acts");
        }
    }
}
