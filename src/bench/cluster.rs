//! `ale-train bench cluster`: the training of an experiment by 1, 2, 4, ... processes of a job, and where its time goes.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use algorithms::cluster::{Cluster, CommunicationError, Communicator, SumOrder};
use anyhow::{Result, ensure};
use rl_env::ResetSeeds;
use serde::Serialize;
use serde_json::json;

use super::format::{print_json, rate};
use crate::cli::{BenchClusterArgs, Global};
use crate::cluster;
use crate::config::{self, Experiment};
use crate::environments::{Builder, Environments, Overrides};
use crate::learner::{Algorithm, Learner};
use crate::table;
use crate::threads::set_threads;

/// A communicator that measures the time spent in it.
struct Timed {
    inner: Arc<dyn Communicator>,
    /// Nanoseconds until the last process arrived.
    waiting: AtomicU64,
    /// Nanoseconds in which messages travelled and were added.
    exchanging: AtomicU64,
    sums: AtomicU64,
    /// The number of values in a sum.
    values: AtomicU64,
}

impl Timed {
    fn new(inner: Arc<dyn Communicator>) -> Self {
        let [waiting, exchanging, sums, values] = [(); 4].map(|()| AtomicU64::new(0));
        Self { inner, waiting, exchanging, sums, values }
    }

    /// Lets all processes arrive before `exchange`.
    fn measure<T>(
        &self,
        exchange: impl FnOnce() -> Result<T, CommunicationError>,
    ) -> Result<T, CommunicationError> {
        let began = Instant::now();
        self.inner.gather(&[])?;
        let together = Instant::now();
        let result = exchange()?;
        self.waiting.fetch_add((together - began).as_nanos() as u64, Ordering::Relaxed);
        self.exchanging.fetch_add(together.elapsed().as_nanos() as u64, Ordering::Relaxed);
        Ok(result)
    }

    fn restart(&self) {
        for count in [&self.waiting, &self.exchanging, &self.sums] {
            count.store(0, Ordering::Relaxed);
        }
    }
}

impl Communicator for Timed {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn sum(&self, values: &mut [f32], order: SumOrder) -> Result<(), CommunicationError> {
        self.sums.fetch_add(1, Ordering::Relaxed);
        self.values.store(values.len() as u64, Ordering::Relaxed);
        self.measure(|| self.inner.sum(values, order))
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, CommunicationError> {
        self.measure(|| self.inner.gather(own))
    }
}

/// The training by a number of processes.
#[derive(Debug, Serialize)]
struct Point {
    processes: usize,
    steps_per_second: f64,
    /// The speed divided by that of one process and by the number of processes.
    efficiency: f64,
    /// Seconds of an update with its rollout, and the parts of it in which the leader waits for others and exchanges messages.
    seconds_per_update: f64,
    waiting: f64,
    exchanging: f64,
    sums_per_update: f64,
    bytes_per_sum: u64,
}

/// Measures every number of processes and prints the results.
pub(super) fn run(args: &BenchClusterArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let mut experiment = config::from_args(&args.experiment, Some(Algorithm::Ppo))?.resolve()?;
    let peers = cluster::peers();
    ensure!(peers.is_some(), "start several processes: mpirun -n 4 ale-train bench cluster");
    cluster::settle_shards(&mut experiment);
    let cluster = cluster::of(&experiment)?;
    set_threads(experiment.num_threads())?;
    let builder = cluster::leader_first(|| Builder::new(&experiment, &Overrides::default(), global))?;
    let mut points: Vec<Point> = Vec::new();
    let mut processes = 1;
    while processes <= cluster.num_processes() {
        if let Some(part) = peers.map(|peers| peers.part(processes)).transpose()?.flatten() {
            let alone = points.first().map(|first| first.steps_per_second);
            points.push(measure(&experiment, &builder, part, Duration::from_secs_f64(args.seconds), alone)?);
        }
        // The others wait without keeping a core busy.
        cluster::leader_first(|| Ok(()))?;
        processes *= 2;
    }
    if cluster::is_follower() {
        return Ok(());
    }
    if args.json {
        let games = experiment.games.names();
        let (num_envs, exact) = (experiment.num_envs(), experiment.distributed.exact);
        let report = json!({ "games": games, "num_envs": num_envs, "exact": exact, "points": points });
        return print_json(&report, out);
    }
    let cells = |point: &Point| {
        let share = |seconds: f64| format!("{:.1} %", 100.0 * seconds / point.seconds_per_update);
        vec![
            point.processes.to_string(),
            rate(point.steps_per_second),
            format!("{:.2}", point.efficiency),
            format!("{:.3}", point.seconds_per_update),
            share(point.waiting),
            share(point.exchanging),
        ]
    };
    let rows: Vec<_> = points.iter().map(cells).collect();
    table::print(&["processes", "steps/s", "efficiency", "s/update", "waiting", "exchanging"], &rows, out)
}

/// Trains by the processes of a communicator for some time, after a warm-up of one update.
fn measure(
    experiment: &Experiment,
    builder: &Builder,
    communicator: Arc<dyn Communicator>,
    duration: Duration,
    alone: Option<f64>,
) -> Result<Point> {
    let timed = Arc::new(Timed::new(communicator));
    let communicator = Some(Arc::clone(&timed) as Arc<dyn Communicator>);
    let cluster = if experiment.distributed.exact {
        Cluster::new(communicator, experiment.distributed.shards)?
    } else {
        Cluster::inexact(communicator)
    };
    let (mut environments, spec) = builder.build_share(&cluster)?;
    let (num_envs, device) = (spec.num_envs() as u64, experiment.device.open()?);
    let seed = experiment.run.seed;
    let policy = experiment.policy.clone();
    let mut learner = experiment.algorithm.create(policy, spec, cluster.clone(), &device, seed)?;
    environments.reset(ResetSeeds::From(seed))?;
    update(environments.as_mut(), learner.as_mut())?;
    timed.restart();
    let (began, mut updates, mut rounds) = (Instant::now(), 0, 0);
    loop {
        rounds += update(environments.as_mut(), learner.as_mut())?;
        updates += 1;
        // The leader decides for all.
        let is_over = began.elapsed() >= duration;
        if cluster.gather(vec![u8::from(is_over)])?[0] == [1] || learner.is_complete() {
            break;
        }
    }
    let seconds_per_update = began.elapsed().as_secs_f64() / f64::from(updates);
    let per_update = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64 / f64::from(updates);
    let steps_per_second = (rounds * num_envs) as f64 / f64::from(updates) / seconds_per_update;
    let processes = cluster.num_processes();
    Ok(Point {
        processes,
        steps_per_second,
        efficiency: steps_per_second / alone.unwrap_or(steps_per_second) / processes as f64,
        seconds_per_update,
        waiting: per_update(&timed.waiting) / 1e9,
        exchanging: per_update(&timed.exchanging) / 1e9,
        sums_per_update: per_update(&timed.sums),
        bytes_per_sum: timed.values.load(Ordering::Relaxed) * size_of::<f32>() as u64,
    })
}

/// Steps all environments until an update is due, and makes it. Returns the number of steps of each environment.
fn update(environments: &mut dyn Environments, learner: &mut dyn Learner) -> Result<u64> {
    let mut rounds = 0;
    while !learner.is_ready() {
        rounds += 1;
        let actions = learner.act(environments.batch())?;
        environments.step(actions)?;
        learner.observe(environments.batch())?;
    }
    learner.update_unless(&|| false)?;
    Ok(rounds)
}
