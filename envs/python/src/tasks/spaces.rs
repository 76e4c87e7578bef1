use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rl_env::{Bound as Limit, Space};

/// Returns a space as a tuple, from which Python makes Gymnasium's: `("Box", dtype, shape, low, high)`,
/// `("Discrete", n, start)` or `("Tuple", spaces)`.
pub(crate) fn described<'py>(py: Python<'py>, space: &Space) -> PyResult<Bound<'py, PyTuple>> {
    match space {
        Space::Box { low, high, shape, dtype } => {
            let elements = shape.iter().product();
            let each = |limit: &Limit| (0..elements).map(|index| limit.of(index)).collect::<Vec<f64>>();
            ("Box", dtype.name(), PyTuple::new(py, shape)?, each(low), each(high)).into_pyobject(py)
        }
        Space::Discrete { n, start } => ("Discrete", n, start).into_pyobject(py),
        Space::Tuple(parts) => {
            let parts = parts.iter().map(|part| described(py, part)).collect::<PyResult<Vec<_>>>()?;
            ("Tuple", parts).into_pyobject(py)
        }
        other => Err(PyTypeError::new_err(format!("{other} has no counterpart in Python"))),
    }
}
