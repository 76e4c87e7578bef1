use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A thread that calls a function periodically until it is dropped.
pub(super) struct Heartbeat {
    /// Closed to stop the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    /// Starts the thread. If the system cannot start one, the function is never called.
    pub(super) fn start(period: Duration, mut beat: impl FnMut() + Send + 'static) -> Self {
        let (stop, stopped) = mpsc::channel();
        let builder = thread::Builder::new().name("progress".to_owned());
        let thread = builder.spawn(move || {
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                beat();
            }
        });
        let thread = thread.ok();
        Self { stop: Some(stop), thread }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, the message has already been printed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Instant;

    use super::*;

    #[test]
    fn beats_until_it_is_dropped() {
        let beats = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&beats);
        let heartbeat = Heartbeat::start(Duration::from_millis(1), move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let deadline = Instant::now() + Duration::from_secs(10);
        while beats.load(Ordering::Relaxed) < 3 {
            assert!(Instant::now() < deadline, "no beats");
            thread::yield_now();
        }
        drop(heartbeat);
        let end = beats.load(Ordering::Relaxed);
        thread::sleep(Duration::from_millis(20));
        assert_eq!(beats.load(Ordering::Relaxed), end);
    }
}
