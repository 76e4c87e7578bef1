//! `ale-train bench learner`: the learner of a preset. Acting and updating exclude the time of the environments; the
//! whole loop includes it.

use std::io::Write;
use std::time::{Duration, Instant};

use algorithms::DeviceCalls;
use algorithms::cluster::Cluster;
use anyhow::{Result, bail};
use rl_env::ResetSeeds;
use serde_json::json;

use super::check_steps_together;
use super::format::{print_json, rate};
use super::random_play::SEED;
use crate::cli::{BenchLearnerArgs, ExperimentArgs, Global};
use crate::config::{self, Experiment};
use crate::environments::{Builder, CommandOverrides, Environments};
use crate::learner::Learner;
use crate::output::counted;
use crate::table;
use crate::threads::set_threads;
use crate::train::processes;

/// The number of processed samples, the time that they took and the calls to the device.
#[derive(Default)]
struct Work {
    samples: usize,
    time: Duration,
    repetitions: u64,
    calls: DeviceCalls,
}

/// The start of a piece of work.
struct Start(Instant, DeviceCalls);

impl Start {
    fn now() -> Self {
        Self(Instant::now(), DeviceCalls::of_thread())
    }
}

impl Work {
    fn add(&mut self, samples: usize, Start(start, before): &Start) {
        let DeviceCalls { launches, uploads, waits } = DeviceCalls::of_thread() - *before;
        self.samples += samples;
        self.time += start.elapsed();
        self.repetitions += 1;
        self.calls.launches += launches;
        self.calls.uploads += uploads;
        self.calls.waits += waits;
    }

    /// Returns the mean numbers of launches, uploads and waits of a repetition.
    fn device_calls(&self) -> [f64; 3] {
        let DeviceCalls { launches, uploads, waits } = self.calls;
        [launches, uploads, waits].map(|count| count as f64 / self.repetitions.max(1) as f64)
    }

    fn samples_per_second(&self) -> f64 {
        self.samples as f64 / self.time.as_secs_f64()
    }
}

/// Measures the learner and prints its rates.
pub(crate) fn run(args: &BenchLearnerArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let duration = args.subject.duration();
    let experiment = experiment(args)?;
    check_steps_together(&experiment)?;
    let Experiment { algorithm, policy, .. } = &experiment;
    let (device, num_threads) = (experiment.device.open()?, experiment.num_threads());
    set_threads(num_threads)?;
    let builder = Builder::new(&experiment, &CommandOverrides::default(), global)?;
    let (mut env, spec) = builder.build_share(&Cluster::default())?;
    let (num_envs, workload) = (spec.num_envs(), algorithm.workload(&spec)?);
    let mut learner = algorithm.create(policy.clone(), spec, Cluster::default(), &device, SEED)?;
    let work = measure(env.as_mut(), learner.as_mut(), workload.samples_per_step, duration)?;
    let calls = [&work[0], &work[1]].map(Work::device_calls);
    let [act, update, steps] = work.map(|work| work.samples_per_second());
    if args.subject.json {
        let report = json!({
            "games": experiment.games.names(),
            "preset": args.preset,
            "algorithm": experiment.run.algorithm.name(),
            "network": policy.torso.name(),
            "num_envs": num_envs,
            "num_threads": num_threads,
            "device": args.device,
            "precision": policy.precision.name(),
            "minibatch_size": workload.minibatch,
            "seconds": duration.as_secs_f64(),
            "act_samples_per_second": act,
            "update_samples_per_second": update,
            "steps_per_second": steps,
            "act_launches_uploads_and_waits": calls[0],
            "update_launches_uploads_and_waits": calls[1],
        });
        return print_json(&report, out);
    }
    let row = |phase: &str, size: usize, value| vec![phase.to_owned(), size.to_string(), rate(value)];
    let rows = [
        row("act", num_envs, act),
        row("update", workload.minibatch, update),
        row("whole loop, with environments", num_envs, steps),
    ];
    let title = format!("{}, {} network", args.preset, policy.torso.name());
    table::print(&[&title, "batch", "samples/s"], &rows, out)?;
    writeln!(
        out,
        "{}, device {}, {}; a transition counts once for each minibatch that contains it",
        counted(num_threads, "thread"),
        args.device,
        policy.precision.name()
    )?;
    if args.device != "cpu" {
        for (name, [launches, uploads, waits]) in ["an act", "an update"].into_iter().zip(calls) {
            writeln!(out, "{name}: {launches:.1} launches, {uploads:.1} uploads and {waits:.1} waits")?;
        }
    }
    Ok(())
}

/// Returns the experiment that the flags describe.
fn experiment(args: &BenchLearnerArgs) -> Result<Experiment> {
    let torso = args.torso.map(|torso| format!("policy.torso={}", torso.name()));
    let precision = args.precision.map(|precision| format!("policy.precision={}", precision.name()));
    let experiment = ExperimentArgs {
        games: args.subject.games.clone(),
        preset: Some(args.preset.clone()),
        config: None,
        set: args.set.iter().cloned().chain(torso).chain(precision).collect(),
        total_frames: None,
        num_envs: Some(args.size.num_envs),
        num_threads: Some(args.size.num_threads()),
        seed: None,
        device: Some(args.device.clone()),
    };
    let own = [
        ("policy.torso", "--torso", args.torso.is_some()),
        ("policy.precision", "--precision", args.precision.is_some()),
    ];
    // The other flags have defaults, which override --set.
    for key in args.set.iter().filter_map(|assignment| Some(assignment.split_once('=')?.0.trim())) {
        let given = own.iter().find(|&&(of_flag, _, is_given)| is_given && of_flag == key);
        let flag = given
            .map(|(_, flag, _)| (*flag).to_owned())
            .or_else(|| config::flag_of(key, &experiment.layers()));
        if let Some(flag) = flag {
            bail!("--set {key} has no effect here; use {flag}");
        }
    }
    let mut experiment = config::from_layers(&experiment.layers(), None)?.resolve()?;
    processes::settle_bf16_arithmetic(&mut experiment)?;
    Ok(experiment)
}

/// Measures acting, updating and the whole loop after one update for warm-up, until acting and updating have taken
/// `duration`. The learner learns from `samples_per_step` samples for each step.
fn measure(
    env: &mut dyn Environments,
    learner: &mut dyn Learner,
    samples_per_step: f64,
    duration: Duration,
) -> Result<[Work; 3]> {
    let [mut act, mut update, mut whole] = <[Work; 3]>::default();
    env.reset(ResetSeeds::From(SEED))?;
    for round in 0.. {
        if round == 1 {
            [act, update, whole] = <[Work; 3]>::default();
        }
        let (begin, mut steps) = (Start::now(), 0);
        while !learner.is_ready() {
            let (start, count) = (Start::now(), env.batch().len());
            let actions = learner.act(env.batch())?;
            act.add(count, &start);
            steps += count;
            env.step(actions)?;
            learner.observe(env.batch())?;
        }
        let start = Start::now();
        learner.update_unless(&|| false)?;
        update.add((steps as f64 * samples_per_step).round() as usize, &start);
        whole.add(steps, &begin);
        if round > 0 && act.time + update.time >= duration {
            break;
        }
    }
    Ok([act, update, whole])
}
