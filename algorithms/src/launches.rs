//! The number of kernels that the calling thread has launched on devices. Only cubecl, on which burn's devices other than the
//! CPU are built, knows it: after fusion, operations of tensors are not kernels.

/// Returns the number of kernels that this thread has launched since its first call, from which on they are counted.
pub(crate) fn of_thread() -> u64 {
    counter::of_thread()
}

#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod counter {
    use std::cell::Cell;
    use std::sync::{Arc, OnceLock};

    use burn::cubecl::logging::{LaunchObservation, LaunchObserver};

    thread_local! {
        static LAUNCHES: Cell<u64> = const { Cell::new(0) };
    }

    struct Counter;

    impl LaunchObserver for Counter {
        /// Called by the thread that launches a kernel.
        fn launched(&self, _: &'static str) {
            LAUNCHES.set(LAUNCHES.get() + 1);
        }
    }

    pub(super) fn of_thread() -> u64 {
        static OBSERVATION: OnceLock<LaunchObservation> = OnceLock::new();
        OBSERVATION.get_or_init(|| LaunchObservation::new(Arc::new(Counter)));
        LAUNCHES.get()
    }
}

#[cfg(not(any(feature = "cuda", feature = "wgpu")))]
mod counter {
    pub(super) fn of_thread() -> u64 {
        0
    }
}
