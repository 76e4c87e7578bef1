//! Random legal actions, and illegal ones.

use std::fmt;

use crate::{Action, ActionKind, Pcg64, Space};

/// An [`Action`] that owns its values.
#[derive(Clone, Debug)]
pub(super) enum OwnedAction {
    Discrete(Vec<i32>),
    Continuous(Vec<f32>),
}

impl OwnedAction {
    pub(super) fn as_action(&self) -> Action<'_> {
        match self {
            Self::Discrete(values) => Action::Discrete(values),
            Self::Continuous(values) => Action::Continuous(values),
        }
    }
}

impl fmt::Display for OwnedAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_action().fmt(f)
    }
}

/// Returns `count` random actions.
pub(super) fn sample_actions(space: &Space, count: usize) -> Vec<OwnedAction> {
    let mut generator = Pcg64::new(0);
    let mut row = vec![0; space.byte_len()];
    let actions = (0..count).map(|_| {
        space.sample(&mut generator, &mut row);
        action_in_row(space, &row)
    });
    actions.collect()
}

/// Returns the action that `row` holds, a value of `space`.
fn action_in_row(space: &Space, row: &[u8]) -> OwnedAction {
    let leaves = space.leaves();
    let values =
        leaves.iter().flat_map(|leaf| (0..leaf.space.num_elements()).map(|index| leaf.element(row, index)));
    match ActionKind::of(space) {
        Some(ActionKind::Continuous) => OwnedAction::Continuous(values.map(|value| value as f32).collect()),
        _ => OwnedAction::Discrete(values.map(|value| value as i32).collect()),
    }
}

/// Returns actions of the wrong kind, length or range, made from a legal one.
pub(super) fn illegal_actions(space: &Space, legal: &OwnedAction) -> Vec<OwnedAction> {
    let candidates = match legal {
        OwnedAction::Discrete(values) => {
            let with_first = |first| OwnedAction::Discrete([&[first], &values[1..]].concat());
            vec![
                with_first(i32::MIN),
                with_first(-1),
                with_first(i32::MAX),
                OwnedAction::Discrete(Vec::new()),
                OwnedAction::Discrete([values.as_slice(), &[0]].concat()),
                OwnedAction::Continuous(vec![0.0; values.len()]),
            ]
        }
        OwnedAction::Continuous(values) => {
            let with_first = |first| OwnedAction::Continuous([&[first], &values[1..]].concat());
            vec![
                with_first(f32::NAN),
                with_first(f32::INFINITY),
                OwnedAction::Continuous(Vec::new()),
                OwnedAction::Continuous([values.as_slice(), &[0.0]].concat()),
                OwnedAction::Discrete(vec![0; values.len()]),
            ]
        }
    };
    candidates.into_iter().filter(|action| !action.as_action().fits(space)).collect()
}
