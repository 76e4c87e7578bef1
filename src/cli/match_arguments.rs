use clap::Args;

use super::complete;
use super::number;

#[derive(Debug, Args)]
#[command(after_help = "\
Both agents take turns in being the first player. An agent that was trained alone plays as it was trained: it sees the \
screen and does not know its side. The frame skip of both must be equal.

Examples:
  ale-train match checkpoints/RUN random
  ale-train match checkpoints/RUN checkpoints/RUN/checkpoints/update-00000100 --episodes 200
  ale-train match zoo:pong random --games pong
  ale-train match a.safetensors b.safetensors --games pong,boxing --json")]
pub(crate) struct MatchArgs {
    /// Directory of a run or a checkpoint, file from `ale-train export`, zoo:NAME, or `random`
    #[arg(value_name = "AGENT", add = complete::agents())]
    pub(crate) first: String,
    /// Its opponent
    #[arg(value_name = "OPPONENT", add = complete::agents())]
    pub(crate) second: String,
    /// Games to play, separated by commas; pong is pong@2p here [default: the games of two players on which the agents
    /// were trained]
    #[arg(long, value_delimiter = ',', value_name = "GAMES", add = complete::games())]
    pub(crate) games: Vec<String>,
    /// The number of episodes of each game
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = number::at_least::<usize>(1))]
    pub(crate) episodes: usize,
    /// Take the best action in every step instead of sampling as in training
    #[arg(long)]
    pub(crate) greedy: bool,
    /// Probability that a frame repeats the previous action
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = number::probability)]
    pub(crate) sticky: f32,
    /// Seed of the episodes
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = number::at_least::<u64>(0))]
    pub(crate) seed: u64,
    /// Number of threads for emulation and the networks; 0 means one per core
    #[arg(long, value_name = "T", default_value_t = 0, value_parser = number::threads)]
    pub(crate) num_threads: usize,
    /// Print one JSON object with the results of all episodes
    #[arg(long)]
    pub(crate) json: bool,
}
