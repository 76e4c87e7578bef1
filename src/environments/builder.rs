//! The builder of the environments of an experiment.

use std::sync::Arc;

use ale::Game;
use algorithms::VectorSpec;
use algorithms::cluster::Cluster;
use anyhow::{Result, bail, ensure};
use rl_env::AutoresetMode;
use vector::{AtariGroup, AtariVectorEnv, BatchOrder, PoolOptions};

use super::padded::padded_length;
use super::roms::{GameWithRom, with_roms};
use super::self_play::{AgentSettings, SelfPlay};
use super::share::Share;
use super::{Environments, Purpose, provided};
use crate::cli::EmulationArgs;
use crate::config::{EnvironmentSettings, Experiment, Flavour, Games};
use crate::global::Global;
use crate::mujoco_tasks;
use crate::selection;

/// Deviations from an experiment that apply to one command and are never saved.
#[derive(Default)]
pub(crate) struct CommandOverrides {
    /// The games, instead of all games of the experiment.
    pub(crate) games: Option<Games>,
    /// Probability that a frame repeats the previous action in an evaluation.
    pub(crate) evaluation_repeat_probability: Option<f32>,
    /// The mode of every game.
    pub(crate) mode: Option<u32>,
    /// The difficulty switches of every game.
    pub(crate) difficulty: Option<u32>,
    /// The number of threads.
    pub(crate) num_threads: Option<usize>,
}

impl CommandOverrides {
    /// Returns the overrides of the flags that change the emulation.
    pub(crate) fn of_emulation(args: &EmulationArgs) -> Self {
        let &EmulationArgs { sticky, mode, difficulty } = args;
        Self { evaluation_repeat_probability: sticky, mode, difficulty, ..Self::default() }
    }

    /// Fails if an override of the emulation applies to tasks that are not Atari games.
    fn check(&self, games: &Games) -> Result<()> {
        if matches!(games, Games::Atari(_)) {
            return Ok(());
        }
        let flags = [
            ("sticky", self.evaluation_repeat_probability.is_some_and(|probability| probability > 0.0)),
            ("mode", self.mode.is_some()),
            ("difficulty", self.difficulty.is_some()),
        ];
        if let Some((flag, _)) = flags.into_iter().find(|(_, is_given)| *is_given) {
            bail!("--{flag} is not possible: {} is not an Atari game", games.names()[0]);
        }
        Ok(())
    }
}

/// Builds the environments of an experiment. It holds the ROMs, so building cannot fail because of a missing ROM.
pub(crate) struct Builder {
    pub(super) games: Games,
    /// The Atari games with their ROMs, each once; none for other tasks.
    pub(super) roms: Vec<GameWithRom>,
    pub(super) settings: EnvironmentSettings,
    /// Probability that a frame repeats the previous action in an evaluation.
    pub(super) evaluation_repeat_probability: f32,
    pub(super) num_threads: usize,
    /// The agents of the experiment.
    agents: AgentSettings,
}

impl Builder {
    /// Loads the ROMs of the experiment. Downloads missing ones unless `--offline` is set.
    pub(crate) fn new(
        experiment: &Experiment,
        overrides: &CommandOverrides,
        global: &Global,
    ) -> Result<Self> {
        let games = overrides.games.as_ref().unwrap_or(&experiment.games).clone();
        overrides.check(&games)?;
        let games = games.in_mode(overrides.mode, overrides.difficulty);
        let roms = match &games {
            Games::Atari(flavours) => with_roms(&distinct_games(flavours), global)?,
            Games::Tasks(ids) => {
                if ids.iter().any(|id| selection::family(id) == Some(mujoco::FAMILY)) {
                    mujoco_tasks::obtain(global)?;
                }
                Vec::new()
            }
        };
        let settings = experiment.environments.clone();
        let evaluation_repeat_probability = overrides
            .evaluation_repeat_probability
            .or(experiment.evaluation.repeat_action_probability)
            .unwrap_or(settings.repeat_action_probability);
        Ok(Self {
            games,
            roms,
            evaluation_repeat_probability,
            settings,
            num_threads: overrides.num_threads.unwrap_or_else(|| experiment.num_threads()),
            agents: AgentSettings::of(experiment)?,
        })
    }

    /// Returns the Atari games with their ROMs.
    pub(crate) fn roms(&self) -> &[GameWithRom] {
        &self.roms
    }

    /// Returns the ROM of a game.
    pub(super) fn rom(&self, game: &Game) -> Arc<[u8]> {
        let of_game = self.roms.iter().find(|with_rom| with_rom.game.id == game.id);
        Arc::clone(&of_game.expect("every game of the experiment has a ROM").rom)
    }

    /// Returns the games, in the flavours that are played.
    pub(crate) fn games(&self) -> &Games {
        &self.games
    }

    /// Returns the number of threads that step environments.
    pub(crate) fn num_threads(&self) -> usize {
        self.num_threads
    }

    /// Returns the probability that a frame repeats the previous action in an evaluation.
    pub(crate) fn evaluation_repeat_probability(&self) -> f32 {
        self.evaluation_repeat_probability
    }

    /// Builds the training environments, ordered by game.
    ///
    /// Their autoreset mode is `SameStep`, in which every row of an active environment is a step, so that budgets of
    /// frames are met exactly.
    pub(crate) fn build_training(&self) -> Result<Box<dyn Environments>> {
        let batch_size = if self.settings.take_turns() { self.num_training_envs() / 2 } else { 0 };
        self.build_groups(Purpose::Training, batch_size, 0, |name| self.settings.num_envs_of(name))
    }

    /// Builds an environment of each game for evaluation. Vectors of observations are at least as long as those of
    /// `trained`, because an agent may have been trained on further games with longer ones.
    pub(crate) fn build_evaluation_of_each(
        &self,
        trained: Option<&VectorSpec>,
    ) -> Result<Box<dyn Environments>> {
        let min_length = trained.and_then(|spec| padded_length(&spec.observation_space)).unwrap_or(0);
        self.build_groups(Purpose::Evaluation, 0, min_length, |_| 1)
    }

    /// Builds `num_envs` environments of one game for evaluation, with the observations of `spec`.
    pub(crate) fn build_evaluation_of(
        &self,
        game: &str,
        num_envs: usize,
        spec: &VectorSpec,
    ) -> Result<Box<dyn Environments>> {
        let min_length = padded_length(&spec.observation_space).unwrap_or(0);
        self.build_groups(Purpose::Evaluation, 0, min_length, |name| if name == game { num_envs } else { 0 })
    }

    /// Builds an environment other than an Atari game whose frames are shown, for a player of environments like those
    /// of `spec`. Only the caller resets it.
    pub(crate) fn build_shown(&self, spec: &VectorSpec) -> Result<Box<dyn Environments>> {
        let min_length = padded_length(&spec.observation_space).unwrap_or(0);
        self.build_groups(Purpose::Showing, 0, min_length, |_| 1)
    }

    /// Builds the training environments of this process, with the specification of those of all processes.
    pub(crate) fn build_share(&self, cluster: &Cluster) -> Result<(Box<dyn Environments>, VectorSpec)> {
        if cluster.num_processes() == 1 {
            let environments = self.build_training()?;
            let spec = self.spec(environments.as_ref())?;
            return Ok((environments, spec));
        }
        ensure!(
            !self.settings.take_turns(),
            "environments.halves = true is not possible with several processes"
        );
        if let Some(id) = self.games.first_of_several_players() {
            bail!(
                "{id} cannot be trained by several processes: its environments need earlier versions of the agent"
            );
        }
        if let Some(id) = self.games.python_task_among_others() {
            bail!(
                "{id} cannot be trained by several processes together with tasks that do not run in Python"
            );
        }
        let spec = self.spec(self.build_groups(Purpose::Training, 0, 0, |_| 1)?.as_ref())?;
        let num_envs = |task: usize| self.settings.num_envs_of(&spec.tasks[task].name);
        let task_ids = (0..spec.tasks.len()).flat_map(|task| std::iter::repeat_n(task, num_envs(task)));
        let spec = VectorSpec { task_ids: task_ids.collect(), ..spec };
        let envs = cluster.own_envs(spec.num_envs());
        let min_length = padded_length(&spec.observation_space).unwrap_or(0);
        let local = self.build_groups(Purpose::Training, 0, min_length, |name| {
            envs.clone().filter(|&env| spec.tasks[spec.task_ids[env]].name == name).count()
        })?;
        Ok((Box::new(Share::new(local, envs, &spec)), spec))
    }

    /// Builds `num_envs` environments of each game. Vectors of observations have at least `min_observation_length`
    /// elements.
    fn build_groups(
        &self,
        purpose: Purpose,
        batch_size: usize,
        min_observation_length: usize,
        num_envs: impl Fn(&str) -> usize,
    ) -> Result<Box<dyn Environments>> {
        let pool = PoolOptions {
            batch_size,
            batch_order: BatchOrder::InTurn,
            num_threads: self.num_threads,
            autoreset_mode: match purpose {
                Purpose::Showing => AutoresetMode::Disabled,
                Purpose::Training | Purpose::Evaluation => AutoresetMode::SameStep,
            },
            ..PoolOptions::default()
        };
        match &self.games {
            Games::Atari(flavours) => {
                let groups = flavours.iter().map(|flavour| AtariGroup {
                    task: flavour.id.to_owned(),
                    game: flavour.game,
                    rom: self.rom(flavour.game),
                    num_envs: num_envs(flavour.id),
                    options: self.options(flavour, purpose),
                });
                let groups: Vec<_> = groups.filter(|group| group.num_envs > 0).collect();
                match flavours[0].players {
                    1 => Ok(Box::new(AtariVectorEnv::of_groups(groups, pool)?)),
                    players => Ok(Box::new(self.build_self_play(groups, players, purpose, pool)?)),
                }
            }
            Games::Tasks(ids) if ids[0].starts_with(provided::PREFIX) => provided::build(ids[0]),
            Games::Tasks(ids) => {
                let groups = ids.iter().map(|&id| (id, num_envs(id))).filter(|(_, num_envs)| *num_envs > 0);
                self.build_tasks(&groups.collect::<Vec<_>>(), purpose, pool, min_observation_length)
            }
        }
    }

    /// Builds environments of games of several players. Except in training, the opponents are random players.
    fn build_self_play(
        &self,
        groups: Vec<AtariGroup>,
        players: usize,
        purpose: Purpose,
        pool: PoolOptions,
    ) -> Result<SelfPlay> {
        if purpose != Purpose::Training {
            return SelfPlay::new(groups, players, 1.0, pool);
        }
        let settings = self.settings.self_play.clone();
        let mut environments = SelfPlay::new(groups, players, settings.past_share, pool)?;
        let spec = self.spec(&environments)?;
        environments.train_against_versions(settings, self.agents.clone(), &spec);
        Ok(environments)
    }

    fn num_training_envs(&self) -> usize {
        self.games.names().iter().map(|name| self.settings.num_envs_of(name)).sum()
    }
}

/// Returns the games of some flavours, each once.
fn distinct_games(flavours: &[Flavour]) -> Vec<&'static Game> {
    let mut games: Vec<&'static Game> = Vec::new();
    for game in flavours.iter().map(|flavour| flavour.game) {
        if games.iter().all(|known| known.id != game.id) {
            games.push(game);
        }
    }
    games
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use crate::config;

    /// Returns the builder of an experiment in TOML, without downloads.
    pub(in super::super) fn try_builder(experiment: &str, overrides: &CommandOverrides) -> Result<Builder> {
        let experiment = config::from_toml(experiment).unwrap().resolve().unwrap();
        let global = Global { rom_dir: Some("nowhere".into()), offline: true, quiet: true };
        Builder::new(&experiment, overrides, &global)
    }

    pub(in super::super) fn builder(experiment: &str, overrides: &CommandOverrides) -> Builder {
        try_builder(experiment, overrides).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use rl_env::ResetSeeds;

    use super::testing::{builder, try_builder};
    use super::*;

    #[test]
    fn impossible_overrides_are_refused_before_anything_is_obtained() {
        let overrides = CommandOverrides { mode: Some(1), ..CommandOverrides::default() };
        let error = try_builder("[environments]\ngames = ['Ant-v5']\n", &overrides).err().unwrap();
        assert_eq!(error.to_string(), "--mode is not possible: Ant-v5 is not an Atari game");
    }

    /// Returns the first position of a mountain car, in training and in an evaluation.
    fn first_positions(rescale: bool) -> [f32; 2] {
        let experiment = format!(
            "[environments]\ngames = ['MountainCar-v0']\nnum_envs = 1\nrescale_observations = {rescale}\n"
        );
        let overrides = CommandOverrides { num_threads: Some(1), ..CommandOverrides::default() };
        let builder = builder(&experiment, &overrides);
        [builder.build_training(), builder.build_evaluation_of_each(None)].map(|environments| {
            let mut environments = environments.unwrap();
            environments.reset(ResetSeeds::From(1)).unwrap().observations.row_f32(0)[0]
        })
    }

    #[test]
    fn observations_are_rescaled_if_the_experiment_says_so() {
        for (plain, rescaled) in first_positions(false).into_iter().zip(first_positions(true)) {
            // Positions are in -1.2..=0.6.
            let expected = (plain + 0.3) / 0.9;
            assert!(plain < -0.3 && (rescaled - expected).abs() < 1e-6, "{plain}, {rescaled}");
        }
    }
}
