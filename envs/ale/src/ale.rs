//! The environment's loop: load, reset, act.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vcs::{Console, ConsoleOptions, Inputs, Joystick, Mt19937, Paddle, RAM, Switches, TvFormat};

use crate::AleError;
use crate::action::Action;
use crate::games::Game;
use crate::mode_select::{MOST_FRAMES, Operation};
use crate::palette::Palette;
use crate::rules::Variables;

/// Settings of an emulated game.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AleSettings {
    /// How likely each frame repeats the action before instead of taking the new one ("sticky actions", Machado et al.,
    /// 2018). 0 to 1.
    pub repeat_action_probability: f32,
    /// Frames that one [`act`](Ale::act) emulates, at least 1.
    pub frame_skip: u32,
    /// Episodes are truncated after this many frames; 0 is no limit. Frames of a reset do not count.
    pub max_num_frames_per_episode: u32,
    /// The game's mode; `None` is its default mode.
    pub mode: Option<u32>,
    /// The difficulty switches; `None` is 0.
    pub difficulty: Option<u32>,
}

impl Default for AleSettings {
    fn default() -> Self {
        Self {
            repeat_action_probability: 0.25,
            frame_skip: 1,
            max_num_frames_per_episode: 0,
            mode: None,
            difficulty: None,
        }
    }
}

/// A game with its ROM, powered on: what all environments of one game share.
#[derive(Clone, Debug)]
pub struct PoweredGame {
    game: &'static Game,
    /// The console just after power-up and detection of the television system, which depend on the ROM alone.
    console: Arc<Console>,
}

impl PoweredGame {
    /// Puts the ROM into a console and switches it on. The television system is found out by running some frames.
    pub fn new(game: &'static Game, rom: Arc<[u8]>) -> Result<Self, AleError> {
        Self::on(game, rom, None)
    }

    /// The same with a given television system. It is the only way to SECAM, which no program's frames give away.
    pub fn with_tv(game: &'static Game, rom: Arc<[u8]>, tv: TvFormat) -> Result<Self, AleError> {
        Self::on(game, rom, Some(tv))
    }

    fn on(game: &'static Game, rom: Arc<[u8]>, tv: Option<TvFormat>) -> Result<Self, AleError> {
        let cartridge =
            game.cartridge(rom).map_err(|source| AleError::Cartridge { game: game.id.to_owned(), source })?;
        let options = ConsoleOptions { tv, ..game.console_options() };
        Ok(Self { game, console: Arc::new(Console::new(cartridge, &options)) })
    }

    /// The game.
    pub fn game(&self) -> &'static Game {
        self.game
    }

    /// The television system that the console detected.
    pub fn tv(&self) -> TvFormat {
        self.console.tv()
    }

    /// Rows of the screen.
    pub fn height(&self) -> usize {
        self.console.height()
    }
}

/// The action that a player repeats when a sticky action strikes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Remembered {
    action: u8,
    strength: f32,
}

const IDLE: Remembered = Remembered { action: 0, strength: 1.0 };

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
    remembered: Remembered,
    /// Resistances of the paddles in ohms.
    paddles: [i32; 2],
    mode: u32,
    difficulty: u32,
    frame_number: u32,
    episode_frame_number: u32,
}

/// Whether anybody looks at a frame's picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    Seen,
    Unseen,
}

/// Ohms that a paddle turns in one frame.
const PADDLE_STEP: f64 = 23000.0;
/// Frames of NOOP at the beginning of a reset.
const SETTLING_FRAMES: u32 = 60;
/// Frames for which RESET is held.
const SOFT_RESET_FRAMES: u32 = 4;

impl Ale {
    /// Loads a game and performs its first reset, as ale-py's `loadROM` does with `random_seed` set to `seed`.
    pub fn new(powered: &PoweredGame, settings: AleSettings, seed: u32) -> Result<Self, AleError> {
        let game = powered.game;
        check(game, &settings)?;
        let state = State {
            console: (*powered.console).clone(),
            random: Mt19937::new(seed),
            variables: game.rules.variables(),
            remembered: IDLE,
            paddles: [0; 2],
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
        let state = &mut self.state;
        state.console.clone_from(&self.powered.console);
        state.random = Mt19937::new(seed);
        state.variables = self.powered.game.rules.variables();
        state.remembered = IDLE;
        state.frame_number = 0;
        let game = self.powered.game;
        (state.mode, state.difficulty) = (game.default_mode, 0);
        self.reset_game();
        self.state.mode = self.settings.mode.unwrap_or(game.default_mode);
        self.state.difficulty = self.settings.difficulty.unwrap_or(0);
    }

    /// Starts a new episode. The console's own random numbers continue, so that episodes differ.
    pub fn reset_game(&mut self) {
        let game = self.powered.game;
        self.state.episode_frame_number = 0;
        if let Some((low, high)) = game.paddle_range {
            self.state.paddles = [low.midpoint(high); 2];
        }
        self.state.console.reset();
        self.emulate(Action::NOOP, 1.0, SETTLING_FRAMES, Sight::Unseen);
        self.soft_reset();
        game.rules.reset(&mut self.state.variables);
        self.state.variables.set_mode(self.state.mode);
        self.select_mode(&game.mode_select, MOST_FRAMES);
        self.soft_reset();
        for &(code, frames) in &game.starting_actions {
            let action = Action::from_sequence(code).unwrap_or(Action::NOOP);
            for _ in 0..frames {
                self.emulate(action, 1.0, 1, Sight::Unseen);
            }
        }
        self.state.console.draw_screen();
    }

    fn soft_reset(&mut self) {
        self.emulate(Action::RESET, 1.0, SOFT_RESET_FRAMES, Sight::Unseen);
        self.state.remembered = IDLE;
    }

    /// Mode selection happens in every reset, for the default mode too. Returns what is left of `frames`.
    fn select_mode(&mut self, operations: &[Operation], mut frames: u32) -> u32 {
        for operation in operations {
            match operation {
                Operation::Select { hold } => {
                    let hold = u32::try_from(self.evaluate(hold)).unwrap_or(0);
                    self.press_select(hold);
                    frames = frames.saturating_sub(hold + 1);
                }
                Operation::Reset => self.soft_reset(),
                Operation::Act { action, times } => {
                    let action = u8::try_from(self.evaluate(action)).ok().and_then(Action::new);
                    for _ in 0..*times {
                        self.act_unseen(action.unwrap_or(Action::NOOP), 1.0);
                    }
                    frames = frames.saturating_sub(*times);
                }
                Operation::Let { slot, value } => {
                    let value = self.evaluate(value);
                    self.state.variables.set(*slot, value);
                }
                Operation::Until { condition, body, max } => {
                    let mut rounds = 0;
                    while self.evaluate(condition) == 0 && rounds < *max && frames > 0 {
                        frames = self.select_mode(body, frames);
                        rounds += 1;
                    }
                }
            }
        }
        frames
    }

    fn evaluate(&mut self, expression: &crate::rules::Expression) -> i32 {
        let State { console, random, variables, .. } = &mut self.state;
        expression.value(&mut variables.scope(console, Some(random)))
    }

    /// Holds SELECT for some frames, which the rules do not see; they see the frame in which it is let go. Both frame
    /// counters advance by one.
    fn press_select(&mut self, frames: u32) {
        let mut inputs = self.inputs(Action::NOOP);
        inputs.switches.select = true;
        self.state.console.set_inputs(inputs);
        for _ in 0..frames {
            self.state.console.run_frame();
        }
        self.state.console.read_out_ram();
        self.emulate(Action::NOOP, 1.0, 1, Sight::Unseen);
        self.count_frame();
    }

    /// Performs `action` for the frame skip's number of frames and returns the sum of their rewards. `strength` scales
    /// the turning of a paddle (continuous actions), 1 otherwise.
    ///
    /// Two random numbers are drawn for every frame, one a player: also without sticky actions and after the end.
    pub fn act(&mut self, action: Action, strength: f32) -> i32 {
        let reward = self.act_in(action, strength, Sight::Seen);
        self.state.console.draw_screen();
        reward
    }

    /// Like [`act`](Self::act), but the picture is not drawn, which takes less time. [`screen`](Self::screen) may be
    /// looked at only after the next `act`, or after [`show`](Self::show).
    pub fn act_unseen(&mut self, action: Action, strength: f32) -> i32 {
        self.act_in(action, strength, Sight::Unseen)
    }

    /// Draws the picture of the last frame, if that was not done.
    pub fn show(&mut self) {
        self.state.console.draw_screen();
    }

    fn act_in(&mut self, action: Action, strength: f32, sight: Sight) -> i32 {
        let mut reward: i32 = 0;
        for remaining in (0..self.settings.frame_skip).rev() {
            let p = f64::from(self.settings.repeat_action_probability);
            if self.state.random.next_f64() >= p {
                self.state.remembered = Remembered { action: action.code(), strength };
            }
            self.state.random.next_f64();
            let sight = if remaining > 0 { Sight::Unseen } else { sight };
            reward = reward.wrapping_add(self.frame(sight));
        }
        reward
    }

    /// One frame of the remembered action, unless the episode is over.
    fn frame(&mut self, sight: Sight) -> i32 {
        if self.game_over() || self.truncated() {
            return 0;
        }
        let Remembered { action, strength } = self.state.remembered;
        let legal = self.powered.game.legal_actions.contains(&action);
        let action = Action::new(action).filter(|_| legal).unwrap_or(Action::NOOP);
        self.emulate(action, strength, 1, sight);
        self.count_frame();
        self.state.variables.reward()
    }

    fn count_frame(&mut self) {
        self.state.frame_number = self.state.frame_number.wrapping_add(1);
        self.state.episode_frame_number = self.state.episode_frame_number.wrapping_add(1);
    }

    /// Emulates frames with this input, applies the game's rules after each, and copies RAM at the end.
    ///
    /// ale-py's rules and its copy of RAM read through the bus. A program notices if it runs in the TIA's addresses, where
    /// the bus is all there is to fetch (theme "noise" of `tests/synthetic`).
    fn emulate(&mut self, action: Action, strength: f32, frames: u32, sight: Sight) {
        for _ in 0..frames {
            self.turn_paddle(action, strength);
            let inputs = self.inputs(action);
            let state = &mut self.state;
            state.console.set_inputs(inputs);
            match sight {
                Sight::Seen => state.console.run_frame(),
                Sight::Unseen => state.console.run_frame_undrawn(),
            }
            if let Some(byte) = self.powered.game.rules.step(&mut state.variables, &state.console) {
                state.console.drive_bus(byte);
            }
        }
        self.state.console.read_out_ram();
    }

    fn turn_paddle(&mut self, action: Action, strength: f32) {
        let Some((low, high)) = self.powered.game.paddle_range else {
            return;
        };
        let stick = action.joystick();
        let step = (PADDLE_STEP * f64::from(strength).abs()) as i32;
        let paddle = &mut self.state.paddles[0];
        if stick.right {
            *paddle = paddle.saturating_sub(step);
        } else if stick.left {
            *paddle = paddle.saturating_add(step);
        }
        *paddle = (*paddle).clamp(low, high);
    }

    /// What the player holds during an action.
    fn inputs(&self, action: Action) -> Inputs {
        let state = &self.state;
        let switches = Switches {
            reset: action == Action::RESET,
            select: false,
            left_difficulty_a: state.difficulty & 1 != 0,
            right_difficulty_a: state.difficulty & 2 != 0,
        };
        let stick = action.joystick();
        if self.powered.game.has_paddles() {
            let [first, second] = state.paddles;
            let paddles =
                [Paddle { resistance: first, fire: stick.fire }, Paddle { resistance: second, fire: false }];
            Inputs { paddles, switches, ..Inputs::default() }
        } else {
            Inputs { joysticks: [stick, Joystick::default()], switches, ..Inputs::default() }
        }
    }

    /// The game's row.
    pub fn game(&self) -> &'static Game {
        self.powered.game
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
    pub(crate) fn forget_screens(&mut self) {
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
        self.powered.game.check_mode(mode)?;
        self.settings.mode = Some(mode);
        self.state.mode = mode;
        Ok(())
    }

    /// Sets the difficulty switches; they take effect with the next frame.
    pub fn set_difficulty(&mut self, difficulty: u32) -> Result<(), AleError> {
        self.powered.game.check_difficulty(difficulty)?;
        self.settings.difficulty = Some(difficulty);
        self.state.difficulty = difficulty;
        Ok(())
    }

    /// The complete state as bytes: continuing from it equals never having left it.
    pub fn snapshot(&self) -> Vec<u8> {
        let write = |state: &State| {
            postcard::to_stdvec(&(self.powered.game.id, state)).expect("plain data can be written")
        };
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
        let game = self.powered.game;
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

fn check(game: &'static Game, settings: &AleSettings) -> Result<(), AleError> {
    let p = settings.repeat_action_probability;
    if !(0.0..=1.0).contains(&p) {
        let value = p.to_string();
        return Err(AleError::Setting {
            name: "repeat_action_probability",
            value,
            allowed: "between 0 and 1",
        });
    }
    if settings.frame_skip == 0 {
        return Err(AleError::Setting { name: "frame_skip", value: "0".to_owned(), allowed: "at least 1" });
    }
    settings.mode.map_or(Ok(()), |mode| game.check_mode(mode))?;
    settings.difficulty.map_or(Ok(()), |difficulty| game.check_difficulty(difficulty))
}
