use serde::Serialize;

use super::super::format::rate;
use crate::statistics::Estimate;

/// The measurements with one number of ROMs.
#[derive(Serialize)]
pub(super) struct Point {
    pub(super) num_roms: usize,
    /// The number of different ROMs.
    pub(super) unique_games: usize,
    pub(super) frames_per_second: Estimate,
    /// Over the median latencies of the runs.
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
