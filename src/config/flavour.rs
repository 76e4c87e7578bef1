use ale::Game;

use super::sections::EnvironmentSettings;

/// The position of the difficulty switches unless another is set.
const DEFAULT_DIFFICULTY: u32 = 0;
/// The shortest limit of an episode with which scores are published: five minutes (Mnih et al. 2015).
const SHORTEST_LIMIT: u32 = 18_000;

/// A flavour of a game: its mode and its difficulty, as in Machado et al. 2018, and the limit of its episodes. They
/// determine which scores are possible. Published scores are those of the default flavour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flavour {
    pub(crate) game: &'static Game,
    pub(crate) mode: u32,
    pub(crate) difficulty: u32,
    /// The number of frames after which an episode is truncated.
    limit: u32,
}

impl Flavour {
    /// Returns the default flavour of a game.
    pub(crate) fn default_of(game: &'static Game) -> Self {
        Self { game, mode: game.default_mode, difficulty: DEFAULT_DIFFICULTY, limit: u32::MAX }
    }

    /// Returns the flavour of the same game that settings select.
    pub(super) fn with(self, settings: &EnvironmentSettings) -> Self {
        let overrides = settings.game.get(self.game.id);
        let limit = overrides.and_then(|overrides| overrides.max_num_frames_per_episode);
        let limit = limit.unwrap_or(settings.max_num_frames_per_episode);
        let (mode, difficulty) =
            overrides.map_or((None, None), |overrides| (overrides.mode, overrides.difficulty));
        Self { limit, ..self.in_mode(mode, difficulty) }
    }

    /// Returns the flavour with another mode or difficulty, where one is given.
    pub(super) fn in_mode(self, mode: Option<u32>, difficulty: Option<u32>) -> Self {
        Self { mode: mode.unwrap_or(self.mode), difficulty: difficulty.unwrap_or(self.difficulty), ..self }
    }

    /// Returns the game if published scores apply to this flavour.
    pub(crate) fn published(self) -> Option<&'static Game> {
        self.deviations().is_empty().then_some(self.game)
    }

    /// Returns the id of the game, followed by what differs from the default flavour:
    /// `breakout (mode 12, difficulty 1)`.
    pub(crate) fn label(self) -> String {
        match self.deviations().as_slice() {
            [] => self.game.id.to_owned(),
            deviations => format!("{} ({})", self.game.id, deviations.join(", ")),
        }
    }

    fn deviations(self) -> Vec<String> {
        let Self { game, mode, difficulty, limit } = self;
        let deviations = [
            (mode != game.default_mode).then(|| format!("mode {mode}")),
            (difficulty != DEFAULT_DIFFICULTY).then(|| format!("difficulty {difficulty}")),
            (limit < SHORTEST_LIMIT).then(|| format!("at most {limit} frames")),
        ];
        deviations.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::from_toml;
    use crate::config::Games;

    /// Returns Pong and Breakout with these settings of Breakout.
    fn games(breakout: &str) -> Games {
        let text =
            format!("[environments]\ngames = ['pong', 'breakout']\n[environments.game.breakout]\n{breakout}");
        from_toml(&text).unwrap().resolve().unwrap().games
    }

    #[test]
    fn labels_name_what_differs_from_the_default() {
        for (settings, label) in [
            ("", "breakout"),
            ("num_envs = 2\nmode = 0\ndifficulty = 0", "breakout"),
            ("mode = 12", "breakout (mode 12)"),
            ("difficulty = 1", "breakout (difficulty 1)"),
            ("mode = 12\ndifficulty = 1", "breakout (mode 12, difficulty 1)"),
            ("max_num_frames_per_episode = 18000", "breakout"),
            ("max_num_frames_per_episode = 17999", "breakout (at most 17999 frames)"),
        ] {
            assert_eq!(games(settings).labels(), ["pong", label]);
        }
    }

    #[test]
    fn only_default_flavours_have_human_normalised_and_best_possible_scores() {
        let human = |name| ale::game(name).unwrap().human_score.unwrap();
        for settings in ["mode = 12", "difficulty = 1", "max_num_frames_per_episode = 400"] {
            let games = games(settings);
            assert_eq!(games.human_normalised("breakout", human("breakout")), None, "{settings}");
            assert_eq!(games.human_normalised("pong", human("pong")), Some(1.0));
        }
        assert_eq!(games("").human_normalised("breakout", human("breakout")), Some(1.0));
        for (limit, best) in [(18_000, Some(36.0)), (400, None)] {
            let text = format!("[environments]\nmax_num_frames_per_episode = {limit}");
            let games = from_toml(&text).unwrap().resolve().unwrap().games;
            assert_eq!(games.best_score("harvest"), best);
        }
    }

    #[test]
    fn the_score_of_several_games_is_that_of_those_with_a_human_normalised_one() {
        let human = |name| (name, ale::game(name).unwrap().human_score.unwrap());
        let random = |name| (name, ale::game(name).unwrap().random_score.unwrap());
        assert_eq!(games("").score([human("pong"), random("breakout")]), 0.5);
        assert_eq!(games("mode = 12").score([human("pong"), ("breakout", 800.0)]), 1.0);
        let none = games("mode = 12").only(&["breakout"]);
        assert_eq!(none.score([("breakout", 800.0)]), 800.0);
        assert_eq!(none.labels(), ["breakout (mode 12)"], "a selection keeps the flavours");
    }

    #[test]
    fn a_command_changes_the_mode_of_every_game() {
        let other = games("mode = 12").in_mode(Some(4), None);
        assert_eq!(other.labels(), ["pong (mode 4)", "breakout (mode 4)"]);
        assert_eq!(
            games("mode = 12").in_mode(None, Some(1)).label("breakout"),
            "breakout (mode 12, difficulty 1)"
        );
    }
}
