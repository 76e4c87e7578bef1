use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{Card, Licence, readme};
use crate::agent::{self, TrainedAgent};
use crate::checkpoint;
use crate::durable;
use crate::global::Global;
use crate::record;
use crate::report;

/// The name of the agent's file.
const WEIGHTS: &str = "agent.safetensors";
/// The name of the learning curves.
const CURVES: &str = "curves.svg";
/// The number of games that are recorded.
const VIDEOS: usize = 3;
/// The maximum number of steps of a video: half a minute of a game.
const STEPS: u64 = 450;

/// Fails if a card cannot be written to `directory`, which may not exist, or be empty.
pub(crate) fn check(directory: &Path) -> Result<()> {
    let cannot = || format!("cannot write the card to {}", directory.display());
    match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(cannot),
        Ok(mut entries) => {
            ensure!(entries.next().is_none(), "{}: it is not empty", cannot());
            Ok(())
        }
    }
}

/// Writes the card to `directory`. `write_weights` writes the file of the agent. The agent of a run has the curves of
/// the run.
pub(crate) fn write(
    agent: &TrainedAgent,
    directory: &Path,
    licence: Option<Licence>,
    global: &Global,
    write_weights: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    check(directory)?;
    // A trailing slash or `.` has no name beside which the files could be written.
    let directory = &std::path::absolute(directory)?;
    durable::write_directory(directory, |partial| {
        let weights = partial.join(WEIGHTS);
        write_weights(&weights)?;
        let card = Card {
            agent,
            title: readme::title(agent),
            name: WEIGHTS.to_owned(),
            bytes: fs::metadata(weights)?.len() as usize,
            licence,
            videos: videos(agent, partial, global)?,
            curves: curves(agent, partial)?,
        };
        let text = card.front_matter() + &card.markdown()?;
        durable::write(&partial.join("README.md"), text.as_bytes())
    })
    .with_context(|| format!("cannot write the card to {}", directory.display()))
}

/// Records an episode of some games. Returns the games and the paths of the videos.
fn videos(agent: &TrainedAgent, directory: &Path, global: &Global) -> Result<Vec<(String, String)>> {
    let games = agent.experiment.games.names();
    let shown = games.into_iter().filter(|game| agent::has_screen(game)).take(VIDEOS);
    let video = |game: &str| {
        let name = format!("{}.gif", game.replace([':', '/'], "-"));
        record::video(agent, game, &directory.join(&name), STEPS, global)?;
        Ok((agent.experiment.games.label(game), name))
    };
    shown.map(video).collect()
}

/// Draws the curves of the agent's run. Returns their path.
fn curves(agent: &TrainedAgent, directory: &Path) -> Result<Option<String>> {
    let Some(run_dir) = checkpoint::run_of(&agent.origin) else { return Ok(None) };
    let is_drawn = report::curves(&run_dir, &directory.join(CURVES))?;
    Ok(is_drawn.then(|| CURVES.to_owned()))
}
