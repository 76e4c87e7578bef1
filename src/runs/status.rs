use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::curves::Curves;
use super::disk::DiskUse;
use super::reached::reached;
use super::score::Score;
use crate::checkpoint::{self, CONFIG, Summary};
use crate::config::{self, Experiment};
use crate::enclosure;
use crate::failure::sentence;
use crate::files::limit;
use crate::telemetry::{METRICS_FILE, Moment};

/// The state of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A process writes to it.
    Running,
    /// Its training is complete.
    Finished,
    /// It continues from its newest checkpoint.
    Stopped,
    /// It has no checkpoint.
    Unsaved,
    /// Its configuration or its newest checkpoint cannot be read, for this reason.
    Damaged(String),
}

impl State {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::Unsaved => "unsaved",
            Self::Damaged(_) => "damaged",
        }
    }
}

/// The information about a run that is available without loading it.
pub(super) struct RunStatus {
    pub(super) path: PathBuf,
    pub(super) state: State,
    pub(super) disk: DiskUse,
    /// Absent if the configuration cannot be read.
    pub(super) training: Option<Training>,
}

/// The experiment of a run and its progress.
pub(super) struct Training {
    pub(super) experiment: Experiment,
    /// The point that training has [reached].
    pub(super) reached: Moment,
    pub(super) score: Option<Score>,
}

impl RunStatus {
    /// Reads the state of the run in a directory.
    pub(super) fn read(run_dir: &Path) -> Self {
        let is_running = checkpoint::is_locked(run_dir);
        let saved = checkpoint::summary_of_newest(run_dir);
        let (saved, damage) = match saved {
            Ok(saved) => (saved, None),
            // A running run removes old checkpoints.
            Err(_) if is_running => (None, None),
            Err(error) => (None, Some(error)),
        };
        let training = Training::read(run_dir, saved.as_ref(), is_running);
        let state = match (damage.as_ref().or(training.as_ref().err()), &training, &saved) {
            (Some(error), ..) => State::Damaged(sentence(error)),
            _ if is_running => State::Running,
            (_, _, None) => State::Unsaved,
            (_, Ok(training), Some(saved)) if training.experiment.is_complete(&saved.progress.moment) => {
                State::Finished
            }
            _ => State::Stopped,
        };
        Self { path: run_dir.to_owned(), state, disk: DiskUse::measure(run_dir), training: training.ok() }
    }
}

impl Training {
    /// Returns the share of training that is done, in per cent.
    pub(super) fn percent_done(&self) -> u8 {
        self.experiment.percent_done(&self.reached)
    }

    fn read(run_dir: &Path, saved: Option<&Summary>, is_running: bool) -> Result<Self> {
        let config = match saved {
            Some(saved) => saved.config.clone(),
            None => enclosure::read_text(run_dir, &run_dir.join(CONFIG), limit::EXPERIMENT)
                .with_context(|| format!("{CONFIG} cannot be read"))?,
        };
        let experiment = config::from_toml(&config).and_then(config::Config::resolve);
        let experiment = experiment.with_context(|| format!("{CONFIG} cannot be used"))?;
        let saved_moment = saved.map(|saved| saved.progress.moment);
        let last = saved_moment.filter(|_| !is_running);
        let curves = Curves::up_to(run_dir, last.map_or(u64::MAX, |last| last.frames))
            .with_context(|| format!("{METRICS_FILE} cannot be read"))?;
        let reached = reached(saved_moment, curves.end(), is_running);
        let score = Score::newest(&experiment.games, &curves, saved.map(|saved| &saved.progress));
        Ok(Self { experiment, reached, score })
    }
}
