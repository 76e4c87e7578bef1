//! The environment's loop: load, reset, act.

mod act;
mod input;
mod reset;

use serde::{Deserialize, Serialize};
use vcs::{Console, Mt19937, RAM, TvFormat};

use crate::palette::Palette;
use crate::rules::Variables;
use crate::{Action, AleError, AleSettings, Game, PoweredGame};
use input::Paddles;

/// The action that a frame repeats if the new one is not taken (sticky actions).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct LastAction {
    code: u8,
    strength: f32,
}

impl LastAction {
    const NOOP: Self = Self { code: Action::NOOP.code(), strength: 1.0 };
}

/// A running game: the counterpart of ale-py's `ALEInterface`.
#[derive(Clone, Debug)]
pub struct Ale {
    powered: PoweredGame,
    settings: AleSettings,
    state: State,
}

/// Everything that changes while a game runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    console: Console,
    /// Draws sticky actions, and adventure's mode selection.
    random: Mt19937,
    variables: Variables,
    /// Player A's last action. Player B never acts, but its draws are made.
    last_action: LastAction,
    paddles: Paddles,
    mode: u32,
    difficulty: u32,
    frame_number: u32,
    episode_frame_number: u32,
}

impl Ale {
    /// Loads a game and performs its first reset, as ale-py's `loadROM` does with `random_seed` set to `seed`.
    pub fn new(powered: &PoweredGame, settings: AleSettings, seed: u32) -> Result<Self, AleError> {
        let game = powered.game();
        settings.check(game)?;
        let state = State {
            console: powered.console().clone(),
            random: Mt19937::new(seed),
            variables: game.rules.variables(),
            last_action: LastAction::NOOP,
            paddles: Paddles::default(),
            mode: game.default_mode,
            difficulty: 0,
            frame_number: 0,
            episode_frame_number: 0,
        };
        let mut ale = Self { powered: powered.clone(), settings, state };
        ale.load(seed);
        Ok(ale)
    }

    /// Loads the game again: the machine as after power-up, the environment's generator seeded, one reset.
    ///
    /// This reset is made in the default mode, as in ale-py, where a mode can be set only after loading; the settings'
    /// mode and difficulty count from the next one on.
    pub fn load(&mut self, seed: u32) {
        let game = self.game();
        let state = &mut self.state;
        state.console.clone_from(self.powered.console());
        state.random = Mt19937::new(seed);
        state.variables = game.rules.variables();
        state.last_action = LastAction::NOOP;
        state.frame_number = 0;
        (state.mode, state.difficulty) = (game.default_mode, 0);
        self.reset_game();
        self.state.mode = self.settings.mode.unwrap_or(game.default_mode);
        self.state.difficulty = self.settings.difficulty.unwrap_or(0);
    }

    /// The game's row.
    pub fn game(&self) -> &'static Game {
        self.powered.game()
    }

    /// The settings.
    pub fn settings(&self) -> &AleSettings {
        &self.settings
    }

    /// The 128 bytes of RAM.
    pub fn ram(&self) -> &[u8; RAM] {
        self.state.console.ram()
    }

    /// Gives up the memory of the screen until [`show`](Self::show) or the next [`act`](Self::act), and that of the one before.
    pub(crate) fn release_screens(&mut self) {
        self.state.console.free_screens();
    }

    /// The picture: `height() * 160` palette bytes, row after row.
    pub fn screen(&self) -> &[u8] {
        self.state.console.screen()
    }

    /// The screen of the frame before the last one. It is there if both were seen, unless the last one only went on with
    /// a frame that was [cut off](Self::is_within_frame).
    pub(crate) fn previous_screen(&self) -> &[u8] {
        self.state.console.previous_screen()
    }

    /// Whether the last frame was cut off, and goes on with the next one.
    pub(crate) fn is_within_frame(&self) -> bool {
        self.state.console.is_within_frame()
    }

    /// The screen in colour: `height() * 160 * 3` bytes, red, green and blue of each pixel, 0 to 255.
    pub fn screen_rgb(&self) -> Vec<u8> {
        let rgb = &Palette::of(self.tv()).rgb;
        self.screen().iter().flat_map(|&pixel| rgb[usize::from(pixel)]).collect()
    }

    /// The screen in shades of grey: `height() * 160` bytes, the luminance of each pixel, 0 to 255.
    pub fn screen_grey(&self) -> Vec<u8> {
        let grey = &Palette::of(self.tv()).grey;
        self.screen().iter().map(|&pixel| grey[usize::from(pixel)]).collect()
    }

    /// Rows of the screen.
    pub fn height(&self) -> usize {
        self.powered.height()
    }

    /// The television system, which says which palette the screen's bytes index.
    pub fn tv(&self) -> TvFormat {
        self.powered.tv()
    }

    /// Whether the game's own rules say that it is over.
    pub fn game_over(&self) -> bool {
        self.state.variables.terminal()
    }

    /// Whether the frame limit has been reached.
    pub fn truncated(&self) -> bool {
        let limit = self.settings.max_num_frames_per_episode;
        limit > 0 && self.state.episode_frame_number >= limit
    }

    /// Lives that are left, as the game's rules count them.
    pub fn lives(&self) -> i32 {
        self.state.variables.lives()
    }

    /// Frames since the game was loaded, resets not counted.
    pub fn frame_number(&self) -> u32 {
        self.state.frame_number
    }

    /// Frames since the last reset.
    pub fn episode_frame_number(&self) -> u32 {
        self.state.episode_frame_number
    }

    /// The mode that the next reset selects, which the running episode has unless it was set since.
    pub fn mode(&self) -> u32 {
        self.state.mode
    }

    /// The difficulty switches: bit 0 is the left one at A, bit 1 the right one.
    pub fn difficulty(&self) -> u32 {
        self.state.difficulty
    }

    /// Sets the mode; it takes effect with the next reset.
    pub fn set_mode(&mut self, mode: u32) -> Result<(), AleError> {
        self.game().check_mode(mode)?;
        self.settings.mode = Some(mode);
        self.state.mode = mode;
        Ok(())
    }

    /// Sets the difficulty switches; they take effect with the next frame.
    pub fn set_difficulty(&mut self, difficulty: u32) -> Result<(), AleError> {
        self.game().check_difficulty(difficulty)?;
        self.settings.difficulty = Some(difficulty);
        self.state.difficulty = difficulty;
        Ok(())
    }

    /// The complete state as bytes: continuing from it equals never having left it.
    pub fn snapshot(&self) -> Vec<u8> {
        let write =
            |state: &State| postcard::to_stdvec(&(self.game().id, state)).expect("plain data can be written");
        if self.state.console.has_undrawn_screens() {
            let mut state = self.state.clone();
            state.console.draw_screens();
            write(&state)
        } else {
            write(&self.state)
        }
    }

    /// Puts a state from [`snapshot`](Self::snapshot) back. On an error nothing has changed.
    pub fn restore(&mut self, snapshot: &[u8]) -> Result<(), AleError> {
        let game = self.game();
        let bad = AleError::BadSnapshot { game: game.id };
        let (id, state): (String, State) = postcard::from_bytes(snapshot).map_err(|_| bad.clone())?;
        if id != game.id || !game.rules.accepts(&state.variables) {
            return Err(bad);
        }
        let State { console, .. } = state;
        let mut restored = State { console: self.state.console.clone(), ..state };
        restored.console.restore(console).map_err(|_| bad)?;
        self.state = restored;
        Ok(())
    }
}
