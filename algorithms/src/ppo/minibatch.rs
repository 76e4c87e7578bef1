//! The tensors of a minibatch.

use burn::tensor::{Int, Tensor};
use kernels::host::{floats, indices};

use super::Ppo;
use super::device_targets::DeviceTargets;
use super::rnd::RndRows;
use super::row_actions::RowActions;
use super::row_targets::RowTargets;
use super::targets::Targets;
use crate::engine::minibatch_rows::MinibatchRows;
use crate::engine::on_policy::OnPolicy;
use crate::networks::{ActorCritic, Outputs, RowTasks, Sequences};

/// A minibatch, or a shard of one: some steps of a rollout as tensors.
pub struct Minibatch {
    /// The observations of all rows. The fields below `transitions` hold transitions only.
    pub(super) observations: Tensor<2>,
    pub(super) rows: RowTasks,
    /// The rows as sequences, for a recurrent network.
    pub(super) sequences: Option<Sequences>,
    /// Indices of the rows that are transitions, unless all are.
    pub(super) transitions: Option<Tensor<1, Int>>,
    pub(super) actions: RowActions,
    pub(super) advantages: Tensor<1>,
    pub(super) targets: RowTargets,
    /// Present if the update learns from intrinsic rewards.
    pub(super) rnd: Option<RndRows>,
}

/// The tensors of a minibatch that come from the host or from the device.
struct Gathered {
    observations: Tensor<2>,
    rows: RowTasks,
    actions: RowActions,
    targets: RowTargets,
}

impl Minibatch {
    /// Collects a shard of a minibatch.
    pub(super) fn gather(
        ppo: &Ppo,
        minibatch: &MinibatchRows,
        shard: &MinibatchRows,
        targets: &Targets,
    ) -> Self {
        let on_policy = &ppo.on_policy;
        let device = &on_policy.training.device;
        let MinibatchRows { units, transitions, .. } = shard;
        let indices_of_transitions = indices_of_transitions(on_policy, shard);
        let Gathered { observations, rows, actions, targets: row_targets } = match &targets.on_device {
            Some(on_device) => {
                Gathered::on_device(on_policy, shard, on_device, indices_of_transitions.clone())
            }
            None => Gathered::from_host(on_policy, shard, targets),
        };
        let observations = match &targets.normalizer {
            Some(normalizer) => normalizer.apply(observations, &rows),
            None => observations,
        };
        let advantages = targets.advantages_of(transitions, &minibatch.transitions, &ppo.config);
        let rnd = ppo.agent.rnd.as_ref().zip(targets.intrinsic.as_ref());
        Self {
            observations,
            rows,
            sequences: ppo.agent.recurrent.sequences(units, device),
            transitions: indices_of_transitions,
            actions,
            advantages: floats(advantages, [transitions.len()], device),
            targets: row_targets,
            rnd: rnd.map(|(rnd, targets)| RndRows::gather(ppo, rnd, transitions, targets)),
        }
    }
}

/// Returns the outputs of the rows with these indices, of all rows if there are none.
pub(super) fn select(outputs: Outputs, indices: Option<&Tensor<1, Int>>) -> Outputs {
    let Some(indices) = indices else { return outputs };
    let rows = |tensor: Tensor<2>| tensor.select(0, indices.clone());
    Outputs {
        logits: rows(outputs.logits),
        log_deviations: outputs.log_deviations.map(rows),
        squashes: outputs.squashes,
        values: outputs.values.select(0, indices.clone()),
        intrinsic_values: outputs.intrinsic_values.map(|values| values.select(0, indices.clone())),
    }
}

/// Returns the indices of the rows that are transitions, `None` if all are.
fn indices_of_transitions(
    on_policy: &OnPolicy<ActorCritic>,
    MinibatchRows { entries, transitions, .. }: &MinibatchRows,
) -> Option<Tensor<1, Int>> {
    let is_transition = |row: &usize| on_policy.rollout.is_transition(entries[*row]);
    let rows = (0..entries.len()).filter(is_transition);
    (transitions.len() < entries.len()).then(|| indices(rows, &on_policy.training.device))
}

impl Gathered {
    /// Uploads a shard.
    fn from_host(
        on_policy: &OnPolicy<ActorCritic>,
        MinibatchRows { entries, transitions, .. }: &MinibatchRows,
        targets: &Targets,
    ) -> Self {
        let OnPolicy { spec, training, rollout, .. } = on_policy;
        let device = &training.device;
        let columns: Vec<[f32; 4]> = transitions.iter().map(|&entry| targets.row(on_policy, entry)).collect();
        let column = |index: usize| {
            floats(columns.iter().map(|row| row[index]).collect(), [transitions.len()], device)
        };
        Self {
            observations: on_policy.observations(entries),
            rows: on_policy.row_tasks(entries, device),
            actions: RowActions::new(
                transitions,
                |entry| on_policy.task(entry),
                rollout,
                &spec.tasks,
                device,
            ),
            targets: RowTargets::from_columns(column),
        }
    }

    /// Selects a shard from what is on the device. `indices` are the indices of its transitions.
    fn on_device(
        on_policy: &OnPolicy<ActorCritic>,
        shard: &MinibatchRows,
        on_device: &DeviceTargets,
        indices: Option<Tensor<1, Int>>,
    ) -> Self {
        let OnPolicy { spec, training, rollout, .. } = on_policy;
        let task = |entry: usize| on_policy.task(entry);
        let rows = on_policy.device_rows(&shard.entries);
        let tasks = shard.entries.iter().map(|&entry| task(entry)).collect();
        let transitions = match indices {
            Some(indices) => rows.clone().select(0, indices),
            None => rows.clone(),
        };
        let actions = match on_device.options(transitions.clone()) {
            Some(options) => RowActions::single(options),
            None => RowActions::new(&shard.transitions, task, rollout, &spec.tasks, &training.device),
        };
        Self {
            observations: on_policy.uploaded_observations(rows.clone()),
            rows: on_device.tasks(tasks, rows).masked(on_policy.masks(&shard.entries)),
            actions,
            targets: on_device.targets(transitions),
        }
    }
}
