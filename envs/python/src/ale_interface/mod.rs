//! The counterpart of ale-py's `ALEInterface`: one emulated game.

mod loading;
mod messages;
mod players_game;
mod recording;
mod screen;
mod settings;

use std::any::type_name;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use ale::{Action, Ale, AleError, AtariEnv, Game, PoweredGame, RAM, SCREEN_WIDTH, SOUND_SAMPLES};
use numpy::PyArrayDyn;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use rl_env::interrupt;

use crate::ale_state::AleState;
use crate::{errors, packages, signals};
pub(crate) use loading::rom_path;
pub(crate) use players_game::PlayersGame;
use recording::Recording;
use screen::View;
use settings::{Kind, Settings};

/// The number of acts between two polls for an interruption.
const ACTS_PER_POLL: u32 = 1024;

/// The loaded game, and the settings for the next game to be loaded.
#[derive(Default)]
struct Emulator {
    settings: Settings,
    game: Option<Ale>,
    /// The smallest and the largest reward of an act, from the settings in effect when the game was loaded.
    rewards: (i32, i32),
    recording: Option<Recording>,
}

impl Emulator {
    fn game(&mut self) -> PyResult<&mut Ale> {
        self.game.as_mut().ok_or_else(|| PyRuntimeError::new_err("ROM not set; call loadROM first"))
    }

    fn load(&mut self, powered: &PoweredGame) -> PyResult<()> {
        let seed = self.settings.seed().unwrap_or_else(loading::random_seed);
        let [screens, sound] = self.settings.recording_paths();
        let recording = Recording::start(screens, sound)?;
        let game =
            Ale::new(powered, self.settings.emulator(), seed).map_err(|error| errors::from_ale(&error))?;
        self.game = Some(game);
        self.recording = recording;
        self.rewards = self.settings.reward_range();
        self.write_recorded()
    }

    /// Starts a new episode.
    fn reset(&mut self) -> PyResult<()> {
        self.game()?.reset_game();
        self.write_recorded()
    }

    /// Writes the frames that have been recorded since the last call.
    fn write_recorded(&mut self) -> PyResult<()> {
        let Some(recording) = &mut self.recording else { return Ok(()) };
        let frames = self.game.as_mut().map(Ale::take_recorded).unwrap_or_default();
        recording.write(&frames)
    }

    /// Performs an action `acts` times, fewer after an [interruption](interrupt). The screen is drawn if `draws`.
    fn act(&mut self, action: Action, strength: f32, acts: u32, draws: bool) -> PyResult<i64> {
        let (low, high) = self.rewards;
        let mut rewards = 0;
        for remaining in (0..acts).rev() {
            let act = if draws && remaining == 0 { Ale::act } else { Ale::act_undrawn };
            rewards += i64::from(act(self.game()?, action, strength).max(low).min(high));
            self.write_recorded()?;
            if remaining % ACTS_PER_POLL == ACTS_PER_POLL - 1 {
                interrupt::poll();
            }
            if interrupt::is_requested() {
                self.game()?.show();
                break;
            }
        }
        Ok(rewards)
    }
}

/// An integer argument. One that does not fit raises `TypeError`, as in ale-py.
struct Integer<T>(T);

impl<'py, T: for<'a> FromPyObject<'a, 'py>> FromPyObject<'_, 'py> for Integer<T> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        value.extract().map(Self).map_err(|_| {
            PyTypeError::new_err(format!("{} is not an integer of the type {}", *value, type_name::<T>()))
        })
    }
}

/// The path of a ROM, given as a string, as bytes or as an object that has one of them as its path.
struct RomPath(PathBuf);

impl<'py> FromPyObject<'_, 'py> for RomPath {
    type Error = PyErr;

    fn extract(path: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = path.py();
        py.import(intern!(py, "os"))?.call_method1(intern!(py, "fsdecode"), (path,))?.extract().map(Self)
    }
}

/// The code of an action, given as an int or an `Action`. As in ale-py, codes above 17 do nothing.
struct ActionCode(Action);

impl<'py> FromPyObject<'_, 'py> for ActionCode {
    type Error = PyErr;

    fn extract(action: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let code =
            action.extract::<u32>().or_else(|_| action.getattr(intern!(action.py(), "value"))?.extract());
        let code = code.map_err(|_: PyErr| {
            PyTypeError::new_err(format!(
                "an action must be an Action or an int from 0 to 17, got {}",
                *action
            ))
        })?;
        let action = u8::try_from(code).ok().and_then(Action::new);
        Ok(Self(action.unwrap_or(Action::NOOP)))
    }
}

/// One emulated Atari 2600 game: the counterpart of ale-py's `ALEInterface`, with the same methods.
///
/// Settings take effect when a game is loaded. Threads may share it: calls are serialised, and release the GIL while
/// they emulate.
#[pyclass(frozen, subclass, name = "ALEInterface", module = "ale_train._native")]
pub(crate) struct AleInterface(Mutex<Emulator>);

#[pymethods]
// The names are ale-py's, and PyO3 passes arguments by value.
#[allow(non_snake_case, clippy::needless_pass_by_value, clippy::unused_self)]
impl AleInterface {
    /// Subclasses may have an `__init__` with arguments.
    #[new]
    #[classmethod]
    #[pyo3(signature = (*arguments, **options))]
    fn new(
        class: &Bound<'_, PyType>,
        arguments: &Bound<'_, PyTuple>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let has_arguments = !arguments.is_empty() || options.is_some_and(|options| !options.is_empty());
        let init = intern!(class.py(), "__init__");
        let takes_none = class.getattr(init)?.is(&class.py().get_type::<PyAny>().getattr(init)?);
        if has_arguments && takes_none {
            return Err(PyTypeError::new_err("ALEInterface takes no arguments"));
        }
        Ok(Self(Mutex::default()))
    }

    /// Selects one of ale-py's message levels for all emulators.
    ///
    /// The only message is the warning about an unknown ROM, which the level `Error` hides.
    #[staticmethod]
    fn setLoggerMode(mode: &Bound<'_, PyAny>) -> PyResult<()> {
        static MODES: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        MODES
            .import(mode.py(), "ale_train.logger_mode", "LoggerMode")?
            .call1((mode,))
            .map_err(|_| PyTypeError::new_err(format!("the mode must be a LoggerMode, got {mode}")))
            .and_then(|level| {
                messages::show_warnings(level.getattr("name")?.extract::<&str>()? != "Error");
                Ok(())
            })
    }

    /// Returns the id of a ROM's game, or None if it is not supported.
    #[staticmethod]
    fn isSupportedROM(py: Python<'_>, rom: RomPath) -> PyResult<Option<&'static str>> {
        // A RuntimeError for a file that cannot be read, as in ale-py.
        loading::supported(&rom.0).map_err(|error| PyRuntimeError::new_err(error.value(py).to_string()))
    }

    /// Sets an integer.
    fn setInt(&self, py: Python<'_>, key: &str, value: Integer<i32>) -> PyResult<()> {
        self.lock(py)?.settings.set(key, Kind::Int, value.0.to_string())
    }

    /// Sets a number, which is rounded to six significant digits as in ale-py.
    fn setFloat(&self, py: Python<'_>, key: &str, value: f32) -> PyResult<()> {
        self.lock(py)?.settings.set(key, Kind::Float, settings::general(value))
    }

    /// Sets a boolean.
    fn setBool(&self, py: Python<'_>, key: &str, value: bool) -> PyResult<()> {
        self.lock(py)?.settings.set(key, Kind::Bool, u8::from(value).to_string())
    }

    /// Sets a string.
    fn setString(&self, py: Python<'_>, key: &str, value: String) -> PyResult<()> {
        self.lock(py)?.settings.set(key, Kind::Text, value)
    }

    /// Returns a setting as an integer, or -1 if there is no setting of this name.
    fn getInt(&self, py: Python<'_>, key: &str) -> PyResult<i32> {
        Ok(self.lock(py)?.settings.int(key))
    }

    /// Returns a setting as a number, or -1 if there is no setting of this name.
    fn getFloat(&self, py: Python<'_>, key: &str) -> PyResult<f32> {
        Ok(self.lock(py)?.settings.float(key))
    }

    /// Returns a setting as a boolean, or False if there is no setting of this name.
    fn getBool(&self, py: Python<'_>, key: &str) -> PyResult<bool> {
        Ok(self.lock(py)?.settings.bool(key))
    }

    /// Returns a setting as a string, empty if there is no setting of this name.
    fn getString(&self, py: Python<'_>, key: &str) -> PyResult<String> {
        Ok(self.lock(py)?.settings.text(key).unwrap_or_default().to_owned())
    }

    /// Loads the ROM of a file and resets the game.
    ///
    /// A ROM with an unknown MD5 is loaded, with a warning, if its file has the name of a supported game, such as
    /// `pong.bin`.
    fn loadROM(&self, py: Python<'_>, rom: RomPath) -> PyResult<()> {
        let powered = signals::wait(py, || loading::from_file(&rom.0))??;
        self.load(py, &powered)?;
        self.lock(py)?.settings.set_rom_file(&rom.0);
        Ok(())
    }

    /// Loads a game by its id and resets it. A missing ROM is downloaded with the pip of `python`.
    fn _load_game(&self, py: Python<'_>, game: &str, python: &str) -> PyResult<()> {
        let game = ale::game(game).map_err(|error| errors::from_ale(&error))?;
        self.load(py, &obtain(py, game, python)?)
    }

    /// Performs an action and returns its reward.
    #[pyo3(signature = (action, paddle_strength = 1.0))]
    fn act(&self, py: Python<'_>, action: ActionCode, paddle_strength: f32) -> PyResult<i64> {
        let emulator = &mut *self.lock(py)?;
        signals::wait_locked(py, &self.0, || emulator.act(action.0, paddle_strength, 1, true))?
    }

    /// Starts a new episode.
    fn reset_game(&self, py: Python<'_>) -> PyResult<()> {
        let emulator = &mut *self.lock(py)?;
        signals::wait_locked(py, &self.0, || emulator.reset())?
    }

    /// Returns true if the episode is over, by the game's rules or its frame limit.
    #[pyo3(signature = (with_truncation = true))]
    fn game_over(&self, py: Python<'_>, with_truncation: bool) -> PyResult<bool> {
        self.read(py, |game| game.game_over() || with_truncation && game.truncated())
    }

    /// Returns true if the episode has reached its frame limit.
    fn game_truncated(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, Ale::truncated)
    }

    /// Returns the remaining lives.
    fn lives(&self, py: Python<'_>) -> PyResult<i32> {
        self.read(py, Ale::lives)
    }

    /// Returns the number of frames since the game was loaded.
    fn getFrameNumber(&self, py: Python<'_>) -> PyResult<u32> {
        self.read(py, Ale::frame_number)
    }

    /// Returns the number of frames since the last reset.
    fn getEpisodeFrameNumber(&self, py: Python<'_>) -> PyResult<u32> {
        self.read(py, Ale::episode_frame_number)
    }

    /// Returns the actions that the game accepts.
    fn getLegalActionSet<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        actions(py, self.read(py, |game| game.game().legal_actions)?)
    }

    /// Returns the actions that have an effect in the game.
    fn getMinimalActionSet<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        actions(py, self.read(py, |game| game.game().minimal_actions)?)
    }

    /// Returns the game's modes.
    fn getAvailableModes(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        self.read(py, |game| game.game().modes.to_vec())
    }

    /// Returns the game's difficulties.
    fn getAvailableDifficulties(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        self.read(py, |game| game.game().difficulties.to_vec())
    }

    /// Sets the mode, from the next reset on.
    fn setMode(&self, py: Python<'_>, mode: Integer<u32>) -> PyResult<()> {
        self.change(py, |game| game.set_mode(mode.0))
    }

    /// Sets the difficulty switches.
    fn setDifficulty(&self, py: Python<'_>, difficulty: Integer<u32>) -> PyResult<()> {
        self.change(py, |game| game.set_difficulty(difficulty.0))
    }

    /// Returns the height and the width of the screen.
    fn getScreenDims(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        self.read(py, |game| (game.height(), SCREEN_WIDTH))
    }

    /// Returns the palette bytes of the screen, or writes them to `buffer`.
    #[pyo3(signature = (buffer = None))]
    fn getScreen<'py>(&self, py: Python<'py>, buffer: Option<Bound<'py, PyAny>>) -> PyResult<Shown<'py>> {
        self.view(py, View::Palette, buffer)
    }

    /// Returns the screen in colour, or writes it to `buffer`.
    #[pyo3(signature = (buffer = None))]
    fn getScreenRGB<'py>(&self, py: Python<'py>, buffer: Option<Bound<'py, PyAny>>) -> PyResult<Shown<'py>> {
        self.view(py, View::Rgb, buffer)
    }

    /// Returns the luminance of the screen, or writes it to `buffer`.
    #[pyo3(signature = (buffer = None))]
    fn getScreenGrayscale<'py>(
        &self,
        py: Python<'py>,
        buffer: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Shown<'py>> {
        self.view(py, View::Grayscale, buffer)
    }

    /// Writes the screen to a PNG file, with pixels of double width.
    fn saveScreenPNG(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let emulator = &mut *self.lock(py)?;
        let game = emulator.game()?;
        py.detach(|| {
            game.show();
            screen::save_png(&game.image(), &path)
        })
    }

    /// Returns the 128 bytes of RAM, or writes them to `buffer`.
    #[pyo3(signature = (buffer = None))]
    fn getRAM<'py>(&self, py: Python<'py>, buffer: Option<Bound<'py, PyAny>>) -> PyResult<Shown<'py>> {
        self.view(py, View::Ram, buffer)
    }

    /// Returns the number of bytes of RAM.
    fn getRAMSize(&self) -> usize {
        RAM
    }

    /// Writes a byte of RAM.
    fn setRAM(&self, py: Python<'_>, index: i64, value: i64) -> PyResult<()> {
        // A TypeError, as in ale-py.
        let (Ok(index), Ok(value)) = (usize::try_from(index), u8::try_from(value)) else {
            let reason = format!(
                "setRAM({index}, {value}): the index must not be negative, the value between 0 and 255"
            );
            return Err(PyTypeError::new_err(reason));
        };
        self.change(py, |game| game.set_ram(index, value))
    }

    /// Returns the sound of the last act, or writes it to `buffer`.
    ///
    /// All 512 samples are 0 before the first act, or unless `sound_obs` was set before the game was loaded.
    #[pyo3(signature = (buffer = None))]
    fn getAudio<'py>(&self, py: Python<'py>, buffer: Option<Bound<'py, PyAny>>) -> PyResult<Shown<'py>> {
        self.view(py, View::Sound, buffer)
    }

    /// Returns the number of samples of an act.
    fn getAudioSize(&self) -> usize {
        SOUND_SAMPLES
    }

    /// Saves the state, with the generator of sticky actions if `include_rng`.
    #[pyo3(signature = (include_rng = false))]
    fn cloneState(&self, py: Python<'_>, include_rng: bool) -> PyResult<AleState> {
        let emulator = &mut *self.lock(py)?;
        let game = emulator.game()?;
        Ok(AleState::new(py.detach(|| game.save_state(include_rng))))
    }

    /// Saves the state with the generator of sticky actions.
    fn cloneSystemState(&self, py: Python<'_>) -> PyResult<AleState> {
        self.cloneState(py, true)
    }

    /// Restores a saved state.
    ///
    /// As in ale-py, the screen does not change until the next frame, which shows the old screen where it draws
    /// nothing. A sticky frame repeats the last action performed before the call. From the second frame on, screens are
    /// those of the saved game.
    fn restoreState(&self, py: Python<'_>, state: PyRef<'_, AleState>) -> PyResult<()> {
        let state = state.state()?;
        self.change(py, |game| game.restore_state(&state))
    }

    /// Restores a saved state, like `restoreState`.
    fn restoreSystemState(&self, py: Python<'_>, state: PyRef<'_, AleState>) -> PyResult<()> {
        self.restoreState(py, state)
    }

    /// Performs an action `acts` times and returns the step of `AtariEnv`: observation, reward, end of the game, end by
    /// the frame limit, and info.
    fn _step<'py>(
        &self,
        py: Python<'py>,
        action: u8,
        strength: f32,
        acts: u32,
        view: View,
    ) -> PyResult<(Shown<'py>, f64, bool, bool, Bound<'py, PyDict>)> {
        let action = Action::new(action).unwrap_or(Action::NOOP);
        let emulator = &mut *self.lock(py)?;
        let (reward, bytes) = signals::wait_locked(py, &self.0, || -> PyResult<_> {
            let reward = emulator.act(action, strength, acts, view.is_screen())?;
            Ok((reward, view.bytes(emulator.game()?)))
        })??;
        let game = emulator.game()?;
        let observation = view.array(py, game, bytes)?;
        Ok((Some(observation), reward as f64, game.game_over(), game.truncated(), info(py, game)?))
    }

    /// Returns the observation of `AtariEnv`.
    fn _observe<'py>(&self, py: Python<'py>, view: View) -> PyResult<Shown<'py>> {
        self.view(py, view, None)
    }

    /// Returns the info of `AtariEnv`.
    fn _info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        info(py, self.lock(py)?.game()?)
    }
}

/// An array, or None if it was written to the caller's buffer.
type Shown<'py> = Option<Bound<'py, PyArrayDyn<u8>>>;

impl AleInterface {
    /// Copies the emulator of an environment in its current state.
    pub(crate) fn copy_of(env: &AtariEnv) -> Self {
        let settings = Settings::from_options(env.options());
        let rewards = settings.reward_range();
        Self(Mutex::new(Emulator { settings, game: Some(env.ale().clone()), rewards, recording: None }))
    }

    /// Locks the emulator. Waiting for the call of another thread releases the GIL.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Emulator>> {
        signals::lock(py, &self.0)
    }

    fn load(&self, py: Python<'_>, powered: &PoweredGame) -> PyResult<()> {
        let emulator = &mut *self.lock(py)?;
        signals::wait_locked(py, &self.0, || emulator.load(powered))?
    }

    /// Returns a property of the game.
    fn read<T>(&self, py: Python<'_>, read: impl FnOnce(&Ale) -> T) -> PyResult<T> {
        self.lock(py)?.game().map(|game| read(game))
    }

    /// Changes the game.
    fn change(&self, py: Python<'_>, change: impl FnOnce(&mut Ale) -> Result<(), AleError>) -> PyResult<()> {
        change(self.lock(py)?.game()?).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// Returns a view of the game, or writes it to a buffer.
    fn view<'py>(
        &self,
        py: Python<'py>,
        view: View,
        buffer: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Shown<'py>> {
        let emulator = &mut *self.lock(py)?;
        let game = emulator.game()?;
        if view.is_screen() {
            py.detach(|| game.show());
        }
        match buffer {
            None => view.array(py, game, view.bytes(game)).map(Some),
            Some(buffer) => view.fill(game, &buffer).map(|()| None),
        }
    }
}

/// Returns a game. A missing ROM is downloaded with the pip of `python`.
fn obtain(py: Python<'_>, game: &'static Game, python: &str) -> PyResult<PoweredGame> {
    if let Some(powered) = loading::loaded(game.id) {
        return Ok(powered);
    }
    let (sources, pip) = (packages::rom_sources(py)?, packages::pip(python));
    signals::wait(py, || loading::from_sources(game, &sources, &pip))?
}

/// Returns actions as members of the enumeration.
fn actions<'py>(py: Python<'py>, codes: &[u8]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    static ACTION: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let action = ACTION.import(py, "ale_train.actions", "Action")?;
    codes.iter().map(|&code| action.call1((code,))).collect()
}

/// Returns the info of `AtariEnv`.
fn info<'py>(py: Python<'py>, game: &Ale) -> PyResult<Bound<'py, PyDict>> {
    let info = PyDict::new(py);
    info.set_item(intern!(py, "lives"), game.lives())?;
    info.set_item(intern!(py, "episode_frame_number"), game.episode_frame_number())?;
    info.set_item(intern!(py, "frame_number"), game.frame_number())?;
    Ok(info)
}
