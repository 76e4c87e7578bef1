//! Videos of the agents of a report.

use anyhow::Result;

use super::group::{Group, games};
use super::runs::RunHistory;
use crate::agent::TrainedAgent;
use crate::cli::{AgentArgs, CheckpointArgs, EmulationArgs, Global, RecordArgs};
use crate::failure::sentence;
use crate::record;
use crate::telemetry::Printer;
use crate::threads;

/// The most steps of a video: 20 seconds at the usual frame skip.
pub(super) const MOST_STEPS: u64 = 300;
/// The largest size of all videos of a page in bytes, before they are encoded in base64, which adds a third.
const MOST_BYTES: usize = 24 << 20;

/// A video of the newest agent of a run.
pub(super) struct Video {
    /// The index of the group.
    pub(super) group: usize,
    pub(super) run: String,
    /// The label of the game.
    pub(super) game: String,
    /// The score and the number of steps.
    pub(super) outcome: String,
    pub(super) gif: Vec<u8>,
}

/// Records the first agent of each group in each game, for all parts of a page. Calls `warn` for each video that is
/// impossible and if there is no more room.
pub(super) fn record(parts: &[Vec<Group>], global: &Global, warn: impl Fn(&str)) -> Result<Vec<Vec<Video>>> {
    threads::set_threads(threads::cores())?;
    let (mut bytes, mut left_out) = (0, 0);
    let mut of_parts = Vec::new();
    for groups in parts {
        let mut videos = Vec::new();
        for game in games(groups) {
            for (index, group) in groups.iter().enumerate().filter(|(_, group)| group.plays(game)) {
                let Some(run) = group.runs.iter().find(|run| run.games.contains_key(game)) else { continue };
                if bytes >= MOST_BYTES {
                    left_out += 1;
                    continue;
                }
                match of_run(run, game, index, global) {
                    Ok(video) if bytes + video.gif.len() <= MOST_BYTES => {
                        bytes += video.gif.len();
                        videos.push(video);
                    }
                    Ok(_) => left_out += 1,
                    Err(error) => warn(&format!("no video of {} in {game}: {}", run.name, sentence(&error))),
                }
            }
        }
        of_parts.push(videos);
    }
    if left_out > 0 {
        warn(&format!("left out {left_out} videos: those of a page have at most {} MiB", MOST_BYTES >> 20));
    }
    Ok(of_parts)
}

fn of_run(run: &RunHistory, game: &str, group: usize, global: &Global) -> Result<Video> {
    let checkpoint = CheckpointArgs { checkpoint: run.path.clone(), best: false };
    let agent = TrainedAgent::open(&checkpoint, &Printer::Silent)?;
    let args = RecordArgs {
        agent: AgentArgs { checkpoint, greedy: false },
        game: run.games.get(game).map(|history| history.id.to_owned()),
        mosaic: false,
        out: "video.gif".into(),
        seed: 0,
        emulation: EmulationArgs::default(),
        num_threads: None,
        max_steps: MOST_STEPS,
        scale: Some(1),
    };
    let (gif, outcome) = record::gif(&args, &agent, global)?;
    Ok(Video { group, run: run.name.clone(), game: game.to_owned(), outcome, gif })
}
