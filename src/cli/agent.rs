use std::path::PathBuf;

use clap::Args;

/// The choice of a checkpoint.
#[derive(Clone, Debug, Args)]
pub(crate) struct CheckpointArgs {
    /// Folder of a checkpoint, or of a run (then its last checkpoint)
    #[arg(value_name = "CHECKPOINT")]
    pub(crate) checkpoint: PathBuf,
    /// Of a run: the best checkpoint, rather than the last one
    #[arg(long)]
    pub(crate) best: bool,
}

/// The choice of an agent, and how it acts.
#[derive(Clone, Debug, Args)]
pub(crate) struct AgentArgs {
    #[command(flatten)]
    pub(crate) checkpoint: CheckpointArgs,
    /// Take the most probable action each time, rather than drawing one as in training
    #[arg(long)]
    pub(crate) greedy: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Scores are raw: unclipped rewards, whole games.

Examples:
  ale-train eval checkpoints/harvest__ppo__1__1767225600
  ale-train eval checkpoints/RUN --best --greedy --sticky 0.25
  ale-train eval checkpoints/RUN/checkpoints/update-00000400 --episodes 100 --json")]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
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
    #[command(flatten)]
    pub(crate) checkpoint: CheckpointArgs,
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
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    /// The game, where the agent plays several
    #[arg(long, value_name = "GAME")]
    pub(crate) game: Option<String>,
    /// The film to write, which ends in .gif, .apng or .mp4
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Seed of the episode
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
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

impl PlayArgs {
    /// The agent to play beside, if there is one.
    pub(crate) fn agent(&self) -> Option<AgentArgs> {
        let checkpoint = CheckpointArgs { checkpoint: self.checkpoint.clone()?, best: self.best };
        Some(AgentArgs { checkpoint, greedy: self.greedy })
    }
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
