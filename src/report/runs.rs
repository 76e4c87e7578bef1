use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};

use super::curve::Curve;
use super::diagnostics::DIAGNOSTICS;
use crate::checkpoint::{self, CONFIG};
use crate::config::{self, Experiment, Games};
use crate::enclosure;
use crate::files::limit;
use crate::provenance::Provenance;
use crate::runs::reached;
use crate::telemetry::{METRICS_FILE, Metric, Moment};

/// The values of an experiment by key.
pub(super) type Settings = BTreeMap<String, toml::Value>;

/// Larger values in curves are ignored: a chart could not represent their differences.
const LARGEST: f64 = 1e100;

/// The configuration and the curves of a run.
pub(crate) struct RunHistory {
    /// The name of its directory.
    pub(super) name: String,
    /// The name that the user gave to the setting of the run.
    pub(super) setting: Option<String>,
    /// The directory.
    pub(super) path: PathBuf,
    pub(super) experiment: Experiment,
    pub(super) settings: Settings,
    pub(super) provenance: Provenance,
    /// The results by the label of the game, so that other modes of a game are other games.
    pub(super) games: BTreeMap<String, GameHistory>,
    /// The curves of all games together.
    pub(super) diagnostics: BTreeMap<String, Curve>,
    /// The point that training has [reached].
    pub(super) reached: Moment,
    /// Seconds of training.
    pub(super) seconds: f64,
    /// Steps per second at the end.
    pub(super) sps: Option<f64>,
}

/// The results of a run in one game.
pub(super) struct GameHistory {
    /// The id of the game, by which curves are stored.
    pub(super) id: &'static str,
    /// The emulated frames of all games, and the mean return of the last hundred episodes.
    pub(super) curve: Curve,
    /// The mean return of each evaluation.
    pub(super) evaluations: Curve,
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
        let saved = checkpoint::summary_of_newest(run_dir).ok().flatten();
        let saved_moment = saved.as_ref().map(|saved| saved.progress.moment);
        let text = match saved {
            Some(saved) => saved.config,
            None => enclosure::read_text(run_dir, &run_dir.join(CONFIG), limit::EXPERIMENT)
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
        run_dir.clone_into(&mut run.path);
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
        run.reached = reached(saved_moment, Some(run.reached), checkpoint::is_locked(run_dir));
        Ok(run)
    }

    /// Returns a run without curves.
    pub(super) fn new(name: String, experiment: Experiment) -> Result<Self> {
        let history =
            |id| GameHistory { id, curve: Curve::default(), evaluations: Curve::default(), evaluation: None };
        let names = experiment.games.names().into_iter();
        Ok(Self {
            name,
            setting: None,
            path: PathBuf::new(),
            settings: config::values(&experiment.to_toml()?)?,
            games: names.map(|id| (experiment.games.label(id), history(id))).collect(),
            experiment,
            provenance: Provenance::default(),
            diagnostics: BTreeMap::new(),
            reached: Moment::default(),
            seconds: 0.0,
            sps: None,
        })
    }

    pub(crate) fn games(&self) -> &Games {
        &self.experiment.games
    }

    /// Returns the id and the score of each game, or `None` if a game has no score yet.
    pub(crate) fn scores(&self) -> Option<Vec<(&str, f64)>> {
        self.games.values().map(|history| Some((history.id, history.score()?))).collect()
    }

    fn add(&mut self, record: &Map<String, Value>) {
        let is_possible = |value: &f64| value.abs() <= LARGEST;
        let value = |tag: &str| record.get(tag).and_then(Value::as_f64).filter(is_possible);
        let single = self.games.len() == 1;
        let frames = value("frames").unwrap_or(0.0);
        self.reached = Moment::of_line(record).map_or(self.reached, |moment| self.reached.later(moment));
        self.seconds = self.seconds.max(value("seconds").unwrap_or(0.0));
        for history in self.games.values_mut() {
            let task = (!single).then_some(history.id);
            if let Some(value) = value(&Metric::RecentReturn.tag(task)) {
                history.curve.push(frames, value);
            }
            if let Some(value) = value(&Metric::EvaluationReturn.tag(task)) {
                history.evaluations.push(frames, value);
                history.evaluation = Some(value);
            }
        }
        for tag in DIAGNOSTICS.iter().map(|diagnostic| diagnostic.metric.tag(None)) {
            if let Some(value) = value(&tag) {
                self.diagnostics.entry(tag).or_default().push(frames, value);
            }
        }
        self.sps = value(&Metric::Sps.tag(None)).or(self.sps);
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
