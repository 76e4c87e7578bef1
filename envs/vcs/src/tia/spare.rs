//! Memory for pictures. Few are looked at at a time, and every thread uses the same memory for them again and again, whichever
//! console they are of: it stays in the caches.

use std::cell::RefCell;

/// Pictures that a thread keeps: the two of the console that it runs, and as many that came from elsewhere.
const KEPT: usize = 4;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A picture of so many pixels, which show anything.
pub(super) fn take(pixels: usize) -> Vec<u8> {
    let mut screen = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
    screen.resize(pixels, 0);
    screen
}

/// A picture that nobody needs any more.
pub(super) fn give(screen: Vec<u8>) {
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < KEPT {
            spare.push(screen);
        }
    });
}
