use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use toml::{Table, Value};

use super::complete;
use super::number;
use super::seeds::Seeds;
use crate::config::{Layers, help};

/// The description of an experiment.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExperimentArgs {
    #[arg(
        long,
        visible_alias = "env",
        alias = "game",
        value_delimiter = ',',
        value_name = "GAMES",
        allow_hyphen_values = true,
        add = complete::games(),
        help = help("environments.games")
    )]
    pub(crate) games: Vec<String>,
    /// Preset to start from; `ale-train presets` lists them [default: the one that fits the games]
    #[arg(long, value_name = "NAME", conflicts_with = "config", add = complete::presets())]
    pub(crate) preset: Option<String>,
    /// TOML file that describes the experiment; a `preset` key before the first section names a preset to start from:
    /// preset = "NAME"
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set one key of the experiment, for example environments.reward_clipping=false; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", add = complete::keys())]
    pub(crate) set: Vec<String>,
    #[arg(long, value_name = "N", value_parser = number::of_key::<u64>("experiment.total_frames"), help = help("experiment.total_frames"))]
    pub(crate) total_frames: Option<u64>,
    #[arg(long, value_name = "N", value_parser = number::of_key::<usize>("environments.num_envs"), help = help("environments.num_envs"))]
    pub(crate) num_envs: Option<usize>,
    #[arg(long, value_name = "T", value_parser = number::of_key::<usize>("experiment.num_threads"), help = help("experiment.num_threads"))]
    pub(crate) num_threads: Option<usize>,
    #[arg(long, value_name = "S", value_parser = number::of_key::<u64>("experiment.seed"), help = help("experiment.seed"))]
    pub(crate) seed: Option<u64>,
    #[arg(long, value_name = "DEVICE", add = complete::devices(), help = help("experiment.device"))]
    pub(crate) device: Option<String>,
}

impl ExperimentArgs {
    /// Returns the layers of the experiment that the flags give.
    pub(crate) fn layers(&self) -> Layers {
        Layers {
            preset: self.preset.clone(),
            file: self.config.clone(),
            set: self.set.clone(),
            flags: flags(self),
            inherited: Table::new(),
        }
    }
}

/// Returns the keys that flags set.
fn flags(args: &ExperimentArgs) -> Table {
    // The parsers of the flags accept only what TOML can hold.
    let integer = |value: u64| Value::Integer(i64::try_from(value).unwrap_or(i64::MAX));
    let games: Vec<Value> = args.games.iter().map(|name| Value::String(name.trim().to_owned())).collect();
    let values = [
        ("experiment", "seed", args.seed.map(integer)),
        ("experiment", "total_frames", args.total_frames.map(integer)),
        ("experiment", "num_threads", args.num_threads.map(|threads| integer(threads as u64))),
        ("experiment", "device", args.device.clone().map(Value::String)),
        ("environments", "num_envs", args.num_envs.map(|count| integer(count as u64))),
        ("environments", "games", (!games.is_empty()).then_some(Value::Array(games))),
    ];
    let mut layer = Table::new();
    for (section, key, value) in values {
        if let Some(value) = value {
            let section = layer.entry(section).or_insert_with(|| Value::Table(Table::new()));
            section.as_table_mut().expect("sections are tables").insert(key.to_owned(), value);
        }
    }
    layer
}

#[derive(Debug, Args)]
#[command(after_help = "\
On the CPU the run continues exactly as if it had never stopped, whatever the number of threads, unless \
`replay.in_checkpoint` is false: then it refills its replay buffer first. --total-frames and --set \
change its settings from this point on; run.json records the changes, and schedules follow the new total.

Examples:
  ale-train resume checkpoints/harvest__ppo__1__1767225600
  ale-train resume checkpoints/RUN --num-threads 4
  ale-train resume checkpoints/RUN --total-frames 80000000
  ale-train resume checkpoints/RUN --set ppo.learning_rate=1e-4 --set ppo.ent_coef=0.001
  ale-train resume checkpoints/RUN/checkpoints/update-00000400")]
pub(crate) struct ResumeArgs {
    /// Directory of a run, or of one of its checkpoints
    #[arg(value_name = "RUN_DIR", add = complete::runs())]
    pub(crate) run_dir: PathBuf,
    /// Total number of frames to train for, including those already trained
    #[arg(long, value_name = "N", value_parser = number::of_key::<u64>("experiment.total_frames"))]
    pub(crate) total_frames: Option<u64>,
    /// Change one key of the run from this point on, for example environments.reward_clipping=false; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", add = complete::keys())]
    pub(crate) set: Vec<String>,
    /// Number of threads for emulation and learning; 0 means one per core [default: as in the experiment]
    #[arg(long, value_name = "T", value_parser = number::of_key::<usize>("experiment.num_threads"))]
    pub(crate) num_threads: Option<usize>,
    /// Device that runs the networks, such as cpu or wgpu [default: as in the experiment]
    #[arg(long, value_name = "DEVICE", add = complete::devices())]
    pub(crate) device: Option<String>,
    /// Print the records of metrics.jsonl to standard output, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Show a table of the games below the progress line even in a small terminal; if standard error is not a terminal,
    /// print it every five minutes
    #[arg(long)]
    pub(crate) per_game: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The run writes the checkpoint after its current update or evaluation and continues. The command prints the path of the \
checkpoint. The command also works on another machine that shares the file system and its locks.

Examples:
  ale-train checkpoint checkpoints/RUN
  ale-train checkpoint checkpoints/RUN --timeout 3600 --json
  ale-train record $(ale-train checkpoint checkpoints/RUN) --out now.gif")]
pub(crate) struct RequestArgs {
    /// Directory of a run in training
    #[arg(value_name = "RUN_DIR", add = complete::runs())]
    pub(crate) run_dir: PathBuf,
    /// Seconds to wait for the checkpoint
    #[arg(long, value_name = "S", default_value_t = 600.0, value_parser = number::seconds)]
    pub(crate) timeout: f64,
    /// Print one JSON object with the path and the progress of the run
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The state of a run is `running` (a process is writing to it), `finished`, `stopped` (`ale-train resume` continues \
it), `unsaved` (it has no checkpoint yet) or `damaged`. The score is the mean return of the newest evaluation (marked \
with *), or else of the last episodes. For several games, it is the mean over the games, human-normalised if it ends \
with %; `43%* of 5` is the mean over the only 5 games that have a human-normalised score.

Examples:
  ale-train runs
  ale-train runs checkpoints/rates
  ale-train runs --json")]
pub(crate) struct RunsArgs {
    /// Directory of runs, searched with its subdirectories [default: checkpoints]
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Trains every combination of the values with every seed, each run in a separate directory. --random N draws N settings \
instead, the same ones each time: from the listed values and, for a key with a range LOW..HIGH, from the range. \
log:LOW..HIGH samples on a logarithmic scale. A linear range between whole numbers, and any range of an integer key, \
yields integers.

Run the command again to continue an interrupted sweep, or with a larger --random to extend a sweep over ranges. At the \
end, a table ranks the settings by the final evaluation (or the last episodes): the mean over the games, \
human-normalised if all settings have such scores of the same games, or of all their games. With --games-each, a table \
of the games comes first, and the settings are ranked by their interquartile mean over the games.

Examples:
  ale-train sweep --run-dir checkpoints/seeds --games pong --seeds 1..3
  ale-train sweep --run-dir checkpoints/agents --games-each atari57 --total-frames 4M --jobs 2
  ale-train sweep --run-dir checkpoints/rates --vary ppo.learning_rate=1e-4,2.5e-4,1e-3 \\
      --seeds 1..3
  ale-train sweep --run-dir checkpoints/random --vary ppo.learning_rate=log:1e-5..1e-2 \\
      --vary ppo.clip_coef=0.1,0.2 --random 20 --jobs 4 --prune halving")]
#[command(group(ArgGroup::new("varied").args(["vary", "seeds", "games_each"]).required(true).multiple(true)))]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,
    /// Ids and sets of games to train a separate agent on each, separated by commas, instead of --games; a leading -
    /// excludes a game or set
    #[arg(
        long,
        visible_alias = "env",
        value_delimiter = ',',
        value_name = "GAMES",
        allow_hyphen_values = true,
        conflicts_with = "games",
        add = complete::games()
    )]
    pub(crate) games_each: Vec<String>,
    /// Key with several values, for example ppo.gamma=0.9,0.99, or with a range, for example ppo.gamma=0.9..0.999; may
    /// be repeated; optional if --seeds or --games-each is given
    #[arg(long, value_name = "KEY=VALUES", add = complete::keys())]
    pub(crate) vary: Vec<String>,
    /// Seeds to train each setting with: 1..5, which includes both ends, or 1,2,7..9 [default: experiment.seed]
    #[arg(long, value_name = "SEEDS", conflicts_with = "seed")]
    pub(crate) seeds: Option<Seeds>,
    /// Number of settings to draw at random [default: all combinations]
    #[arg(long, value_name = "N", value_parser = number::at_least::<usize>(1))]
    pub(crate) random: Option<usize>,
    /// Number of concurrent runs, which share the cores unless --num-threads or --launcher is given
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::between::<usize>(1..=1024))]
    pub(crate) jobs: usize,
    /// End runs early that are worse than others at the same point of training
    #[arg(long, value_enum, value_name = "RULE")]
    pub(crate) prune: Option<PruneRule>,
    /// Command that starts each run, such as "srun -n1 -c8" or "mpirun -n 4"; quotes work as in a shell
    #[arg(long, value_name = "COMMAND", value_parser = launcher)]
    pub(crate) launcher: Option<Launcher>,
    /// Directory of the sweep
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: PathBuf,
}

/// Which runs of a sweep end early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PruneRule {
    /// Those below the median of at least four others, from a quarter of the training on (Golovin et al. 2017).
    Median,
    /// All but the best third after 1/27, 1/9 and 1/3 of training: asynchronous successive halving (Li et al. 2020).
    Halving,
}

/// A program and its arguments, to which a command line is added.
#[derive(Clone, Debug)]
pub(crate) struct Launcher {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
}

/// Splits a command into its words. Errors complete "it must be ...".
fn launcher(command: &str) -> Result<Launcher, String> {
    let words = shlex::split(command).ok_or("a command in which every quote is closed")?;
    let (program, arguments) = words.split_first().ok_or("a command of at least one word")?;
    Ok(Launcher { program: program.clone(), arguments: arguments.to_vec() })
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ale-train config
  ale-train config --games atari57,-skiing --set ppo.gamma=0.999 > mine.toml
  ale-train config --reference")]
pub(crate) struct ConfigArgs {
    /// Print every key with its type, default, values and meaning
    #[arg(long, conflicts_with = "ExperimentArgs")]
    pub(crate) reference: bool,
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,
}
