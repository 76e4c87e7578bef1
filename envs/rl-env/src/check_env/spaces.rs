//! The validity of spaces.

use super::{Rule, Violation};
use crate::{ActionKind, Bound, Dtype, Space};

/// Checks the spaces of an environment.
pub(super) fn check(observation_space: &Space, action_space: &Space) -> Result<(), Violation> {
    for (name, space) in [("observation", observation_space), ("action", action_space)] {
        if let Some(fault) = fault(space) {
            return Err(Rule::SpacesAreValid.violated(format!("the {name} space {space} {fault}")));
        }
    }
    if ActionKind::of(action_space).is_none() {
        let details = format!("the action space {action_space} mixes integers and floats");
        return Err(Rule::SpacesAreValid.violated(details));
    }
    Ok(())
}

fn fault(space: &Space) -> Option<&'static str> {
    if space.num_elements() == 0 {
        return Some("has no elements");
    }
    match space {
        Space::Box { low, high, dtype, .. } => box_fault(space.num_elements(), low, high, *dtype),
        Space::Discrete { n: 0, .. } => Some("has no values"),
        Space::MultiDiscrete { nvec, .. } if nvec.contains(&0) => Some("has a choice without values"),
        Space::MultiDiscrete { nvec, start } if nvec.len() != start.len() => {
            Some("has different numbers of choices and of first values")
        }
        _ => space.parts().find_map(fault),
    }
}

fn box_fault(num_elements: usize, low: &Bound, high: &Bound, dtype: Dtype) -> Option<&'static str> {
    let has_length = |bound: &Bound| matches!(bound, Bound::All(_)) || bound_len(bound) == num_elements;
    if !has_length(low) || !has_length(high) {
        return Some("has bounds for a different number of elements");
    }
    let mut ranges = (0..num_elements).map(|index| (low.of(index), high.of(index)));
    if !ranges.clone().all(|(low, high)| low <= high) {
        return Some("has a lower bound above its upper bound");
    }
    let is_infinite = |(low, high): (f64, f64)| low.is_infinite() || high.is_infinite();
    (!dtype.is_float() && ranges.any(is_infinite)).then_some("has infinite bounds for integers")
}

fn bound_len(bound: &Bound) -> usize {
    match bound {
        Bound::All(_) => 1,
        Bound::Each(values) => values.len(),
    }
}
