//! Steps do not allocate memory.

mod stub;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use rl_env::{Actions, AutoresetMode, ResetSeeds, VectorEnv};
use stub::Stub;
use vector::{PoolOptions, PoolVectorEnv};

/// An allocator that counts the allocations of all threads.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is forwarded to the system allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`, and the pointer came from the same allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Asserts that steps allocate nothing after a warm-up, and returns the number of episodes that ended.
///
/// Some events allocate when they first occur, which may be late: an idle thread steals for the first time, or rarely
/// executed code is translated. There are therefore several tries. Code that allocates at every step, or every hundred
/// steps, fails all of them.
fn count_steps(env: &mut impl VectorEnv, warm_up: usize, steps: usize) -> usize {
    const TRIES: usize = 10;
    let actions = vec![1; env.batch_size()];
    env.reset(ResetSeeds::From(1)).unwrap();
    for _ in 0..warm_up {
        env.step(Actions::Discrete(&actions)).unwrap();
    }
    let mut allocations = [0; TRIES];
    for counted in &mut allocations {
        let mut ends = 0;
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..steps {
            ends += env.step(Actions::Discrete(&actions)).unwrap().episodes.iter().flatten().count();
        }
        *counted = ALLOCATIONS.load(Ordering::Relaxed) - before;
        if *counted == 0 {
            return ends;
        }
    }
    panic!("every try of {steps} steps allocates: {allocations:?}");
}

// The only test of this file, because others would allocate concurrently.
#[test]
fn steps_do_not_allocate() {
    for autoreset_mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        for num_threads in [1, 2, 4] {
            for batch_size in [1, 64] {
                let pool = PoolOptions { batch_size, num_threads, autoreset_mode, ..PoolOptions::default() };
                let envs = (0..200).map(|_| ("stub".to_owned(), Stub::new(2))).collect();
                count_steps(&mut PoolVectorEnv::new(envs, pool).unwrap(), 1000, 2000);
            }
            let pool = PoolOptions { num_threads, autoreset_mode, ..PoolOptions::default() };
            let envs = (0..200).map(|_| ("stub".to_owned(), Stub::new(2))).collect();
            let ends = count_steps(&mut PoolVectorEnv::new(envs, pool).unwrap(), 200, 2000);
            assert!(ends > 1000, "the measurement must include resets: {ends}");
            #[cfg(feature = "atari")]
            count_atari_steps(pool);
        }
    }
}

#[cfg(feature = "atari")]
fn count_atari_steps(pool: PoolOptions) {
    use ale::{AtariOptions, game, roms};
    use vector::AtariVectorEnv;

    let games = [(game("harvest").unwrap(), roms::built_in("harvest").unwrap().into())];
    let mut env = AtariVectorEnv::of_games(games, 6, &AtariOptions::default(), pool).unwrap();
    count_steps(&mut env, 200, 200);
}
