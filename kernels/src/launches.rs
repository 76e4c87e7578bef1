//! The number of kernels that the calling thread has launched on devices. Only cubecl, on which all of burn's devices
//! except the CPU are built, knows this number: it differs from the number of tensor operations.

/// Returns the number of kernels that this thread has launched since its first call of this function.
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
        /// Counts a launch. The thread that launches a kernel calls this.
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
