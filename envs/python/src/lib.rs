//! The compiled part of the Python package `ale_train`: environments and
//! emulators as Python objects, batches and screens as NumPy arrays.
//!
//! The Python modules `ale_train/*.py` implement the interfaces of Gymnasium, EnvPool and `dm_env`. This crate contains
//! only the parts that require Rust: the environments, memory shared with NumPy, and waiting without the GIL.

mod actions;
mod ale_interface;
mod ale_state;
mod atari_pool;
mod columns;
mod environments;
mod errors;
mod info;
#[cfg(all(unix, feature = "learners"))]
mod learners;
mod machine;
mod packages;
mod pinned;
mod players_pool;
mod received;
mod settings;
mod signals;
mod tasks;
mod xla;

/// `ale_train._native`, private to the package.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::ale_interface::{AleInterface, PlayersGame};
    #[pymodule_export]
    use crate::ale_state::AleState;
    #[pymodule_export]
    use crate::atari_pool::AtariPool;
    #[pymodule_export]
    use crate::players_pool::PlayersPool;
    #[pymodule_export]
    use crate::tasks::TaskPool;

    #[cfg(all(unix, feature = "learners"))]
    #[pymodule_export]
    use crate::learners::{
        NativeAgent, NativeLearner, experiment, key_of_setting, main, planned_experiment, progress,
        row_bytes, run_command, worker_source,
    };

    /// Returns the ids of all games.
    #[pyfunction]
    fn games() -> Vec<&'static str> {
        ale::games().iter().map(|game| game.id).collect()
    }

    /// Returns the ids of the games for several players, each with its numbers of players.
    #[pyfunction]
    fn players_games() -> std::collections::BTreeMap<&'static str, Vec<usize>> {
        ale::multiplayer_games().map(|game| (game.id, game.players())).collect()
    }

    /// Returns the id of the game that a name means, if there is one.
    #[pyfunction]
    fn game_named(name: &str) -> Option<&'static str> {
        ale::game_named(name).ok().map(|game| game.id)
    }

    /// Returns the modes and the difficulties of a game, by the names of the options.
    #[pyfunction]
    fn variants(game: &str) -> PyResult<std::collections::HashMap<&'static str, &'static [u32]>> {
        let game = ale::game(game).map_err(|error| crate::errors::from_ale(&error))?;
        Ok([("mode", game.modes), ("difficulty", game.difficulties)].into())
    }

    /// Returns the id, the step limit and the reward threshold of each environment that is not an Atari game.
    #[pyfunction]
    fn tasks() -> Vec<(String, Option<u32>, Option<f64>)> {
        crate::tasks::environments()
    }

    /// Returns the largest values of options by their names.
    #[pyfunction]
    fn limits() -> std::collections::BTreeMap<&'static str, usize> {
        crate::settings::LIMITS.into()
    }

    /// Returns the ROM directory, if one is known, the ids of the games whose ROM is found, and the reason why there is
    /// no directory.
    #[pyfunction]
    fn rom_store(
        py: Python<'_>,
    ) -> PyResult<(Option<std::path::PathBuf>, Vec<&'static str>, Option<String>)> {
        let sources = crate::packages::rom_sources(py)?;
        Ok(py.detach(|| crate::machine::roms(&sources)))
    }

    /// Returns the directory of MuJoCo, if one is known, and the reason why its library cannot be used, if there is
    /// one.
    #[pyfunction]
    fn mujoco_installation(py: Python<'_>) -> (Option<std::path::PathBuf>, Option<String>) {
        py.detach(crate::machine::mujoco)
    }

    /// Returns the architecture of the processor, and its features for which there are kernels.
    #[pyfunction]
    fn processor() -> (&'static str, Vec<&'static str>) {
        crate::machine::processor()
    }

    /// Returns the path of a game's ROM. A missing ROM is downloaded with the pip of `python`.
    #[pyfunction]
    fn rom_path(py: Python<'_>, game: &str, python: &str) -> PyResult<std::path::PathBuf> {
        let sources = crate::packages::rom_sources(py)?;
        crate::signals::wait(py, || {
            crate::ale_interface::rom_path(game, &sources, &crate::packages::pip(python))
        })?
    }

    /// Returns the name and address of each function that XLA calls.
    #[pyfunction]
    fn xla_targets(py: Python<'_>) -> PyResult<Vec<(&'static str, Bound<'_, pyo3::types::PyCapsule>)>> {
        crate::xla::targets(py)
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
