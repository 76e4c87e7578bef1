//! The rules of the tasks.

mod arms;
mod humanoids;
mod pendulums;
mod runners;

pub(crate) use arms::{pusher, reacher};
pub(crate) use humanoids::{humanoid, humanoid_standup};
pub(crate) use pendulums::{inverted_double_pendulum, inverted_pendulum};
pub(crate) use runners::{ant, half_cheetah, hopper, swimmer, walker2d};
