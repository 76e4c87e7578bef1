use ale::Game;

/// A game of a run, as telemetry shows it.
#[derive(Clone, Debug)]
pub(crate) struct TrackedGame {
    /// The name in tags, the same for all modes and difficulties.
    pub(crate) id: String,
    /// The name with the mode and the difficulty, unless they are the default.
    pub(crate) label: String,
    /// The game, if its published scores apply: the mode and the difficulty are the default.
    pub(crate) published: Option<&'static Game>,
}

impl TrackedGame {
    /// Returns the human-normalised score, if the scores of a random and a human player are published.
    pub(super) fn human_normalised(&self, score: f64) -> Option<f64> {
        self.published?.human_normalised(score)
    }
}
