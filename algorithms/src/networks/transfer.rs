//! Transfers the weights of a trained network to another one.
//!
//! Layers that all tasks share are transferred as a whole, heads and embeddings task by task, matched by the names of
//! the tasks. Tensors are matched by their names in PyTorch, which do not depend on normalisations that only one of the
//! networks has.

use std::slice;

use burn::module::Module;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::torch::{TorchNames, is_exported, is_of_tasks, with_torch_values, within_network};
use super::{HeadKind, NamedWeights, PolicyConfig, load_weights, weights};
use crate::networks::value_scale::{Rescaling, TaskScales};
use crate::tasks::task::{max_components, max_outputs};
use crate::{LearnerError, Task, VectorSpec};

/// A trained network: its description, and its weights with the names and axes of PyTorch.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedNetwork {
    /// The description of the network.
    pub description: NetworkDescription,
    /// All parameters, as [`torch_weights`](crate::Learner::torch_weights) returns them.
    pub weights: Vec<NamedWeights>,
}

/// The meaning of the weights of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkDescription {
    /// The name of the algorithm that trained it.
    pub algorithm: String,
    /// The meaning of the outputs, such as `51 quantiles of returns`.
    pub outputs: String,
    /// The architecture.
    pub policy: PolicyConfig,
    /// The space of the observations, as text.
    pub observations: String,
    /// The tasks, in the order of their heads.
    pub tasks: Vec<Task>,
    /// The scales of the values of the tasks.
    pub scales: TaskScales,
}

impl NetworkDescription {
    pub(crate) fn new(
        (algorithm, outputs): (&str, String),
        policy: &PolicyConfig,
        spec: &VectorSpec,
        scales: &TaskScales,
    ) -> Self {
        Self {
            algorithm: algorithm.to_owned(),
            outputs,
            policy: policy.clone(),
            observations: spec.observation_space.to_string(),
            tasks: spec.tasks.clone(),
            scales: scales.clone(),
        }
    }
}

/// The outcome of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transferred {
    /// The number of tensors whose weights come from the source.
    pub tensors: usize,
    /// The number of tensors of the network.
    pub total: usize,
    /// The tasks whose heads keep their initial weights.
    pub fresh_heads: Vec<String>,
}

/// The reason why a network cannot start from another one.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum TransferError {
    /// The networks differ: all differences, of which there is at least one. The message is about the first.
    #[error("{}", .0[0])]
    Differences(Vec<Difference>),
    /// The network cannot be read or written.
    #[error(transparent)]
    Learner(#[from] LearnerError),
}

/// A difference because of which a network cannot start from another one.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// The networks have different observations.
    #[error("the observations of the source are {source_space}, those of the new network are {own}")]
    Observations {
        /// The space of the source.
        source_space: String,
        /// The space of the new network.
        own: String,
    },
    /// A setting that determines what weights mean differs.
    #[error("the source has {name} = {source_value}, the new network has {own}; they must be equal")]
    Setting {
        /// The name of the setting.
        name: &'static str,
        /// Its value in the source.
        source_value: String,
        /// Its value in the new network.
        own: String,
    },
    /// The actions of a task differ.
    #[error(
        "the actions of {task} or their order differ: {source_actions} in the source, {own} in the new network"
    )]
    Actions {
        /// The name of the task.
        task: String,
        /// Its actions in the source.
        source_actions: String,
        /// Its actions in the new network.
        own: String,
    },
    /// The shape of a layer differs.
    #[error(
        "the layer {layer} has the shape {source_shape:?} in the source and {own:?} in the new network ({})",
        settings.join(", ")
    )]
    Shape {
        /// The name of the parameter in PyTorch.
        layer: String,
        /// The shape in the source.
        source_shape: Vec<usize>,
        /// The shape in the new network.
        own: Vec<usize>,
        /// The settings that it depends on.
        settings: &'static [&'static str],
    },
    /// A layer exists in only one of the networks.
    #[error("the layer {layer} is only in {network} ({})", settings.join(", "))]
    Unmatched {
        /// The name of the parameter in PyTorch.
        layer: String,
        /// The network that has it.
        network: &'static str,
        /// The settings that it depends on.
        settings: &'static [&'static str],
    },
}

impl Difference {
    /// Returns the settings of the network and the algorithm that may cause the difference, such as `policy.lstm`.
    pub fn settings(&self) -> &[&'static str] {
        match self {
            Self::Observations { .. } | Self::Actions { .. } => &[],
            Self::Setting { name: OUTPUTS, .. } => {
                &["dqn.distribution", "dqn.num_atoms", "dqn.v_min", "dqn.v_max"]
            }
            Self::Setting { name, .. } => slice::from_ref(name),
            Self::Shape { settings, .. } | Self::Unmatched { settings, .. } => settings,
        }
    }
}

/// The name of the [outputs](NetworkDescription::outputs) in messages.
const OUTPUTS: &str = "outputs";

/// The settings that determine the shapes of layers, by the prefixes of the layers' names.
const SETTINGS: [(&str, &[&str]); 9] = [
    ("body.embedding", &["policy.game_embedding"]),
    ("body.layers.Vector", &["policy.hidden_size", "policy.layer_norm"]),
    ("body.", &["policy.torso", "policy.width", "policy.layer_norm"]),
    ("lstm.", &["policy.lstm"]),
    ("actor.", &["policy.hidden_size", "policy.layer_norm"]),
    ("critics.", &["policy.hidden_size", "policy.layer_norm", "the number of components of an action"]),
    ("hidden.", &["policy.hidden_size", "policy.layer_norm"]),
    ("advantage.", OF_ACTION_VALUES),
    ("value.", OF_ACTION_VALUES),
];
const OF_ACTION_VALUES: &[&str] = &["policy.hidden_size", "dqn.dueling", "dqn.noisy", "dqn.num_atoms"];
/// The settings of which a network can lack layers that the source has.
const OF_FURTHER_LAYERS: &[&str] =
    &["policy.layer_norm", "policy.lstm", "policy.game_embedding", "dqn.dueling", "dqn.noisy"];

fn settings(name: &str) -> &'static [&'static str] {
    let name = within_network(name);
    let of_layer = SETTINGS.iter().find(|(beginning, _)| name.starts_with(beginning));
    of_layer.map_or(&["policy.lstm", "policy.hidden_size"], |(_, settings)| settings)
}

/// The layout of a parameter's rows by task.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// All tasks share the parameter.
    Shared,
    /// Each task has the same number of rows.
    OfTasks,
    /// Each task has rows for each action, padded to those of the task with the most actions.
    OfActions,
    /// Each task has a row with a column for each component of an action, padded to the task with the most components.
    OfComponents,
}

/// The value scales after a transfer.
pub(crate) struct NewScales {
    pub(crate) scales: TaskScales,
    /// The changes that the value heads need. Empty if there are none.
    pub(crate) changes: Vec<Rescaling>,
}

/// Returns `network` with the weights of `source`, and the resulting value scales. `own` describes `network`. If
/// another algorithm trained the source, its heads are left out, and normalisations that it lacks keep their initial
/// weights. So do the networks of Random Network Distillation, which no source has.
pub(crate) fn transfer<N: Module + TorchNames>(
    network: N,
    own: &NetworkDescription,
    source: &TrainedNetwork,
) -> Result<(N, NewScales, Transferred), TransferError> {
    let from = &source.description;
    let is_same = own.algorithm == from.algorithm;
    let mut differences = differences(own, from, is_same);
    let have_same_actions = !differences.iter().any(|found| matches!(found, Difference::Actions { .. }));
    let parameters = weights(&network)?;
    let is_known = |task: &Task| from.tasks.iter().any(|known| known.name == task.name);
    let has_known = own.tasks.iter().any(is_known);
    let layers = || source.weights.iter().filter(|weights| weights.is_of_layer());
    let names = network.names(&parameters, is_normalised(layers()));
    let mut used = Vec::new();
    let (mut merged, mut tensors, mut total) = (Vec::with_capacity(parameters.len()), 0, 0);
    let mut has_task_heads = false;
    for parameter in parameters {
        if !is_exported(&parameter.name) {
            merged.push(parameter);
            continue;
        }
        total += 1;
        let rows = rows_of(&parameter.name, own.policy.head);
        has_task_heads |= rows != Rows::Shared && !parameter.name.starts_with("body.");
        let ours = names.for_torch(parameter.clone(), network.feature_map());
        let found = layers().find(|theirs| theirs.name == ours.name);
        let is_head = rows != Rows::Shared
            || parameter.name.contains(".output.")
            || parameter.name.starts_with("heads.");
        let Some(theirs) = found.filter(|_| is_same || !is_head) else {
            if is_same {
                let (layer, settings) = (ours.name, settings(&parameter.name));
                differences.push(Difference::Unmatched { layer, network: "the new network", settings });
            }
            merged.push(parameter);
            continue;
        };
        used.push(theirs.name.as_str());
        let is_body = parameter.name.starts_with("body.");
        // The numbers of rows follow from the actions, which are reported.
        if matches!(rows, Rows::OfActions | Rows::OfComponents) && !have_same_actions {
            continue;
        }
        let Some(values) = combine(&ours, theirs, rows, (&own.tasks, &from.tasks)) else {
            if is_same || is_body {
                differences.push(Difference::Shape {
                    layer: ours.name,
                    source_shape: theirs.shape.clone(),
                    own: ours.shape,
                    settings: settings(&parameter.name),
                });
            }
            merged.push(parameter);
            continue;
        };
        tensors += usize::from(rows == Rows::Shared || has_known);
        merged.push(with_torch_values(parameter, values, network.feature_map()));
    }
    for unused in layers().filter(|theirs| is_same && !used.contains(&theirs.name.as_str())) {
        let (layer, settings) = (unused.name.clone(), OF_FURTHER_LAYERS);
        differences.push(Difference::Unmatched { layer, network: "the source", settings });
    }
    if !differences.is_empty() {
        return Err(TransferError::Differences(differences));
    }
    let is_fresh = |task: &&Task| !is_same || (has_task_heads && !is_known(task));
    let fresh_heads = own.tasks.iter().filter(is_fresh).map(|task| task.name.clone()).collect();
    let mut scales = own.scales.clone();
    let changes = if is_same { scales.adopt(&own.tasks, &from.scales, &from.tasks) } else { Vec::new() };
    let network = load_weights(network, merged)?;
    Ok((network, NewScales { scales, changes }, Transferred { tensors, total, fresh_heads }))
}

/// Returns the differences because of which weights have different meanings in the two networks.
fn differences(own: &NetworkDescription, from: &NetworkDescription, is_same: bool) -> Vec<Difference> {
    let mut differences = Vec::new();
    if own.observations != from.observations {
        let (source_space, own) = (from.observations.clone(), own.observations.clone());
        differences.push(Difference::Observations { source_space, own });
    }
    let policies = (&from.policy, &own.policy);
    let name = |name: &str| name.to_owned();
    // The networks of SAC share no layer with those of other algorithms.
    let is_separate = [&own.algorithm, &from.algorithm].into_iter().any(|algorithm| algorithm == "sac");
    let settings = [
        ("experiment.algorithm", name(&from.algorithm), name(&own.algorithm), is_separate),
        ("policy.torso", name(policies.0.torso.name()), name(policies.1.torso.name()), true),
        ("policy.head", name(policies.0.head.name()), name(policies.1.head.name()), is_same),
        (
            "policy.value_scale",
            name(policies.0.value_scale.name()),
            name(policies.1.value_scale.name()),
            is_same,
        ),
        ("policy.deviation", name(policies.0.deviation.name()), name(policies.1.deviation.name()), is_same),
        (
            "policy.squash_actions",
            policies.0.squash_actions.to_string(),
            policies.1.squash_actions.to_string(),
            is_same,
        ),
        (
            "policy.normalize_observations",
            policies.0.normalize_observations.to_string(),
            policies.1.normalize_observations.to_string(),
            true,
        ),
        (OUTPUTS, from.outputs.clone(), own.outputs.clone(), is_same),
    ];
    for (name, source_value, own, matters) in settings {
        if matters && source_value != own {
            differences.push(Difference::Setting { name, source_value, own });
        }
    }
    for task in own.tasks.iter().filter(|_| is_same) {
        let known = from.tasks.iter().find(|known| known.name == task.name);
        if let Some(known) = known.filter(|known| !known.has_outputs_of(task)) {
            let (source_actions, own) = (known.actions.to_string(), task.actions.to_string());
            differences.push(Difference::Actions { task: task.name.clone(), source_actions, own });
        }
    }
    differences
}

/// Returns true if a network has normalisations: parameters with a value for each channel or pixel, and not for each
/// input.
fn is_normalised<'a>(mut weights: impl Iterator<Item = &'a NamedWeights>) -> bool {
    weights.any(|weights| weights.name.ends_with(".weight") && [1, 3].contains(&weights.shape.len()))
}

fn rows_of(name: &str, head: HeadKind) -> Rows {
    let name = within_network(name);
    let begins_with = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
    let of_actions = begins_with(&[
        "heads.policy.",
        "heads.log_deviation.",
        "advantage.output.",
        "actor.mean.",
        "actor.log_deviation.",
    ]);
    let of_tasks =
        begins_with(&["heads.value.", "critics.first.value.", "critics.second.value."]) || is_of_tasks(name);
    match head {
        _ if name == "heads.log_deviations" => Rows::OfComponents,
        _ if of_tasks => Rows::OfTasks,
        HeadKind::PerGame if of_actions => Rows::OfActions,
        HeadKind::PerGame if name.starts_with("value.output.") => Rows::OfTasks,
        HeadKind::PerGame | HeadKind::Shared => Rows::Shared,
    }
}

/// Returns the values of `ours`, one row per task, replaced by those of `theirs` for the tasks that both have in
/// common. Returns `None` if the shapes do not match.
pub(crate) fn of_known_tasks(
    ours: &NamedWeights,
    theirs: &NamedWeights,
    own_tasks: &[Task],
    their_tasks: &[Task],
) -> Option<Vec<f32>> {
    combine(ours, theirs, Rows::OfTasks, (own_tasks, their_tasks))
}

/// Like [`of_known_tasks`], for rows of [components](Rows::OfComponents).
fn combine_components(
    ours: &NamedWeights,
    theirs: &NamedWeights,
    own_tasks: &[Task],
    their_tasks: &[Task],
) -> Option<Vec<f32>> {
    let columns = |weights: &NamedWeights, tasks: &[Task]| {
        let most = max_components(tasks);
        (weights.shape == [tasks.len(), most]).then_some(most)
    };
    let (our_columns, their_columns) = (columns(ours, own_tasks)?, columns(theirs, their_tasks)?);
    let mut values = ours.values.clone();
    for (index, task) in own_tasks.iter().enumerate() {
        if let Some(known) = their_tasks.iter().position(|known| known.name == task.name) {
            // If the padding is the same, the whole row.
            let count =
                if our_columns == their_columns { our_columns } else { task.actions.num_components() };
            values[index * our_columns..][..count]
                .copy_from_slice(&theirs.values[known * their_columns..][..count]);
        }
    }
    Some(values)
}

/// Like [`of_known_tasks`], with any layout of the rows.
fn combine(
    ours: &NamedWeights,
    theirs: &NamedWeights,
    rows: Rows,
    (own_tasks, their_tasks): (&[Task], &[Task]),
) -> Option<Vec<f32>> {
    match rows {
        Rows::Shared => return (ours.shape == theirs.shape).then(|| theirs.values.clone()),
        Rows::OfComponents => return combine_components(ours, theirs, own_tasks, their_tasks),
        Rows::OfTasks | Rows::OfActions => {}
    }
    if ours.shape.len() != theirs.shape.len() {
        return None;
    }
    // The number of rows of a task, and of one of its parts: an action, or without actions the whole task.
    let block = |weights: &NamedWeights, tasks: &[Task]| {
        let parts = if rows == Rows::OfActions { max_outputs(tasks).max(1) } else { 1 };
        let all = tasks.len() * parts;
        (weights.shape[0].is_multiple_of(all))
            .then(|| (weights.shape[0] / tasks.len(), weights.shape[0] / all))
    };
    let ((our_block, our_part), (their_block, their_part)) =
        (block(ours, own_tasks)?, block(theirs, their_tasks)?);
    if our_part != their_part || ours.shape[1..] != theirs.shape[1..] {
        return None;
    }
    let length: usize = ours.shape[1..].iter().product();
    let mut values = ours.values.clone();
    for (index, task) in own_tasks.iter().enumerate() {
        let Some(theirs_index) = their_tasks.iter().position(|known| known.name == task.name) else {
            continue;
        };
        // If the padding is the same, the whole block.
        let actions = if rows == Rows::OfActions { task.actions.num_outputs() } else { 1 };
        let rows = if our_block == their_block { our_block } else { actions * our_part };
        let count = rows * length;
        let (to, from) = (index * our_block * length, theirs_index * their_block * length);
        values[to..to + count].copy_from_slice(&theirs.values[from..from + count]);
    }
    Some(values)
}
