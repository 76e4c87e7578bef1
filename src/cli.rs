//! The command line: what can be asked for, and how it is explained.

// The documentation of a flag is its help text, where backticks would be shown.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::bench::SweepRange;

/// Trains reinforcement learning agents on real Atari 2600 games, with an emulator of its own.
#[derive(Debug, Parser)]
#[command(name = "ale-train", version, propagate_version = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

const EXAMPLES: &str = "Examples:
  ale-train ppo                          train on the built-in open game; needs nothing else
  ale-train ppo --games pong --seed 3    train on Pong; fetches the ROM with pip where it is missing
  ale-train dqn                          the same by DQN
  ale-train eval checkpoints/RUN         play with what was learned
  ale-train COMMAND --help               more about a command";

const DQN: &str = "\
A preset that fits the games is the starting point; --config, --set and the other flags change it, in this order.

Examples:
  ale-train dqn
  ale-train dqn --games pong --total-frames 4000000
  ale-train dqn --config configs/rainbow-dqn.toml --games pong
  ale-train dqn --games pong --set dqn.double=true --set dqn.buffer_size=200000";

const PQN: &str = "\
A preset that fits the games is the starting point; --config, --set and the other flags change it, in this order.

Examples:
  ale-train pqn
  ale-train pqn --games pong --num-envs 32 --total-frames 10000000";

const GLOBAL: &str = "Global options";

/// Flags that every command takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Folder with ROM images [default: $ALE_TRAIN_ROMS, else ale-train/roms in the user's data folder]
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL)]
    pub(crate) rom_dir: Option<PathBuf>,
    /// Never download anything
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) offline: bool,
    /// Print results and errors only
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train an agent with proximal policy optimisation
    Ppo(TrainArgs),
    /// Train an agent with DQN, from the plain one to Rainbow
    #[command(after_help = DQN)]
    Dqn(TrainArgs),
    /// Train an agent with PQN: action values from many environments, without a replay
    #[command(after_help = PQN)]
    Pqn(TrainArgs),
    /// Go on with a run from its last checkpoint
    Resume(ResumeArgs),
    /// Train with several values of some keys and several seeds
    Sweep(SweepArgs),
    /// Play with a trained agent and report its raw scores
    Eval(EvalArgs),
    /// Write a trained network's weights as safetensors, for PyTorch
    Export(ExportArgs),
    /// Film a trained agent at play
    Record(RecordArgs),
    /// Play a game in the terminal, with a trained agent beside
    Play(PlayArgs),
    /// Write a page with the learning curves and scores of runs
    Report(ReportArgs),
    /// Fetch, import and check ROM images
    Roms(RomsArgs),
    /// List the games
    Games(GamesArgs),
    /// Print what a game does, act by act, as JSON Lines
    Trace(TraceArgs),
    /// Print an experiment with every key, or what all keys mean
    Config(ConfigArgs),
    /// Measure how fast this machine emulates and learns
    Bench(BenchArgs),
    /// Print what completes commands and flags in a shell
    Completions(CompletionsArgs),
}

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
Scores are raw: unclipped rewards, whole games.

Examples:
  ale-train eval checkpoints/harvest__ppo__1__1767225600
  ale-train eval checkpoints/RUN --best --greedy --sticky 0.25
  ale-train eval checkpoints/RUN/checkpoints/update-00000400 --episodes 100 --json")]
pub(crate) struct EvalArgs {
    /// Folder of a checkpoint, or of a run (then its last checkpoint)
    #[arg(value_name = "CHECKPOINT")]
    pub(crate) checkpoint: PathBuf,
    /// Of a run: the best checkpoint, rather than the last one
    #[arg(long)]
    pub(crate) best: bool,
    /// Episodes of each game
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) episodes: usize,
    /// Only these of the games that the agent was trained on, separated by commas [default: all of them]
    #[arg(long, value_delimiter = ',', value_name = "GAMES", allow_hyphen_values = true)]
    pub(crate) games: Vec<String>,
    /// Seed of the episodes
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// How likely a frame repeats the action before [default: as in the run's own evaluations]
    #[arg(long, value_name = "P")]
    pub(crate) sticky: Option<f32>,
    /// Take the most probable action each time, rather than drawing one as in training
    #[arg(long)]
    pub(crate) greedy: bool,
    /// Print one JSON object: the figures and the raw episodes
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the raw episodes as CSV: game, episode, return, length in steps
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The names and axes are those of the PyTorch modules in CleanRL's ppo_atari.py: network, actor, critic. `actor` has one
block of rows for each game, of as many rows as the game with the most actions needs. examples/load_in_pytorch.py reads it.

Examples:
  ale-train export checkpoints/RUN --out agent.safetensors
  ale-train export checkpoints/RUN --best --out agent.safetensors")]
pub(crate) struct ExportArgs {
    /// Folder of a checkpoint, or of a run (then its last checkpoint)
    #[arg(value_name = "CHECKPOINT")]
    pub(crate) checkpoint: PathBuf,
    /// Of a run: the best checkpoint, rather than the last one
    #[arg(long)]
    pub(crate) best: bool,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
One episode, the whole screen in its own colours, with the score, the action and the value that the agent sees below. One picture a
step. An .mp4 takes ffmpeg.

Examples:
  ale-train record checkpoints/RUN --out harvest.gif
  ale-train record checkpoints/RUN --best --greedy --out harvest.apng
  ale-train record checkpoints/RUN --game pong --scale 4 --out pong.mp4")]
pub(crate) struct RecordArgs {
    /// Folder of a checkpoint, or of a run (then its last checkpoint)
    #[arg(value_name = "CHECKPOINT")]
    pub(crate) checkpoint: PathBuf,
    /// Of a run: the best checkpoint, rather than the last one
    #[arg(long)]
    pub(crate) best: bool,
    /// The game, where the agent plays several
    #[arg(long, value_name = "GAME")]
    pub(crate) game: Option<String>,
    /// The film to write, which ends in .gif, .apng or .mp4
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Seed of the episode
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Take the most probable action each time, rather than drawing one as in training
    #[arg(long)]
    pub(crate) greedy: bool,
    /// Steps after which the film ends, if the episode has not
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) max_steps: u64,
    /// Pixels of a side of the screen's pixels
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) scale: usize,
}

#[derive(Debug, Default, Args)]
#[command(after_help = "\
Arrows or wasd move the joystick, space is its button, p pauses, r begins anew, q quits. With a checkpoint the agent's reading of the
game stands beside the picture (its value, and the probability or the value of each action), and tab hands the joystick over, and back.

The picture has two of the terminal's colours in each letter: the larger the terminal and the smaller its letters, the better. It wants
all colours ($COLORTERM=truecolor), and does with 256. Where the terminal does not tell when a key is let go (kitty's keyboard protocol
does), a key counts as held for a moment, and its repeats hold it on. Without a checkpoint the game takes an action in each frame, with
one it has the agent's settings, steps of several frames among them.

Examples:
  ale-train play
  ale-train play breakout --mode 12 --difficulty 1
  ale-train play --checkpoint checkpoints/RUN
  ale-train play pong --checkpoint checkpoints/RUN --best --greedy")]
pub(crate) struct PlayArgs {
    /// The game [default: the agent's, or else the built-in one]
    #[arg(value_name = "GAME")]
    pub(crate) game: Option<String>,
    /// Folder of a checkpoint, or of a run (then its last checkpoint), whose agent looks on
    #[arg(long, value_name = "CHECKPOINT")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Of a run: the best checkpoint, rather than the last one
    #[arg(long, requires = "checkpoint")]
    pub(crate) best: bool,
    /// When the agent plays: the most probable action each time, rather than drawing one as in training
    #[arg(long, requires = "checkpoint")]
    pub(crate) greedy: bool,
    /// The game's mode [default: the game's own, or as in training]
    #[arg(long, value_name = "M")]
    pub(crate) mode: Option<u32>,
    /// The difficulty switches [default: 0, or as in training]
    #[arg(long, value_name = "D")]
    pub(crate) difficulty: Option<u32>,
    /// How likely a frame repeats the action before [default: 0, or as in the run's own evaluations]
    #[arg(long, value_name = "P")]
    pub(crate) sticky: Option<f32>,
    /// Seed of the game
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Runs that differ in nothing but their seed are taken together: curves with the band from the lowest run to the highest, scores with
confidence intervals. Others are laid beside each other, named by the keys in which they differ.

Examples:
  ale-train report checkpoints/RUN
  ale-train report checkpoints/pong__ppo__* --out pong.html
  ale-train report checkpoints/pong__ppo__* --out pong.svg")]
pub(crate) struct ReportArgs {
    /// Folders of runs, which may still be going on
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// The page to write; .svg or .png for the curves alone
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ale-train completions bash > ~/.local/share/bash-completion/completions/ale-train
  ale-train completions zsh > ~/.zfunc/_ale-train
  ale-train completions fish > ~/.config/fish/completions/ale-train.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct RomsArgs {
    #[command(subcommand)]
    pub(crate) command: RomsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RomsCommand {
    /// Download the ROMs that the ale-py package ships, with your own pip
    #[command(after_help = "\
Runs `python3 -m pip download --no-deps ale-py==0.12.1`, takes the 108 images out of the wheel and checks every MD5.

Examples:
  ale-train roms fetch
  ale-train roms fetch --rom-dir /srv/roms")]
    Fetch,
    /// Take ROM images from files that you have
    #[command(after_help = "\
Images are recognised by their MD5, whatever the files are called.

Examples:
  ale-train roms import ~/Downloads/ROMS
  ale-train roms import ROMS.zip
  ale-train roms import ale_py-0.12.1-cp311-cp311-manylinux_2_28_x86_64.whl")]
    Import {
        /// Folder (searched with its subfolders), zip archive, wheel or single image
        #[arg(value_name = "DIR|ZIP|WHEEL")]
        source: PathBuf,
    },
    /// Say which images are there, missing or damaged
    #[command(after_help = "\
Examples:
  ale-train roms list
  ale-train roms list --json")]
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ale-train games
  ale-train games --games atari57
  ale-train games --json")]
pub(crate) struct GamesArgs {
    /// Only these games and sets, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "GAMES")]
    pub(crate) games: Vec<String>,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
One JSON object a line and act: frame, action, reward, lives, terminal, truncated, ram (256 hexadecimal digits) and
screen (CRC-32 of the palette indices of all pixels). A game that has ended is reset before the next act.

Examples:
  ale-train trace pong --seed 1 --random-actions 7 --steps 1000
  ale-train trace breakout --seed 1 --actions actions.txt --frame-skip 4 --repeat-action-probability 0")]
pub(crate) struct TraceArgs {
    /// Game id, or path of a ROM image
    #[arg(value_name = "GAME|ROM_PATH")]
    pub(crate) game: String,
    /// Seed of the environment
    #[arg(long, value_name = "N")]
    pub(crate) seed: u32,
    /// Text file with one action code (0 to 17) a line
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "random_actions",
        required_unless_present = "random_actions"
    )]
    pub(crate) actions: Option<PathBuf>,
    /// Choose random actions: legal[MT19937(SEED).next() mod number of legal actions]
    #[arg(long, value_name = "SEED", requires = "steps")]
    pub(crate) random_actions: Option<u32>,
    /// Number of acts with --random-actions
    #[arg(long, value_name = "N", conflicts_with = "actions")]
    pub(crate) steps: Option<u64>,
    /// Frames that one act lasts
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) frame_skip: u32,
    /// How likely a frame repeats the action before
    #[arg(long, value_name = "P", default_value_t = 0.25)]
    pub(crate) repeat_action_probability: f32,
    /// The game's mode [default: the game's own]
    #[arg(long, value_name = "M")]
    pub(crate) mode: Option<u32>,
    /// The difficulty switches [default: 0]
    #[arg(long, value_name = "D")]
    pub(crate) difficulty: Option<u32>,
    /// Run a ROM image that is in no table, without rewards, lives and an end
    #[arg(long)]
    pub(crate) allow_unknown_rom: bool,
}

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
    pub(crate) sweep: Option<SweepRange>,
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
  ale-train bench learner --device wgpu --num-envs 128
  ale-train bench learner --games pong --num-envs 64 --num-threads 2 --json")]
pub(crate) struct BenchLearnerArgs {
    #[command(flatten)]
    pub(crate) subject: BenchSubject,
    #[command(flatten)]
    pub(crate) crew: BenchCrew,
    /// What the network runs on: cpu, wgpu, vulkan or cuda, or one of several, such as cuda:1
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: String,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_shows_an_example() {
        fn check(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            for child in command.get_subcommands() {
                check(child, &path);
            }
            if !command.has_subcommands() {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains(&format!("\n  {}", path.trim())), "`{path} --help` shows no example");
            }
        }
        let command = Cli::command();
        command.clone().debug_assert();
        check(&command, "");
    }
}
