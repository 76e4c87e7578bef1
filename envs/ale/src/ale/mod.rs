//! The emulated game: loading, state, snapshots.

mod act;
mod input;
mod players;
mod recording;
mod reset;
mod saved_state;
mod sound;

use rl_env::{RgbImage, snapshot};
use serde::{Deserialize, Serialize};
use vcs::{Console, FormerScreens, Mt19937, RAM, SoundRegisters, TvFormat};

use crate::games::Play;
use crate::palette::{Palette, paint};
use crate::rules::Variables;
use crate::screen::SCREEN_WIDTH;
use crate::{Action, AleError, AleSettings, Game, PoweredGame};
pub(crate) use act::is_interrupted_at;
use input::Paddles;
use players::Others;
pub use recording::RecordedFrame;
use recording::Recorder;
pub use saved_state::SavedState;
use sound::Sound;
pub use sound::{SOUND_RATE, SOUND_SAMPLES};

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
///
/// ```
/// use ale::{Action, Ale, AleSettings, PoweredGame, game, roms};
///
/// let rom = roms::built_in("harvest").expect("the open game is built in");
/// let powered = PoweredGame::new(game("harvest")?, rom.into())?;
/// let mut ale = Ale::new(&powered, AleSettings::default(), 1)?;
/// let mut score = 0;
/// while !ale.game_over() {
///     score += ale.act(Action::NOOP, 1.0);
/// }
/// assert!((0..=36).contains(&score));
/// assert_eq!(ale.screen().len(), ale.height() * 160);
///
/// // A snapshot holds the complete state.
/// let snapshot = ale.snapshot();
/// ale.reset_game();
/// ale.restore(&snapshot)?;
/// assert!(ale.game_over());
/// # Ok::<(), ale::AleError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ale {
    powered: PoweredGame,
    settings: AleSettings,
    state: State,
    /// With several players.
    others: Option<Others>,
    /// The average of the last two frames with [`color_averaging`](AleSettings::color_averaging), otherwise empty.
    averaged: Vec<u8>,
    /// The screen from before a restored state, and the number of that state's frame, with `color_averaging`. The next
    /// frame is averaged with this screen.
    replaced: Option<(Vec<u8>, u32)>,
    /// With the setting `sound`.
    sound: Option<Sound>,
    /// With the setting `recording`.
    recorder: Option<Recorder>,
}

/// Everything that changes while a game runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    console: Console,
    /// Generator of sticky actions and of adventure's mode selection.
    random: Mt19937,
    variables: Variables,
    /// Player A's last action. If there is one player, player B never acts, but its random draws are made.
    last_action: LastAction,
    paddles: Paddles,
    mode: u32,
    difficulty: u32,
    frame_number: u32,
    episode_frame_number: u32,
}

/// The optional parts of a snapshot: the former screens after [`restore_state`](Ale::restore_state), and the sound if
/// the setting `sound` is on. Most snapshots of games with one player have neither and end before. With several
/// players, [`Others`] follow.
type Extras = (Option<FormerScreens>, Option<(SoundRegisters, Sound)>);

impl Ale {
    /// Loads a game and performs its first reset, like ale-py's `loadROM` with `random_seed` set to `seed`.
    pub fn new(powered: &PoweredGame, settings: AleSettings, seed: u32) -> Result<Self, AleError> {
        let game = powered.game();
        settings.check(game)?;
        let state = State {
            console: powered.console().clone(),
            random: Mt19937::new(seed),
            variables: game.play(settings.players).rules.variables(),
            last_action: LastAction::NOOP,
            paddles: Paddles::default(),
            mode: game.default_mode,
            difficulty: 0,
            frame_number: 0,
            episode_frame_number: 0,
        };
        let mut ale = Self {
            powered: powered.clone(),
            settings,
            state,
            others: None,
            averaged: Vec::new(),
            replaced: None,
            sound: None,
            recorder: None,
        };
        ale.load(seed);
        Ok(ale)
    }

    /// Loads the game again: restores the machine to its state after power-up, seeds the environment's generator, and
    /// performs one reset.
    ///
    /// As in ale-py, where a mode can be set only after loading, this reset uses the default mode. The mode and
    /// difficulty of the settings apply from the next reset on. With several players, the seed also determines the
    /// contents of memory at power-up, as in multi-agent-ale-py.
    pub fn load(&mut self, seed: u32) {
        let game = self.game();
        let players = self.players();
        let multiplayer = game.multiplayer.as_ref().filter(|_| players > 1);
        let state = &mut self.state;
        if multiplayer.is_some() {
            state.console = self.powered.console_with_seed(seed);
        } else {
            state.console.clone_from(self.powered.console());
        }
        state.random = Mt19937::new(seed);
        state.variables = game.play(players).rules.variables();
        state.last_action = LastAction::NOOP;
        state.frame_number = 0;
        self.others = multiplayer.map(|_| Others::new(players));
        self.sound = self.settings.sound.then(Sound::default);
        self.recorder = self.settings.recording.then(Recorder::default);
        state.mode = multiplayer.map_or(game.default_mode, |modes| modes.load_mode);
        state.difficulty = 0;
        self.reset_game();
        let default = game.default_mode_for(players).expect("the settings are valid");
        self.state.mode = self.settings.mode.unwrap_or(default);
        self.state.difficulty = self.settings.difficulty.unwrap_or(0);
    }

    /// Returns the game's resets and rules.
    fn play(&self) -> &'static Play {
        self.game().play(self.settings.players)
    }

    /// Returns the game.
    pub fn game(&self) -> &'static Game {
        self.powered.game()
    }

    /// Returns the settings.
    pub fn settings(&self) -> &AleSettings {
        &self.settings
    }

    /// Returns the 128 bytes of RAM.
    pub fn ram(&self) -> &[u8; RAM] {
        self.state.console.ram()
    }

    /// Writes a byte of RAM. The rules see it with the next frame.
    pub fn set_ram(&mut self, index: usize, value: u8) -> Result<(), AleError> {
        let byte = self.state.console.ram_mut().get_mut(index).ok_or_else(|| AleError::Setting {
            name: "the index of a byte of RAM",
            value: index.to_string(),
            allowed: "below 128".to_owned(),
        })?;
        *byte = value;
        Ok(())
    }

    /// Releases the frame buffers of the screen and the previous screen until [`show`](Self::show) or the next
    /// [`act`](Self::act).
    pub(crate) fn release_screens(&mut self) {
        self.state.console.free_screens();
    }

    /// Returns the screen: `height() * 160` palette bytes, row by row.
    pub fn screen(&self) -> &[u8] {
        if self.settings.color_averaging { &self.averaged } else { self.state.console.screen() }
    }

    /// Returns the screen of the frame before the last one. It is valid if both frames were drawn, unless the last one
    /// only continued a frame that was [cut off](Self::is_within_frame).
    pub(crate) fn previous_screen(&self) -> &[u8] {
        self.state.console.previous_screen()
    }

    /// Returns true if the last frame was cut off and the next one continues it.
    pub(crate) fn is_within_frame(&self) -> bool {
        self.state.console.is_within_frame()
    }

    /// Returns the screen in colour: `height() * 160 * 3` bytes, red, green and blue of each pixel, 0 to 255.
    pub fn screen_rgb(&self) -> Vec<u8> {
        let mut pixels = vec![0; self.screen().len() * 3];
        self.write_screen_rgb(&mut pixels);
        pixels
    }

    /// Returns the screen in colour as an image.
    pub fn image(&self) -> RgbImage {
        RgbImage { height: self.height(), width: SCREEN_WIDTH, pixels: self.screen_rgb() }
    }

    /// Writes the screen in colour to a buffer of `height() * 160 * 3` bytes.
    pub fn write_screen_rgb(&self, pixels: &mut [u8]) {
        paint(self.screen(), &Palette::of(self.tv()).rgb, pixels);
    }

    /// Returns the screen in greyscale: `height() * 160` bytes, the luminance of each pixel, 0 to 255.
    pub fn screen_grey(&self) -> Vec<u8> {
        let mut pixels = vec![0; self.screen().len()];
        self.write_screen_grey(&mut pixels);
        pixels
    }

    /// Writes the screen in greyscale to a buffer of `height() * 160` bytes.
    pub fn write_screen_grey(&self, pixels: &mut [u8]) {
        paint(self.screen(), &Palette::of(self.tv()).grey.map(|luminance| [luminance]), pixels);
    }

    /// Returns the number of rows of the screen.
    pub fn height(&self) -> usize {
        self.powered.height()
    }

    /// Returns the television system, which selects the palette of the screen's bytes.
    pub fn tv(&self) -> TvFormat {
        self.powered.tv()
    }

    /// Returns true if the game is over by its rules.
    pub fn game_over(&self) -> bool {
        self.state.variables.terminal()
    }

    /// Returns true if the episode has reached its frame limit, or if a life was lost and
    /// [`truncate_on_loss_of_life`](AleSettings::truncate_on_loss_of_life) is set. As in ale-py, a life is lost when
    /// fewer are left than the rules set at a reset, even if a mode starts with fewer.
    #[inline]
    pub fn truncated(&self) -> bool {
        let limit = self.settings.max_num_frames_per_episode;
        limit > 0 && self.state.episode_frame_number >= limit
            || self.settings.truncate_on_loss_of_life && self.is_life_lost()
    }

    /// Returns true if a player has lost a life.
    fn is_life_lost(&self) -> bool {
        let rules = &self.play().rules;
        (0..self.players()).any(|player| self.state.variables.lives_of(player) < rules.first_lives(player))
    }

    /// Returns the lowest and the highest resistance of a paddle in ohms, or `None` for a game without paddles.
    fn paddle_range(&self) -> Option<(i32, i32)> {
        let (low, high) = self.game().paddle_range?;
        Some((self.settings.paddle_min.unwrap_or(low), self.settings.paddle_max.unwrap_or(high)))
    }

    /// Returns the remaining lives by the game's rules, those of the first player if there are several.
    pub fn lives(&self) -> i32 {
        self.state.variables.lives()
    }

    /// Returns the number of frames since the game was loaded. Of the frames of a reset, only those of mode
    /// selection count.
    pub fn frame_number(&self) -> u32 {
        self.state.frame_number
    }

    /// Returns the number of frames since the last reset, those of its mode selection included.
    pub fn episode_frame_number(&self) -> u32 {
        self.state.episode_frame_number
    }

    /// Returns the mode that the next reset selects. It is the mode of the current episode unless it was set since.
    pub fn mode(&self) -> u32 {
        self.state.mode
    }

    /// Returns the difficulty switches. Bit 0 set means the left switch is at A; bit 1 is the right switch.
    pub fn difficulty(&self) -> u32 {
        self.state.difficulty
    }

    /// Sets the mode; it takes effect with the next reset.
    pub fn set_mode(&mut self, mode: u32) -> Result<(), AleError> {
        self.game().check_mode(self.players(), mode)?;
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

    /// Returns the complete state as bytes. A game restored from it continues exactly as this one would. The sound is
    /// included if it is [switched on](AleSettings::sound).
    pub fn snapshot(&self) -> Vec<u8> {
        let write = |state: &State| snapshot::encode(&(self.game().id, state));
        let mut bytes = if self.state.console.has_undrawn_screens() {
            let mut state = self.state.clone();
            state.console.draw_screens();
            write(&state)
        } else {
            write(&self.state)
        };
        let former = self.state.console.former_screens();
        let sound = self.sound.as_ref().map(|sound| (self.state.console.sound_registers(), sound));
        if former.is_some() || sound.is_some() || self.others.is_some() {
            bytes.extend(snapshot::encode(&(former, sound)));
        }
        if let Some(others) = &self.others {
            bytes.extend(snapshot::encode(others));
        }
        bytes
    }

    /// Restores a state from [`snapshot`](Self::snapshot). On an error nothing changes.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), AleError> {
        let game = self.game();
        let bad = AleError::BadSnapshot { game: game.id };
        let ((id, state), rest): ((String, State), _) =
            postcard::take_from_bytes(bytes).map_err(|_| bad.clone())?;
        if id != game.id || !self.play().rules.accepts(&state.variables) {
            return Err(bad);
        }
        let State { console, .. } = state;
        let mut restored = State { console: self.state.console.clone(), ..state };
        restored.console.restore(console).map_err(|_| bad.clone())?;
        let ((former, sound), others) = self.decode_extras(rest).ok_or_else(|| bad.clone())?;
        if let Some(former) = former {
            restored.console.set_former_screens(former).map_err(|_| bad)?;
        }
        if self.settings.sound {
            let (registers, sound) = sound.unwrap_or_default();
            restored.console.set_sound_registers(registers);
            self.sound = Some(sound);
        }
        self.state = restored;
        self.others = others;
        self.replaced = None;
        if self.settings.color_averaging {
            self.average_screens();
        }
        Ok(())
    }

    /// Decodes the end of a snapshot. Returns `None` if it is damaged or belongs to another number of players.
    fn decode_extras(&self, rest: &[u8]) -> Option<(Extras, Option<Others>)> {
        let Some(players) = &self.others else {
            let extras = if rest.is_empty() { (None, None) } else { snapshot::decode(rest).ok()? };
            return Some((extras, None));
        };
        let (extras, rest) = postcard::take_from_bytes(rest).ok()?;
        let others = snapshot::decode(rest).ok().filter(|others| players.accepts(others))?;
        Some((extras, Some(others)))
    }
}
