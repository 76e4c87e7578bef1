//! `ale-train watch`: a page on this computer that shows runs while they train, or the same in the terminal.
//!
//! * `server` answers the browser: the `assets` of the page, and streams of events.
//! * `directory` finds the runs.
//! * `series` thins the curves of a run.
//! * `stage` plays games with the newest agent of a run, `scene` is what is shown of them.
//! * `terminal` shows them without a browser.
//!
//! Runs are only read.

mod assets;
mod directory;
mod scene;
mod series;
mod server;
mod stage;
mod terminal;

use std::io::{ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

use crate::cli::{Global, WatchArgs};
use crate::failure::{Interrupted, RuntimeFailure};
use crate::interrupt::Interrupt;
use crate::telemetry::Printer;
use crate::terminal::Terminal;

use directory::Directory;

/// The number of further ports to try if the requested one is busy.
const FURTHER_PORTS: u16 = 20;

/// Serves the page, or shows the runs in the terminal, until a signal arrives or the user quits.
pub(crate) fn run(args: &WatchArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let directory = Directory::open(args.runs.as_deref())?;
    // Nothing is printed: ending is what the user wants.
    let interrupt = Interrupt::on_first_signal(Printer::Quiet, "");
    if args.terminal {
        let terminal = Terminal::take(terminal::REFUSAL)?;
        terminal::run(terminal, directory, global, &interrupt)
            .context(RuntimeFailure("the terminal failed"))?;
        return error_if_interrupted(&interrupt);
    }
    let printer = Printer::new(global.quiet);
    let listener = listen(args.port, &printer)?;
    let address = listener.local_addr()?;
    writeln!(out, "http://{address}")?;
    out.flush()?;
    printer.say("open this address in a browser on this computer; Ctrl-C ends the server");
    server::serve(listener, directory, global.clone(), &interrupt)
        .context(RuntimeFailure("the server failed"))?;
    error_if_interrupted(&interrupt)
}

/// Returns an error if a signal ended the command.
fn error_if_interrupted(interrupt: &Interrupt) -> Result<()> {
    match interrupt.signal() {
        Some(signal) => Err(Interrupted { signal, resume_command: None }.into()),
        None => Ok(()),
    }
}

/// Listens on this computer only: on a port, or on the next one that is free.
fn listen(port: u16, printer: &Printer) -> Result<TcpListener> {
    let last = port.saturating_add(FURTHER_PORTS);
    for candidate in port..=last {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, candidate)) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && candidate < last => {}
            Err(error) => return Err(error).with_context(|| format!("cannot listen on port {candidate}")),
            Ok(listener) => {
                if candidate != port {
                    printer.say(&format!("port {port} is busy, so the page is on port {candidate}"));
                }
                return Ok(listener);
            }
        }
    }
    unreachable!("the range of ports is not empty")
}
