//! `ale-train bench learner`: PPO on images. Acting and updating exclude the time of the environments; the
//! whole loop includes it.

use std::io::Write;
use std::time::{Duration, Instant};

use ale::AtariOptions;
use algorithms::networks::PolicyConfig;
use algorithms::ppo::{Ppo, PpoConfig};
use algorithms::{Learner, Transfers, VectorSpec};
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

/// A number of processed samples, the time they took and the transfers to and from a device.
#[derive(Default)]
struct Work {
    samples: usize,
    time: Duration,
    calls: u64,
    transfers: Transfers,
}

/// The beginning of a piece of work.
struct Start(Instant, Transfers);

impl Start {
    fn now() -> Self {
        Self(Instant::now(), Transfers::of_thread())
    }
}

impl Work {
    fn add(&mut self, samples: usize, Start(start, before): &Start) {
        let Transfers { uploads, waits } = Transfers::of_thread() - *before;
        self.samples += samples;
        self.time += start.elapsed();
        self.calls += 1;
        self.transfers.uploads += uploads;
        self.transfers.waits += waits;
    }

    /// Returns the mean numbers of uploads and waits of a call.
    fn transfers_per_call(&self) -> [f64; 2] {
        [self.transfers.uploads, self.transfers.waits].map(|count| count as f64 / self.calls.max(1) as f64)
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
    let policy = PolicyConfig { precision: args.precision, torso: args.torso, ..PolicyConfig::default() };
    let mut learner = Ppo::new(config.clone(), policy, VectorSpec::of(&env)?, &device, SEED)?;
    let work = measure(&mut env, &mut learner, duration)?;
    let transfers = [&work[0], &work[1]].map(Work::transfers_per_call);
    let [act, update, steps] = work.map(|work| work.samples_per_second());
    let num_envs = env.num_envs();
    let minibatch_size = num_envs * config.num_steps / config.num_minibatches;
    if args.subject.json {
        let report = json!({
            "games": ids(&games),
            "algorithm": "ppo",
            "network": args.torso.name(),
            "num_envs": num_envs,
            "num_threads": num_threads,
            "device": args.device,
            "precision": args.precision.name(),
            "minibatch_size": minibatch_size,
            "seconds": duration.as_secs_f64(),
            "act_samples_per_second": act,
            "update_samples_per_second": update,
            "steps_per_second": steps,
            "act_uploads_and_waits": transfers[0],
            "update_uploads_and_waits": transfers[1],
        });
        return print_json(&report, out);
    }
    let row = |phase: &str, size: usize, value| vec![phase.to_owned(), size.to_string(), rate(value)];
    let rows = [
        row("act", num_envs, act),
        row("update", minibatch_size, update),
        row("whole loop, with environments", num_envs, steps),
    ];
    let title = format!("PPO, {} network", args.torso.name());
    table::print(&[&title, "batch", "samples/s"], &rows, out)?;
    writeln!(
        out,
        "{}, device {}, {}; a transition counts once per epoch of an update",
        counted(num_threads, "thread"),
        args.device,
        args.precision.name()
    )?;
    if args.device != "cpu" {
        let [[act_uploads, act_waits], [uploads, waits]] = transfers;
        writeln!(
            out,
            "uploads and waits: {act_uploads:.1} and {act_waits:.1} an act, {uploads:.1} and {waits:.1} an update"
        )?;
    }
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
        let (begin, mut steps) = (Start::now(), 0);
        while !learner.is_ready() {
            let start = Start::now();
            let actions = learner.act(batch)?;
            act.add(actions.num_elements(), &start);
            steps += actions.num_elements();
            batch = env.step(actions)?;
            learner.observe(batch)?;
        }
        let start = Start::now();
        let metrics = learner.update()?;
        update.add(metrics.transitions * metrics.epochs, &start);
        whole.add(steps, &begin);
        if round > 0 && act.time + update.time >= duration {
            break;
        }
    }
    Ok([act, update, whole])
}
