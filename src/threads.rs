use anyhow::{Context, Result};

/// Sets the number of threads of the network thread pool, of which the calling thread is the first: passing every product
/// to another thread costs a small network a tenth of its time. Call it once, before any network is created, on the thread
/// that runs them.
pub(crate) fn set_threads(num_threads: usize) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(num_threads).use_current_thread();
    pool.build_global().context("cannot start threads")
}
