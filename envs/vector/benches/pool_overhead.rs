//! The overhead of the pool per step, measured with environments that do nothing.
//!
//! Times are per batch; `elem/s` counts environment steps.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rl_env::{Action, Actions, Env, EnvError, ResetSeeds, Space, Step, VectorEnv};
use vector::{PoolOptions, PoolVectorEnv};

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

fn step(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("idle step");
    for (num_envs, batch_size) in [(8, 8), (64, 64), (256, 256), (256, 64)] {
        for num_threads in [1, 2] {
            let env =
                || Idle { observation_space: Space::bytes([4, 84, 84]), action_space: Space::discrete(18) };
            let envs = (0..num_envs).map(|_| ("idle".to_owned(), env())).collect();
            let options = PoolOptions { batch_size, num_threads, ..PoolOptions::default() };
            let mut env = PoolVectorEnv::new(envs, options).expect("the environments are equal");
            env.reset(ResetSeeds::Continue).expect("resets of this environment succeed");
            let actions = vec![0; batch_size];
            group.throughput(Throughput::Elements(batch_size as u64));
            let name =
                BenchmarkId::new(format!("{num_threads} threads"), format!("{batch_size} of {num_envs}"));
            group.bench_function(name, |bencher| {
                bencher.iter(|| env.step(Actions::Discrete(&actions)).expect("every action is valid").len());
            });
        }
    }
    group.finish();
}

criterion_group!(benches, step);
criterion_main!(benches);
