//! Memory for screens and logs, shared by all consoles of a thread. Few of them are in use at a time, so the
//! same memory is reused and stays in the caches.

use std::cell::RefCell;

/// Number of entries of a log in memory.
pub(super) const CAPACITY: usize = 16 * 1024;

/// Memory for the entries of a log.
pub(super) type Entries = Box<[u32; CAPACITY]>;

/// Maximum number of spare screens per thread: two of the running console, and two of other consoles.
const KEPT: usize = 4;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    static SPARE_LOG: RefCell<Option<Entries>> = const { RefCell::new(None) };
}

/// Returns a screen with the given number of pixels, whose contents are unspecified.
pub(super) fn take(pixels: usize) -> Vec<u8> {
    let mut screen = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
    screen.resize(pixels, 0);
    screen
}

/// Takes back the memory of a screen.
pub(crate) fn give(screen: Vec<u8>) {
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < KEPT {
            spare.push(screen);
        }
    });
}

/// Returns memory for a log, whose contents are unspecified.
#[allow(clippy::large_stack_arrays)] // Once per thread.
pub(super) fn take_log() -> Entries {
    SPARE_LOG.take().unwrap_or_else(|| Box::new([0; CAPACITY]))
}

/// Takes back the memory of a log.
pub(super) fn give_log(entries: Entries) {
    SPARE_LOG.set(Some(entries));
}
