//! ale-py's messages on stderr, of which only warnings exist here.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};

/// False if only errors are shown.
static SHOWS_WARNINGS: AtomicBool = AtomicBool::new(true);

/// Shows or hides warnings in all emulators.
pub(super) fn show_warnings(shows: bool) {
    SHOWS_WARNINGS.store(shows, Ordering::Relaxed);
}

/// Writes a warning to stderr, unless warnings are hidden.
pub(super) fn warn(message: &impl Display) {
    if SHOWS_WARNINGS.load(Ordering::Relaxed) {
        eprintln!("WARNING: {message}");
    }
}
