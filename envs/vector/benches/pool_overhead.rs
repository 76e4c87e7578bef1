//! The overhead of the pool per step, measured with environments that do nothing.
//!
//! Rows are numbers of threads, and pairs of a batch size and a number of environments. Times are per batch; `item/s`
//! counts environment steps.

use divan::Bencher;
use divan::counter::ItemsCount;
use rl_env::{Action, Actions, Env, EnvError, ResetSeeds, Space, Step, VectorEnv};
use vector::{PoolOptions, PoolVectorEnv};

fn main() {
    divan::main();
}

/// An environment whose step does nothing.
struct Idle {
    observation_space: Space,
    action_space: Space,
}

impl Env for Idle {
    type Info = ();

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, _: Option<u64>, _: &mut [u8]) {}

    fn step(&mut self, _: Action<'_>, _: &mut [u8]) -> Result<Step, EnvError> {
        Ok(Step::default())
    }

    fn info(&self) {}

    fn observe(&self, _: &mut [u8]) {}

    fn snapshot(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, _: &[u8]) -> Result<(), EnvError> {
        Ok(())
    }
}

/// A step of a batch.
#[divan::bench(
    sample_count = 10_000,
    consts = [1, 2],
    args = [(8, 8), (64, 64), (256, 256), (64, 256)],
)]
fn step<const THREADS: usize>(bencher: Bencher<'_, '_>, (batch_size, num_envs): (usize, usize)) {
    let env = || Idle { observation_space: Space::bytes([4, 84, 84]), action_space: Space::discrete(18) };
    let envs = (0..num_envs).map(|_| ("idle".to_owned(), env())).collect();
    let options = PoolOptions { batch_size, num_threads: THREADS, ..PoolOptions::default() };
    let mut env = PoolVectorEnv::new(envs, options).expect("the environments are equal");
    env.reset(ResetSeeds::Continue).expect("resets of this environment succeed");
    let actions = vec![0; batch_size];
    bencher
        .counter(ItemsCount::new(batch_size))
        .bench_local(|| env.step(Actions::Discrete(&actions)).expect("every action is valid").len());
}
