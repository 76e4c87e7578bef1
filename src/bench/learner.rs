//! `ale-train bench learner`: PPO with the Nature network. Acting and updating exclude the time of the environments; the
//! whole loop includes it.

use std::io::Write;
use std::time::{Duration, Instant};

use ale::AtariOptions;
use algorithms::networks::PolicyConfig;
use algorithms::ppo::{Ppo, PpoConfig};
use algorithms::{Learner, VectorSpec};
use anyhow::Result;
use rl_env::{AutoresetMode, ResetSeeds, VectorEnv};
use serde_json::json;
use vector::{AtariVectorEnv, PoolOptions};

use super::format::{print_json, rate};
use super::random_play::{SEED, ids};
use crate::cli::{BenchLearnerArgs, Global};
use crate::device::DeviceName;
use crate::output::counted;
use crate::table;
use crate::threads::set_threads;

/// A number of processed samples and the time they took.
#[derive(Default)]
struct Work {
    samples: usize,
    time: Duration,
}

impl Work {
    fn add(&mut self, samples: usize, start: Instant) {
        self.samples += samples;
        self.time += start.elapsed();
    }

    fn samples_per_second(&self) -> f64 {
        self.samples as f64 / self.time.as_secs_f64()
    }
}

/// Measures the learner and prints its rates.
pub(crate) fn run(args: &BenchLearnerArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let duration = args.subject.duration();
    let num_envs = args.size.num_envs;
    let num_threads = args.size.num_threads();
    let games = args.subject.games(global)?;
    let device = DeviceName::parse(&args.device)?;
    device.check(args.precision)?;
    let device = device.open()?;
    set_threads(num_threads)?;
    let pool = PoolOptions { num_threads, autoreset_mode: AutoresetMode::SameStep, ..PoolOptions::default() };
    let mut env = AtariVectorEnv::of_games(games.iter().cloned(), num_envs, &AtariOptions::default(), pool)?;
    let config = PpoConfig::default();
    let policy = PolicyConfig { precision: args.precision, ..PolicyConfig::default() };
    let mut learner = Ppo::new(config.clone(), policy, VectorSpec::of(&env)?, &device, SEED)?;
    let [act, update, steps] =
        measure(&mut env, &mut learner, duration)?.map(|work| work.samples_per_second());
    let num_envs = env.num_envs();
    let minibatch_size = num_envs * config.num_steps / config.num_minibatches;
    if args.subject.json {
        let report = json!({
            "games": ids(&games),
            "algorithm": "ppo",
            "network": "nature",
            "num_envs": num_envs,
            "num_threads": num_threads,
            "device": args.device,
            "precision": args.precision.name(),
            "minibatch_size": minibatch_size,
            "seconds": duration.as_secs_f64(),
            "act_samples_per_second": act,
            "update_samples_per_second": update,
            "steps_per_second": steps,
        });
        return print_json(&report, out);
    }
    let row = |phase: &str, size: usize, value| vec![phase.to_owned(), size.to_string(), rate(value)];
    let rows = [
        row("act", num_envs, act),
        row("update", minibatch_size, update),
        row("whole loop, with environments", num_envs, steps),
    ];
    table::print(&["PPO, Nature network", "batch", "samples/s"], &rows, out)?;
    writeln!(
        out,
        "{}, device {}, {}; a transition counts once per epoch of an update",
        counted(num_threads, "thread"),
        args.device,
        args.precision.name()
    )?;
    Ok(())
}

/// Measures acting, updating and the whole loop over at least one rollout and update, after one for warm-up.
fn measure(env: &mut AtariVectorEnv, learner: &mut Ppo, duration: Duration) -> Result<[Work; 3]> {
    let [mut act, mut update, mut whole] = <[Work; 3]>::default();
    let mut batch = env.reset(ResetSeeds::From(SEED))?;
    for round in 0.. {
        if round == 1 {
            [act, update, whole] = <[Work; 3]>::default();
        }
        let (begin, mut steps) = (Instant::now(), 0);
        while !learner.is_ready() {
            let start = Instant::now();
            let actions = learner.act(batch)?;
            act.add(actions.num_elements(), start);
            steps += actions.num_elements();
            batch = env.step(actions)?;
            learner.observe(batch)?;
        }
        let start = Instant::now();
        let metrics = learner.update()?;
        update.add(metrics.transitions * metrics.epochs, start);
        whole.add(steps, begin);
        if round > 0 && act.time + update.time >= duration {
            break;
        }
    }
    Ok([act, update, whole])
}
