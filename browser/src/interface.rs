//! The functions that the page calls, with numbers and addresses as arguments and results.
//!
//! The page writes a file into the [`input`](page_input), and reads texts and arrays at the addresses that functions
//! return, which are valid until the next call.

// The page finds functions by their names, which no other function of the module may have. Nothing else is unsafe.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::sync::Arc;

use ale::{ACTION_NAMES, Action, SCREEN_WIDTH};
use serde::Serialize;

use crate::agent::Agent;
use crate::error::FileError;
use crate::network::Evaluation;
use crate::rom::Rom;
use crate::session::Session;

/// The game and the agent of the page.
#[derive(Default)]
struct Page {
    input: Vec<u8>,
    /// The result of the last call of a function that opens something: JSON.
    text: String,
    rom: Option<Rom>,
    agent: Option<Arc<Agent>>,
    session: Option<Session>,
    /// The probabilities or the values of the agent's actions.
    outputs: Vec<f32>,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
}

/// The description of a game in progress.
#[derive(Serialize)]
struct Description<'a> {
    game: &'a str,
    title: &'a str,
    /// The number of rows of the screen.
    height: usize,
    frame_skip: u32,
    /// Frames, height and width of the observation.
    observation: [usize; 3],
    note: Option<&'a str>,
    agent: Option<AgentDescription<'a>>,
    /// The names of the agent's actions, if it plays this game.
    actions: Vec<&'a str>,
    /// `probabilities` or `values`; absent if no agent plays.
    kind: Option<&'a str>,
}

#[derive(Serialize)]
struct AgentDescription<'a> {
    algorithm: &'a str,
    frames: u64,
    games: Vec<&'a str>,
    plays: bool,
}

#[derive(Serialize)]
struct Failure {
    error: String,
}

impl Page {
    /// Inserts the ROM in the input, whose first bytes are the name of its file.
    fn open_rom(&mut self, name_length: usize) -> Result<(), FileError> {
        let (name, image) = self.input.split_at(name_length.min(self.input.len()));
        let rom = if image.is_empty() {
            Rom::built_in()?
        } else {
            Rom::open(&String::from_utf8_lossy(name), image)?
        };
        self.start(rom, self.agent.clone(), 0)
    }

    fn open_agent(&mut self) -> Result<(), FileError> {
        let agent = Agent::read(&self.input)?;
        agent.check_games()?;
        let rom = self.rom.clone().map_or_else(Rom::built_in, Ok)?;
        self.start(rom, Some(Arc::new(agent)), 0)
    }

    /// Starts a game. On an error, the last one continues.
    fn start(&mut self, rom: Rom, agent: Option<Arc<Agent>>, seed: u64) -> Result<(), FileError> {
        self.session = Some(Session::new(&rom, agent.clone(), seed)?);
        (self.rom, self.agent) = (Some(rom), agent);
        self.read_outputs();
        Ok(())
    }

    /// Sets the text to the description of the game in progress, or to the error. Returns the length of the text.
    fn report(&mut self, result: Result<(), FileError>) -> usize {
        let text = match (result, &self.rom, &self.session) {
            (Ok(()), Some(rom), Some(session)) => {
                serde_json::to_string(&description(rom, self.agent.as_deref(), session))
            }
            (Ok(()), ..) => serde_json::to_string(&Failure { error: "there is no game".to_owned() }),
            (Err(error), ..) => serde_json::to_string(&Failure { error: error.to_string() }),
        };
        self.text = text.unwrap_or_default();
        self.text.len()
    }

    fn read_outputs(&mut self) {
        self.outputs = match self.session.as_ref().and_then(Session::evaluation) {
            Some(Evaluation::Policy { log_probabilities, .. }) => {
                log_probabilities.iter().map(|value| value.exp()).collect()
            }
            Some(Evaluation::Values(values)) => values.clone(),
            None => Vec::new(),
        };
    }
}

fn description<'a>(rom: &'a Rom, agent: Option<&'a Agent>, session: &'a Session) -> Description<'a> {
    Description {
        game: rom.game().id,
        title: rom.game().title,
        height: session.ale().height(),
        frame_skip: session.frame_skip(),
        observation: session.observation_shape(),
        note: rom.note(),
        agent: agent.map(|agent| AgentDescription {
            algorithm: agent.algorithm(),
            frames: agent.frames(),
            games: agent.games(),
            plays: session.has_agent(),
        }),
        actions: session.action_names(),
        kind: session.evaluation().map(|evaluation| match evaluation {
            Evaluation::Policy { .. } => "probabilities",
            Evaluation::Values(_) => "values",
        }),
    }
}

fn with<T>(call: impl FnOnce(&mut Page) -> T) -> T {
    PAGE.with_borrow_mut(call)
}

/// Calls `read` with the game in progress. Returns `T::default()` if there is none.
fn of_session<T: Default>(read: impl FnOnce(&Session) -> T) -> T {
    with(|page| page.session.as_ref().map(read).unwrap_or_default())
}

/// Provides `length` bytes for a file. Returns their address.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_input(length: usize) -> *mut u8 {
    with(|page| {
        page.input.clear();
        page.input.resize(length, 0);
        page.input.as_mut_ptr()
    })
}

/// Returns the address of the text of the last function that opened something.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_text() -> *const u8 {
    with(|page| page.text.as_ptr())
}

/// Opens the ROM in the input, after the name of its file in `name_length` bytes; the built-in game if there is
/// nothing. Returns the length of the text: the description of the game, or an error.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_open_rom(name_length: usize) -> usize {
    with(|page| {
        let result = page.open_rom(name_length);
        page.report(result)
    })
}

/// Opens the agent in the input. Returns the length of the text: the description of the game, or an error.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_open_agent() -> usize {
    with(|page| {
        let result = page.open_agent();
        page.report(result)
    })
}

/// Starts the game again with other random numbers, without the agent if `alone` is not 0. Returns the length of the
/// text: the description of the game, or an error.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_start(seed: u32, alone: u32) -> usize {
    with(|page| {
        let rom = page.rom.clone().map_or_else(Rom::built_in, Ok);
        let agent = page.agent.clone().filter(|_| alone == 0);
        let result = rom.and_then(|rom| page.start(rom, agent, seed.into()));
        page.report(result)
    })
}

/// Starts another episode.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_restart() {
    with(|page| {
        if let Some(session) = &mut page.session {
            session.restart();
        }
        page.read_outputs();
    });
}

/// Takes a step with an action of the visitor, or with one of the agent if there is no such action. Returns the number
/// of frames.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_step(action: u32) -> usize {
    with(|page| {
        if let Some(session) = &mut page.session {
            match u8::try_from(action).ok().and_then(Action::new) {
                Some(action) => session.press(action),
                None => session.act(),
            }
        }
        page.read_outputs();
        page.session.as_ref().map_or(0, |session| session.screens().len())
    })
}

/// Returns the address of a frame of the last step: 160 columns, 4 bytes for each pixel.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_screen(frame: usize) -> *const u8 {
    with(|page| {
        let screen = page.session.as_ref().and_then(|session| session.screens().get(frame));
        screen.map_or(std::ptr::null(), Vec::as_ptr)
    })
}

/// Returns the number of columns of the screen.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_width() -> usize {
    SCREEN_WIDTH
}

/// Returns the address of the 128 bytes of RAM.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_ram() -> *const u8 {
    with(|page| page.session.as_ref().map_or(std::ptr::null(), |session| session.ale().ram().as_ptr()))
}

/// Returns the address of the observation.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_observation() -> *const u8 {
    with(|page| page.session.as_ref().map_or(std::ptr::null(), |session| session.observation().as_ptr()))
}

/// Returns the number of bytes of the observation.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_observation_length() -> usize {
    of_session(|session| session.observation().len())
}

/// Returns the address of the probabilities or values of the agent's actions, 32-bit floats.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_outputs() -> *const f32 {
    with(|page| page.outputs.as_ptr())
}

/// Returns the agent's estimate of the sum of future rewards: of its policy, or after the best action.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_value() -> f32 {
    of_session(|session| match session.evaluation() {
        Some(Evaluation::Policy { value, .. }) => *value,
        Some(Evaluation::Values(values)) => values.iter().copied().fold(f32::NEG_INFINITY, f32::max),
        None => 0.0,
    })
}

/// Returns the index of the action of the last step among those of the agent, or their number if it has no such action.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_chosen() -> usize {
    of_session(|session| session.chosen().unwrap_or(ACTION_NAMES.len()))
}

/// Returns the sum of the rewards of the episode.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_score() -> f64 {
    of_session(Session::score)
}

/// Returns the remaining lives; 0 in games without lives.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_lives() -> i32 {
    of_session(|session| session.ale().lives())
}

/// Returns 1 if the episode has ended.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_is_over() -> u32 {
    of_session(|session| session.is_over().into())
}
