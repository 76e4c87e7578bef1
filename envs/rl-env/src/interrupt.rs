//! Requests to end a long computation early, such as Ctrl-C.
//!
//! Code that may run for long [polls](poll) and ends early after a request, in a valid state but without a complete
//! result; its caller then reports that it was interrupted. Requests come from the check of the calling thread (see
//! [`with_check`]) or from the flag of a thread pool (see [`watch`]). A thread with neither is never interrupted.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The shortest time between two calls of a check, which may have to wait for a lock.
pub const CHECK_INTERVAL: Duration = Duration::from_millis(50);

thread_local! {
    static CHECK: Cell<Option<Check>> = const { Cell::new(None) };
    static FLAG: OnceCell<Arc<AtomicBool>> = const { OnceCell::new() };
}

/// The check of a thread.
#[derive(Clone, Copy)]
struct Check {
    is_requested: fn() -> bool,
    /// The time of the last call.
    last: Instant,
    /// True once a call has returned true.
    was_requested: bool,
}

/// Calls `call`. Polls in this thread ask `is_requested` every [`CHECK_INTERVAL`], until it returns true.
///
/// ```
/// use std::time::Instant;
///
/// use rl_env::interrupt;
///
/// let start = Instant::now();
/// interrupt::with_check(|| true, || while !interrupt::poll() {});
/// assert!(start.elapsed() >= interrupt::CHECK_INTERVAL);
/// assert!(!interrupt::poll());
/// ```
pub fn with_check<R>(is_requested: fn() -> bool, call: impl FnOnce() -> R) -> R {
    /// Puts the outer check back, also after a panic.
    struct Outer(Option<Check>);
    impl Drop for Outer {
        fn drop(&mut self) {
            CHECK.set(self.0);
        }
    }
    let _outer =
        Outer(CHECK.replace(Some(Check { is_requested, last: Instant::now(), was_requested: false })));
    call()
}

/// Makes polls in this thread return the value of `flag` from now on. A thread can watch only one flag.
pub fn watch(flag: &Arc<AtomicBool>) {
    FLAG.with(|cell| {
        cell.get_or_init(|| Arc::clone(flag));
    });
}

/// Returns true if this thread has a check, so that waiting must not last longer than [`CHECK_INTERVAL`] between polls.
pub fn has_check() -> bool {
    CHECK.get().is_some()
}

/// Returns true if the current computation should end early. Reads the clock; calls the check if it is due.
pub fn poll() -> bool {
    if let Some(check) = CHECK.get()
        && !check.was_requested
        && check.last.elapsed() >= CHECK_INTERVAL
    {
        // The check may run code that has an inner check.
        let was_requested = (check.is_requested)();
        CHECK.set(Some(Check { last: Instant::now(), was_requested, ..check }));
    }
    is_requested()
}

/// Returns true if a poll of this thread has returned true or its flag is set. Cheaper than [`poll`].
pub fn is_requested() -> bool {
    CHECK.get().is_some_and(|check| check.was_requested)
        || FLAG.with(|flag| flag.get().is_some_and(|flag| flag.load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_without_a_check_is_never_interrupted() {
        assert!(!has_check());
        assert!(!poll());
    }

    #[test]
    fn a_request_holds_until_the_end_of_the_call() {
        with_check(
            || true,
            || {
                assert!(!poll(), "the check is not due");
                thread::sleep(CHECK_INTERVAL);
                assert!(poll());
                assert!(is_requested());
                with_check(|| false, || assert!(!is_requested(), "an inner call has its own check"));
                assert!(is_requested());
            },
        );
        assert!(!is_requested());
    }

    #[test]
    fn a_flag_interrupts_the_threads_that_watch_it() {
        let flag = Arc::new(AtomicBool::new(false));
        let watching = thread::spawn({
            let flag = Arc::clone(&flag);
            move || {
                watch(&flag);
                while !poll() {
                    thread::yield_now();
                }
            }
        });
        flag.store(true, Ordering::Relaxed);
        watching.join().unwrap();
        assert!(!poll(), "this thread does not watch the flag");
    }
}
