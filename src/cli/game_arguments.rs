use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

use super::complete;
use super::number;

#[derive(Debug, Args)]
pub(crate) struct RomsArgs {
    #[command(subcommand)]
    pub(crate) command: RomsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RomsCommand {
    /// Download the ROMs of the ale-py package with pip
    #[command(after_help = "\
Runs `python3 -m pip download --no-deps ale-py==0.12.1`, extracts the 108 ROMs from the wheel and verifies their MD5.

Examples:
  ale-train roms fetch
  ale-train roms fetch --rom-dir /srv/roms")]
    Fetch,
    /// Import ROMs from files
    #[command(after_help = "\
ROMs are recognised by their MD5; file names do not matter.

Examples:
  ale-train roms import ~/Downloads/ROMS
  ale-train roms import ROMS.zip
  ale-train roms import ale_py-0.12.1-cp311-cp311-manylinux_2_28_x86_64.whl")]
    Import {
        /// Directory (searched recursively), zip archive, wheel or ROM
        #[arg(value_name = "DIR|ZIP|WHEEL")]
        source: PathBuf,
    },
    /// List present, missing and damaged ROMs
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
Every option that takes a game also accepts its names in Gymnasium, Gym and EnvPool: ALE/Pong-v5, \
PongNoFrameskip-v4, Pong. Such a name selects only the game, not the settings that belong to that name, such as \
sticky actions.

Examples:
  ale-train games
  ale-train games --games atari57
  ale-train games --games classic
  ale-train games --json")]
pub(crate) struct GamesArgs {
    /// Games and sets to list, separated by commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "GAMES", add = complete::games())]
    pub(crate) games: Vec<String>,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("source_of_actions").args(["actions", "random_actions"]).required(true)))]
#[command(after_help = "\
Prints one JSON object per step: frame, action, reward, lives, terminal, truncated, ram (256 hexadecimal digits) \
and screen (CRC-32 of the palette indices of all pixels). A game that has ended is reset before the next step.

Examples:
  ale-train trace pong --seed 1 --random-actions 7 --steps 1000
  ale-train trace breakout --seed 1 --actions actions.txt --frame-skip 4 \\
      --repeat-action-probability 0")]
pub(crate) struct TraceArgs {
    /// Id of a game, or path of a ROM
    #[arg(value_name = "GAME|ROM_PATH", add = complete::game())]
    pub(crate) game: String,
    /// Seed of the environment
    #[arg(long, value_name = "N", value_parser = number::at_least::<u32>(0))]
    pub(crate) seed: u32,
    /// Text file with one action code (0 to 17) per line
    #[arg(long, value_name = "FILE")]
    pub(crate) actions: Option<PathBuf>,
    /// Take random actions: each is the legal action at index N mod the number of legal actions, where N is the next
    /// output of MT19937 with this seed
    #[arg(long, value_name = "SEED", requires = "steps", value_parser = number::at_least::<u32>(0))]
    pub(crate) random_actions: Option<u32>,
    /// Number of steps with --random-actions
    #[arg(long, value_name = "N", conflicts_with = "actions", value_parser = number::at_least::<u64>(0))]
    pub(crate) steps: Option<u64>,
    /// Number of frames per step
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = number::at_least::<u32>(1))]
    pub(crate) frame_skip: u32,
    /// Probability that a frame repeats the previous action; in ale-py the default is 0.25
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = number::probability)]
    pub(crate) repeat_action_probability: f32,
    /// Game mode [default: the default of the game]
    #[arg(long, value_name = "M", value_parser = number::at_least::<u32>(0))]
    pub(crate) mode: Option<u32>,
    /// Position of the difficulty switches [default: 0]
    #[arg(long, value_name = "D", value_parser = number::at_least::<u32>(0))]
    pub(crate) difficulty: Option<u32>,
    /// Run an unknown ROM, without rewards, lives or an end of the game
    #[arg(long)]
    pub(crate) allow_unknown_rom: bool,
}
