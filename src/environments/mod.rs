//! The vector environments of an experiment.

mod joined;
mod padded;
pub(crate) mod provided;
#[cfg(unix)]
mod python;
mod registered;
mod share;

use std::ops::Range;
use std::sync::Arc;

use ale::{ACTION_FACTORS, ACTIONS, AtariEnv, AtariOptions, CHOICES, Game, PoweredGame, RgbImage};
use algorithms::cluster::Cluster;
use algorithms::networks::MIN_PICTURE_SIDE;
use algorithms::{Task, VectorSpec};
use anyhow::{Context, Result, ensure};
use rl_env::{Actions, AutoresetMode, Env as _, EnvError, VectorEnv, VectorError};
use vector::{AtariGroup, AtariVectorEnv, BatchOrder, PoolOptions, PoolVectorEnv};

use crate::config::{EnvironmentSettings, Experiment, Games};
use crate::global::Global;
use crate::mujoco_tasks;
use crate::rom_sources;
use crate::selection;

use joined::Joined;
use padded::{Padded, length_of, padded_length};
use registered::registered;
use share::Share;

/// Maximum number of steps of an episode, that of an Atari game. `CliffWalking-v1` has no limit, so the evaluation of
/// an agent that keeps walking into a wall would never end.
const LONGEST_EPISODE: u32 = 27_000;

/// The purpose of environments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Training with the settings of the experiment.
    Training,
    /// Evaluation on full episodes: the loss of a life has no effect.
    Evaluation,
    /// The same, with frames. The caller resets the environments after the end of an episode, whose last frame is
    /// shown.
    Showing,
}

/// A vector environment with screens, of which some environments can be stepped alone.
pub(crate) trait Environments: VectorEnv {
    /// Sends one action to each of the given environments, none of which may be stepping, and returns at once.
    fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError>;

    /// Returns the screen of an environment that is not stepping, if it has one.
    fn screen(&self, env: usize) -> Result<Option<RgbImage>, VectorError>;

    /// Returns the number of steps in a second at the usual speed, if it is known.
    fn frames_per_second(&self, _env: usize) -> Result<Option<f64>, VectorError> {
        Ok(None)
    }

    /// Limits the number of further steps of an environment, after which it [rests](PoolVectorEnv::limit_steps).
    fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError>;

    /// Returns the reason why snapshots do not hold the state of the environments. Not called between `send` and
    /// `recv`.
    fn unsaved(&self) -> Option<String> {
        None
    }

    /// Returns the reason why a snapshot does not hold the state of the environments, so that they must be reset
    /// instead of restored.
    fn lost_state(&self, _snapshot: &[u8]) -> Option<String> {
        None
    }

    /// Joins the snapshots of the parts of all processes, in the order of their environments.
    fn join_snapshots(&self, parts: &[Vec<u8>]) -> Result<Vec<u8>, VectorError> {
        vector::join_snapshots(parts)
    }

    /// Returns the part of a snapshot that belongs to some environments.
    fn part_of_snapshot(&self, snapshot: &[u8], envs: Range<usize>) -> Result<Vec<u8>, VectorError> {
        vector::part_of_snapshot(snapshot, envs)
    }

    /// Returns true if an environment has failed in a step. From then on `recv` returns no results of environments: the
    /// episodes are truncated where they were. Snapshots do not hold the state of the environments.
    fn has_failed(&self) -> bool {
        false
    }
}

impl Environments for AtariVectorEnv {
    fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError> {
        self.send_to(actions, env_ids)
    }

    fn screen(&self, env: usize) -> Result<Option<RgbImage>, VectorError> {
        self.render(env).map(Some)
    }

    fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError> {
        PoolVectorEnv::limit_steps(self, env, steps)
    }
}

impl Environments for PoolVectorEnv<Padded> {
    fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError> {
        self.send_to(actions, env_ids)
    }

    fn screen(&self, env: usize) -> Result<Option<RgbImage>, VectorError> {
        let drawn = self.with_env(env, Padded::draw)?;
        drawn.map_err(|error| VectorError::Env { env, error: EnvError::Failed(error.to_string()) })
    }

    fn frames_per_second(&self, env: usize) -> Result<Option<f64>, VectorError> {
        self.with_env(env, Padded::frames_per_second)
    }

    fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError> {
        PoolVectorEnv::limit_steps(self, env, steps)
    }
}

/// A game with its ROM.
pub(crate) type WithRom = (&'static Game, Arc<[u8]>);

/// Returns the games with their ROMs. Downloads missing ROMs unless `--offline` is set.
pub(crate) fn with_roms(games: &[&'static Game], global: &Global) -> Result<Vec<WithRom>> {
    let (sources, pip) = (rom_sources::sources(global), rom_sources::pip(global));
    games.iter().map(|&game| Ok((game, sources.obtain(game.id, pip.as_ref())?))).collect()
}

/// Deviations from an experiment that apply to one command and are never saved.
#[derive(Default)]
pub(crate) struct Overrides {
    /// The games, instead of all games of the experiment.
    pub(crate) games: Option<Games>,
    /// Probability that a frame repeats the previous action in an evaluation.
    pub(crate) repeat_action_probability: Option<f32>,
    /// The mode of every game.
    pub(crate) mode: Option<u32>,
    /// The difficulty switches of every game.
    pub(crate) difficulty: Option<u32>,
    /// The number of threads.
    pub(crate) num_threads: Option<usize>,
}

/// Builds the environments of an experiment. It holds the ROMs, so building cannot fail because of a missing ROM.
pub(crate) struct Builder {
    games: Games,
    /// The Atari games with their ROMs; none for other tasks.
    roms: Vec<WithRom>,
    settings: EnvironmentSettings,
    /// Probability that a frame repeats the previous action in an evaluation.
    evaluation_stickiness: f32,
    mode: Option<u32>,
    difficulty: Option<u32>,
    num_threads: usize,
}

impl Builder {
    /// Loads the ROMs of the experiment. Downloads missing ones unless `--offline` is set.
    pub(crate) fn new(experiment: &Experiment, overrides: &Overrides, global: &Global) -> Result<Self> {
        let games = overrides.games.as_ref().unwrap_or(&experiment.games).clone();
        let games = games.in_mode(overrides.mode, overrides.difficulty);
        let roms = match &games {
            Games::Atari(flavours) => {
                let games: Vec<_> = flavours.iter().map(|flavour| flavour.game).collect();
                with_roms(&games, global)?
            }
            Games::Tasks(ids) => {
                if ids.iter().any(|id| selection::family(id) == Some(mujoco::FAMILY)) {
                    mujoco_tasks::obtain(global)?;
                }
                Vec::new()
            }
        };
        let settings = experiment.environments.clone();
        let is_sticky = overrides.repeat_action_probability.is_some_and(|probability| probability > 0.0);
        if !matches!(games, Games::Atari(_)) {
            let flags = [
                ("sticky", is_sticky),
                ("mode", overrides.mode.is_some()),
                ("difficulty", overrides.difficulty.is_some()),
            ];
            let flag = flags.into_iter().find(|(_, is_given)| *is_given);
            ensure!(
                flag.is_none(),
                "--{} is not possible: {} is not an Atari game",
                flag.map_or("", |(flag, _)| flag),
                games.names()[0]
            );
        }
        let stickiness =
            overrides.repeat_action_probability.or(experiment.evaluation.repeat_action_probability);
        Ok(Self {
            games,
            roms,
            evaluation_stickiness: stickiness.unwrap_or(settings.repeat_action_probability),
            mode: overrides.mode,
            difficulty: overrides.difficulty,
            settings,
            num_threads: overrides.num_threads.unwrap_or_else(|| experiment.num_threads()),
        })
    }

    /// Returns the Atari games with their ROMs.
    pub(crate) fn roms(&self) -> &[WithRom] {
        &self.roms
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
    pub(crate) fn evaluation_stickiness(&self) -> f32 {
        self.evaluation_stickiness
    }

    /// Builds the training environments, ordered by game.
    ///
    /// Their autoreset mode is `SameStep`, in which every row of an active environment is a step, so that budgets of
    /// frames are met exactly.
    pub(crate) fn build(&self) -> Result<Box<dyn Environments>> {
        let batch_size = if self.settings.take_turns() { self.num_training_envs() / 2 } else { 0 };
        self.build_some(Purpose::Training, batch_size, 0, |name| self.settings.num_envs_of(name))
    }

    /// Builds an environment of each game for evaluation. Vectors of observations are at least as long as those of
    /// `trained`, because an agent may have been trained on further games with longer ones.
    pub(crate) fn build_one_of_each(&self, trained: Option<&VectorSpec>) -> Result<Box<dyn Environments>> {
        let length = trained.and_then(|spec| padded_length(&spec.observation_space)).unwrap_or(0);
        self.build_some(Purpose::Evaluation, 0, length, |_| 1)
    }

    /// Builds `num_envs` environments of one game for evaluation, with the observations of `spec`.
    pub(crate) fn build_of(
        &self,
        game: &str,
        num_envs: usize,
        spec: &VectorSpec,
    ) -> Result<Box<dyn Environments>> {
        let length = padded_length(&spec.observation_space).unwrap_or(0);
        self.build_some(Purpose::Evaluation, 0, length, |name| if name == game { num_envs } else { 0 })
    }

    /// Builds an environment other than an Atari game whose frames are shown, for a player of environments like those
    /// of `spec`. Only the caller resets it.
    pub(crate) fn build_shown(&self, spec: &VectorSpec) -> Result<Box<dyn Environments>> {
        let length = padded_length(&spec.observation_space).unwrap_or(0);
        self.build_some(Purpose::Showing, 0, length, |_| 1)
    }

    /// Builds the training environments of this process, with the specification of those of all processes.
    pub(crate) fn build_share(&self, cluster: &Cluster) -> Result<(Box<dyn Environments>, VectorSpec)> {
        if cluster.num_processes() == 1 {
            let environments = self.build()?;
            let spec = self.spec(environments.as_ref())?;
            return Ok((environments, spec));
        }
        ensure!(
            !self.settings.take_turns(),
            "environments.halves = true is not possible with several processes"
        );
        let in_python = self.games.in_python();
        ensure!(
            in_python.is_empty() || in_python.len() == self.games.names().len(),
            "{} cannot be trained by several processes together with tasks that do not run in Python",
            in_python[0]
        );
        let spec = self.spec(self.build_some(Purpose::Training, 0, 0, |_| 1)?.as_ref())?;
        let num_envs = |task: usize| self.settings.num_envs_of(&spec.tasks[task].name);
        let task_ids = (0..spec.tasks.len()).flat_map(|task| std::iter::repeat_n(task, num_envs(task)));
        let spec = VectorSpec { task_ids: task_ids.collect(), ..spec };
        let envs = cluster.own_envs(spec.num_envs());
        let length = padded_length(&spec.observation_space).unwrap_or(0);
        let local = self.build_some(Purpose::Training, 0, length, |name| {
            envs.clone().filter(|&env| spec.tasks[spec.task_ids[env]].name == name).count()
        })?;
        Ok((Box::new(Share::new(local, envs, &spec)), spec))
    }

    /// Builds `num_envs` environments of each game. Vectors of observations have at least `length` elements.
    fn build_some(
        &self,
        purpose: Purpose,
        batch_size: usize,
        length: usize,
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
            Games::Atari(_) => {
                let groups = self.roms.iter().map(|(game, rom)| AtariGroup {
                    game,
                    rom: Arc::clone(rom),
                    num_envs: num_envs(game.id),
                    options: self.options(game.id, purpose),
                });
                let groups = groups.filter(|group| group.num_envs > 0);
                Ok(Box::new(AtariVectorEnv::of_groups(groups, pool)?))
            }
            Games::Tasks(ids) if ids[0].starts_with(provided::PREFIX) => provided::build(ids[0]),
            Games::Tasks(ids) => {
                let groups = ids.iter().map(|&id| (id, num_envs(id))).filter(|(_, num_envs)| *num_envs > 0);
                self.build_tasks(&groups.collect::<Vec<_>>(), purpose, pool, length)
            }
        }
    }

    /// Builds environments of tasks, given the id and the number of each.
    fn build_tasks(
        &self,
        groups: &[(&'static str, usize)],
        purpose: Purpose,
        pool: PoolOptions,
        length: usize,
    ) -> Result<Box<dyn Environments>> {
        let (in_python, built_in): (Vec<_>, Vec<_>) =
            groups.iter().copied().partition(|(id, _)| selection::is_in_python(id));
        let padded = |length| {
            let copies = built_in.iter().flat_map(|&(id, num_envs)| std::iter::repeat_n(id, num_envs));
            registered(copies, self.settings.rescale_observations, length)
        };
        let Some((python_id, _)) = in_python.first() else {
            return Ok(Box::new(PoolVectorEnv::new(padded(length)?, pool)?));
        };
        let own_length = padded(length)?.first().and_then(|(_, env)| length_of(env.observation_space()));
        let python =
            self.build_in_python(&in_python, purpose, pool.batch_size, own_length.unwrap_or(length))?;
        let Some((id, _)) = built_in.first() else { return Ok(python) };
        ensure!(
            !self.settings.gymnasium.action_masks,
            "environments.gymnasium.action_masks = true is not possible: {id} has no action masks"
        );
        let length = length_of(python.single_observation_space()).with_context(|| {
            format!("{id} cannot be trained together with {python_id}, whose observations are images")
        })?;
        let built_in = PoolVectorEnv::new(padded(length)?, pool)?;
        let ids: Vec<&str> = groups.iter().map(|&(id, _)| id).collect();
        Ok(Box::new(Joined::new(vec![Box::new(built_in), python], &ids)))
    }

    /// Builds environments in Python, given the name and the number of each. Vectors of observations have at least
    /// `length` elements.
    #[cfg(unix)]
    fn build_in_python(
        &self,
        groups: &[(&str, usize)],
        purpose: Purpose,
        batch_size: usize,
        length: usize,
    ) -> Result<Box<dyn Environments>> {
        let workers = match self.settings.gymnasium.workers {
            0 => self.num_threads,
            workers => workers,
        };
        python::build(groups, &self.settings.gymnasium, purpose, workers, batch_size, length)
    }

    #[cfg(not(unix))]
    fn build_in_python(
        &self,
        _: &[(&str, usize)],
        _: Purpose,
        _: usize,
        _: usize,
    ) -> Result<Box<dyn Environments>> {
        anyhow::bail!("environments in Python are not supported on this system")
    }

    fn num_training_envs(&self) -> usize {
        self.games.names().iter().map(|name| self.settings.num_envs_of(name)).sum()
    }

    /// Returns the specification of environments from this builder: that of [`VectorSpec::of`], with the mapping of the
    /// actions of each game to those of the console, or to choices.
    pub(crate) fn spec(&self, environments: &dyn VectorEnv) -> Result<VectorSpec> {
        let spec = VectorSpec::of(environments)?;
        if !matches!(self.games, Games::Atari(_)) {
            return Ok(spec);
        }
        let EnvironmentSettings { img_height, img_width, .. } = self.settings;
        ensure!(
            img_height.min(img_width) >= MIN_PICTURE_SIDE,
            "environments.img_height is {img_height} and img_width is {img_width}, but networks need at least \
             {MIN_PICTURE_SIDE}"
        );
        let actions = |task: &Task| self.actions(task);
        if self.settings.factored_actions {
            return Ok(spec.with_factored_actions(|task: &Task| {
                let factors = actions(task)?.into_iter().map(|action| ACTION_FACTORS[action].to_vec());
                Some((CHOICES.to_vec(), factors.collect()))
            })?);
        }
        Ok(spec.with_shared_outputs(usize::from(ACTIONS), actions)?)
    }

    /// Returns the console's actions that a game uses.
    fn actions(&self, task: &Task) -> Option<Vec<usize>> {
        let (game, _) = self.roms.iter().find(|(game, _)| game.id == task.name)?;
        let full = self.settings.full_action_space;
        let actions = if full { game.legal_actions } else { game.minimal_actions };
        Some(actions.iter().map(|&action| usize::from(action)).collect())
    }

    /// Returns a single environment of the first game, for evaluation.
    pub(crate) fn atari_env(&self, seed: u64) -> Result<AtariEnv> {
        self.first_env(seed, |options, _| options)
    }

    /// Returns a single environment of the first game with all actions, for a person and an agent. FIRE is pressed for
    /// the agent only in games in which it has this action.
    pub(crate) fn playable_env(&self, seed: u64) -> Result<AtariEnv> {
        self.first_env(seed, |options, game| {
            let fires = options.full_action_space || game.minimal_actions.contains(&ale::Action::FIRE.code());
            AtariOptions {
                full_action_space: true,
                use_fire_reset: options.use_fire_reset && fires,
                fire_after_lost_life: options.fire_after_lost_life && fires,
                ..options
            }
        })
    }

    fn first_env(
        &self,
        seed: u64,
        change: impl FnOnce(AtariOptions, &Game) -> AtariOptions,
    ) -> Result<AtariEnv> {
        let (game, rom) = self.roms.first().context("none of the tasks is an Atari game")?;
        let options = change(self.options(game.id, Purpose::Evaluation), game);
        Ok(AtariEnv::new(&PoweredGame::new(game, Arc::clone(rom))?, options, seed)?)
    }

    fn options(&self, game: &str, purpose: Purpose) -> AtariOptions {
        let settings = &self.settings;
        let overrides = settings.game.get(game).cloned().unwrap_or_default();
        AtariOptions {
            img_height: settings.img_height,
            img_width: settings.img_width,
            stack_num: settings.stack_num,
            frameskip: settings.frame_skip,
            maxpool: settings.maxpool,
            noop_max: settings.noop_max,
            // The learned return ends with a life while the game continues, as in CleanRL's wrapper. The option
            // `episodic_life` of ale-py's vector environment restarts the game instead, and later lives would never be
            // observed.
            life_loss_info: settings.episodic_life && purpose == Purpose::Training,
            reward_clipping: settings.reward_clipping,
            use_fire_reset: settings.use_fire_reset,
            fire_after_lost_life: settings.fire_after_lost_life,
            max_num_frames_per_episode: overrides
                .max_num_frames_per_episode
                .unwrap_or(settings.max_num_frames_per_episode),
            repeat_action_probability: match purpose {
                Purpose::Training => settings.repeat_action_probability,
                Purpose::Evaluation | Purpose::Showing => self.evaluation_stickiness,
            },
            full_action_space: settings.full_action_space,
            modes: self.mode.or(overrides.mode).into_iter().collect(),
            difficulties: self.difficulty.or(overrides.difficulty).into_iter().collect(),
            ..AtariOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use rl_env::ResetSeeds;

    use super::*;
    use crate::config;

    /// Returns the builder of an experiment in TOML.
    fn builder(experiment: &str, overrides: &Overrides) -> Builder {
        let experiment = config::from_toml(experiment).unwrap().resolve().unwrap();
        let global = Global { rom_dir: Some("nowhere".into()), offline: true, quiet: true };
        Builder::new(&experiment, overrides, &global).unwrap()
    }

    #[test]
    fn options_are_the_settings_of_the_experiment() {
        let flags = [
            "maxpool",
            "episodic_life",
            "reward_clipping",
            "use_fire_reset",
            "fire_after_lost_life",
            "full_action_space",
        ];
        for on in flags {
            let flags: Vec<String> = flags.iter().map(|flag| format!("{flag} = {}\n", *flag == on)).collect();
            let flags = flags.concat();
            let experiment = format!(
                "[environments]\nimg_height = 52\nimg_width = 60\nstack_num = 3\nframe_skip = 5\nnoop_max = 7\n\
                 max_num_frames_per_episode = 900\nrepeat_action_probability = 0.125\n{flags}\
                 [evaluation]\nrepeat_action_probability = 0.5\n"
            );
            let builder = builder(&experiment, &Overrides::default());
            for (purpose, life_loss_info, repeat_action_probability) in
                [(Purpose::Training, on == "episodic_life", 0.125), (Purpose::Evaluation, false, 0.5)]
            {
                let expected = AtariOptions {
                    img_height: 52,
                    img_width: 60,
                    stack_num: 3,
                    frameskip: 5,
                    maxpool: on == "maxpool",
                    noop_max: 7,
                    life_loss_info,
                    reward_clipping: on == "reward_clipping",
                    use_fire_reset: on == "use_fire_reset",
                    fire_after_lost_life: on == "fire_after_lost_life",
                    max_num_frames_per_episode: 900,
                    repeat_action_probability,
                    full_action_space: on == "full_action_space",
                    ..AtariOptions::default()
                };
                assert_eq!(builder.options("harvest", purpose), expected, "{on}, {purpose:?}");
            }
        }
    }

    #[test]
    fn options_of_a_game_replace_those_of_all_games_and_those_of_a_command_replace_both() {
        let common = "[environments]\nrepeat_action_probability = 0.125\n";
        let with_overrides = format!(
            "{common}[environments.game.harvest]\nmode = 0\ndifficulty = 0\nmax_num_frames_per_episode = 400\n"
        );
        let command = Overrides {
            repeat_action_probability: Some(0.75),
            mode: Some(3),
            difficulty: Some(2),
            ..Overrides::default()
        };
        for (purpose, repeat_action_probability) in [(Purpose::Training, 0.125), (Purpose::Evaluation, 0.75)]
        {
            let options = builder(common, &Overrides::default()).options("harvest", purpose);
            assert_eq!(options.repeat_action_probability, 0.125, "{purpose:?}");
            assert!(options.modes.is_empty() && options.difficulties.is_empty(), "{options:?}");
            let overridden = AtariOptions {
                modes: vec![0],
                difficulties: vec![0],
                max_num_frames_per_episode: 400,
                ..options
            };
            assert_eq!(
                builder(&with_overrides, &Overrides::default()).options("harvest", purpose),
                overridden
            );
            let expected = AtariOptions {
                modes: vec![3],
                difficulties: vec![2],
                repeat_action_probability,
                ..overridden
            };
            assert_eq!(builder(&with_overrides, &command).options("harvest", purpose), expected);
        }
    }

    /// Returns the first position of a mountain car, in training and in an evaluation.
    fn first_positions(rescale: bool) -> [f32; 2] {
        let experiment = format!(
            "[environments]\ngames = ['MountainCar-v0']\nnum_envs = 1\nrescale_observations = {rescale}\n"
        );
        let overrides = Overrides { num_threads: Some(1), ..Overrides::default() };
        let builder = builder(&experiment, &overrides);
        [builder.build(), builder.build_one_of_each(None)].map(|environments| {
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
