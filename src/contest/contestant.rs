//! The players of a match, each with its own view of the games.

use std::path::PathBuf;
use std::sync::Arc;

use ale::{AtariOptions, AtariPlayersEnv};
use algorithms::VectorSpec;
use anyhow::{Context, Result, bail};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{AutoresetMode, Batch, VectorEnv};
use vector::{AtariGroup, AtariPlayersVectorEnv, BatchOrder, PoolOptions};

use crate::agent::TrainedAgent;
use crate::cli::{CheckpointArgs, Global, MatchArgs};
use crate::environments::{Builder, CommandOverrides, copy_side};
use crate::game_mode::GameMode;
use crate::learner::Player;
use crate::telemetry::Printer;

/// The name of the player whose actions are random.
pub(super) const RANDOM: &str = "random";
/// The number of players of a match.
pub(super) const PLAYERS: usize = 2;

/// A player of a match, before its games are known.
pub(super) enum Contestant {
    Random,
    Agent(Box<TrainedAgent>),
}

impl Contestant {
    /// Opens the agent with a name.
    pub(super) fn open(name: &str, printer: &Printer) -> Result<Self> {
        if name == RANDOM {
            return Ok(Self::Random);
        }
        let args = CheckpointArgs { checkpoint: PathBuf::from(name), best: false };
        Ok(Self::Agent(Box::new(TrainedAgent::open(&args, printer)?)))
    }

    /// Returns the modes for two players on which the agent was trained.
    pub(super) fn modes(&self) -> Vec<GameMode> {
        let Self::Agent(trained) = self else { return Vec::new() };
        let modes = trained.experiment.games.names().into_iter().filter_map(GameMode::of_id);
        modes.filter(|mode| mode.players == PLAYERS).collect()
    }

    /// Returns the number of frames of a step, if it matters.
    pub(super) fn frame_skip(&self) -> Option<u32> {
        match self {
            Self::Random => None,
            Self::Agent(trained) => Some(trained.experiment.environments.frame_skip),
        }
    }

    /// Returns the player of `games` games, with its own picture of them and random numbers that follow from `seed`.
    pub(super) fn seat(
        &self,
        games: &MatchGames<'_>,
        seed: u64,
        args: &MatchArgs,
        global: &Global,
    ) -> Result<Seat> {
        match self {
            Self::Random => {
                let view = games.view(&AtariOptions::default(), args)?;
                Ok(Seat { view, mind: Mind::Random(ChaCha8Rng::seed_from_u64(seed)) })
            }
            Self::Agent(trained) => Seat::of_agent(trained, games, seed, args, global),
        }
    }
}

/// The games of a match.
pub(super) struct MatchGames<'a> {
    pub(super) mode: GameMode,
    pub(super) rom: Arc<[u8]>,
    /// The number of games that are played at the same time.
    pub(super) count: usize,
    pub(super) frame_skip: u32,
    pub(super) label: &'a str,
}

impl MatchGames<'_> {
    /// Returns these games with the picture of some options. Everything else is equal in all views, so that equal
    /// actions have equal results.
    fn view(&self, picture: &AtariOptions, args: &MatchArgs) -> Result<AtariPlayersVectorEnv> {
        let options = AtariOptions {
            img_height: picture.img_height,
            img_width: picture.img_width,
            stack_num: picture.stack_num,
            maxpool: picture.maxpool,
            frameskip: self.frame_skip,
            repeat_action_probability: args.sticky,
            modes: vec![self.mode.mode],
            difficulties: vec![self.mode.difficulty],
            full_action_space: true,
            ..AtariOptions::default()
        };
        let group = AtariGroup {
            task: self.label.to_owned(),
            game: self.mode.game,
            rom: Arc::clone(&self.rom),
            num_envs: self.count,
            options,
        };
        let pool = PoolOptions {
            num_threads: args.num_threads,
            batch_order: BatchOrder::InTurn,
            autoreset_mode: AutoresetMode::SameStep,
            ..PoolOptions::default()
        };
        Ok(AtariPlayersVectorEnv::of_groups([group], PLAYERS, pool)?)
    }
}

/// A player with its view of the games.
pub(super) struct Seat {
    pub(super) view: AtariPlayersVectorEnv,
    mind: Mind,
}

enum Mind {
    Random(ChaCha8Rng),
    Agent(AgentMind),
}

/// A trained agent on one side of each game.
struct AgentMind {
    player: Box<dyn Player>,
    /// The index of each of its actions among all actions of the console.
    actions: Vec<i32>,
    /// The last observation and results of its side of each game.
    batch: Batch,
}

impl Seat {
    fn of_agent(
        trained: &TrainedAgent,
        games: &MatchGames<'_>,
        seed: u64,
        args: &MatchArgs,
        global: &Global,
    ) -> Result<Self> {
        let task = task_of(trained, games.mode)?;
        let overrides = CommandOverrides {
            games: Some(trained.experiment.games.only(&[task])),
            ..CommandOverrides::default()
        };
        let builder = Builder::new(&trained.experiment, &overrides, global)?;
        let view = games.view(&builder.evaluation_options(task)?, args)?;
        let codes = builder.action_codes(task).with_context(|| trained.unusable())?;
        let all = view.with_shared(0, AtariPlayersEnv::action_codes)?;
        let index = |code: u8| all.iter().position(|&other| other == code).map(|index| index as i32);
        let learner = trained.restore()?;
        let known = learner.spec().tasks.iter().find(|known| known.name == task);
        let spec = VectorSpec {
            tasks: vec![known.with_context(|| trained.unusable())?.clone()],
            task_ids: vec![0; games.count],
            ..learner.spec().clone()
        };
        let mind = AgentMind {
            player: learner.player(&spec, args.greedy, seed)?,
            actions: codes
                .iter()
                .map(|&code| index(code))
                .collect::<Option<_>>()
                .with_context(|| trained.unusable())?,
            batch: Batch::new(games.count, spec.observation_space.byte_len(), true),
        };
        Ok(Self { view, mind: Mind::Agent(mind) })
    }

    /// Returns an action for each of these sides, one of each game, as an index of the actions of the console.
    pub(super) fn act(&mut self, sides: &[usize]) -> Result<Vec<i32>> {
        let num_actions = self.view.with_shared(0, |env| env.action_codes().len())?;
        match &mut self.mind {
            Mind::Random(rng) => Ok(sides.iter().map(|_| rng.random_range(0..num_actions as i32)).collect()),
            Mind::Agent(AgentMind { player, actions, batch }) => {
                for (row, &side) in sides.iter().enumerate() {
                    copy_side(self.view.batch(), side, PLAYERS, batch, row);
                }
                let chosen = player.act(batch)?;
                let chosen = chosen.discrete().context("the agent has continuous actions")?;
                Ok(chosen.iter().map(|&action| actions[action as usize]).collect())
            }
        }
    }
}

/// Returns the task in which an agent plays a game: this mode, any mode for two players, or the game for one.
fn task_of(trained: &TrainedAgent, mode: GameMode) -> Result<&'static str> {
    let names = trained.experiment.games.names();
    let modes = names.iter().filter_map(|&name| Some((name, GameMode::of_id(name)?)));
    let candidates = modes.filter(|(_, other)| other.game.id == mode.game.id);
    let rank = |other: &GameMode| (other.players != PLAYERS, other.mode != mode.mode);
    let Some((name, _)) = candidates.min_by_key(|(_, other)| rank(other)) else {
        let plays = names.iter().take(3).copied().collect::<Vec<_>>().join(", ");
        bail!("{} was not trained on {}; it plays {plays}", trained.origin.display(), mode.game.id)
    };
    Ok(name)
}
