/// A game, a mode and a difficulty, as the name of a task such as `breakout@12.1` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Variant<'a> {
    pub(super) game: &'a str,
    /// Absent for the default mode.
    pub(super) mode: Option<u32>,
    pub(super) difficulty: Option<u32>,
}

impl<'a> Variant<'a> {
    /// Returns what a name says, unless it is not that of a game.
    pub(super) fn of(name: &'a str) -> Option<Self> {
        let (game, variant) = name.split_once('@').map_or((name, None), |(game, rest)| (game, Some(rest)));
        ale::game(game).ok()?;
        let Some(variant) = variant else { return Some(Self { game, mode: None, difficulty: None }) };
        let (mode, difficulty) = variant.split_once('.').map_or((variant, "0"), |parts| parts);
        Some(Self { game, mode: Some(mode.parse().ok()?), difficulty: Some(difficulty.parse().ok()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_game_mode_and_difficulty() {
        let variant = |game, mode, difficulty| Some(Variant { game, mode, difficulty });
        assert_eq!(Variant::of("breakout"), variant("breakout", None, None));
        assert_eq!(Variant::of("breakout@12"), variant("breakout", Some(12), Some(0)));
        assert_eq!(Variant::of("breakout@12.1"), variant("breakout", Some(12), Some(1)));
        for name in ["CartPole-v1", "breakout@", "breakout@x", "breakout@1.x", ""] {
            assert_eq!(Variant::of(name), None, "{name}");
        }
    }
}
