use burn::tensor::{Device, Tensor, TensorData};

use crate::engine::off_policy::{OffPolicy, ShardRows};
use crate::experience::replay::Draw;
use crate::networks::RowTasks;
use crate::networks::observation_statistics::ObservationStatistics;

/// The steps of one shard that were drawn from a replay buffer, one per row. The tensors do not track gradients
/// themselves.
pub(super) struct Minibatch {
    pub(super) shard: ShardRows,
    pub(super) draws: Vec<Draw>,
    /// The observations before the actions, `[rows, length]`, normalised if configured, on the autodiff device.
    pub(super) observations: Tensor<2>,
    /// The actions taken, `[rows, components]`, from -1 to 1, on the autodiff device.
    pub(super) actions: Tensor<2>,
    /// The tasks on the autodiff device.
    pub(super) rows: RowTasks,
    /// `[rows]`, without autodiff like everything below.
    pub(super) rewards: Tensor<1>,
    /// The discounts of the successors' values, `[rows]`: 0 after a terminated step.
    pub(super) discounts: Tensor<1>,
    /// The observations after the actions, `[rows, length]`, normalised if configured.
    pub(super) successors: Tensor<2>,
    pub(super) successor_rows: RowTasks,
}

impl Minibatch {
    /// Collects the steps in `draws` that belong to a shard. `statistics` are present if observations are normalised.
    pub(super) fn gather(
        off_policy: &OffPolicy<f32>,
        statistics: Option<&ObservationStatistics>,
        draws: &[Draw],
        shard: ShardRows,
        device: &Device,
    ) -> Self {
        let OffPolicy { replay, spec, layout, .. } = off_policy;
        let draws = shard.select(draws);
        let plain = device.clone().without_autodiff();
        let count = draws.len();
        let tasks: Vec<usize> = draws.iter().map(|draw| off_policy.task(draw)).collect();
        let rows = |device: &Device| RowTasks::new(tasks.iter().copied(), &spec.tasks, device);
        let observations = |bytes: &[u8], rows: &RowTasks, device: &Device| {
            let observations = layout.tensor(bytes.chunks_exact(layout.row_bytes()), device);
            match statistics {
                Some(statistics) => statistics.normalizer(device).apply(observations, rows),
                None => observations,
            }
        };
        let (own_rows, successor_rows) = (rows(device), rows(&plain));
        let actions: Vec<f32> = draws.iter().flat_map(|draw| replay.action(draw)).collect();
        let returns: Vec<_> = draws.iter().map(|draw| replay.n_step_return(draw)).collect();
        let column = |values: Vec<f32>| Tensor::from_data(TensorData::new(values, [count]), &plain);
        Self {
            observations: observations(&replay.observations(&draws), &own_rows, device),
            actions: Tensor::from_data(TensorData::new(actions, [count, spec.max_components()]), device),
            rows: own_rows,
            rewards: column(returns.iter().map(|n_step| n_step.rewards).collect()),
            discounts: column(returns.iter().map(|n_step| n_step.discount).collect()),
            successors: observations(&replay.successors(&draws), &successor_rows, &plain),
            successor_rows,
            draws,
            shard,
        }
    }
}
