use burn::tensor::{Device, Tensor, TensorData};

use super::augmentation::{Distortion, distorted};
use crate::action_values::Branches;
use crate::engine::off_policy::{OffPolicy, ShardRows};
use crate::experience::replay::Draw;
use crate::experience::returns::NStepReturn;
use crate::networks::{Noise, RowTasks};

/// The noise of one gradient step: that of the layers if the network is noisy, and that of the images if they are
/// augmented.
#[derive(Default)]
pub(super) struct StepNoise {
    /// The noise of the target network.
    pub(super) target: Option<Noise>,
    /// The noise of the online network that selects the next action, in double DQN.
    pub(super) selection: Option<Noise>,
    /// The noise of the online network that learns.
    pub(super) online: Option<Noise>,
    /// The distortion of each observation before an action.
    pub(super) observations: Vec<Distortion>,
    /// The distortion of each observation from which a return is bootstrapped.
    pub(super) successors: Vec<Distortion>,
}

/// The steps of one shard that were drawn from a replay buffer, one per row.
pub(super) struct Minibatch {
    pub(super) shard: ShardRows,
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
    /// The action masks of the successors, empty if there are none.
    pub(super) successor_masks: Vec<Vec<u8>>,
}

impl Minibatch {
    /// Collects the steps in `draws` that belong to a shard, with the `noise` of their images.
    pub(super) fn gather(
        off_policy: &OffPolicy<i32>,
        draws: &[Draw],
        shard: ShardRows,
        noise: &StepNoise,
        device: &Device,
    ) -> Self {
        let OffPolicy { replay, spec, layout, .. } = off_policy;
        let draws = shard.select(draws);
        let plain = device.clone().without_autodiff();
        let tasks: Vec<usize> = draws.iter().map(|draw| off_policy.task(draw)).collect();
        let row_tasks = |device: &Device| RowTasks::new(tasks.iter().copied(), &spec.tasks, device);
        let branches = branches(off_policy, &draws, device);
        let weights: Vec<f32> = draws.iter().map(|draw| draw.weight).collect();
        let weights = TensorData::new(branches.weights(&weights), [branches.len()]);
        let images = |rows: Vec<u8>, noise: &[Distortion], device: &Device| {
            let noise = if noise.is_empty() { Vec::new() } else { shard.select(noise) };
            distorted(rows, &noise, *layout, device)
        };
        Self {
            returns: draws.iter().map(|draw| replay.n_step_return(draw)).collect(),
            observations: images(replay.observations(&draws), &noise.observations, device),
            rows: row_tasks(device),
            branches,
            weights: Tensor::from_data(weights, device),
            successors: images(replay.successors(&draws), &noise.successors, &plain),
            successor_rows: row_tasks(&plain),
            successor_masks: replay.successor_masks(&draws),
            tasks,
            draws,
            shard,
        }
    }
}

/// Returns the choices of the actions of `draws`.
pub(super) fn branches(off_policy: &OffPolicy<i32>, draws: &[Draw], device: &Device) -> Branches {
    let OffPolicy { replay, spec, .. } = off_policy;
    let options: Vec<Vec<i32>> = draws.iter().map(|draw| replay.action(draw)).collect();
    let actions =
        draws.iter().zip(&options).map(|(draw, options)| (spec.joint_actions(draw.env), &options[..]));
    Branches::new(actions, spec.max_outputs(), device)
}
