//! The info dictionaries.

use ale::AtariInfo;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use rl_env::VectorEnv;
use vector::AtariVectorEnv;

use crate::received;

/// A dictionary of arrays with one entry per row.
struct Columns<'py>(Bound<'py, PyDict>);

impl<'py> Columns<'py> {
    fn new(py: Python<'py>) -> Self {
        Self(PyDict::new(py))
    }

    fn add<T: Element>(
        &self,
        name: &Bound<'py, PyString>,
        values: impl IntoIterator<Item = T>,
    ) -> PyResult<()> {
        self.0.set_item(name, received::column(self.0.py(), values))
    }

    /// Adds ale-py's entries about the state of each environment.
    fn add_state(&self, infos: &[AtariInfo]) -> PyResult<()> {
        let py = self.0.py();
        self.add(intern!(py, "lives"), infos.iter().map(|info| info.lives))?;
        self.add(intern!(py, "frame_number"), infos.iter().map(|info| info.frame_number as i32))?;
        self.add(
            intern!(py, "episode_frame_number"),
            infos.iter().map(|info| info.episode_frame_number as i32),
        )
    }
}

/// Returns ale-py's entries for the last batch.
pub(crate) fn of_ale_py<'py>(py: Python<'py>, env: &AtariVectorEnv) -> PyResult<Bound<'py, PyDict>> {
    let columns = Columns::new(py);
    columns.add(intern!(py, "env_id"), env.batch().env_ids.iter().map(|&env| env as i32))?;
    columns.add_state(env.infos())?;
    Ok(columns.0)
}

/// Adds the entries that ale-py does not have.
pub(crate) fn add_extra(info: &Bound<'_, PyDict>, env: &AtariVectorEnv) -> PyResult<()> {
    let py = info.py();
    let (batch, columns) = (env.batch(), Columns(info.clone()));
    columns.add(intern!(py, "game_id"), batch.env_ids.iter().map(|&id| env.task_ids()[id] as i32))?;
    columns.add(intern!(py, "mode"), env.infos().iter().map(|info| info.mode as i32))?;
    columns.add(intern!(py, "difficulty"), env.infos().iter().map(|info| info.difficulty as i32))?;
    info.set_item(intern!(py, "raw_reward"), received::whole_numbers(py, &batch.raw_rewards))?;
    columns.add(intern!(py, "steps"), batch.steps.iter().map(|&steps| steps as i32))?;
    columns.add(intern!(py, "autoreset"), batch.autoreset.iter().copied())?;
    columns.add(intern!(py, "continues"), batch.continues.iter().copied())?;
    let masks: Result<Vec<&[bool]>, _> = batch.env_ids.iter().map(|&id| env.action_mask(id)).collect();
    let masks = masks.map_err(|error| crate::errors::of_vector(&error))?;
    let width = masks.first().map_or(0, |mask| mask.len());
    let masks = PyArray1::from_vec(py, masks.concat()).reshape([batch.len(), width])?;
    info.set_item(intern!(py, "action_mask"), masks)?;
    if batch.episodes.iter().any(Option::is_some) {
        add_episodes(&columns, env)?;
    }
    Ok(())
}

/// Adds the statistics of the episodes that ended, in the format of Gymnasium's `RecordEpisodeStatistics`, and their final
/// info.
fn add_episodes(columns: &Columns<'_>, env: &AtariVectorEnv) -> PyResult<()> {
    let (py, batch) = (columns.0.py(), env.batch());
    let episode = Columns::new(py);
    let stats = || batch.episodes.iter().map(|episode| episode.unwrap_or_default());
    episode.add(intern!(py, "r"), stats().map(|stats| stats.total_reward))?;
    episode.add(intern!(py, "l"), stats().map(|stats| stats.length as i64))?;
    episode.add(intern!(py, "t"), batch.episode_seconds.iter().copied())?;
    columns.0.set_item(intern!(py, "episode"), episode.0)?;
    columns.add(intern!(py, "_episode"), batch.episodes.iter().map(Option::is_some))?;
    let last = Columns::new(py);
    last.add_state(env.final_infos())?;
    columns.0.set_item(intern!(py, "final_info"), last.0)
}
