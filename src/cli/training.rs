use std::path::PathBuf;

use clap::Args;

pub(super) const DQN: &str = "\
A preset that fits the games is the starting point; --config, --set and the other flags change it, in this order.

Examples:
  ale-train dqn
  ale-train dqn --games pong --total-frames 4000000
  ale-train dqn --config configs/rainbow-dqn.toml --games pong
  ale-train dqn --games pong --set dqn.double=true --set dqn.buffer_size=200000";

pub(super) const PQN: &str = "\
A preset that fits the games is the starting point; --config, --set and the other flags change it, in this order.

Examples:
  ale-train pqn
  ale-train pqn --games pong --num-envs 32 --total-frames 10000000";

#[derive(Debug, Args)]
#[command(after_help = "\
A preset that fits the games is the starting point; --config, --set and the other flags change it, in this order.

Examples:
  ale-train ppo
  ale-train ppo --games pong --total-frames 10000000
  ale-train ppo --games pong,breakout,seaquest --num-envs 8
  ale-train ppo --games atari57,-skiing
  ale-train ppo --games Acrobot-v1
  ale-train ppo --config configs/pong-ppo.toml --set ppo.learning_rate=1e-4 --seed 3
  ale-train ppo --games pong --set evaluation.interval_frames=1000000 --json --quiet > curves.jsonl")]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,
    /// Folder for telemetry and checkpoints, which must not hold a run yet [default: checkpoints/GAMES__ALGORITHM__SEED__TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: Option<PathBuf>,
    /// Print one JSON object a line, the same as in the run's metrics.jsonl, and nothing else on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The run continues exactly where its checkpoint was taken, as if it had never stopped, whatever the number of threads.

Examples:
  ale-train resume checkpoints/harvest__ppo__1__1767225600
  ale-train resume checkpoints/RUN --num-threads 4
  ale-train resume checkpoints/RUN/checkpoints/update-00000400")]
pub(crate) struct ResumeArgs {
    /// Folder of the run, or of one of its checkpoints
    #[arg(value_name = "RUN_DIR")]
    pub(crate) run_dir: PathBuf,
    /// Threads that emulate and learn [default: as before]
    #[arg(long, value_name = "T")]
    pub(crate) num_threads: Option<usize>,
    /// What the networks run on, such as cpu or wgpu [default: as before]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Print one JSON object a line, the same as in the run's metrics.jsonl, and nothing else on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
All combinations of the values with each seed, each run in a folder of its own. With --random so many settings are drawn instead, always
the same ones: among the combinations or, where a key has a range LOW..HIGH (or log:LOW..HIGH, in which each decade is as likely),
anywhere in it; whole numbers where both ends are. The same command goes on with a sweep that was stopped, and a larger --random adds
to one with ranges. At the end a table of the settings, the best first: the mean over the games of the closing evaluation (or of
the last episodes), human-normalised where that is possible.

Examples:
  ale-train sweep --run-dir checkpoints/rates --vary ppo.learning_rate=1e-4,2.5e-4,1e-3 --seeds 1,2,3
  ale-train sweep --run-dir checkpoints/random --vary ppo.learning_rate=log:1e-5..1e-2 --vary ppo.clip_coef=0.1,0.2 --random 20 --jobs 4")]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,
    /// A key and its values, for example ppo.gamma=0.9,0.99, or its range, for example ppo.gamma=0.9..0.999; may be repeated
    #[arg(long, value_name = "KEY=VALUES", required = true)]
    pub(crate) vary: Vec<String>,
    /// Seeds of the runs of each setting
    #[arg(long, value_delimiter = ',', value_name = "SEEDS", default_value = "1", conflicts_with = "seed")]
    pub(crate) seeds: Vec<u64>,
    /// Only so many settings, drawn at random
    #[arg(long, value_name = "N")]
    pub(crate) random: Option<usize>,
    /// Runs side by side, which share the cores unless --num-threads says how many threads each has
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) jobs: usize,
    /// Folder of the sweep
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: PathBuf,
}

/// What an experiment is made of.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExperimentArgs {
    /// Games by id or set, separated by commas, `-` before those to leave out; `ale-train games` lists them [default: the
    /// built-in open game]
    #[arg(long, value_delimiter = ',', value_name = "GAMES", allow_hyphen_values = true)]
    pub(crate) games: Vec<String>,
    /// TOML file that describes the experiment
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Change one key of the experiment, for example ppo.learning_rate=1e-4; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Emulated frames to train for, over all environments
    #[arg(long, value_name = "N")]
    pub(crate) total_frames: Option<u64>,
    /// Environments of each game
    #[arg(long, value_name = "N")]
    pub(crate) num_envs: Option<usize>,
    /// Threads that emulate and learn [default: all cores]
    #[arg(long, value_name = "T")]
    pub(crate) num_threads: Option<usize>,
    /// Seed of everything random
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// What the networks run on: cpu, wgpu, vulkan or cuda, or one of several, such as cuda:1 [default: cpu]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ale-train config
  ale-train config --games atari57,-skiing --set ppo.gamma=0.999 > mine.toml
  ale-train config --reference")]
pub(crate) struct ConfigArgs {
    /// Print every key with its type, default, range and meaning
    #[arg(long)]
    pub(crate) reference: bool,
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,
}
