use burn::tensor::{Device, Tensor, TensorData};

use super::augmentation::distorted;
use super::learner::StepNoise;
use crate::action_values::Branches;
use crate::networks::{ObservationLayout, RowTasks};
use crate::replay::{Draw, ReplayBuffer};
use crate::returns::NStepReturn;
use crate::{Task, VectorSpec};

/// Steps drawn from a replay buffer, one per row.
pub(super) struct Minibatch {
    pub(super) draws: Vec<Draw>,
    /// The task of each row.
    pub(super) tasks: Vec<usize>,
    pub(super) returns: Vec<NStepReturn>,
    /// The observations before the actions, on the autodiff device.
    pub(super) observations: Tensor<2>,
    pub(super) rows: RowTasks,
    /// The choices of the actions.
    pub(super) branches: Branches,
    /// The weight of each branch.
    pub(super) weights: Tensor<1>,
    /// The observations from which the returns are bootstrapped, without gradients.
    pub(super) successors: Tensor<2>,
    pub(super) successor_rows: RowTasks,
}

impl Minibatch {
    /// Collects the steps of `draws`, with the `noise` of their images.
    pub(super) fn gather(
        replay: &ReplayBuffer<i32>,
        draws: Vec<Draw>,
        spec: &VectorSpec,
        layout: ObservationLayout,
        noise: &StepNoise,
        device: &Device,
    ) -> Self {
        let plain = device.clone().without_autodiff();
        let task_ids = || draws.iter().map(|draw| spec.task_ids[draw.env]);
        let options: Vec<Vec<i32>> = draws.iter().map(|draw| replay.action(draw)).collect();
        let actions =
            draws.iter().zip(&options).map(|(draw, options)| (spec.joint_actions(draw.env), &options[..]));
        let branches = Branches::new(actions, spec.max_outputs(), device);
        let weights: Vec<f32> = draws.iter().map(|draw| draw.weight).collect();
        let weights = TensorData::new(branches.weights(&weights), [branches.len()]);
        let tasks: &[Task] = &spec.tasks;
        Self {
            tasks: task_ids().collect(),
            returns: draws.iter().map(|draw| replay.n_step_return(draw)).collect(),
            observations: distorted(replay.observations(&draws), &noise.observations, layout, device),
            rows: RowTasks::new(task_ids(), tasks, device),
            branches,
            weights: Tensor::from_data(weights, device),
            successors: distorted(replay.successors(&draws), &noise.successors, layout, &plain),
            successor_rows: RowTasks::new(task_ids(), tasks, &plain),
            draws,
        }
    }
}
