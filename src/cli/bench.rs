use std::path::PathBuf;

use algorithms::networks::Precision;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};

use crate::bench::RomCounts;

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Measure single games on one thread, without preprocessing
    Emulator(BenchEmulatorArgs),
    /// Measure vector environments: all games together, and each game alone
    Env(BenchEnvArgs),
    /// Measure PPO with the Nature network
    Learner(BenchLearnerArgs),
}

/// What is measured, and for how long.
#[derive(Debug, Args)]
pub(crate) struct BenchSubject {
    /// Games by id or set, separated by commas; `ale-train games` lists them
    #[arg(long, value_delimiter = ',', value_name = "GAMES", default_value = "harvest")]
    pub(crate) games: Vec<String>,
    /// Seconds of each measurement; warming up comes on top
    #[arg(long, value_name = "S", default_value_t = 2.0, allow_negative_numbers = true)]
    pub(crate) seconds: f64,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// How many work on it.
#[derive(Debug, Args)]
pub(crate) struct BenchCrew {
    /// Environments of each game
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) num_envs: usize,
    /// Threads, not more than there are cores [default: all cores]
    #[arg(long, value_name = "T")]
    pub(crate) num_threads: Option<usize>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Emulated frames per second of the act loop with random actions, the picture ready after each act: when every frame is an
act, and with a frame skip of 4. One game after the other, each alone on one thread; --num-envs and --num-threads, which the
other benches have, can only be 1 here.

Examples:
  ale-train bench emulator
  ale-train bench emulator --games atari57 --seconds 1 --json")]
pub(crate) struct BenchEmulatorArgs {
    #[command(flatten)]
    pub(crate) subject: BenchSubject,
    /// One environment at a time: 1 is the only value
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) num_envs: usize,
    /// On one thread: 1 is the only value
    #[arg(long, value_name = "T", default_value_t = 1)]
    pub(crate) num_threads: usize,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Standard preprocessing (frame skip 4, 84x84 grey, max-pool, stack of 4) and random actions. Latency is the time from
handing in the actions of a batch to having the next one. --sweep measures 1, 2, 4, 8, ... ROMs, one environment each:
every game once, then again from the first; the mean of the runs is given with its 95 % confidence interval.

Examples:
  ale-train bench env --games pong --num-envs 32 --num-threads 2
  ale-train bench env --games atari57 --num-envs 4 --batch-size 64 --json
  ale-train bench env --games atari57 --sweep 1..256 --runs 10 --plot sweep.svg")]
pub(crate) struct BenchEnvArgs {
    #[command(flatten)]
    pub(crate) subject: BenchSubject,
    #[command(flatten)]
    pub(crate) crew: BenchCrew,
    /// Rows of a batch; with fewer than there are environments the first that finish make it [default: all]
    #[arg(long, value_name = "B")]
    pub(crate) batch_size: Option<usize>,
    /// Measure growing numbers of ROMs, both ends included
    #[arg(long, value_name = "FIRST..LAST", conflicts_with_all = ["num_envs", "batch_size"])]
    pub(crate) sweep: Option<RomCounts>,
    /// How often each point of the sweep is measured
    #[arg(long, value_name = "N", default_value_t = 10, requires = "sweep")]
    pub(crate) runs: usize,
    /// Draw the sweep
    #[arg(long, value_name = "FILE.svg|png", requires = "sweep")]
    pub(crate) plot: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Samples per second of acting (one batch of all environments) and of updating (CleanRL's hyperparameters; a transition
counts once in every epoch), and steps per second of both together.

Examples:
  ale-train bench learner
  ale-train bench learner --device wgpu --precision f16 --num-envs 128
  ale-train bench learner --games pong --num-envs 64 --num-threads 2 --json")]
pub(crate) struct BenchLearnerArgs {
    #[command(flatten)]
    pub(crate) subject: BenchSubject,
    #[command(flatten)]
    pub(crate) crew: BenchCrew,
    /// What the network runs on: cpu, wgpu, vulkan or cuda, or one of several, such as cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: String,
    /// What layers behind pictures calculate with on a device other than the cpu: f32, bf16 or f16
    #[arg(long, value_name = "NUMBERS", default_value = "f32", value_parser = precision_parser())]
    pub(crate) precision: Precision,
}

/// Of the names of precisions.
fn precision_parser() -> impl TypedValueParser<Value = Precision> {
    let names = PossibleValuesParser::new(Precision::ALL.iter().map(|precision| precision.name()));
    let named = |name: &str| Precision::ALL.iter().find(|precision| precision.name() == name);
    names.map(move |name| *named(&name).expect("a possible value has a precision"))
}
