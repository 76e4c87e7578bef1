//! Environments of Atari games: their specification and options.

use ale::{ACTION_FACTORS, ACTIONS, AtariEnv, AtariOptions, AtariPlayersEnv, CHOICES, Game, PoweredGame};
use algorithms::networks::MIN_PICTURE_SIDE;
use algorithms::{Task, VectorSpec};
use anyhow::{Context, Result, ensure};
use rl_env::VectorEnv;

use super::Purpose;
use super::builder::Builder;
use crate::config::{EnvironmentSettings, Flavour, Games};

impl Builder {
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
        if self.settings.factored_actions {
            return Ok(spec.with_factored_actions(|task| self.factored_actions(task))?);
        }
        Ok(spec.with_shared_outputs(usize::from(ACTIONS), |task| self.actions(task))?)
    }

    /// Returns the console's actions that a game uses.
    fn actions(&self, task: &Task) -> Option<Vec<usize>> {
        Some(self.action_codes(&task.name)?.iter().map(|&action| usize::from(action)).collect())
    }

    /// Returns the codes of the console's actions that the task called `name` has, if it is an Atari game.
    pub(crate) fn action_codes(&self, name: &str) -> Option<&'static [u8]> {
        let Flavour { game, players, .. } = self.games.flavour(name)?;
        let full = self.settings.full_action_space;
        Some(if full { game.legal_actions } else { game.minimal_actions_for(*players) })
    }

    /// Returns the number of options of each choice, and the options that make up each action that a game uses.
    fn factored_actions(&self, task: &Task) -> Option<(Vec<usize>, Vec<Vec<usize>>)> {
        let factors = self.actions(task)?.into_iter().map(|action| ACTION_FACTORS[action].to_vec());
        Some((CHOICES.to_vec(), factors.collect()))
    }

    /// Returns the options of the task called `name` in an evaluation.
    pub(crate) fn evaluation_options(&self, name: &str) -> Result<AtariOptions> {
        let flavour = self.games.flavour(name).with_context(|| format!("{name} is not an Atari game"))?;
        Ok(self.options(flavour, Purpose::Evaluation))
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

    /// Returns a single environment of the first game, one of several players, with all actions.
    pub(crate) fn players_env(&self, seed: u64) -> Result<AtariPlayersEnv> {
        let first = self.games.names().first().and_then(|name| self.games.flavour(name));
        let flavour = first.context("none of the tasks is an Atari game")?;
        let options = AtariOptions { full_action_space: true, ..self.options(flavour, Purpose::Evaluation) };
        let powered = PoweredGame::new(flavour.game, self.rom(flavour.game))?;
        Ok(AtariPlayersEnv::new(&powered, flavour.players, options, seed)?)
    }

    fn first_env(
        &self,
        seed: u64,
        change: impl FnOnce(AtariOptions, &Game) -> AtariOptions,
    ) -> Result<AtariEnv> {
        let first = self.games.names().first().and_then(|name| self.games.flavour(name));
        let flavour = first.context("none of the tasks is an Atari game")?;
        ensure!(flavour.players == 1, "{} is a game of several players", flavour.id);
        let game = flavour.game;
        let options = change(self.options(flavour, Purpose::Evaluation), game);
        Ok(AtariEnv::new(&PoweredGame::new(game, self.rom(game))?, options, seed)?)
    }

    pub(super) fn options(&self, flavour: &Flavour, purpose: Purpose) -> AtariOptions {
        let settings = &self.settings;
        let overrides = settings.game.get(flavour.id);
        // With several players, the loss of a life concerns one of them only.
        let is_alone = flavour.players == 1;
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
            life_loss_info: settings.episodic_life && purpose == Purpose::Training && is_alone,
            reward_clipping: settings.reward_clipping,
            use_fire_reset: settings.use_fire_reset,
            fire_after_lost_life: settings.fire_after_lost_life && is_alone,
            max_num_frames_per_episode: overrides
                .and_then(|overrides| overrides.max_num_frames_per_episode)
                .unwrap_or(settings.max_num_frames_per_episode),
            repeat_action_probability: match purpose {
                Purpose::Training => settings.repeat_action_probability,
                Purpose::Evaluation | Purpose::Showing => self.evaluation_repeat_probability,
            },
            full_action_space: settings.full_action_space,
            modes: flavour.modes.values().to_vec(),
            difficulties: flavour.difficulties.values().to_vec(),
            ..AtariOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::CommandOverrides;
    use super::super::builder::testing::builder;
    use super::*;

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
            let builder = builder(&experiment, &CommandOverrides::default());
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
                    modes: vec![0],
                    difficulties: vec![0],
                    ..AtariOptions::default()
                };
                assert_eq!(options_of(&builder, "harvest", purpose), expected, "{on}, {purpose:?}");
            }
        }
    }

    fn options_of(builder: &Builder, task: &str, purpose: Purpose) -> AtariOptions {
        builder.options(builder.games().flavour(task).unwrap(), purpose)
    }

    #[test]
    fn options_of_a_game_replace_those_of_all_games_and_those_of_a_command_replace_both() {
        let common = "[environments]\nrepeat_action_probability = 0.125\n";
        let with_overrides =
            format!("{common}[environments.game.harvest]\nmax_num_frames_per_episode = 400\n");
        let command = CommandOverrides {
            evaluation_repeat_probability: Some(0.75),
            mode: Some(3),
            difficulty: Some(2),
            ..CommandOverrides::default()
        };
        for (purpose, repeat_action_probability) in [(Purpose::Training, 0.125), (Purpose::Evaluation, 0.75)]
        {
            let options = options_of(&builder(common, &CommandOverrides::default()), "harvest", purpose);
            assert_eq!(options.repeat_action_probability, 0.125, "{purpose:?}");
            assert_eq!((&options.modes[..], &options.difficulties[..]), (&[0][..], &[0][..]));
            let overridden = AtariOptions { max_num_frames_per_episode: 400, ..options };
            assert_eq!(
                options_of(&builder(&with_overrides, &CommandOverrides::default()), "harvest", purpose),
                overridden
            );
            let expected = AtariOptions {
                modes: vec![3],
                difficulties: vec![2],
                repeat_action_probability,
                ..overridden
            };
            assert_eq!(options_of(&builder(&with_overrides, &command), "harvest", purpose), expected);
        }
    }
}
