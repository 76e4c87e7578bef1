use std::io::{self, IsTerminal, Read, Write};
use std::panic;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::termios::{self, OptionalActions, Termios};

use super::canvas::{Canvas, Colours};
use super::input::{Event, Parser};

/// The alternate screen, no cursor, no wrapping of lines, told when another window has the keyboard; then kitty's
/// keyboard protocol with flags 1 (unambiguous), 2 (releases) and 8 (of all keys), and the question whether there is any.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?1004h\x1b[>11u\x1b[?u";
/// All of it taken back.
const LEAVE: &[u8] = b"\x1b[<u\x1b[?1004l\x1b[?7h\x1b[?25h\x1b[0m\x1b[?1049l";
/// What stands between these appears at once, where the terminal knows how.
const PICTURE: [&[u8]; 2] = [b"\x1b[?2026h", b"\x1b[?2026l"];
const CLEAR: &[u8] = b"\x1b[2J";

/// How the user left the terminal; none while it is not taken.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// The user's terminal, which is as it was before when this is dropped, or when the program panics.
pub(super) struct Terminal {
    colours: Colours,
    /// What it sends, as it comes.
    bytes: Receiver<Vec<u8>>,
    parser: Parser,
    /// What it shows, with its size.
    shown: Option<((usize, usize), Canvas)>,
}

impl Terminal {
    /// Takes the terminal. Fails where there is none.
    pub(super) fn take() -> Result<Self> {
        ensure!(
            io::stdin().is_terminal() && io::stdout().is_terminal(),
            "`ale-train play` needs a terminal for its picture and keys, and standard input or output is none; \
             `ale-train record` makes films without one"
        );
        restore_on_panic();
        let set_up = || -> io::Result<()> {
            let before = termios::tcgetattr(io::stdin())?;
            let mut raw = before.clone();
            raw.make_raw();
            termios::tcsetattr(io::stdin(), OptionalActions::Flush, &raw)?;
            *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
            io::stdout().write_all(ENTER)?;
            io::stdout().flush()
        };
        let taken = Self {
            colours: Colours::of(std::env::var("COLORTERM").ok().as_deref()),
            bytes: listen(),
            parser: Parser::default(),
            shown: None,
        };
        set_up().context("cannot use the terminal")?;
        Ok(taken)
    }

    /// Columns and rows.
    pub(super) fn size() -> Result<(usize, usize)> {
        let size = termios::tcgetwinsize(io::stdout()).context("the terminal does not tell its size")?;
        Ok((size.ws_col.into(), size.ws_row.into()))
    }

    /// What the keyboard tells within so much time; nothing if that passes.
    pub(super) fn events(&mut self, within: Duration) -> Result<Vec<Event>> {
        match self.bytes.recv_timeout(within) {
            Ok(bytes) => Ok(self.parser.parse(&bytes)),
            Err(RecvTimeoutError::Timeout) => Ok(Vec::new()),
            Err(RecvTimeoutError::Disconnected) => bail!("the terminal is gone"),
        }
    }

    /// Shows a canvas of this size, which is the terminal's.
    pub(super) fn show(&mut self, size: (usize, usize), canvas: Canvas) -> Result<()> {
        let before = self.shown.as_ref().filter(|(before, _)| *before == size);
        let mut bytes = PICTURE[0].to_vec();
        if before.is_none() {
            bytes.extend_from_slice(CLEAR);
        }
        canvas.draw(before.map(|(_, canvas)| canvas), self.colours, &mut bytes);
        bytes.extend_from_slice(PICTURE[1]);
        let mut out = io::stdout();
        out.write_all(&bytes).and_then(|()| out.flush()).context("cannot write to the terminal")?;
        self.shown = Some((size, canvas));
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Reads standard input in a thread, which ends with the program: nothing else waits for input with a time limit.
fn listen() -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = [0; 256];
        while let Ok(count @ 1..) = io::stdin().read(&mut bytes) {
            if sender.send(bytes[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Gives the terminal back, once. What fails here cannot be told any more.
fn restore() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        let _ = io::stdout().write_all(LEAVE).and_then(|()| io::stdout().flush());
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}

/// A message would vanish with the alternate screen: the terminal is given back before it is printed. Other threads would
/// wait for standard output here; their panics come to this one.
fn restore_on_panic() {
    let (here, print) = (thread::current().id(), panic::take_hook());
    panic::set_hook(Box::new(move |info| {
        if thread::current().id() == here {
            restore();
        }
        print(info);
    }));
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Set in the process of this test that runs in a terminal, and panics there.
    const IN_A_TERMINAL: &str = "ALE_TRAIN_TEST_IN_A_TERMINAL";

    #[test]
    fn a_panic_gives_the_terminal_back_before_it_is_told() {
        if std::env::var_os(IN_A_TERMINAL).is_some() {
            let _taken = Terminal::take().unwrap();
            panic!("as it was bound to happen");
        }
        let program = std::env::current_exe().unwrap();
        let this = "play::terminal::tests::a_panic_gives_the_terminal_back_before_it_is_told";
        let command = format!("{} --exact {this} --nocapture; stty -a", program.display());
        let output = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .env(IN_A_TERMINAL, "1")
            .stdin(Stdio::null())
            .output();
        let Ok(output) = output else {
            eprintln!("not shown: there is no `script` to make a terminal with");
            return;
        };
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let (before, after) =
            output.split_once(std::str::from_utf8(LEAVE).unwrap()).expect("the screen of before");
        assert!(before.contains(std::str::from_utf8(ENTER).unwrap()), "{output}");
        assert!(!before.contains("bound to happen") && after.contains("bound to happen"), "{output}");
        assert!(after.contains(" icanon") && after.contains(" echo "), "{output}");
    }
}
