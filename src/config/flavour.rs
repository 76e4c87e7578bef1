use ale::Game;

use super::drawn::Drawn;
use super::sections::EnvironmentSettings;
use crate::game_mode::GameMode;

/// The shortest limit of an episode with which scores are published: five minutes (Mnih et al. 2015).
const SHORTEST_LIMIT: u32 = 18_000;

/// A flavour of a game: its mode and its difficulty, as in Machado et al. 2018, and the limit of its episodes. They
/// determine which scores are possible. Published scores are those of the default flavour for one player.
#[derive(Clone, Debug)]
pub(crate) struct Flavour {
    /// The id of the task: of a game, or of a mode such as `breakout@12`.
    pub(crate) id: &'static str,
    pub(crate) game: &'static Game,
    pub(crate) players: usize,
    pub(crate) modes: Drawn,
    pub(crate) difficulties: Drawn,
    /// The number of frames after which an episode is truncated.
    limit: u32,
}

impl Flavour {
    /// Returns the flavour that the id of a task selects, if it is that of an Atari game.
    pub(crate) fn of_id(id: &'static str) -> Option<Self> {
        let GameMode { game, players, mode, difficulty } = GameMode::of_id(id)?;
        let (modes, difficulties) = (Drawn::Always(mode), Drawn::Always(difficulty));
        Some(Self { id, game, players, modes, difficulties, limit: u32::MAX })
    }

    /// Returns the flavour of the same task that settings select.
    pub(super) fn with(self, settings: &EnvironmentSettings) -> Self {
        let overrides = settings.game.get(self.id).cloned().unwrap_or_default();
        let limit = overrides.max_num_frames_per_episode.unwrap_or(settings.max_num_frames_per_episode);
        Self { limit, ..self.in_mode(overrides.mode, overrides.difficulty) }
    }

    /// Returns the flavour with other modes or difficulties, where they are given.
    pub(super) fn in_mode(self, modes: Option<Drawn>, difficulties: Option<Drawn>) -> Self {
        Self {
            modes: modes.unwrap_or(self.modes),
            difficulties: difficulties.unwrap_or(self.difficulties),
            ..self
        }
    }

    /// Returns the game if published scores apply to this flavour.
    pub(crate) fn published(&self) -> Option<&'static Game> {
        let is_default = self.single_mode().is_some_and(|mode| mode.players == 1 && !mode.deviates());
        (is_default && !self.is_short()).then_some(self.game)
    }

    /// Returns the id of the mode, such as `breakout@12`, or the modes of which each episode draws one, followed by a
    /// limit that changes scores: `breakout@12 (at most 400 frames)`.
    pub(crate) fn label(&self) -> String {
        let name = self.variant();
        if self.is_short() { format!("{name} (at most {} frames)", self.limit) } else { name }
    }

    /// Returns the name without the limit.
    pub(super) fn variant(&self) -> String {
        if let Some(mode) = self.single_mode() {
            return mode.id();
        }
        let [modes, difficulties] = [&self.modes, &self.difficulties].map(|drawn| drawn.joined(", "));
        let default =
            GameMode::default_of(self.game, self.players).map_or_else(|_| self.id.to_owned(), GameMode::id);
        format!("{default} (mode {modes}; difficulty {difficulties})")
    }

    /// Returns the mode and the difficulty, if they are the same in all episodes.
    fn single_mode(&self) -> Option<GameMode> {
        let (mode, difficulty) = (self.modes.single()?, self.difficulties.single()?);
        Some(GameMode { game: self.game, players: self.players, mode, difficulty })
    }

    fn is_short(&self) -> bool {
        self.limit < SHORTEST_LIMIT
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
            ("mode = 12", "breakout@12"),
            ("difficulty = 1", "breakout@0.1"),
            ("mode = 12\ndifficulty = 1", "breakout@12.1"),
            ("mode = [12, 12]", "breakout@12"),
            ("mode = [0, 12]", "breakout (mode 0, 12; difficulty 0)"),
            ("max_num_frames_per_episode = 18000", "breakout"),
            ("max_num_frames_per_episode = 17999", "breakout (at most 17999 frames)"),
        ] {
            assert_eq!(games(settings).labels(), ["pong", label]);
        }
    }

    #[test]
    fn only_default_flavours_have_human_normalised_and_best_possible_scores() {
        let human = |name| ale::game(name).unwrap().human_score.unwrap();
        for settings in ["mode = 12", "mode = [0, 12]", "difficulty = 1", "max_num_frames_per_episode = 400"]
        {
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
        assert_eq!(none.labels(), ["breakout@12"], "a selection keeps the flavours");
    }

    #[test]
    fn a_command_changes_the_mode_of_every_game() {
        let other = games("mode = 12").in_mode(Some(1), None);
        assert_eq!(other.labels(), ["pong@1", "breakout@1"]);
        assert_eq!(games("mode = 12").in_mode(None, Some(1)).label("breakout"), "breakout@12.1");
    }
}
