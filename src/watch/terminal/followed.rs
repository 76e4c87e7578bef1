use std::path::PathBuf;

use serde_json::Value;
use tokio::sync::watch;

use super::super::directory::Directory;
use super::super::scene::Scene;
use super::super::series::Series;
use super::super::stage::Stage;
use crate::cli::Global;
use crate::failure::sentence;
use crate::runs::GrowingCurves;
use crate::selection;

/// The beginnings of the tags of curves, in their order.
const ORDER: [&str; 4] = ["charts/recent_return", "charts/human_normalised", "evaluation/", "charts/"];

/// The run that is chosen, with its curves and its agent.
pub(super) struct Followed {
    pub(super) id: String,
    run_dir: PathBuf,
    curves: GrowingCurves,
    series: Series,
    /// The reason why the curves cannot be read.
    pub(super) problem: Option<String>,
    /// The games of the run.
    games: Vec<String>,
    /// The index of the game that the agent plays.
    game: Option<usize>,
    scenes: Option<watch::Receiver<Scene>>,
}

impl Followed {
    /// Opens a run of the list. Its agent plays the first game, unless that would execute code of the run.
    pub(super) fn open(run: &Value, directory: &Directory, global: &Global) -> Option<Self> {
        let id = run["id"].as_str()?.to_owned();
        let run_dir = directory.run(&id)?;
        let games = run["games"].as_array().map_or(&[][..], Vec::as_slice);
        let games: Vec<String> = games.iter().filter_map(|game| Some(game.as_str()?.to_owned())).collect();
        let mut followed = Self {
            id,
            curves: GrowingCurves::of(&run_dir),
            run_dir,
            series: Series::default(),
            problem: None,
            games,
            game: None,
            scenes: None,
        };
        if followed.games.first().is_some_and(|game| !selection::is_in_python(game)) {
            followed.play_next(global);
        }
        Some(followed)
    }

    /// Lets the agent play the next game; after the last one it plays nothing.
    pub(super) fn play_next(&mut self, global: &Global) {
        self.game = Some(self.game.map_or(0, |game| game + 1)).filter(|&game| game < self.games.len());
        self.scenes = self.game.map(|game| {
            let games = vec![self.games[game].clone()];
            let global = Global { quiet: true, ..global.clone() };
            Stage { run_dir: self.run_dir.clone(), games, global, permit: None }.open()
        });
    }

    /// Returns the newest scene, if the agent plays.
    pub(super) fn scene(&self) -> Option<watch::Ref<'_, Scene>> {
        self.scenes.as_ref().map(watch::Receiver::borrow)
    }

    /// Reads what the run has recorded since the last call.
    pub(super) fn read(&mut self) {
        self.problem = self.series.read_on(&mut self.curves).err().map(|error| sentence(&error.into()));
    }

    /// Returns the curves: their tags and their points, those of returns first.
    pub(super) fn curves(&self) -> Vec<(&str, &[(f64, f64)])> {
        let mut curves: Vec<(&str, &[(f64, f64)])> = self.series.curves().collect();
        curves.sort_by_key(|(tag, _)| {
            ORDER.iter().position(|start| tag.starts_with(start)).unwrap_or(ORDER.len())
        });
        curves
    }
}
