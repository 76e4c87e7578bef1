//! Stepping allocates nothing: counted, not believed.

mod stub;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use rl_env::{Actions, AutoresetMode, ResetSeeds, VectorEnv};
use stub::Stub;
use vector::{PoolOptions, PoolVectorEnv};

/// Counts the allocations of all threads.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on, and the pointer came from the same allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// The only test of this file: others would allocate at the same time.
#[test]
fn a_step_allocates_nothing() {
    let num_envs = 200;
    let actions = vec![1; num_envs];
    for autoreset_mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        for num_threads in [1, 2, 4] {
            let envs = (0..num_envs).map(|_| ("stub".to_owned(), Stub::new(2))).collect();
            let options = PoolOptions { num_threads, autoreset_mode };
            let mut env = PoolVectorEnv::new(envs, options).unwrap();
            env.reset(ResetSeeds::From(1)).unwrap();
            // Every thread takes part for the first time somewhere in here.
            for _ in 0..200 {
                env.step(Actions::Discrete(&actions)).unwrap();
            }
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            let mut ends = 0;
            for _ in 0..2000 {
                ends += env.step(Actions::Discrete(&actions)).unwrap().episodes.iter().flatten().count();
            }
            let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
            assert_eq!(allocations, 0, "{autoreset_mode:?}, {num_threads} threads");
            assert!(ends > 1000, "resets are part of the measurement: {ends}");
        }
    }
}
