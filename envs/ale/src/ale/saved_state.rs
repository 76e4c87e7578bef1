//! The states that ale-py's `cloneState` saves, which leave out part of a [snapshot](Ale::snapshot).

use std::hash::{Hash, Hasher};

use rl_env::snapshot;
use serde::{Deserialize, Serialize};
use vcs::{Console, Mt19937, SavedScreens};

use super::{Ale, Paddles, State};
use crate::AleError;
use crate::games::is_game;
use crate::rules::Variables;

/// The first bytes of a serialized state, which its format follows.
const MARK: &[u8] = b"ALEState";
/// The format of serialized states. Changing any type here requires a new one. States of format 1 have no mark.
const FORMAT: u32 = 2;

/// A state of a game, like ale-py's `ALEState`: it omits the action that a sticky frame repeats. As in ale-py,
/// comparisons ignore the screens.
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
    compared: Compared,
    screens: SavedScreens,
    /// The paddles in the right port, in games with several players. Their bytes follow those of the other fields.
    #[serde(skip)]
    right_paddles: Option<Paddles>,
}

/// The part of a state that is compared.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Compared {
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
        let right_paddles = self.right_paddles.as_ref().map(snapshot::encode).unwrap_or_default();
        [MARK, &snapshot::encode(&(FORMAT, self)), &right_paddles].concat()
    }

    /// Restores a state from the bytes of [`to_bytes`](Self::to_bytes).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, AleError> {
        let marked = bytes.strip_prefix(MARK);
        let format = marked.map_or_else(|| unmarked_format(bytes), first);
        if let Some(format) = format.filter(|&format| format != FORMAT) {
            return Err(AleError::StateFormat { format, expected: FORMAT });
        }
        Self::decode(marked.unwrap_or_default())
            .filter(|state| is_game(&state.compared.game))
            .ok_or(AleError::BadState)
    }

    /// Decodes the bytes behind the mark.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let ((_, mut state), rest): ((u32, Self), _) = postcard::take_from_bytes(bytes).ok()?;
        if !rest.is_empty() {
            state.right_paddles = Some(snapshot::decode(rest).ok()?);
        }
        Some(state)
    }

    /// Returns the bytes that distinguish unequal states.
    fn key(&self) -> Vec<u8> {
        snapshot::encode(&self.compared)
    }

    /// Returns the number of frames since the game was loaded.
    pub fn frame_number(&self) -> u32 {
        self.compared.frame_number
    }

    /// Returns the number of frames since the last reset.
    pub fn episode_frame_number(&self) -> u32 {
        self.compared.episode_frame_number
    }

    /// Returns the game's mode.
    pub fn mode(&self) -> u32 {
        self.compared.mode
    }

    /// Returns the difficulty switches.
    pub fn difficulty(&self) -> u32 {
        self.compared.difficulty
    }
}

impl PartialEq for SavedState {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for SavedState {}

impl Hash for SavedState {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.key().hash(hasher);
    }
}

/// Returns the format of bytes without a mark: 1 if they begin like a state of that format, with the id of a game.
fn unmarked_format(bytes: &[u8]) -> Option<u32> {
    first::<&str>(bytes).filter(|&id| is_game(id)).map(|_| 1)
}

/// Decodes the first value.
fn first<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    postcard::take_from_bytes(bytes).ok().map(|(value, _)| value)
}

impl Ale {
    /// Saves the state, with the generator of sticky actions if `include_random`.
    pub fn save_state(&mut self, include_random: bool) -> SavedState {
        let game = self.game().id.to_owned();
        let state = &mut self.state;
        let (console, screens) = state.console.save();
        let compared = Compared {
            game,
            console,
            random: include_random.then(|| state.random.clone()),
            variables: state.variables.clone(),
            paddles: state.paddles,
            mode: state.mode,
            difficulty: state.difficulty,
            frame_number: state.frame_number,
            episode_frame_number: state.episode_frame_number,
        };
        SavedState { compared, screens, right_paddles: self.others.as_ref().map(|others| others.paddles) }
    }

    /// Restores a saved state. On an error nothing changes.
    ///
    /// As in ale-py, the screen does not change until the next frame, which shows the old screen where it draws
    /// nothing. A sticky frame repeats the action that was performed before. From the second frame on, the screens are
    /// those of the saved game.
    pub fn restore_state(&mut self, saved: &SavedState) -> Result<(), AleError> {
        let game = self.game();
        let bad = AleError::BadSnapshot { game: game.id };
        let SavedState { compared: saved, screens, right_paddles } = saved;
        if saved.game != game.id || !self.play().rules.accepts(&saved.variables) {
            return Err(bad);
        }
        if right_paddles.is_some() != self.others.is_some() {
            return Err(bad);
        }
        let screen = self.settings.color_averaging.then(|| self.state.console.screen().to_vec());
        self.state.console.restore_saved(saved.console.clone(), screens).map_err(|_| bad)?;
        self.replaced = screen.map(|screen| (screen, saved.frame_number));
        let State { random, variables, paddles, .. } = &mut self.state;
        if let Some(saved) = &saved.random {
            random.clone_from(saved);
        }
        variables.clone_from(&saved.variables);
        *paddles = saved.paddles;
        if let (Some(others), Some(paddles)) = (&mut self.others, right_paddles) {
            others.paddles = *paddles;
        }
        (self.state.mode, self.state.difficulty) = (saved.mode, saved.difficulty);
        self.state.frame_number = saved.frame_number;
        self.state.episode_frame_number = saved.episode_frame_number;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::SavedState;
    use crate::{Action, Ale, AleSettings, PoweredGame, game, roms};

    fn harvest() -> Ale {
        let rom = roms::built_in("harvest").expect("the open game is built in");
        let powered = PoweredGame::new(game("harvest").unwrap(), rom.into()).unwrap();
        Ale::new(&powered, AleSettings::default(), 1).unwrap()
    }

    #[test]
    fn a_restored_state_is_saved_as_the_same_bytes() {
        let mut ale = harvest();
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

    #[test]
    fn states_of_other_formats_are_refused_by_their_number() {
        let bytes = harvest().save_state(false).to_bytes();
        assert!(SavedState::from_bytes(&bytes).is_ok());
        let mut later = bytes.clone();
        later[super::MARK.len()] = 9;
        // The first format began with the id of the game.
        let first = &bytes[super::MARK.len() + 1..];
        for (bytes, format) in [(&later[..], 9), (first, 1)] {
            let error = SavedState::from_bytes(bytes).unwrap_err().to_string();
            let expected = format!(
                "the state was saved by another version, in format {format}; this version reads format 2"
            );
            assert_eq!(error, expected);
        }
        for bytes in [&bytes[..bytes.len() - 1], b"ALEState", b"abc", b"", &[&bytes[..], &[0]].concat()] {
            let error = SavedState::from_bytes(bytes).unwrap_err().to_string();
            assert_eq!(error, "the bytes are not a saved state, or are damaged");
        }
    }
}
