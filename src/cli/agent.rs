use std::path::PathBuf;

use clap::Args;

use super::complete;
use super::number;
use crate::tensors::Precision;

/// A trained agent.
#[derive(Clone, Debug, Args)]
pub(crate) struct CheckpointArgs {
    /// Directory of a run (its last checkpoint is used) or of a checkpoint, file from `ale-train export`, or zoo:NAME
    #[arg(value_name = "AGENT", add = complete::agents())]
    pub(crate) checkpoint: PathBuf,
    /// Use the best checkpoint of a run instead of the last one
    #[arg(long)]
    pub(crate) best: bool,
}

/// A trained agent and how it acts.
#[derive(Clone, Debug, Args)]
pub(crate) struct AgentArgs {
    #[command(flatten)]
    pub(crate) checkpoint: CheckpointArgs,
    /// Take the best action in every step instead of sampling as in training
    #[arg(long)]
    pub(crate) greedy: bool,
}

/// How Atari games are emulated for an agent.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct EmulationArgs {
    /// Probability that a frame repeats the previous action [default: as in the run's evaluations]
    #[arg(long, value_name = "P", value_parser = number::probability)]
    pub(crate) sticky: Option<f32>,
    /// Mode of every game [default: as in training]
    #[arg(long, value_name = "M", value_parser = number::at_least::<u32>(0))]
    pub(crate) mode: Option<u32>,
    /// Position of the difficulty switches in every game [default: as in training]
    #[arg(long, value_name = "D", value_parser = number::at_least::<u32>(0))]
    pub(crate) difficulty: Option<u32>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Scores are sums of unclipped rewards over full episodes.

Examples:
  ale-train eval checkpoints/harvest__ppo__1__1767225600
  ale-train eval zoo:harvest
  ale-train eval checkpoints/RUN --best --greedy --sticky 0.25
  ale-train eval zoo:breakout --mode 12 --difficulty 1
  ale-train eval checkpoints/RUN/checkpoints/update-00000400 --episodes 100 --json")]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    /// The number of episodes of each game
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = number::at_least::<usize>(1))]
    pub(crate) episodes: usize,
    /// Games to evaluate, separated by commas [default: all games that the agent was trained on]
    #[arg(long, value_delimiter = ',', value_name = "GAMES", allow_hyphen_values = true, add = complete::games())]
    pub(crate) games: Vec<String>,
    /// Seed of the episodes
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = number::at_least::<u64>(0))]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) emulation: EmulationArgs,
    /// Number of threads for emulation and the network; 0 means one per core [default: as in the experiment]
    #[arg(long, value_name = "T", value_parser = number::threads)]
    pub(crate) num_threads: Option<usize>,
    /// Print one JSON object with the statistics and the episodes
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the episodes as CSV: game, episode, return, length in steps
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The names and axes are those of the PyTorch modules in CleanRL's scripts: network, actor and critic for PPO, and \
the corresponding modules for DQN, PQN and SAC. With several games, `actor` has one block of rows per game; each block \
has as many rows as the game with the most actions needs. \
The Python module ale_train.pytorch loads agents with discrete actions.

Examples:
  ale-train export checkpoints/RUN --out agent.safetensors
  ale-train export checkpoints/RUN --best --out agent.safetensors
  ale-train export checkpoints/RUN --dtype f16 --out small.safetensors
  ale-train export zoo:atari57 --games pong,breakout --out two.safetensors
  ale-train export zoo:pong --out pong.onnx
  ale-train export checkpoints/RUN --card my-agent --license apache-2.0
  ale-train eval small.safetensors")]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) checkpoint: CheckpointArgs,
    /// File to write, with the extension .safetensors or .onnx
    #[arg(long, value_name = "FILE", required_unless_present = "card")]
    pub(crate) out: Option<PathBuf>,
    /// Directory to write for the Hugging Face Hub: a model card with scores, videos and curves, and the agent. It must
    /// be empty or not exist
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub(crate) card: Option<PathBuf>,
    /// Licence of the agent on its card, such as apache-2.0 [default: none, or that of the zoo]
    #[arg(long, value_name = "ID", conflicts_with = "out")]
    pub(crate) license: Option<String>,
    /// Games that the exported agent shall play, separated by commas [default: all games that the agent was trained on]
    #[arg(long, value_delimiter = ',', value_name = "GAMES", allow_hyphen_values = true, add = complete::games())]
    pub(crate) games: Vec<String>,
    /// Data type of the weights in a .safetensors file; 16-bit floats halve its size
    #[arg(long, value_name = "TYPE", value_enum, default_value_t)]
    pub(crate) dtype: Precision,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Records one episode: the screen in colour, a drawing of classic control or toy text, a picture of a MuJoCo task, or the \
frames of an environment in Python, with the score, the action and the value estimate below, one frame per step. MP4 \
needs ffmpeg, and MuJoCo's pictures need libOSMesa or libEGL.

Examples:
  ale-train record checkpoints/RUN --out harvest.gif
  ale-train record checkpoints/RUN --best --greedy --out harvest.apng
  ale-train record checkpoints/RUN --game pong --scale 4 --out pong.mp4
  ale-train record zoo:atari57 --mosaic --max-steps 300 --out games.mp4")]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    /// The game, if the agent was trained on several; with --mosaic, the games, separated by commas [default: all]
    // The alias is for users of other commands, which take several games with `--games`.
    #[arg(long, alias = "games", value_name = "GAME", add = complete::game())]
    pub(crate) game: Option<String>,
    /// Show several games beside each other, each with its score. Episodes that end begin anew
    #[arg(long)]
    pub(crate) mosaic: bool,
    /// Video to write, with the extension .gif, .apng or .mp4
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Seed of the episode
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = number::at_least::<u64>(0))]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) emulation: EmulationArgs,
    /// Number of threads for emulation and the network; 0 means one per core [default: as in the experiment]
    #[arg(long, value_name = "T", value_parser = number::threads)]
    pub(crate) num_threads: Option<usize>,
    /// The maximum number of steps
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = number::at_least::<u64>(1))]
    pub(crate) max_steps: u64,
    /// Scale factor of the screen [default: 2 for Atari games, 1 for others and mosaics]
    #[arg(long, value_name = "N", value_parser = number::between::<usize>(1..=16))]
    pub(crate) scale: Option<usize>,
}

#[derive(Debug, Default, Args)]
#[command(after_help = "\
The arrow keys or wasd move the joystick, space is the fire button, p pauses, r restarts, q or Esc quits. With a \
checkpoint, the agent's value estimate and the probability or value of each action are shown, and tab passes the \
joystick to the agent and back.

Use a large terminal with a small font: each character shows two pixels. Colours are best with $COLORTERM=truecolor; \
otherwise 256 colours are used. Terminals with the kitty keyboard protocol report key releases. In others, a key \
counts as held for a moment after each press or repeat. Without a checkpoint, the game takes an action in \
every frame; with one, it uses the agent's settings, including its frame skip.

Examples:
  ale-train play
  ale-train play breakout@12.1 --sound
  ale-train play --checkpoint zoo:harvest --watch
  ale-train play --checkpoint checkpoints/RUN
  ale-train play --checkpoint checkpoints/RUN --versus
  ale-train play pong --checkpoint checkpoints/RUN --best --greedy")]
pub(crate) struct PlayArgs {
    /// Game to play [default: the agent's game, or the built-in game without an agent]
    #[arg(value_name = "GAME", add = complete::game())]
    pub(crate) game: Option<String>,
    /// Agent to play with: directory of a run or of a checkpoint, file from `ale-train export`, or zoo:NAME
    #[arg(long, value_name = "AGENT", add = complete::agents())]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Use the best checkpoint of a run instead of the last one
    #[arg(long, requires = "checkpoint")]
    pub(crate) best: bool,
    /// Let the agent take the best action in every step instead of sampling as in training
    #[arg(long, requires = "checkpoint")]
    pub(crate) greedy: bool,
    /// Start with the agent in control of the joystick. Agents of environments other than Atari games can only be
    /// watched
    #[arg(long, requires = "checkpoint")]
    pub(crate) watch: bool,
    /// Play against the agent, as the first player of a game such as pong@2p
    #[arg(long, requires = "checkpoint", conflicts_with = "watch")]
    pub(crate) versus: bool,
    /// Play the sound of an Atari game with pacat, aplay, play (of SoX) or ffplay
    #[arg(long)]
    pub(crate) sound: bool,
    /// Game mode [default: as in training, or the default of the game without an agent]
    #[arg(long, value_name = "M", value_parser = number::at_least::<u32>(0))]
    pub(crate) mode: Option<u32>,
    /// Position of the difficulty switches [default: as in training, or 0 without an agent]
    #[arg(long, value_name = "D", value_parser = number::at_least::<u32>(0))]
    pub(crate) difficulty: Option<u32>,
    /// Probability that a frame repeats the previous action [default: as in the run's evaluations, or 0 without an
    /// agent]
    #[arg(long, value_name = "P", value_parser = number::probability)]
    pub(crate) sticky: Option<f32>,
    /// Seed of the game
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = number::at_least::<u64>(0))]
    pub(crate) seed: u64,
}

impl PlayArgs {
    /// Returns the agent to play with, if there is one.
    pub(crate) fn agent(&self) -> Option<AgentArgs> {
        let checkpoint = CheckpointArgs { checkpoint: self.checkpoint.clone()?, best: self.best };
        Some(AgentArgs { checkpoint, greedy: self.greedy })
    }
}
