use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use super::error::CallError;
use crate::{allocator, threads};

/// The size of a thread's stack: that of a main thread.
pub(super) const STACK: usize = 8 << 20;

type Job<T> = Box<dyn FnOnce(&mut T) + Send>;

/// A value on a thread of its own, with the network thread pool of that thread. Dropping it ends the thread.
pub(super) struct OwnThread<T> {
    jobs: Sender<Job<T>>,
}

/// Returns the error about a thread that has panicked.
pub(super) fn died() -> CallError {
    CallError::Failed("an internal error, whose message is on standard error, has ended the call".to_owned())
}

impl<T: 'static> OwnThread<T> {
    /// Creates the value on the new thread.
    pub(super) fn new(
        create: impl FnOnce() -> Result<T, CallError> + Send + 'static,
    ) -> Result<Self, CallError> {
        let (jobs, received) = mpsc::channel();
        let (created, creation) = mpsc::channel();
        thread::Builder::new()
            .name("ale-train".to_owned())
            .stack_size(STACK)
            .spawn(move || serve(create, &created, received))
            .map_err(|error| CallError::Failed(format!("cannot start a thread: {error}")))?;
        creation.recv().map_err(|_| died())??;
        Ok(Self { jobs })
    }

    /// Calls `job` on the thread and waits for its result.
    pub(super) fn call<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut T) -> Result<R, CallError> + Send + 'static,
    ) -> Result<R, CallError> {
        let (sender, receiver) = mpsc::channel();
        let job = move |value: &mut T| {
            // The caller waits.
            let _ = sender.send(job(value));
        };
        self.jobs.send(Box::new(job)).map_err(|_| died())?;
        receiver.recv().map_err(|_| died())?
    }
}

fn serve<T>(
    create: impl FnOnce() -> Result<T, CallError>,
    created: &Sender<Result<(), CallError>>,
    jobs: Receiver<Job<T>>,
) {
    allocator::keep_freed_memory();
    threads::use_own_pool();
    match create() {
        Ok(mut value) => {
            let _ = created.send(Ok(()));
            for job in jobs {
                job(&mut value);
            }
        }
        Err(error) => {
            let _ = created.send(Err(error));
        }
    }
}
