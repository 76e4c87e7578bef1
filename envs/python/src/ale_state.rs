//! Saved states of an emulator.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use ale::{AleError, SavedState};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

/// A saved state of an `ALEInterface`, which can be pickled. The bytes are not those of ale-py.
#[pyclass(subclass, name = "ALEState", module = "ale_train._native")]
#[derive(Clone, Default)]
pub(crate) struct AleState(Option<Arc<SavedState>>);

impl AleState {
    pub(crate) fn new(state: SavedState) -> Self {
        Self(Some(Arc::new(state)))
    }

    /// Returns the state, or an error if it is empty.
    pub(crate) fn state(&self) -> PyResult<Arc<SavedState>> {
        self.0
            .clone()
            .ok_or_else(|| PyRuntimeError::new_err("this ALEState is empty; cloneState() saves one"))
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.as_ref().map_or_else(Vec::new, |state| state.to_bytes())
    }

    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        SavedState::from_bytes(bytes).map(Self::new).map_err(|error| {
            let hint = if error == AleError::BadState { "; states of ale-py cannot be loaded" } else { "" };
            PyValueError::new_err(format!("{error}{hint}"))
        })
    }
}

#[pymethods]
// The names are ale-py's, and PyO3 passes arguments by value.
#[allow(non_snake_case, clippy::needless_pass_by_value)]
impl AleState {
    /// Creates an empty state, or one from the bytes of `serialize`.
    #[new]
    #[pyo3(signature = (serialized = None, *rest))]
    fn py_new(serialized: Option<&[u8]>, rest: &Bound<'_, PyTuple>) -> PyResult<Self> {
        if !rest.is_empty() {
            return Err(PyTypeError::new_err("ALEState takes one argument, the bytes of serialize()"));
        }
        serialized.map_or_else(|| Ok(Self::default()), Self::from_bytes)
    }

    /// Returns the state as bytes.
    fn serialize<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes())
    }

    /// Returns true if both states are the same. As in ale-py, screens are not compared.
    fn equals(&self, other: PyRef<'_, Self>) -> bool {
        self.0 == other.0
    }

    fn __eq__(&self, other: PyRef<'_, Self>) -> bool {
        self.equals(other)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    fn __ne__(&self, other: PyRef<'_, Self>) -> bool {
        !self.equals(other)
    }

    /// Returns the number of frames since the game was loaded.
    fn getFrameNumber(&self) -> u32 {
        self.0.as_ref().map_or(0, |state| state.frame_number())
    }

    /// Returns the number of frames since the last reset.
    fn getEpisodeFrameNumber(&self) -> u32 {
        self.0.as_ref().map_or(0, |state| state.episode_frame_number())
    }

    /// Returns the game's mode.
    fn getCurrentMode(&self) -> u32 {
        self.0.as_ref().map_or(0, |state| state.mode())
    }

    /// Returns the difficulty switches.
    fn getDifficulty(&self) -> u32 {
        self.0.as_ref().map_or(0, |state| state.difficulty())
    }

    fn __getstate__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.serialize(py)
    }

    fn __setstate__(&mut self, serialized: &[u8]) -> PyResult<()> {
        *self = Self::from_bytes(serialized)?;
        Ok(())
    }
}
