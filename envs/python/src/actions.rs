use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::FromPyObject;
use rl_env::Actions;

/// An array of actions from Python: indices of either integer type that ale-py accepts, or rows of continuous actions.
#[derive(FromPyObject)]
pub(crate) enum ActionArray<'py> {
    Int32(PyReadonlyArray1<'py, i32>),
    Int64(PyReadonlyArray1<'py, i64>),
    Float32(PyReadonlyArray2<'py, f32>),
}

/// A copy of the actions that Python threads cannot change.
pub(crate) enum OwnActions {
    Discrete(Vec<i32>),
    Continuous(Vec<f32>),
}

impl OwnActions {
    pub(crate) fn as_actions(&self) -> Actions<'_> {
        match self {
            Self::Discrete(indices) => Actions::Discrete(indices),
            Self::Continuous(values) => Actions::Continuous(values),
        }
    }
}

impl ActionArray<'_> {
    /// Copies the actions.
    pub(crate) fn to_own(&self) -> OwnActions {
        match self {
            Self::Int32(indices) => OwnActions::Discrete(indices.as_array().to_vec()),
            // Saturation keeps an invalid action invalid, while truncation could make it valid.
            Self::Int64(indices) => {
                let saturated = |&index: &i64| index.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
                OwnActions::Discrete(indices.as_array().iter().map(saturated).collect())
            }
            Self::Float32(values) => OwnActions::Continuous(values.as_array().iter().copied().collect()),
        }
    }
}
