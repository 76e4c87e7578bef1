//! `ale-train watch --terminal`: the list of runs, the curves of one run and its newest agent in the terminal.

mod followed;
mod view;

use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use serde_json::Value;

use super::directory::Directory;
use crate::cli::Global;
use crate::interrupt::Interrupt;
use crate::terminal::Terminal;
use followed::Followed;

/// The reason for which the command fails without a terminal.
pub(super) const REFUSAL: &str = "`ale-train watch --terminal` needs a terminal as standard input and output; without --terminal, \
     it serves a page";
/// The time between two pictures.
const PICTURE: Duration = Duration::from_millis(50);
/// The time between two looks at the curves, and at the list of runs.
const CURVES: Duration = Duration::from_secs(1);
const LIST: Duration = Duration::from_secs(3);

/// Shows the runs until the user quits or a signal arrives.
pub(super) fn run(
    mut terminal: Terminal,
    directory: Directory,
    global: &Global,
    interrupt: &Interrupt,
) -> Result<()> {
    let lists = lists(directory.clone());
    let mut screen = Screen::new(directory, global.clone());
    let mut next = Instant::now();
    while !interrupt.is_requested() {
        next = (next + PICTURE).max(Instant::now());
        while let Some(event) = terminal.event(next.saturating_duration_since(Instant::now()))? {
            if let Some(command) = command(&event)
                && !screen.execute(command)
            {
                return Ok(());
            }
        }
        if let Some(runs) = lists.try_iter().last() {
            screen.receive(runs);
        }
        screen.read_curves();
        terminal.draw(|frame| screen.draw(frame))?;
    }
    Ok(())
}

/// Lists the runs again and again, on another thread: it reads files of every run.
fn lists(directory: Directory) -> Receiver<Vec<Value>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        while sender.send(directory.list()).is_ok() {
            thread::sleep(LIST);
        }
    });
    receiver
}

/// A request of the user, made with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    /// Chooses a run this many places further down.
    ChooseRun(isize),
    /// Chooses a curve this many places further.
    ChooseCurve(isize),
    /// Lets the agent play the next game.
    NextGame,
    Quit,
}

/// Returns the command for an event of the terminal, if it has one.
fn command(event: &Event) -> Option<Command> {
    let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press | KeyEventKind::Repeat, .. }) =
        event
    else {
        return None;
    };
    match code {
        KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Some(Command::Quit),
        KeyCode::Char('q') | KeyCode::Esc => Some(Command::Quit),
        KeyCode::Up | KeyCode::Char('k') => Some(Command::ChooseRun(-1)),
        KeyCode::Down | KeyCode::Char('j') => Some(Command::ChooseRun(1)),
        KeyCode::Left | KeyCode::Char('h') => Some(Command::ChooseCurve(-1)),
        KeyCode::Right | KeyCode::Char('l') => Some(Command::ChooseCurve(1)),
        KeyCode::Char('g') => Some(Command::NextGame),
        _ => None,
    }
}

/// Everything that is shown.
struct Screen {
    directory: Directory,
    global: Global,
    /// The runs as [`Directory::list`] describes them; `None` before they are known.
    runs: Option<Vec<Value>>,
    /// The run that is chosen.
    followed: Option<Followed>,
    /// The index of the first curve that is shown.
    curve: usize,
    /// The time of the last look at the curves.
    read: Option<Instant>,
}

impl Screen {
    fn new(directory: Directory, global: Global) -> Self {
        Self { directory, global, runs: None, followed: None, curve: 0, read: None }
    }

    fn runs(&self) -> &[Value] {
        self.runs.as_deref().unwrap_or_default()
    }

    /// Returns the index of the chosen run.
    fn chosen(&self) -> Option<usize> {
        let id = &self.followed.as_ref()?.id;
        self.runs().iter().position(|run| run["id"] == **id)
    }

    /// Receives a new list of runs. The chosen one stays chosen; if there is none, it is the first.
    fn receive(&mut self, runs: Vec<Value>) {
        self.runs = Some(runs);
        if self.chosen().is_none() {
            self.choose(0);
        }
    }

    /// Chooses the run at an index of the list, if there is one.
    fn choose(&mut self, index: usize) {
        let run = self.runs().get(index);
        self.followed = run.and_then(|run| Followed::open(run, &self.directory, &self.global));
        self.read = None;
    }

    /// Executes a command. Returns false if it quits.
    fn execute(&mut self, command: Command) -> bool {
        match command {
            Command::ChooseRun(places) => {
                let last = self.runs().len().saturating_sub(1);
                let chosen = self.chosen().unwrap_or(0);
                let index = chosen.saturating_add_signed(places).min(last);
                if index != chosen {
                    self.choose(index);
                }
            }
            Command::ChooseCurve(places) => {
                let count = self.followed.as_ref().map_or(0, |followed| followed.curves().len());
                self.curve = self.curve.saturating_add_signed(places).min(count.saturating_sub(1));
            }
            Command::NextGame => {
                if let Some(followed) = &mut self.followed {
                    followed.play_next(&self.global);
                }
            }
            Command::Quit => return false,
        }
        true
    }

    /// Reads what the chosen run has recorded since the last look, once in a while.
    fn read_curves(&mut self) {
        if let Some(followed) = &mut self.followed
            && self.read.is_none_or(|read| read.elapsed() >= CURVES)
        {
            followed.read();
            self.read = Some(Instant::now());
        }
    }
}
