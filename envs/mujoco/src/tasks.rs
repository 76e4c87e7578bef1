//! The rules of the tasks.

mod arms;
mod humanoids;
mod pendulums;
mod runners;

use arms::{pusher, reacher};
use humanoids::{humanoid, humanoid_standup};
use pendulums::{inverted_double_pendulum, inverted_pendulum};
use runners::{ant, half_cheetah, hopper, swimmer, walker2d};

use crate::arguments::Arguments;
use crate::error::MujocoError;
use crate::model::Model;
use crate::rules::Rules;
use crate::specs::TaskSpec;

/// Finds in a model what the rules of a task need.
type MakeRules = fn(&Arguments, &Model) -> Result<Rules, MujocoError>;

/// The rules by the names of the tasks, without their versions.
const RULES: [(&str, MakeRules); 11] = [
    ("Ant", ant),
    ("HalfCheetah", half_cheetah),
    ("Hopper", hopper),
    ("Humanoid", humanoid),
    ("HumanoidStandup", humanoid_standup),
    ("InvertedDoublePendulum", inverted_double_pendulum),
    ("InvertedPendulum", inverted_pendulum),
    ("Pusher", pusher),
    ("Reacher", reacher),
    ("Swimmer", swimmer),
    ("Walker2d", walker2d),
];

/// Returns the rules of a task.
pub(crate) fn rules_of(spec: &TaskSpec) -> MakeRules {
    let task = spec.id.rsplit_once('-').map(|(task, _)| task);
    RULES.iter().find(|(name, _)| task == Some(*name)).expect("every task has rules").1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specs::specs;

    #[test]
    fn every_task_has_rules() {
        for spec in specs() {
            rules_of(spec);
        }
    }
}
