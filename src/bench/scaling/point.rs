use serde::Serialize;

use super::super::format::rate;
use crate::statistics::Estimate;

/// What was measured with a number of ROMs.
#[derive(Serialize)]
pub(super) struct Point {
    pub(super) num_roms: usize,
    /// How many of the ROMs are different.
    pub(super) unique_games: usize,
    pub(super) frames_per_second: Estimate,
    /// The median of each run.
    pub(super) latency_us: Estimate,
}

impl Point {
    pub(super) fn cells(&self) -> Vec<String> {
        let half = |estimate: Estimate| rate(estimate.high - estimate.mean);
        let Self { num_roms, unique_games, frames_per_second, latency_us } = self;
        vec![
            num_roms.to_string(),
            unique_games.to_string(),
            rate(frames_per_second.mean),
            half(*frames_per_second),
            rate(latency_us.mean),
            half(*latency_us),
        ]
    }
}
