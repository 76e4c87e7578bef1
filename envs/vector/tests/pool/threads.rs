//! Threads share uneven work and stay on their cores.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rl_env::{Action, Actions, Env, EnvError, ResetSeeds, Space, Step, VectorEnv};
use vector::{PoolOptions, PoolVectorEnv};

/// An environment whose step sleeps and records the cores on which its thread may run.
struct Sleeper {
    observation_space: Space,
    action_space: Space,
    sleep: Duration,
    cores: String,
}

impl Sleeper {
    fn new(milliseconds: u64) -> (String, Self) {
        let sleeper = Self {
            observation_space: Space::bytes([1]),
            action_space: Space::discrete(1),
            sleep: Duration::from_millis(milliseconds),
            cores: String::new(),
        };
        ("sleeper".to_owned(), sleeper)
    }
}

impl Env for Sleeper {
    type Info = String;

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, _: Option<u64>, _: &mut [u8]) {}

    fn step(&mut self, _: Action<'_>, _: &mut [u8]) -> Result<Step, EnvError> {
        thread::sleep(self.sleep);
        let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.unwrap_or_default().trim().clone_into(&mut self.cores);
        Ok(Step::default())
    }

    fn info(&self) -> String {
        self.cores.clone()
    }

    fn observe(&self, _: &mut [u8]) {}

    fn snapshot(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, _: &[u8]) -> Result<(), EnvError> {
        Ok(())
    }
}

#[test]
fn threads_share_uneven_work() {
    // All slow environments are in the share of the first thread, which would need 320 milliseconds alone.
    let envs = (0..64).map(|index| Sleeper::new(if index < 16 { 20 } else { 0 })).collect();
    let options = PoolOptions { num_threads: 4, ..PoolOptions::default() };
    let mut env = PoolVectorEnv::new(envs, options).unwrap();
    env.reset(ResetSeeds::Continue).unwrap();
    let quickest = (0..5).map(|_| {
        let begin = Instant::now();
        env.step(Actions::Discrete(&[0; 64])).unwrap();
        begin.elapsed()
    });
    let quickest = quickest.min().unwrap();
    assert!(quickest >= Duration::from_millis(80), "faster than four threads can be: {quickest:?}");
    assert!(quickest < Duration::from_millis(160), "it took {quickest:?}");
}

/// Returns the cores on which a pool with one thread steps an environment.
#[cfg(target_os = "linux")]
fn cores_of_pool(thread_affinity_offset: Option<usize>) -> String {
    let options =
        PoolOptions { batch_size: 1, num_threads: 1, thread_affinity_offset, ..PoolOptions::default() };
    let mut env = PoolVectorEnv::new(vec![Sleeper::new(0), Sleeper::new(0)], options).unwrap();
    env.reset(ResetSeeds::Continue).unwrap();
    // The first batches contain the resets.
    for _ in 0..3 {
        env.step(Actions::Discrete(&[0])).unwrap();
    }
    env.infos()[0].clone()
}

#[cfg(target_os = "linux")]
#[test]
fn pins_threads_to_cores() {
    // The cores of the pool. A quota lowers the available parallelism, not this number.
    let count = core_affinity::get_core_ids().expect("cores").len();
    let bound: Vec<usize> = (0..count).map(|offset| cores_of_pool(Some(offset)).parse().unwrap()).collect();
    let mut distinct = bound.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), count, "offsets select different cores: {bound:?}");
    assert_eq!(cores_of_pool(Some(count)), bound[0].to_string(), "offsets wrap around");
    assert!(
        count == 1 || cores_of_pool(None).parse::<usize>().is_err(),
        "threads are not pinned without an offset"
    );
}
