use super::watch::Streak;

/// Episodes may last this many times longer than the longest one of the run before the game counts as stuck.
const LONGER: f64 = 4.0;

/// Watches for a game whose episodes no longer end.
pub(super) struct Silence {
    /// The name of the game.
    pub(super) game: String,
    num_envs: f64,
    /// The number of frames after which an episode is truncated.
    limit: f64,
    /// Frames of the longest episode so far.
    longest: f64,
    /// Frames of the game when an episode last ended.
    ended: f64,
    /// Frames of the game at the last report.
    frames: f64,
    streak: Streak,
}

impl Silence {
    pub(super) fn new(game: &str, num_envs: usize, limit: u32) -> Self {
        Self {
            game: game.to_owned(),
            num_envs: num_envs as f64,
            limit: f64::from(limit),
            longest: 0.0,
            ended: 0.0,
            frames: 0.0,
            streak: Streak::default(),
        }
    }

    /// Counts an episode of a length in frames.
    pub(super) fn end_episode(&mut self, length: f64) {
        self.longest = self.longest.max(length);
        self.ended = self.frames;
    }

    /// Counts the frames of the game so far. Returns true while no episode has ended for too long.
    pub(super) fn observe(&mut self, frames: f64, updates: u64) -> bool {
        self.frames = frames;
        let patience = (self.limit / 2.0).max(LONGER * self.longest);
        self.streak.count(self.since_episode() > patience, updates, 1)
    }

    /// Returns the frames of each environment since an episode of the game ended.
    fn since_episode(&self) -> f64 {
        (self.frames - self.ended) / self.num_envs
    }

    /// Returns the warning at the report at which no episode has ended for too long.
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
