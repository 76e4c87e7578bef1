//! Atari batches equal those that ale-py's `AtariVectorEnv` returned for the same actions, as recorded by
//! `data/record_atari.py`. There is one test per run. The environment variable `GOLDEN_ATARI_RUNS` selects a
//! different file of runs.
//!
//! The long runs (`data/atari_long.jsonl`) are 5,000 steps of eight environments each. Only the part up to their first
//! checksum is checked, unless `GOLDEN_ATARI_RUNS` names that file.

use std::env;
use std::fs;

use ale::{AtariInfo, AtariOptions, game, roms};
use libtest_mimic::{Arguments, Failed, Trial};
use rl_env::{Actions, AutoresetMode, Batch, ResetSeeds, Space, VectorEnv};
use serde::Deserialize;
use vector::{AtariVectorEnv, PoolOptions};

/// The default number of steps between recorded checksums.
const CHECK_EVERY: usize = 25;

/// One recorded run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    game: String,
    autoreset_mode: AutoresetMode,
    seed: u64,
    num_envs: usize,
    steps: usize,
    #[serde(default = "check_every")]
    check_every: usize,
    options: AtariOptions,
    /// The number of autoresets in the run.
    resets: usize,
    total_reward: f64,
    /// Running checksums, after the reset and then after every `check_every` steps.
    crc: Vec<String>,
    /// True if the run is checked only up to its first checksum after the reset.
    #[serde(skip)]
    beginning_only: bool,
}

fn check_every() -> usize {
    CHECK_EVERY
}

fn main() {
    let (text, beginnings) = match env::var_os("GOLDEN_ATARI_RUNS") {
        Some(path) => {
            (fs::read_to_string(path).expect("the file named by GOLDEN_ATARI_RUNS is readable"), "")
        }
        None => (include_str!("data/atari.jsonl").to_owned(), include_str!("data/atari_long.jsonl")),
    };
    let read = |line| serde_json::from_str::<Run>(line).expect("every line is a run");
    let beginning = |run| Run { beginning_only: true, ..run };
    let runs = text.lines().map(read).chain(beginnings.lines().map(read).map(beginning));
    let trials = runs.enumerate().map(|(number, run)| {
        let name = format!("{} {:?} {}", run.game, run.autoreset_mode, number + 1);
        Trial::test(name, move || compare(&run))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn compare(run: &Run) -> Result<(), Failed> {
    let Some(rom) = roms::for_tests(&run.game) else {
        return Ok(());
    };
    let pool = PoolOptions { num_threads: 2, autoreset_mode: run.autoreset_mode, ..PoolOptions::default() };
    let mut env = AtariVectorEnv::of_games([(game(&run.game)?, rom)], run.num_envs, &run.options, pool)?;
    let mut random = splitmix(run.seed);
    let mut log = Log::default();
    env.reset(ResetSeeds::From(run.seed))?;
    log.add(env.batch(), env.infos());
    let steps = if run.beginning_only { run.check_every } else { run.steps };
    for step in 0..=steps {
        if step > 0 {
            if let Space::Discrete { n, .. } = env.action_spaces()[0] {
                let actions: Vec<i32> =
                    random.by_ref().take(run.num_envs).map(|z| (z % n as u64) as i32).collect();
                env.step(Actions::Discrete(&actions))?;
            } else {
                let actions: Vec<f32> = (0..run.num_envs).flat_map(|_| stick(&mut random)).collect();
                env.step(Actions::Continuous(&actions))?;
            }
            log.add(env.batch(), env.infos());
        }
        if step % run.check_every == 0 {
            let crc = format!("{:08x}", log.crc.clone().finalize());
            if crc != run.crc[step / run.check_every] {
                return Err(format!("differs in the {} steps up to {step}: {run:?}", run.check_every).into());
            }
        }
    }
    if run.beginning_only || (log.resets, log.total_reward) == (run.resets, run.total_reward) {
        Ok(())
    } else {
        Err(format!("{} resets, total reward {}: {run:?}", log.resets, log.total_reward).into())
    }
}

/// A checksum of all results of a run.
#[derive(Default)]
struct Log {
    crc: crc32fast::Hasher,
    resets: usize,
    total_reward: f64,
    /// Those of the previous batch.
    episode_frame_numbers: Vec<u32>,
}

impl Log {
    fn add(&mut self, batch: &Batch, infos: &[AtariInfo]) {
        for row in 0..batch.len() {
            self.crc.update(batch.observations.row(row));
        }
        self.numbers(batch.rewards.iter().map(|&reward| reward as i32));
        self.numbers(infos.iter().map(|info| info.lives));
        self.numbers(infos.iter().map(|info| info.frame_number as i32));
        self.numbers(infos.iter().map(|info| info.episode_frame_number as i32));
        for flags in [&batch.terminated, &batch.truncated] {
            for &flag in flags {
                self.crc.update(&[u8::from(flag)]);
            }
        }
        let was_reset = |(info, &before): (&AtariInfo, &u32)| info.episode_frame_number < before;
        let resets: Vec<bool> = infos.iter().zip(&self.episode_frame_numbers).map(was_reset).collect();
        for (row, _) in resets.iter().enumerate().filter(|(_, reset)| **reset) {
            self.resets += 1;
            if batch.final_observations.rows() > 0 {
                self.crc.update(batch.final_observations.row(row));
            }
        }
        self.total_reward += batch.rewards.iter().map(|&reward| f64::from(reward)).sum::<f64>();
        self.episode_frame_numbers = infos.iter().map(|info| info.episode_frame_number).collect();
    }

    fn numbers(&mut self, numbers: impl Iterator<Item = i32>) {
        numbers.for_each(|number| self.crc.update(&number.to_le_bytes()));
    }
}

/// Returns a radius, which may slightly exceed the space, an angle and a button.
fn stick(random: &mut impl Iterator<Item = u64>) -> [f32; 3] {
    let [radius, angle, button] =
        [(); 3].map(|()| (random.next().expect("the generator is infinite") % 2001) as f32);
    [radius / 1800.0, (angle - 1000.0) / 1000.0 * std::f32::consts::PI, button / 2000.0]
}

/// Returns the generator `SplitMix64`.
fn splitmix(seed: u64) -> impl Iterator<Item = u64> {
    (1..).map(move |index: u64| {
        let z = seed.wrapping_add(index.wrapping_mul(0x9E3779B97F4A7C15));
        let z = (z ^ z >> 30).wrapping_mul(0xBF58476D1CE4E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D049BB133111EB);
        z ^ z >> 31
    })
}
