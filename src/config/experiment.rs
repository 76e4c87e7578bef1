use std::collections::BTreeMap;
use std::mem;

use algorithms::ValueScale;
use algorithms::networks::{PolicyConfig, Precision};
use anyhow::{Context, Result, bail, ensure};
use settings::Settings;
use toml::Table;

use super::budgets::Budgets;
use super::experiment_games::{Games, check_override};
use super::key_path::quoted;
use super::schema;
use super::sections::{
    CheckpointSettings, DistributedSettings, EnvironmentSettings, EvaluationSettings, GameSettings,
    RunSettings,
};
use super::written::{Config, Sections, table_of};
use crate::device::DeviceName;
use crate::game_mode::GameMode;
use crate::learner::{Algorithm, AlgorithmConfig};
use crate::output::counted;
use crate::telemetry::Moment;
use crate::threads::threads_or_cores;

/// A validated experiment: its settings, and the values derived from them.
#[derive(Debug)]
pub(crate) struct Experiment {
    pub(crate) run: RunSettings,
    pub(crate) environments: EnvironmentSettings,
    pub(crate) policy: PolicyConfig,
    /// The settings of the algorithm, with the number of steps that training lasts.
    pub(crate) algorithm: Box<dyn AlgorithmConfig>,
    pub(crate) evaluation: EvaluationSettings,
    pub(crate) checkpoints: CheckpointSettings,
    pub(crate) distributed: DistributedSettings,
    pub(crate) device: DeviceName,
    pub(crate) games: Games,
    pub(crate) budgets: Budgets,
    /// Warnings about how the experiment was written.
    pub(crate) notes: Vec<String>,
}

impl Config {
    /// Validates the experiment and derives the other values.
    pub(crate) fn resolve(self) -> Result<Experiment> {
        let Self { mut sections, mut algorithm, mut notes, preset: _, inherited: _ } = self;
        notes.extend(sections.environments.use_ids()?);
        let games = Games::resolve(&sections.environments.games)?;
        if !matches!(games, Games::Atari(_)) {
            let frame_skip = mem::replace(&mut sections.environments.frame_skip, 1);
            if ![1, EnvironmentSettings::default().frame_skip].contains(&frame_skip) {
                notes.push(without_effect(&["environments.frame_skip".to_owned()]));
            }
        }
        check_limits(&sections)?;
        check_games(&games, &sections.environments)?;
        let games = games.with(&sections.environments);
        check_distinct(&games)?;
        check_actions(&games, sections.run.algorithm)?;
        check_self_play(&games, &sections, algorithm.as_ref())?;
        let num_envs = games.num_envs(&sections.environments);
        if sections.environments.halves == Some(true) {
            check_halves(&sections.run, algorithm.as_ref(), &games, num_envs)?;
        }
        let budgets = Budgets::new(&games, &sections.environments)?;
        algorithm.set_total_steps(total_steps(&sections, algorithm.as_ref(), &budgets, num_envs)?);
        algorithm.validate(&sections.policy, num_envs)?;
        let device = DeviceName::parse(&sections.run.device)?;
        device.check(sections.policy.precision)?;
        ensure!(
            device.is_cpu() || !algorithm.has_intrinsic_rewards(),
            "ppo.rnd.enabled = true is not possible with experiment.device = {device}: it needs the CPU"
        );
        let Sections { run, environments, policy, evaluation, checkpoints, distributed } = sections;
        Ok(Experiment {
            run,
            environments,
            policy,
            algorithm,
            evaluation,
            checkpoints,
            distributed,
            device,
            games,
            budgets,
            notes,
        })
    }
}

impl Experiment {
    /// Decides whether halves of the environments take turns in a new run, unless this is configured. They do on
    /// devices other than the CPU, because such a device would otherwise wait for the environments. `is_alone` is false
    /// for one of several processes.
    pub(crate) fn settle_halves(&mut self, is_alone: bool) {
        let is_possible =
            check_halves(&self.run, self.algorithm.as_ref(), &self.games, self.num_envs()).is_ok();
        self.environments.halves.get_or_insert(is_alone && is_possible && !self.device.is_cpu());
    }

    /// Decides by how much at least the returns of a new run are divided with `popart`, unless this is configured:
    /// clipped rewards need no scaling up.
    pub(crate) fn settle_popart_floor(&mut self) {
        if self.policy.value_scale == ValueScale::PopArt && self.clips_rewards() {
            self.policy.popart_floor.get_or_insert(1.0);
        }
    }

    /// Returns true if the layers for images should multiply 16-bit numbers on the CPU.
    pub(crate) fn has_16_bit_products(&self) -> bool {
        self.policy.precision == Precision::Bf16 && self.device.is_cpu()
    }

    /// Returns the experiment as TOML, with every key that it uses. Reading it gives the same experiment.
    pub(crate) fn to_toml(&self) -> Result<String> {
        Ok(self.table()?.to_string())
    }

    /// Returns the optional keys without a value, except for those of single games.
    pub(crate) fn absent_keys(&self) -> Result<Vec<String>> {
        Ok(schema::absent_keys(&self.table()?, self.run.algorithm))
    }

    fn table(&self) -> Result<Table> {
        let sections = Sections {
            run: self.run.clone(),
            environments: self.environments.clone(),
            policy: self.policy.clone(),
            evaluation: self.evaluation.clone(),
            checkpoints: self.checkpoints.clone(),
            distributed: self.distributed.clone(),
        };
        table_of(&sections, self.algorithm.as_ref())
    }

    /// Returns the number of emulated frames of training, over all environments.
    pub(crate) fn total_frames(&self) -> u64 {
        let budget = self.budgets.total().map(|steps| steps.saturating_mul(self.frames_per_step()));
        self.run.total_frames.min(budget.unwrap_or(u64::MAX))
    }

    /// Returns true if training is complete at a point of the run.
    pub(crate) fn is_complete(&self, moment: &Moment) -> bool {
        if self.algorithm.is_on_policy() {
            moment.updates >= self.num_updates()
        } else {
            moment.steps >= self.algorithm.total_steps()
        }
    }

    /// Returns the number of updates of complete training with an on-policy algorithm.
    fn num_updates(&self) -> u64 {
        let rollout = self.num_envs() as u64 * self.algorithm.steps_per_update();
        self.algorithm.total_steps() / rollout
    }

    /// Returns the number of emulated frames after which training is complete: at most those of the experiment, of
    /// which too few for another update remain. Environments that step together may exceed it in their last step.
    pub(crate) fn final_frames(&self) -> u64 {
        let steps = if self.algorithm.is_on_policy() {
            self.budgets.steps(self.num_updates() * self.algorithm.steps_per_update())
        } else {
            self.algorithm.total_steps()
        };
        steps.saturating_mul(self.frames_per_step())
    }

    /// Returns the share of training that is done at a point of the run, in per cent: 100 only once it is complete.
    pub(crate) fn percent_done(&self, moment: &Moment) -> u8 {
        if self.is_complete(moment) {
            return 100;
        }
        let share = u128::from(moment.frames) * 100 / u128::from(self.final_frames().max(1));
        share.min(99) as u8
    }

    /// Returns the number of threads that emulate and learn.
    pub(crate) fn num_threads(&self) -> usize {
        threads_or_cores(self.run.num_threads)
    }

    /// Returns the number of emulated frames per step.
    pub(crate) fn frames_per_step(&self) -> u64 {
        u64::from(self.environments.frame_skip)
    }

    /// Returns true if every reward of training is clipped to -1, 0 or 1. Only Atari games have this option.
    pub(crate) fn clips_rewards(&self) -> bool {
        self.environments.reward_clipping && matches!(self.games, Games::Atari(_))
    }

    /// Returns the number of environments of all games.
    pub(crate) fn num_envs(&self) -> usize {
        self.games.num_envs(&self.environments)
    }
}

/// Returns the warning about keys of the emulation.
pub(super) fn without_effect(keys: &[String]) -> String {
    let verb = if keys.len() == 1 { "has" } else { "have" };
    format!("{} {verb} no effect: only Atari games are emulated", keys.join(", "))
}

/// Fails at the first value outside the limits of its key. Those of the network and the algorithm are validated
/// together.
fn check_limits(sections: &Sections) -> Result<()> {
    let Sections { run, environments, evaluation, checkpoints, distributed, .. } = sections;
    run.check().map_err(|error| error.within("experiment"))?;
    environments.check().map_err(|error| error.within("environments"))?;
    evaluation.check().map_err(|error| error.within("evaluation"))?;
    checkpoints.check().map_err(|error| error.within("checkpoints"))?;
    distributed.check().map_err(|error| error.within("distributed"))?;
    Ok(())
}

/// Fails unless two halves of the environments can take turns.
fn check_halves(
    run: &RunSettings,
    algorithm: &dyn AlgorithmConfig,
    games: &Games,
    num_envs: usize,
) -> Result<()> {
    if let Some(id) = games.python_task_among_others() {
        bail!(
            "environments.halves = true is not possible with {id}, because other tasks do not run in Python"
        );
    }
    if let Some(id) = games.first_of_several_players() {
        bail!("environments.halves = true is not possible with {id}, whose players step together");
    }
    ensure!(
        algorithm.is_on_policy(),
        "environments.halves = true is not possible with {}: it needs an algorithm that waits for whole rollouts",
        run.algorithm
    );
    ensure!(
        num_envs.is_multiple_of(2),
        "environments.halves = true is not possible with {num_envs} environments: their number must be even"
    );
    Ok(())
}

/// Fails at the first game whose kind of actions the algorithm does not support.
fn check_actions(games: &Games, algorithm: Algorithm) -> Result<()> {
    for name in games.names() {
        let Some(kind) = games.action_kind(name) else { continue };
        let learns = |algorithm: &&Algorithm| algorithm.descriptor().actions.contains(&kind);
        let others: Vec<String> =
            Algorithm::ALL.iter().filter(learns).map(|other| format!("`ale-train {other}`")).collect();
        ensure!(
            learns(&&algorithm),
            "{algorithm} cannot be trained on {name}, whose actions are {}; use {}",
            kind.name(),
            alternatives(&others)
        );
    }
    Ok(())
}

/// Fails unless the agent can play several sides of a game.
fn check_self_play(games: &Games, sections: &Sections, algorithm: &dyn AlgorithmConfig) -> Result<()> {
    let Some(id) = games.first_of_several_players() else { return Ok(()) };
    ensure!(
        algorithm.is_on_policy(),
        "{} cannot be trained on {id}, a game of several players; use `ale-train ppo` or `ale-train pqn`",
        sections.run.algorithm
    );
    ensure!(
        !algorithm.has_intrinsic_rewards(),
        "ppo.rnd.enabled = true is not possible with {id}: the last channel of its observations is not a frame"
    );
    ensure!(
        sections.policy.lstm == 0 || sections.environments.self_play.past_share == 0.0,
        "policy.lstm is not possible with {id}: earlier versions of the agent have no memory; set \
         environments.self_play.past_share = 0"
    );
    Ok(())
}

/// Returns the items separated by commas, with "or" before the last one.
fn alternatives(items: &[String]) -> String {
    match items {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        items => items.concat(),
    }
}

/// Fails at the first invalid override for a single game.
fn check_games(games: &Games, environments: &EnvironmentSettings) -> Result<()> {
    for (name, overrides) in &environments.game {
        let key = format!("environments.game.{}", quoted(name));
        check_override(name, &games.names())?;
        let GameSettings { mode, difficulty, max_num_frames_per_episode: limit, total_frames, .. } =
            overrides;
        let flavour = games.flavour(name);
        let game = flavour.map(|flavour| flavour.game);
        let variants = [
            ("mode", mode, flavour.and_then(|flavour| flavour.game.modes_for(flavour.players).ok())),
            ("difficulty", difficulty, game.map(|game| game.difficulties)),
        ];
        for (setting, drawn, allowed) in variants {
            let Some(drawn) = drawn else { continue };
            let allowed = allowed.with_context(|| not_emulated(&key, setting, name))?;
            ensure!(
                GameMode::of_id(name).is_some_and(|mode| !mode.deviates()),
                "{key}.{setting} is not possible: {name} names a mode and a difficulty"
            );
            if let Some(value) = drawn.values().iter().find(|value| !allowed.contains(value)) {
                bail!("{key}.{setting} = {value} is invalid: it must be one of {allowed:?}")
            }
        }
        ensure!(limit.is_none() || game.is_some(), not_emulated(&key, "max_num_frames_per_episode", name));
        let shares = flavour.is_some_and(|flavour| flavour.players > 1);
        ensure!(
            !shares || total_frames.is_none(),
            "{key}.total_frames is not possible: the players of {name} share their environments"
        );
    }
    Ok(())
}

fn not_emulated(key: &str, setting: &str, name: &str) -> String {
    format!("{key}.{setting} is not possible: {name} is not emulated")
}

/// Fails if settings give two games the same mode.
fn check_distinct(games: &Games) -> Result<()> {
    let mut seen = BTreeMap::new();
    for flavour in games.names().into_iter().filter_map(|name| games.flavour(name)) {
        let variant = flavour.variant();
        if let Some(other) = seen.insert(variant.clone(), flavour.id) {
            bail!("{other} and {} are the same task: both are {variant}", flavour.id)
        }
    }
    Ok(())
}

/// Returns the number of training steps, as a learner counts them. The error for too few of them is in frames, the unit
/// of the key.
fn total_steps(
    sections: &Sections,
    algorithm: &dyn AlgorithmConfig,
    budgets: &Budgets,
    num_envs: usize,
) -> Result<u64> {
    let frames_per_step = u64::from(sections.environments.frame_skip);
    let num_steps = algorithm.steps_per_update();
    let total_frames = sections.run.total_frames;
    let least = budgets.steps(num_steps).saturating_mul(frames_per_step);
    ensure!(
        total_frames >= least,
        "experiment.total_frames = {total_frames} is not possible: one update takes {least} frames \
         ({}, {} each, {} per step)",
        counted(num_envs, "environment"),
        counted(num_steps as usize, "step"),
        counted(frames_per_step as usize, "frame")
    );
    let steps = total_frames / frames_per_step;
    if !algorithm.is_on_policy() || !budgets.has_any_limit() {
        return Ok(steps.min(budgets.total().unwrap_or(u64::MAX)));
    }
    // On-policy learners count a row for every environment in every round, even for environments at rest. In the last
    // rollout of a run that uses up every budget, all environments may be at rest in some rounds.
    let updates = match (budgets.total(), budgets.max_rounds()) {
        (Some(total), Some(longest)) if total <= steps => longest.div_ceil(num_steps),
        _ => budgets.rounds_within(steps) / num_steps,
    };
    Ok(updates.saturating_mul(num_steps).saturating_mul(num_envs as u64))
}
