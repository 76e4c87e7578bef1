//! The compiled half of the Python package `ale_train`: vector environments as Python objects, batches as NumPy arrays.
//!
//! What the objects are called and how they behave towards Gymnasium, EnvPool and `dm_env` is decided in Python, in
//! `ale_train/*.py`. Here is only what has to be Rust: the environments, memory shared with NumPy, and waiting without
//! the interpreter's lock.

mod actions;
mod atari_pool;
mod errors;
mod info;
mod received;
mod settings;

/// `ale_train._native`, private to the package.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::atari_pool::AtariPool;

    /// The ids of all games, in the order of the table.
    #[pyfunction]
    fn games() -> Vec<&'static str> {
        ale::games().iter().map(|game| game.id).collect()
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
