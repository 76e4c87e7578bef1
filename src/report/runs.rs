use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};

use super::curve::Curve;
use super::diagnostics::DIAGNOSTICS;
use crate::checkpoint::{self, CONFIG};
use crate::config::{self, Experiment};
use crate::enclosure;
use crate::files::limit;
use crate::provenance::Provenance;
use crate::statistics::mean;
use crate::telemetry::{METRICS_FILE, Metric};

/// The values of an experiment by key.
pub(super) type Settings = BTreeMap<String, toml::Value>;

/// Larger values in curves are ignored: a chart could not represent their differences.
const LARGEST: f64 = 1e100;

/// The configuration and the curves of a run.
pub(crate) struct RunHistory {
    /// The name of its directory.
    pub(super) name: String,
    pub(super) experiment: Experiment,
    pub(super) settings: Settings,
    pub(super) provenance: Provenance,
    /// The results by game.
    pub(super) games: BTreeMap<String, GameHistory>,
    /// The curves of all games together.
    pub(super) diagnostics: BTreeMap<String, Curve>,
    /// Emulated frames at the end.
    pub(super) frames: f64,
    /// Seconds of training.
    pub(super) seconds: f64,
    /// Steps per second at the end.
    pub(super) sps: Option<f64>,
}

/// The results of a run in one game.
#[derive(Default)]
pub(super) struct GameHistory {
    /// The emulated frames of all games, and the mean return of the last hundred episodes.
    pub(super) curve: Curve,
    /// The mean return of the final evaluation.
    pub(super) evaluation: Option<f64>,
}

impl GameHistory {
    /// Returns the result of the final evaluation, or else the last point of the curve.
    pub(super) fn score(&self) -> Option<f64> {
        self.evaluation.or_else(|| self.curve.last())
    }
}

impl RunHistory {
    /// Reads the directory of a run.
    pub(crate) fn read(run_dir: &Path) -> Result<Self> {
        ensure!(run_dir.exists(), "{} does not exist", run_dir.display());
        let unreadable = || format!("{} is not a readable run", run_dir.display());
        // The file may be older than the newest checkpoint, or edited by hand.
        let text = match checkpoint::summary_of_newest(run_dir) {
            Ok(Some(saved)) => saved.config,
            _ => enclosure::read_text(run_dir, &run_dir.join(CONFIG), limit::EXPERIMENT)
                .with_context(|| format!("{CONFIG} cannot be read"))
                .with_context(unreadable)?,
        };
        let experiment =
            config::from_toml(&text).and_then(config::Config::resolve).with_context(unreadable)?;
        let metrics = match enclosure::read(run_dir, &run_dir.join(METRICS_FILE), limit::CURVES) {
            // The run has only just started.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            metrics => {
                metrics.with_context(|| format!("{METRICS_FILE} cannot be read")).with_context(unreadable)?
            }
        };
        let mut run = Self::new(name(run_dir), experiment)?;
        run.provenance = Provenance::read(run_dir).with_context(unreadable)?;
        // Runs of earlier versions do not say when they started. Their configuration was written then.
        if run.provenance.started.is_none() {
            run.provenance.started = modified(&run_dir.join(CONFIG));
        }
        // The last line of a running run may be incomplete.
        let records = metrics.split(|&byte| byte == b'\n');
        for record in records.filter_map(|line| serde_json::from_slice::<Map<String, Value>>(line).ok()) {
            run.add(&record);
        }
        Ok(run)
    }

    /// Returns a run without curves.
    pub(super) fn new(name: String, experiment: Experiment) -> Result<Self> {
        let names = experiment.games.names();
        Ok(Self {
            name,
            settings: config::values(&experiment.to_toml()?)?,
            games: names.iter().map(|&game| (game.to_owned(), GameHistory::default())).collect(),
            experiment,
            provenance: Provenance::default(),
            diagnostics: BTreeMap::new(),
            frames: 0.0,
            seconds: 0.0,
            sps: None,
        })
    }

    /// Returns the mean score over the games, human-normalised where possible, or `None` if a game has no score yet.
    pub(crate) fn score(&self) -> Option<f64> {
        let of_game = |(game, history): (&String, &GameHistory)| {
            let score = history.score()?;
            Some(self.experiment.games.human_normalised(game, score).unwrap_or(score))
        };
        let scores: Vec<f64> = self.games.iter().map(of_game).collect::<Option<_>>()?;
        Some(mean(scores))
    }

    fn add(&mut self, record: &Map<String, Value>) {
        let is_possible = |value: &f64| value.abs() <= LARGEST;
        let number = |tag: &str| record.get(tag).and_then(Value::as_f64).filter(is_possible);
        let single = self.games.len() == 1;
        let frames = number("frames").unwrap_or(0.0);
        self.frames = self.frames.max(frames);
        self.seconds = self.seconds.max(number("seconds").unwrap_or(0.0));
        for (game, history) in &mut self.games {
            let task = (!single).then_some(game.as_str());
            if let Some(value) = number(&Metric::RecentReturn.tag(task)) {
                history.curve.push(frames, value);
            }
            history.evaluation = number(&Metric::EvaluationReturn.tag(task)).or(history.evaluation);
        }
        for tag in DIAGNOSTICS.iter().map(|diagnostic| diagnostic.metric.tag(None)) {
            if let Some(value) = number(&tag) {
                self.diagnostics.entry(tag).or_default().push(frames, value);
            }
        }
        self.sps = number(&Metric::Sps.tag(None)).or(self.sps);
    }
}

/// Returns the last part of a path, even of a path such as `.`.
fn name(run_dir: &Path) -> String {
    let path = run_dir.canonicalize().unwrap_or_else(|_| run_dir.to_owned());
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Returns the time of the last change of a file, in seconds since 1970.
fn modified(file: &Path) -> Option<u64> {
    let time = fs::metadata(file).and_then(|metadata| metadata.modified()).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs())
}
