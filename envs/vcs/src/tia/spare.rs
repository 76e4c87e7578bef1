//! Memory for screens and logs, shared by all consoles of a thread. Few of them are in use at a time, so the
//! same memory is reused and stays in the caches.

use std::cell::RefCell;

/// Number of entries of a log in memory.
pub(super) const LOG_CAPACITY: usize = 16 * 1024;

/// Memory for the entries of a log.
pub(super) type Entries = Box<[u32; LOG_CAPACITY]>;

/// Most spare screens per thread: two of the running console, and two of other consoles. Each console draws on two
/// screens alternately.
const MAX_SPARE_SCREENS: usize = 4;

thread_local! {
    static SPARE_SCREENS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    static SPARE_LOG: RefCell<Option<Entries>> = const { RefCell::new(None) };
}

/// Returns a screen with the given number of pixels, whose contents are unspecified.
pub(super) fn take_screen(pixels: usize) -> Vec<u8> {
    let mut screen = SPARE_SCREENS.with_borrow_mut(Vec::pop).unwrap_or_default();
    screen.resize(pixels, 0);
    screen
}

/// Takes back the memory of a screen.
pub(crate) fn give_screen(screen: Vec<u8>) {
    SPARE_SCREENS.with_borrow_mut(|spare| {
        if spare.len() < MAX_SPARE_SCREENS {
            spare.push(screen);
        }
    });
}

/// Returns memory for a log, whose contents are unspecified.
#[allow(clippy::large_stack_arrays)] // The array is on the stack only until it is boxed, once per thread.
pub(super) fn take_log() -> Entries {
    SPARE_LOG.take().unwrap_or_else(|| Box::new([0; LOG_CAPACITY]))
}

/// Takes back the memory of a log.
pub(super) fn give_log(entries: Entries) {
    SPARE_LOG.set(Some(entries));
}
