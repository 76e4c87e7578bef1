//! The terminal of `ale-train play` and `ale-train watch --terminal`: a full screen that is always restored.

mod colour;
pub(crate) mod picture;

use std::io::{self, BufWriter, IsTerminal, Stdout};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    self, DisableFocusChange, EnableFocusChange, Event, KeyboardEnhancementFlags,
    PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::style::{self, ResetColor};
use crossterm::terminal::{
    self, BeginSynchronizedUpdate, DisableLineWrap, EnableLineWrap, EndSynchronizedUpdate,
    EnterAlternateScreen, LeaveAlternateScreen,
};
use crossterm::{execute, queue};
use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::style::{Color, Style};

use crate::interrupt;
use colour::ColourDepth;

/// Colours of text.
pub(crate) const PLAIN: Color = Color::Rgb(200, 200, 200);
pub(crate) const DIM: Color = Color::Rgb(120, 120, 120);
pub(crate) const BRIGHT: Color = Color::Rgb(255, 200, 60);
/// The colour behind everything: that of a screen that is off.
const BACKGROUND: Color = Color::Rgb(0, 0, 0);

/// True while the terminal is in the state that a full screen needs.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The user's terminal. Dropping it, a panic, or a signal that ends the program restores the terminal.
pub(crate) struct Terminal {
    screen: ratatui::Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    reports_releases: bool,
    depth: ColourDepth,
    events: Receiver<io::Result<Event>>,
}

impl Terminal {
    /// Enters raw mode and the alternate screen. Fails with `refusal` if standard input or output is not a terminal.
    pub(crate) fn take(refusal: &'static str) -> Result<Self> {
        ensure!(io::stdin().is_terminal() && io::stdout().is_terminal(), refusal);
        restore_on_panic();
        interrupt::before_exit(restore);
        let entered = enter().and_then(|reports_releases| {
            let backend = CrosstermBackend::new(BufWriter::new(io::stdout()));
            Ok((ratatui::Terminal::new(backend)?, reports_releases))
        });
        let (screen, reports_releases) =
            entered.context("cannot use the terminal").inspect_err(|_| restore())?;
        // Screens of games need colours; NO_COLOR is meant for text.
        style::force_color_output(true);
        Ok(Self { screen, reports_releases, depth: ColourDepth::of_terminal(), events: read_events() })
    }

    /// Returns true if the terminal reports key releases.
    pub(crate) fn reports_releases(&self) -> bool {
        self.reports_releases
    }

    /// Waits for an event. Returns `None` after `timeout`.
    pub(crate) fn event(&self, timeout: Duration) -> Result<Option<Event>> {
        match self.events.recv_timeout(timeout) {
            Ok(event) => Ok(Some(event.context("cannot read from the terminal")?)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("the terminal is closed"),
        }
    }

    /// Draws the screen. Only what has changed is written.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<()> {
        self.try_draw(draw).context("cannot write to the terminal")
    }

    fn try_draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let depth = self.depth;
        queue!(self.screen.backend_mut(), BeginSynchronizedUpdate)?;
        self.screen.draw(|frame| {
            let area = frame.area();
            frame.buffer_mut().set_style(area, Style::new().fg(PLAIN).bg(BACKGROUND));
            draw(frame);
            depth.reduce(frame.buffer_mut());
        })?;
        execute!(self.screen.backend_mut(), EndSynchronizedUpdate)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Prepares the terminal. Returns true if it reports key releases.
fn enter() -> io::Result<bool> {
    IS_TAKEN.store(true, Ordering::Relaxed);
    terminal::enable_raw_mode()?;
    // A terminal that does not answer does not support the protocol.
    let has_kitty_keyboard = terminal::supports_keyboard_enhancement().unwrap_or(false);
    execute!(io::stdout(), EnterAlternateScreen, Hide, DisableLineWrap, EnableFocusChange)?;
    if has_kitty_keyboard {
        let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES
            | KeyboardEnhancementFlags::REPORT_EVENT_TYPES
            | KeyboardEnhancementFlags::REPORT_ALL_KEYS_AS_ESCAPE_CODES;
        execute!(io::stdout(), PushKeyboardEnhancementFlags(flags))?;
    }
    // The console of Windows always reports them.
    Ok(has_kitty_keyboard || cfg!(windows))
}

/// Restores the terminal, once. Errors are ignored: there is nowhere left to report them.
fn restore() {
    if IS_TAKEN.swap(false, Ordering::Relaxed) {
        // Separate, because the console of Windows does not have this command.
        let _ = execute!(io::stdout(), PopKeyboardEnhancementFlags);
        let _ = execute!(
            io::stdout(),
            ResetColor,
            DisableFocusChange,
            EnableLineWrap,
            Show,
            LeaveAlternateScreen
        );
        let _ = terminal::disable_raw_mode();
    }
}

/// Restores the terminal before a panic message is printed, which would vanish with the alternate screen. Only for this
/// thread: other threads would wait for its lock on standard output, and their panics are passed on to it.
fn restore_on_panic() {
    let (this, print) = (thread::current().id(), panic::take_hook());
    panic::set_hook(Box::new(move |info| {
        if thread::current().id() == this {
            restore();
        }
        print(info);
    }));
}

/// Reads events in a thread that ends with the process, because `event::poll` does not return, whatever its timeout,
/// once the terminal is closed (crossterm issue 793).
fn read_events() -> Receiver<io::Result<Event>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        loop {
            let event = event::read();
            let has_failed = event.is_err();
            if sender.send(event).is_err() || has_failed {
                break;
            }
        }
    });
    receiver
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::skip::skip;

    /// Set in the process of this test that runs in a pseudo-terminal, and panics there.
    const IN_A_TERMINAL: &str = "ALE_TRAIN_TEST_IN_A_TERMINAL";

    #[test]
    fn a_panic_restores_the_terminal_before_its_message() {
        if std::env::var_os(IN_A_TERMINAL).is_some() {
            let _terminal = Terminal::take("no terminal").unwrap();
            panic!("as intended");
        }
        let program = std::env::current_exe().unwrap();
        let this = "terminal::tests::a_panic_restores_the_terminal_before_its_message";
        let command = format!("{} --exact {this} --nocapture; stty -a", program.display());
        let output = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .env(IN_A_TERMINAL, "1")
            .stdin(Stdio::null())
            .output();
        let Ok(output) = output else {
            return skip("`script`, which makes pseudo-terminals, is not installed");
        };
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let (_, game) = output.split_once("\x1b[?1049h").expect("the alternate screen");
        let (game, after) = game.split_once("\x1b[?1049l").expect("the main screen");
        assert!(!game.contains("as intended") && after.contains("as intended"), "{output}");
        assert!(game.contains("\x1b[?25l") && game.contains("\x1b[?25h"), "the cursor is hidden: {output}");
        assert!(after.contains(" icanon") && after.contains(" echo "), "the terminal is raw: {output}");
    }
}
