use numpy::ndarray::Dimension;
use numpy::{Element, PyArray, PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use rl_env::Actions;

/// A copy of an array of actions, which Python threads cannot change: indices, or rows of continuous actions.
pub(crate) enum OwnActions {
    Discrete(Vec<i32>),
    Continuous(Vec<f32>),
}

impl OwnActions {
    /// Converts indices to 32 bits. Saturation keeps an invalid action invalid, while truncation could make it valid.
    pub(crate) fn saturated(indices: &[i64]) -> Self {
        let saturated = |&index: &i64| index.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        Self::Discrete(indices.iter().map(saturated).collect())
    }

    pub(crate) fn as_actions(&self) -> Actions<'_> {
        match self {
            Self::Discrete(indices) => Actions::Discrete(indices),
            Self::Continuous(values) => Actions::Continuous(values),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for OwnActions {
    type Error = PyErr;

    /// Copies an array of one of the types that ale-py accepts.
    fn extract(array: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(indices) = array.cast::<PyArray1<i32>>() {
            Ok(Self::Discrete(elements(&indices)?))
        } else if let Ok(indices) = array.cast::<PyArray1<i64>>() {
            Ok(Self::saturated(&elements(&indices)?))
        } else if let Ok(values) = array.cast::<PyArray2<f32>>() {
            Ok(Self::Continuous(elements(&values)?))
        } else {
            Err(PyTypeError::new_err("actions must be an array of int32 or int64, or rows of float32"))
        }
    }
}

/// Copies the elements of an array in the order of its rows.
fn elements<T: Element + Copy, D: Dimension>(array: &Bound<'_, PyArray<T, D>>) -> PyResult<Vec<T>> {
    // Reading in place is fast. The condition excludes arrays in column-major order, which `to_vec` would accept;
    // `to_vec` refuses elements that are not aligned.
    let in_place = array.is_c_contiguous().then(|| array.to_vec());
    if let Some(Ok(elements)) = in_place {
        return Ok(elements);
    }
    // NumPy copies any layout. The strides of `as_array` are whole elements, unlike those of a field of packed records.
    let copy = array.call_method1(intern!(array.py(), "copy"), ("C",))?.cast_into::<PyArray<T, D>>()?;
    Ok(copy.to_vec()?)
}
