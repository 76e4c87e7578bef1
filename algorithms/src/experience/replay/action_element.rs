use std::fmt::Debug;

use rl_env::{ActionBuffer, Actions};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{TaskActions, VectorSpec};

/// An element of the actions in a replay buffer: an option of a choice, or a component of a continuous action.
pub trait ActionElement: Copy + Debug + Default + PartialEq + Serialize + DeserializeOwned + 'static {
    /// Returns the largest number of elements of any task's actions.
    fn width(spec: &VectorSpec) -> usize;

    /// Returns the actions that elements form.
    fn as_actions(elements: &[Self]) -> Actions<'_>;

    /// Turns elements into the actions that they form.
    fn into_buffer(elements: Vec<Self>) -> ActionBuffer;

    /// Returns the element as a number, for reports.
    fn to_f32(self) -> f32;

    /// Returns true if `elements`, padded with 0, are one of `actions`.
    fn is_legal(actions: &TaskActions, elements: &[Self]) -> bool;
}

impl ActionElement for i32 {
    fn width(spec: &VectorSpec) -> usize {
        spec.max_choices()
    }

    fn as_actions(elements: &[Self]) -> Actions<'_> {
        Actions::Discrete(elements)
    }

    fn into_buffer(elements: Vec<Self>) -> ActionBuffer {
        ActionBuffer::Discrete(elements)
    }

    fn to_f32(self) -> f32 {
        self as f32
    }

    fn is_legal(actions: &TaskActions, elements: &[Self]) -> bool {
        actions.joint().is_some_and(|actions| actions.is_legal(elements))
    }
}

/// Components are stored in -1..=1, whatever the bounds of the task.
impl ActionElement for f32 {
    fn width(spec: &VectorSpec) -> usize {
        spec.max_components()
    }

    fn as_actions(elements: &[Self]) -> Actions<'_> {
        Actions::Continuous(elements)
    }

    fn into_buffer(elements: Vec<Self>) -> ActionBuffer {
        ActionBuffer::Continuous(elements)
    }

    fn to_f32(self) -> f32 {
        self
    }

    fn is_legal(actions: &TaskActions, elements: &[Self]) -> bool {
        actions.joint().is_none() && elements.iter().all(|element| (-1.0..=1.0).contains(element))
    }
}
