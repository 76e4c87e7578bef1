use std::error::Error;
use std::time::{Duration, Instant};

use gymnasium_workers::{EnvGroup, EnvOptions, WorkerOptions, WorkerVectorEnv};
use rl_env::{Actions, Pcg64, ResetSeeds, Space, VectorEnv};

/// Steps before the measurement.
const WARM_UP: usize = 500;

/// The number of batches of actions that are drawn, and then repeated.
const BATCHES: usize = 1024;

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, num_envs, workers, seconds] = arguments.as_slice() else {
        return Err("usage: throughput NAME NUM_ENVS WORKERS SECONDS".into());
    };
    let num_envs = num_envs.parse()?;
    let group = EnvGroup { name: name.clone(), num_envs, options: EnvOptions::default() };
    let options = WorkerOptions { workers: workers.parse()?, ..WorkerOptions::default() };
    let mut envs = WorkerVectorEnv::new(&[group], &options)?;
    let Space::Discrete { n, .. } = envs.action_spaces()[0] else {
        return Err("the actions must be discrete".into());
    };
    let mut generator = Pcg64::new(0);
    let actions: Vec<i32> =
        (0..BATCHES * num_envs).map(|_| generator.below(n as u32).cast_signed()).collect();
    let limit = Duration::from_secs_f64(seconds.parse()?);
    envs.reset(ResetSeeds::From(0))?;
    let mut batches = actions.chunks(num_envs).cycle();
    let mut step = || envs.step(Actions::Discrete(batches.next().unwrap_or_default())).map(|_| ());
    for _ in 0..WARM_UP {
        step()?;
    }
    let (begin, mut steps) = (Instant::now(), 0);
    while begin.elapsed() < limit {
        step()?;
        steps += num_envs;
    }
    let rate = steps as f64 / begin.elapsed().as_secs_f64();
    println!(
        "{{\"name\":\"{name}\",\"num_envs\":{num_envs},\"workers\":{workers},\"steps_per_second\":{rate:.0}}}"
    );
    Ok(())
}
