//! The definition of legal actions, and its errors.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The largest total number of options.
pub(super) const MAX_OPTIONS: usize = 1 << 20;

/// The definition of legal actions, from which everything else is derived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Definition {
    /// The number of options of each choice.
    pub(super) sizes: Vec<usize>,
    /// The options of each action of a discrete space. `None` if all combinations are legal and the environment expects
    /// the options themselves.
    pub(super) factors: Option<Vec<Vec<usize>>>,
}

/// An error in the definition of legal actions.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum JointActionsError {
    /// There are no choices, a choice has no options, or there are too many of them.
    #[error(
        "choices of {0:?} options are not possible: each choice needs at least one option, and there can be at \
         most {max} in total",
        max = MAX_OPTIONS
    )]
    Sizes(Vec<usize>),
    /// There are no actions.
    #[error("a task needs at least one action")]
    Empty,
    /// An action does not fit the choices.
    #[error("the action {action:?} must have one option for each choice, below {sizes:?}")]
    Unfit {
        /// The options of the action.
        action: Vec<usize>,
        /// The number of options of each choice.
        sizes: Vec<usize>,
    },
    /// Two actions have the same options.
    #[error("two actions have the same options {0:?}")]
    Repeated(Vec<usize>),
}

/// Returns the first output column of each choice. Fails unless the numbers of options are possible.
pub(super) fn first_columns(sizes: &[usize]) -> Result<Vec<usize>, JointActionsError> {
    let total = sizes.iter().try_fold(0_usize, |total, &size| total.checked_add(size));
    if sizes.is_empty() || sizes.contains(&0) || total.is_none_or(|total| total > MAX_OPTIONS) {
        return Err(JointActionsError::Sizes(sizes.to_vec()));
    }
    let mut first_columns = Vec::with_capacity(sizes.len());
    let mut next = 0;
    for &size in sizes {
        first_columns.push(next);
        next += size;
    }
    Ok(first_columns)
}

/// Returns actions in ascending order. Fails unless they are distinct and fit the choices.
pub(super) fn sorted<'a>(
    sizes: &[usize],
    factors: &'a [Vec<usize>],
) -> Result<Vec<&'a [usize]>, JointActionsError> {
    let fits = |action: &[usize]| {
        action.len() == sizes.len() && action.iter().zip(sizes).all(|(option, size)| option < size)
    };
    if let Some(action) = factors.iter().find(|action| !fits(action)) {
        return Err(JointActionsError::Unfit { action: action.clone(), sizes: sizes.to_vec() });
    }
    let mut sorted: Vec<&[usize]> = factors.iter().map(Vec::as_slice).collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(JointActionsError::Repeated(pair[0].to_vec())),
        None if sorted.is_empty() => Err(JointActionsError::Empty),
        None => Ok(sorted),
    }
}
