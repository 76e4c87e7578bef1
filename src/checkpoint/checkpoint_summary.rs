use std::path::Path;

use anyhow::{Context, Result};

use super::manifest::Manifest;
use super::{CONFIG, PROGRESS, Progress, run_directory, store};

/// The parts of a checkpoint that are read quickly.
pub(crate) struct Summary {
    /// The resolved configuration, as TOML.
    pub(crate) config: String,
    pub(crate) progress: Progress,
}

/// Summarises the newest checkpoint of a run; `None` if it has none. For the large files it verifies only the lengths.
pub(crate) fn summary_of_newest(run_dir: &Path) -> Result<Option<Summary>> {
    if !run_directory::checkpoints_of(run_dir)?.exists() {
        return Ok(None);
    }
    let Some(newest) = run_directory::newest_first(run_dir)?.into_iter().next() else { return Ok(None) };
    summary(&newest).map(Some)
}

/// Summarises a checkpoint in the same way.
pub(crate) fn summary(directory: &Path) -> Result<Summary> {
    read_summary(directory).with_context(|| store::unusable(directory))
}

fn read_summary(directory: &Path) -> Result<Summary> {
    let read = |name| store::read(directory, name);
    let manifest = Manifest::parse(&read(Manifest::FILE)?)?;
    manifest.verify_lengths(directory, &run_directory::root_of(directory))?;
    let [config, progress] = [CONFIG, PROGRESS].map(|name| {
        let contents = read(name)?;
        manifest.verify(name, &contents).map(|()| contents)
    });
    Ok(Summary {
        config: String::from_utf8(config?).context("config.toml is not UTF-8")?,
        progress: Progress::parse(&progress?)?,
    })
}
