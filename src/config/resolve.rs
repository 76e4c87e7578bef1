//! What is going to be done: complete, with every value checked and every size derived.

use std::thread;

use ale::Game;
use ale::roms::nearest;
use algorithms::dqn::DqnConfig;
use algorithms::networks::PolicyConfig;
use algorithms::ppo::PpoConfig;
use algorithms::pqn::PqnConfig;
use anyhow::{Context, Result, bail, ensure};
use toml::{Table, Value};

use super::{Algorithm, Budgets, RawCheckpoints, RawConfig, RawEnvironments, RawEvaluation, RawReplay};
use crate::device::DeviceName;
use crate::selection;

/// A complete experiment.
#[derive(Clone, Debug)]
pub(crate) struct Experiment {
    /// How the agent learns. Of the configurations of algorithms below only this one's means anything.
    pub(crate) algorithm: Algorithm,
    pub(crate) seed: u64,
    /// Emulated frames over all environments; at most so many are emulated in training.
    pub(crate) total_frames: u64,
    /// Threads that emulate and learn, at least 1.
    pub(crate) num_threads: usize,
    pub(crate) device: DeviceName,
    pub(crate) games: Games,
    /// How much of the training each game gets.
    pub(crate) budgets: Budgets,
    /// The settings of the environments, as they were written.
    pub(crate) environments: RawEnvironments,
    /// What the network looks like.
    pub(crate) policy: PolicyConfig,
    pub(crate) ppo: PpoConfig,
    pub(crate) dqn: DqnConfig,
    pub(crate) pqn: PqnConfig,
    /// Where the replay of DQN is kept, as it was written.
    pub(crate) replay: RawReplay,
    /// When and how the agent is evaluated, as it was written.
    pub(crate) evaluation: RawEvaluation,
    /// When checkpoints are written and which are kept, as it was written.
    pub(crate) checkpoints: RawCheckpoints,
    raw: RawConfig,
}

impl RawEnvironments {
    /// Environments of a game.
    pub(crate) fn num_envs_of(&self, name: &str) -> usize {
        self.game.get(name).and_then(|game| game.num_envs).unwrap_or(self.num_envs)
    }
}

/// What is played.
#[derive(Clone, Debug)]
pub(crate) enum Games {
    /// Atari games, each once.
    Atari(Vec<&'static Game>),
    /// Tasks of the registry, each once. Nothing is emulated: a frame is a step.
    Registered(Vec<&'static str>),
}

impl Games {
    /// What ids and sets mean together.
    pub(crate) fn resolve(names: &[String]) -> Result<Self> {
        ensure!(!names.is_empty(), "environments.games is empty; `ale-train games` lists all games");
        let ids = selection::expand(names.iter().map(String::as_str))?;
        let (atari, registered): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| ale::game(id).is_ok());
        match (atari.first(), registered.first()) {
            (Some(game), Some(task)) => {
                bail!("{task} cannot be trained together with {game}: its observations are no pictures")
            }
            (None, _) => Ok(Self::Registered(registered)),
            (_, None) => Ok(Self::Atari(atari.into_iter().map(ale::game).collect::<Result<_, _>>()?)),
        }
    }

    /// The names, each once.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        match self {
            Self::Atari(games) => games.iter().map(|game| game.id).collect(),
            Self::Registered(ids) => ids.clone(),
        }
    }

    /// How many environments of these games there are.
    fn environments(&self, settings: &RawEnvironments) -> usize {
        self.names().iter().fold(0, |sum, name| sum.saturating_add(settings.num_envs_of(name)))
    }

    /// How good an agent with these mean returns is: their mean over the games, human-normalised where that is possible.
    pub(crate) fn score<'a>(&self, returns: impl IntoIterator<Item = (&'a str, f64)>) -> f64 {
        let normalised = |(name, mean)| self.human_normalised(name, mean).unwrap_or(mean);
        let scores: Vec<f64> = returns.into_iter().map(normalised).collect();
        scores.iter().sum::<f64>() / scores.len() as f64
    }

    /// A score of a game as a share of the way from a random to a human player, where both are known.
    pub(crate) fn human_normalised(&self, name: &str, score: f64) -> Option<f64> {
        match self {
            Self::Atari(games) => games.iter().find(|game| game.id == name)?.human_normalised(score),
            Self::Registered(_) => None,
        }
    }

    /// The highest score that can be reached in a game, where it is known.
    pub(crate) fn best_score(&self, name: &str) -> Option<f64> {
        match self {
            Self::Atari(games) => games.iter().find(|game| game.id == name)?.best_score,
            // One point for each step, until the episode is cut off.
            Self::Registered(_) if name.starts_with("CartPole") => {
                selection::registry().spec(name).ok()?.max_episode_steps.map(f64::from)
            }
            Self::Registered(_) => None,
        }
    }
}

impl RawConfig {
    /// Checks everything and derives what follows from it.
    pub(crate) fn resolve(self) -> Result<Experiment> {
        let mut raw = self;
        let games = Games::resolve(&raw.environments.games)?;
        if matches!(games, Games::Registered(_)) {
            raw.environments.frame_skip = 1;
        }
        let environments = raw.environments.clone();
        check_environments(&environments)?;
        check_games(&games, &environments)?;
        check_probability(
            "evaluation.repeat_action_probability",
            raw.evaluation.repeat_action_probability.unwrap_or(0.0),
        )?;
        ensure!(
            raw.checkpoints.keep_last >= 1,
            "checkpoints.keep_last = 0 is not possible: it must be 1 or more"
        );
        let num_envs = games.environments(&environments);
        let algorithm = raw.experiment.algorithm;
        if environments.halves {
            check_halves(algorithm, num_envs)?;
        }
        let budgets = Budgets::new(&games, &environments)?;
        let total_steps = total_steps(&raw, &budgets, num_envs)?;
        let valid = match algorithm {
            Algorithm::Ppo => {
                raw.ppo.total_steps = total_steps;
                raw.ppo.validate(num_envs)
            }
            Algorithm::Dqn => {
                raw.dqn.total_steps = total_steps;
                raw.dqn.validate()
            }
            Algorithm::Pqn => {
                raw.pqn.total_steps = total_steps;
                raw.pqn.validate(num_envs)
            }
        };
        valid.map_err(|error| anyhow::anyhow!("{algorithm}.{error}"))?;
        let policy = raw.policy.validate().and_then(|()| match algorithm {
            Algorithm::Ppo => raw.policy.validate_minibatches(raw.ppo.num_minibatches, num_envs),
            Algorithm::Dqn => raw.dqn.validate_policy(&raw.policy),
            Algorithm::Pqn => raw.policy.validate_action_values(),
        });
        policy.map_err(|error| anyhow::anyhow!("policy.{error}"))?;
        let device = DeviceName::parse(&raw.experiment.device)?;
        device.check(raw.policy.precision)?;
        Ok(Experiment {
            algorithm,
            seed: raw.experiment.seed,
            total_frames: total_frames(&raw, &budgets),
            num_threads: threads(raw.experiment.num_threads),
            device,
            games,
            budgets,
            environments,
            policy: raw.policy.clone(),
            ppo: raw.ppo.clone(),
            dqn: raw.dqn.clone(),
            pqn: raw.pqn.clone(),
            replay: raw.replay.clone(),
            evaluation: raw.evaluation.clone(),
            checkpoints: raw.checkpoints.clone(),
            raw,
        })
    }
}

impl Experiment {
    /// The experiment as TOML, every key included that means anything to it; reading it gives the same experiment.
    pub(crate) fn to_toml(&self) -> Result<String> {
        // By way of the text, in which an f32 has the digits that were written: 0.2, not 0.20000000298.
        let text = toml::to_string(&self.raw).context("the configuration has no TOML form")?;
        let mut table: Table = text.parse()?;
        for algorithm in [Algorithm::Ppo, Algorithm::Dqn, Algorithm::Pqn] {
            let section = algorithm.to_string();
            if algorithm != self.algorithm {
                table.remove(&section);
            } else if let Some(Value::Table(settings)) = table.get_mut(&section) {
                // It follows from the frames.
                settings.remove("total_steps");
            }
        }
        if self.algorithm != Algorithm::Dqn {
            table.remove("replay");
        }
        Ok(table.to_string())
    }

    /// Emulated frames of a step.
    pub(crate) fn frames_per_step(&self) -> u64 {
        u64::from(self.environments.frame_skip)
    }

    /// Number of environments, all games together.
    pub(crate) fn num_envs(&self) -> usize {
        self.games.environments(&self.environments)
    }
}

/// Whether two halves of so many environments can take turns.
fn check_halves(algorithm: Algorithm, num_envs: usize) -> Result<()> {
    ensure!(
        algorithm != Algorithm::Dqn,
        "environments.halves = true is not possible with dqn: it is for ppo and pqn, which wait for whole rollouts"
    );
    ensure!(
        num_envs.is_multiple_of(2),
        "environments.halves = true is not possible with {num_envs} environments: their number must be even"
    );
    Ok(())
}

/// Gives the networks so many threads, of which the calling one is the first: handing every product to another thread and
/// waiting for it costs a small network a tenth of its time. Once a process, before any network is made, on the thread that
/// runs them.
pub(crate) fn set_threads(num_threads: usize) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(num_threads).use_current_thread();
    pool.build_global().context("cannot start threads")
}

fn check_environments(environments: &RawEnvironments) -> Result<()> {
    let at_least_one = [
        ("num_envs", environments.num_envs),
        ("frame_skip", environments.frame_skip as usize),
        ("stack_num", environments.stack_num),
        ("img_height", environments.img_height),
        ("img_width", environments.img_width),
        ("max_num_frames_per_episode", environments.max_num_frames_per_episode as usize),
    ];
    for (key, value) in at_least_one {
        ensure!(value >= 1, "environments.{key} = {value} is not possible: it must be 1 or more");
    }
    check_probability("environments.repeat_action_probability", environments.repeat_action_probability)
}

fn check_probability(key: &str, probability: f32) -> Result<()> {
    ensure!((0.0..=1.0).contains(&probability), "{key} = {probability} is not possible: it must be in 0..=1");
    Ok(())
}

/// Whether what single games have of their own is possible.
fn check_games(games: &Games, environments: &RawEnvironments) -> Result<()> {
    for (name, settings) in &environments.game {
        let key = format!("environments.game.{name}");
        ensure!(
            games.names().contains(&name.as_str()),
            "{key} is not possible: '{name}' is not among the games of the experiment{}",
            match nearest(name, games.names()).first() {
                Some(near) => format!("; did you mean {near}?"),
                None => String::new(),
            }
        );
        ensure!(settings.num_envs != Some(0), "{key}.num_envs = 0 is not possible: it must be 1 or more");
        ensure!(
            settings.max_num_frames_per_episode != Some(0),
            "{key}.max_num_frames_per_episode = 0 is not possible: it must be 1 or more"
        );
        let game = match games {
            Games::Atari(games) => games.iter().find(|game| game.id == name),
            Games::Registered(_) => None,
        };
        let allowed = [
            ("mode", settings.mode, game.map_or(&[][..], |game| game.modes)),
            ("difficulty", settings.difficulty, game.map_or(&[][..], |game| game.difficulties)),
        ];
        for (what, value, allowed) in allowed {
            if let Some(value) = value.filter(|value| !allowed.contains(value)) {
                bail!("{key}.{what} = {value} is not possible: {name} has {allowed:?}")
            }
        }
        ensure!(
            game.is_some() || settings.max_num_frames_per_episode.is_none(),
            "{key}.max_num_frames_per_episode is not possible: {name} emulates nothing"
        );
    }
    Ok(())
}

/// The frames of the training, over all games: those of the experiment, or of the games where all have a budget and these
/// are fewer.
fn total_frames(raw: &RawConfig, budgets: &Budgets) -> u64 {
    let of_games = budgets.total().map(|steps| steps.saturating_mul(u64::from(raw.environments.frame_skip)));
    raw.experiment.total_frames.min(of_games.unwrap_or(u64::MAX))
}

/// The budget in steps, as a learner counts them. One that does not reach for an update is told in frames, as it was
/// written.
fn total_steps(raw: &RawConfig, budgets: &Budgets, num_envs: usize) -> Result<u64> {
    let frames_per_step = u64::from(raw.environments.frame_skip);
    let num_steps = match raw.experiment.algorithm {
        Algorithm::Ppo => raw.ppo.num_steps,
        Algorithm::Dqn => 1,
        Algorithm::Pqn => raw.pqn.num_steps,
    } as u64;
    let total_frames = raw.experiment.total_frames;
    let least = budgets.steps(num_steps).saturating_mul(frames_per_step);
    ensure!(
        total_frames >= least,
        "experiment.total_frames = {total_frames} is not possible: one update takes {least} frames \
         ({num_envs} environments, {num_steps} steps each, {frames_per_step} frames a step)"
    );
    let steps = total_frames / frames_per_step;
    if raw.experiment.algorithm == Algorithm::Dqn || !budgets.are_limited() {
        return Ok(steps.min(budgets.total().unwrap_or(u64::MAX)));
    }
    // A learner from rollouts counts a row for every environment in every round, also for those that rest. The last rollout
    // of a run that uses up every budget may have rounds in which all rest.
    let updates = match (budgets.total(), budgets.longest()) {
        (Some(total), Some(longest)) if total <= steps => longest.div_ceil(num_steps),
        _ => budgets.rounds(steps) / num_steps,
    };
    Ok(updates.saturating_mul(num_steps).saturating_mul(num_envs as u64))
}

fn threads(wanted: usize) -> usize {
    if wanted > 0 { wanted } else { thread::available_parallelism().map_or(1, usize::from) }
}
