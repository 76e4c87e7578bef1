use super::watch::Streak;

/// An agent counts as stuck if an episode lasts this many times longer than the longest one of the run, and at least
/// half as long as an episode may last.
const PATIENCE: f64 = 4.0;

/// Watches for a game whose episodes no longer end.
pub(super) struct EndlessEpisodes {
    /// The name of the game.
    pub(super) game: String,
    num_envs: f64,
    /// The number of frames after which an episode is truncated.
    limit: f64,
    /// Frames of the longest episode so far.
    longest: f64,
    /// Frames of the game at the report before the last end of an episode.
    last_end: f64,
    /// Frames of the game at the last report.
    frames: f64,
    streak: Streak,
}

impl EndlessEpisodes {
    pub(super) fn new(game: &str, num_envs: usize, limit: u32) -> Self {
        Self {
            game: game.to_owned(),
            num_envs: num_envs as f64,
            limit: f64::from(limit),
            longest: 0.0,
            last_end: 0.0,
            frames: 0.0,
            streak: Streak::default(),
        }
    }

    /// Counts an episode of a length in frames.
    pub(super) fn end_episode(&mut self, length: f64) {
        self.longest = self.longest.max(length);
        self.last_end = self.frames;
    }

    /// Counts the frames of the game so far. Returns true if the last end of an episode is too long ago.
    pub(super) fn observe(&mut self, frames: f64, updates: u64) -> bool {
        self.frames = frames;
        let patience = (self.limit / 2.0).max(PATIENCE * self.longest);
        self.streak.count(self.since_episode() > patience, updates, 1)
    }

    /// Returns the frames of each environment since an episode of the game ended.
    fn since_episode(&self) -> f64 {
        (self.frames - self.last_end) / self.num_envs
    }

    /// Returns the warning, at the first report at which the last end of an episode is too long ago.
    pub(super) fn warning(&self, algorithm: &str) -> Option<String> {
        self.streak.begins(1).then(|| {
            format!(
                "no episode of {} has ended in the last {:.0} frames of each environment: the agent may be stuck; \
                 raise {algorithm}'s exploration, or end such episodes earlier with environments.max_num_frames_per_episode",
                self.game,
                self.since_episode()
            )
        })
    }
}
