use burn::tensor::Tensor;
use kernels::host::floats;

use super::Pqn;
use crate::action_values::Branches;
use crate::engine::on_policy::OnPolicy;
use crate::networks::RowTasks;

/// Some transitions of a rollout as tensors. A *branch* is a choice of a row's action.
pub struct Minibatch {
    pub(super) observations: Tensor<2>,
    pub(super) rows: RowTasks,
    pub(super) branches: Branches,
    /// `[branches]`: all choices of an action learn the same return.
    pub(super) returns: Tensor<1>,
    /// `[branches]`: the weight of each branch.
    pub(super) weights: Tensor<1>,
}

impl Minibatch {
    /// Collects transitions. `returns` are those of all entries.
    pub(super) fn gather(pqn: &Pqn, transitions: &[usize], returns: &[f32]) -> Self {
        let OnPolicy { spec, rollout, training, .. } = &pqn.on_policy;
        let device = &training.device;
        let tasks = transitions.iter().map(|&entry| pqn.on_policy.task(entry));
        let actions =
            transitions.iter().map(|&entry| (spec.joint_actions(rollout.env(entry)), rollout.action(entry)));
        let branches = Branches::new(actions, spec.max_outputs(), device);
        let scales = &pqn.agent.actor.head().scales;
        let squash = |&entry: &usize| scales.squash(pqn.on_policy.task(entry), returns[entry]);
        let returns: Vec<f32> = transitions.iter().map(squash).collect();
        let column = |values: Vec<f32>| floats(values, [branches.len()], device);
        Self {
            observations: pqn.on_policy.observations(transitions),
            rows: RowTasks::new(tasks, &spec.tasks, device),
            returns: column(branches.repeat(&returns)),
            weights: column(branches.weights(&vec![1.0; transitions.len()])),
            branches,
        }
    }
}
