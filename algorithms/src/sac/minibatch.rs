use burn::tensor::{Device, Tensor, TensorData};

use super::kind::{Kind, States};
use crate::engine::off_policy::{OffPolicy, ShardRows};
use crate::experience::replay::Draw;
use crate::networks::RowTasks;
use crate::networks::observation_statistics::ObservationStatistics;

/// The steps of one shard that were drawn from a replay buffer, one per row. The tensors do not track gradients
/// themselves.
pub(super) struct Minibatch<K: Kind> {
    pub(super) shard: ShardRows,
    pub(super) draws: Vec<Draw>,
    /// The states before the actions, on the autodiff device.
    pub(super) states: States,
    /// The actions taken, on the autodiff device.
    pub(super) taken: K::Taken,
    /// `[rows]`, without autodiff like everything below.
    pub(super) rewards: Tensor<1>,
    /// The discounts of the successors' values, `[rows]`: 0 after a terminated step.
    pub(super) discounts: Tensor<1>,
    /// The states after the actions.
    pub(super) successors: States,
}

impl<K: Kind> Minibatch<K> {
    /// Collects the steps in `draws` that belong to a shard. `statistics` are present if observations are normalised.
    pub(super) fn gather(
        off_policy: &OffPolicy<K::Element>,
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
        let states = |bytes: &[u8], masks: &[Vec<u8>], device: &Device| {
            let rows = RowTasks::new(tasks.iter().copied(), &spec.tasks, device);
            let rows = rows.masked(masks.iter().map(Vec::as_slice));
            let observations = layout.tensor(bytes.chunks_exact(layout.row_bytes()), device);
            let observations = match statistics {
                Some(statistics) => statistics.normalizer(device).apply(observations, &rows),
                None => observations,
            };
            States { observations, rows }
        };
        let actions = tasks.iter().copied().zip(draws.iter().map(|draw| replay.action(draw)));
        let returns: Vec<_> = draws.iter().map(|draw| replay.n_step_return(draw)).collect();
        let column = |values: Vec<f32>| Tensor::from_data(TensorData::new(values, [count]), &plain);
        Self {
            states: states(&replay.observations(&draws), &replay.masks(&draws), device),
            taken: K::taken(&actions.collect::<Vec<_>>(), spec, device),
            rewards: column(returns.iter().map(|n_step| n_step.rewards).collect()),
            discounts: column(returns.iter().map(|n_step| n_step.discount).collect()),
            successors: states(&replay.successors(&draws), &replay.successor_masks(&draws), &plain),
            draws,
            shard,
        }
    }
}
