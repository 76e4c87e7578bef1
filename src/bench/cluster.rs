//! `ale-train bench cluster`: trains an experiment with 1, 2, 4, ... processes of a job and measures how the time is
//! spent.

use std::io::Write;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use algorithms::cluster::{Cluster, CommunicationError, Communicator, SumOrder};
use anyhow::{Result, ensure};
use rl_env::ResetSeeds;
use serde::Serialize;
use serde_json::json;

use super::check_steps_together;
use super::format::{print_json, rate};
use crate::cli::{BenchClusterArgs, Global};
use crate::cluster;
use crate::config::{self, Experiment};
use crate::environments::{Builder, CommandOverrides, Environments};
use crate::learner::Learner;
use crate::table;
use crate::threads::set_threads;
use crate::train::processes;

/// The number of values in a short sum, whose duration is pure latency, and in a long sum.
const SHORT: usize = 1;
const LONG: usize = 1 << 22;
/// The number of times that each sum is measured. The shortest time counts.
const SHORT_SUMS: usize = 200;
const LONG_SUMS: usize = 20;

/// A communicator that measures the time spent in it.
struct Timed {
    inner: Arc<dyn Communicator>,
    spent: Mutex<Spent>,
}

/// Times and counts since the end of the warm-up.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    /// The time until the last process arrived.
    waiting: Duration,
    /// The time of communication and addition during which the process did nothing else.
    exchanging: Duration,
    /// The time of communication that overlapped with a backward pass.
    hidden: Duration,
    /// The duration of the backward passes that communication may overlap.
    backward: Duration,
    /// The number of sums, and of the values in them.
    sums: u32,
    values: usize,
    /// The number of values in sums that ran during backward passes.
    early_values: usize,
}

impl Timed {
    fn new(inner: Arc<dyn Communicator>) -> Self {
        Self { inner, spent: Mutex::default() }
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for all processes, then calls `exchange`. Returns the time at which the last process arrived, and the
    /// result.
    fn meet<T>(
        &self,
        exchange: impl FnOnce() -> Result<T, CommunicationError>,
    ) -> Result<(Instant, T), CommunicationError> {
        self.inner.all_gather(&[])?;
        let together = Instant::now();
        Ok((together, exchange()?))
    }

    fn measure<T>(
        &self,
        exchange: impl FnOnce() -> Result<T, CommunicationError>,
    ) -> Result<T, CommunicationError> {
        let began = Instant::now();
        let (together, result) = self.meet(exchange)?;
        let mut spent = self.spent();
        spent.waiting += together - began;
        spent.exchanging += together.elapsed();
        Ok(result)
    }
}

impl Communicator for Timed {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn all_reduce(&self, values: &mut [f32], order: SumOrder) -> Result<(), CommunicationError> {
        {
            let mut spent = self.spent();
            spent.sums += 1;
            spent.values += values.len();
        }
        self.measure(|| self.inner.all_reduce(values, order))
    }

    fn all_reduce_during(
        &self,
        values: &mut [f32],
        order: SumOrder,
        work: &mut dyn FnMut(),
    ) -> Result<(), CommunicationError> {
        let (began, count) = (Instant::now(), values.len());
        let (together, worked, ended) = thread::scope(|scope| {
            let sum = scope.spawn(|| {
                let (together, ()) = self.meet(|| self.inner.all_reduce(values, order))?;
                Ok((together, Instant::now()))
            });
            work();
            let worked = Instant::now();
            let (together, ended) = sum.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            Ok((together, worked, ended))
        })?;
        let mut spent = self.spent();
        spent.early_values += count;
        spent.backward += worked - began;
        spent.hidden += worked.min(ended).saturating_duration_since(together);
        spent.waiting += together.saturating_duration_since(worked);
        spent.exchanging += ended.saturating_duration_since(together.max(worked));
        Ok(())
    }

    fn all_gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, CommunicationError> {
        self.measure(|| self.inner.all_gather(own))
    }
}

/// The speed of sums between processes.
#[derive(Debug, Serialize)]
struct Network {
    /// The latency of a message in seconds.
    latency: f64,
    /// Bytes that a process sends and receives per second.
    bandwidth: f64,
}

impl Network {
    /// Measures short and long sums. Each process exchanges two messages with every other process, one after another.
    /// It sends and receives the whole vector except its own part, twice. Returns `None` if there is a single process.
    fn measure(communicator: &dyn Communicator, order: SumOrder) -> Result<Option<Self>> {
        let processes = communicator.size() as f64;
        let seconds = |values: usize, count: usize| -> Result<f64> {
            let mut vector = vec![0.0; values];
            let mut shortest = f64::INFINITY;
            for _ in 0..count {
                communicator.all_gather(&[])?;
                let began = Instant::now();
                communicator.all_reduce(&mut vector, order)?;
                shortest = shortest.min(began.elapsed().as_secs_f64());
            }
            Ok(shortest)
        };
        if communicator.size() == 1 {
            return Ok(None);
        }
        let (short, long) = (seconds(SHORT, SHORT_SUMS)?, seconds(LONG, LONG_SUMS)?);
        let bytes = 2.0 * (processes - 1.0) / processes * (LONG * size_of::<f32>()) as f64;
        let latency = short / (2.0 * (processes - 1.0));
        Ok(Some(Self { latency, bandwidth: bytes / (long - short).max(f64::MIN_POSITIVE) }))
    }
}

/// The training speed with a given number of processes.
#[derive(Debug, Serialize)]
struct Point {
    processes: usize,
    steps_per_second: f64,
    /// The speed divided by that of one process and by the number of processes.
    efficiency: f64,
    /// Seconds per update, including its rollout, and the parts of it that the leader spends on waiting and on
    /// communication.
    seconds_per_update: f64,
    waiting: f64,
    exchanging: f64,
    /// Seconds per update of communication during backward passes, and of these backward passes.
    hidden: f64,
    backward: f64,
    /// The number of sums after backward passes, their size in bytes, and the size of the sums during backward passes.
    sums_per_update: f64,
    bytes_per_update: f64,
    early_bytes_per_update: f64,
    /// `None` if there is a single process.
    network: Option<Network>,
}

/// Measures every number of processes and prints the results.
pub(super) fn run(args: &BenchClusterArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let mut experiment = config::from_layers(&args.experiment.layers(), None)?.resolve()?;
    check_steps_together(&experiment)?;
    let peers = cluster::peers();
    ensure!(peers.is_some(), "this command needs several processes: mpirun -n 4 ale-train bench cluster");
    processes::settle_shards(&mut experiment);
    let cluster = processes::cluster_of(&experiment)?;
    set_threads(experiment.num_threads())?;
    let builder = cluster::leader_first(|| Builder::new(&experiment, &CommandOverrides::default(), global))?;
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
        let network = |text: fn(&Network) -> String| point.network.as_ref().map_or_else(String::new, text);
        vec![
            point.processes.to_string(),
            rate(point.steps_per_second),
            format!("{:.2}", point.efficiency),
            format!("{:.3}", point.seconds_per_update),
            share(point.waiting),
            share(point.exchanging),
            share(point.hidden),
            network(|network| format!("{:.1}", 1e6 * network.latency)),
            network(|network| format!("{:.1}", 8e-9 * network.bandwidth)),
        ]
    };
    let rows: Vec<_> = points.iter().map(cells).collect();
    let headings = [
        "processes",
        "steps/s",
        "efficiency",
        "s/update",
        "waiting",
        "exchanging",
        "hidden",
        "us/message",
        "Gbit/s",
    ];
    table::print(&headings, &rows, out)
}

/// Trains with the processes of a communicator for some time, after a warm-up of one update.
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
    *timed.spent() = Spent::default();
    let (began, mut updates, mut rounds) = (Instant::now(), 0, 0);
    loop {
        rounds += update(environments.as_mut(), learner.as_mut())?;
        updates += 1;
        // The leader decides for all.
        let is_over = began.elapsed() >= duration;
        if cluster.all_gather(vec![u8::from(is_over)])?[0] == [1] || learner.is_complete() {
            break;
        }
    }
    let seconds_per_update = began.elapsed().as_secs_f64() / f64::from(updates);
    let spent = *timed.spent();
    let per_update = |time: Duration| time.as_secs_f64() / f64::from(updates);
    let bytes = |values: usize| (values * size_of::<f32>()) as f64 / f64::from(updates);
    let order = if experiment.distributed.exact { SumOrder::Tree } else { SumOrder::Any };
    let steps_per_second = (rounds * num_envs) as f64 / f64::from(updates) / seconds_per_update;
    let processes = cluster.num_processes();
    Ok(Point {
        processes,
        steps_per_second,
        efficiency: steps_per_second / alone.unwrap_or(steps_per_second) / processes as f64,
        seconds_per_update,
        waiting: per_update(spent.waiting),
        exchanging: per_update(spent.exchanging),
        hidden: per_update(spent.hidden),
        backward: per_update(spent.backward),
        sums_per_update: f64::from(spent.sums) / f64::from(updates),
        bytes_per_update: bytes(spent.values),
        early_bytes_per_update: bytes(spent.early_values),
        network: Network::measure(timed.inner.as_ref(), order)?,
    })
}

/// Steps all environments until an update is due, and updates the learner. Returns the number of steps of each
/// environment.
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
