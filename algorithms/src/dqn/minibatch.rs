use burn::tensor::{Device, Int, Tensor, TensorData};

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
    pub(super) actions: Tensor<1, Int>,
    pub(super) weights: Tensor<1>,
    /// The observations from which the returns are bootstrapped, without gradients.
    pub(super) successors: Tensor<2>,
    pub(super) successor_rows: RowTasks,
}

impl Minibatch {
    pub(super) fn gather(
        replay: &ReplayBuffer,
        draws: Vec<Draw>,
        spec: &VectorSpec,
        layout: ObservationLayout,
        device: &Device,
    ) -> Self {
        let plain = device.clone().without_autodiff();
        let count = draws.len();
        let task_ids = || draws.iter().map(|draw| spec.task_ids[draw.env]);
        let tensor =
            |rows: &[u8], device: &Device| layout.tensor(rows.chunks_exact(layout.row_bytes()), device);
        let actions: Vec<i32> = draws.iter().map(|draw| replay.action(draw)).collect();
        let weights: Vec<f32> = draws.iter().map(|draw| draw.weight).collect();
        let tasks: &[Task] = &spec.tasks;
        Self {
            tasks: task_ids().collect(),
            returns: draws.iter().map(|draw| replay.n_step_return(draw)).collect(),
            observations: tensor(&replay.observations(&draws), device),
            rows: RowTasks::new(task_ids(), tasks, device),
            actions: Tensor::from_data(TensorData::new(actions, [count]), device),
            weights: Tensor::from_data(TensorData::new(weights, [count]), device),
            successors: tensor(&replay.successors(&draws), &plain),
            successor_rows: RowTasks::new(task_ids(), tasks, &plain),
            draws,
        }
    }

    /// Selects the outputs of each row's action: `[rows, actions, atoms]` to `[rows, atoms]`.
    pub(super) fn of_actions(&self, outputs: Tensor<3>) -> Tensor<2> {
        let [rows, _, atoms] = outputs.dims();
        let index = self.actions.clone().reshape([rows, 1, 1]).expand([rows, 1, atoms]);
        outputs.gather(1, index).squeeze_dim(1)
    }
}
