use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::thread;

use anyhow::{Context, Result};

use crate::cluster;
use crate::output::counted;

thread_local! {
    /// The network thread pool of this thread, if it is not that of the process.
    static POOL: RefCell<Pool> = const { RefCell::new(Pool::OfProcess) };
}

enum Pool {
    OfProcess,
    /// The pool of a thread, once it has been started.
    OfThread(Option<rayon::ThreadPool>),
}

/// Gives this thread a network thread pool of its own. A process that runs several commands needs one for each.
pub(crate) fn use_own_pool() {
    POOL.set(Pool::OfThread(None));
}

/// Sets the number of threads of the network thread pool. The calling thread is the first of them, because passing
/// every product to another thread would cost a small network a tenth of its time. Call it once, before any network is
/// created, on the thread that runs them.
pub(crate) fn set_threads(num_threads: usize) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(num_threads).use_current_thread();
    let started = POOL.with_borrow_mut(|own| match own {
        Pool::OfProcess => pool.build_global(),
        Pool::OfThread(own) => pool.build().map(|pool| *own = Some(pool)),
    });
    started.context("cannot start threads")
}

/// Returns the number of cores that the program may use.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Returns a configured number of threads; 0 means one per core. Processes that train together share the cores of their
/// machine.
pub(crate) fn threads_or_cores(num_threads: usize) -> usize {
    if num_threads == 0 { (cores() / cluster::local_size()).max(1) } else { num_threads }
}

/// Returns a warning if there are more threads than cores.
pub(crate) fn too_many_threads(num_threads: usize) -> Option<String> {
    (num_threads > cores()).then(|| {
        format!(
            "{num_threads} threads are more than the {} of this machine, which makes training slower",
            counted(cores(), "core")
        )
    })
}
