//! Updates recorded from PyTorch by `tests/updates/record.py`, and comparisons with them.

use std::collections::{BTreeSet, VecDeque};
use std::fs;

use burn::module::Module;
use rand::RngCore;
use rl_env::{AutoresetMode, Batch, Space};
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;

use crate::engine::training::Training;
use crate::networks::{NamedWeights, TrainedNetwork};
use crate::{ContinuousActions, Learner, LearnerError, Task, VectorSpec};

/// A file of `tests/updates`.
pub(crate) struct Recording {
    name: &'static str,
    bytes: Vec<u8>,
    description: Description,
    /// The names of the tensors that were read. [`finish`](Self::finish) checks that none was left out.
    read: BTreeSet<String>,
}

/// The environments and the settings of a recording.
#[derive(Deserialize)]
struct Description {
    /// The shape of an observation: bytes with three axes, else floats.
    observation: Vec<usize>,
    /// The indices of each task's actions among the shared ones; empty if actions are continuous.
    actions: Vec<Vec<usize>>,
    /// The number of components of each task's continuous actions.
    #[serde(default)]
    components: Vec<usize>,
    task_ids: Vec<usize>,
    same_step: bool,
    learner: serde_json::Value,
    policy: serde_json::Value,
}

impl Recording {
    pub(crate) fn open(name: &'static str) -> Self {
        let path = format!("{}/tests/updates/{name}.safetensors", env!("CARGO_MANIFEST_DIR"));
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
        let description = serde_json::from_str(&metadata.metadata().as_ref().unwrap()["recording"]).unwrap();
        Self { name, bytes, description, read: BTreeSet::new() }
    }

    /// Returns the settings of the learner and of its network.
    pub(crate) fn settings<L: for<'a> Deserialize<'a>, P: for<'a> Deserialize<'a>>(&self) -> (L, P) {
        let Description { learner, policy, .. } = &self.description;
        (L::deserialize(learner).unwrap(), P::deserialize(policy).unwrap())
    }

    pub(crate) fn spec(&self) -> VectorSpec {
        let Description { observation, actions, components, task_ids, same_step, .. } = &self.description;
        let observation_space = match observation[..] {
            [channels, height, width] => Space::bytes([channels, height, width]),
            [length] => Space::floats(length, -100.0, 100.0),
            _ => panic!("{observation:?}"),
        };
        let task = |(index, shared): (usize, &Vec<usize>)| Task {
            shared: shared.clone(),
            ..Task::new(index.to_string(), shared.len())
        };
        let continuous = |(index, &count): (usize, &usize)| {
            let actions = ContinuousActions::of_space(&Space::floats(count, -2.0, 2.0)).unwrap();
            Task::of_actions(index.to_string(), actions)
        };
        let tasks = actions.iter().enumerate().map(task);
        VectorSpec {
            observation_space,
            tasks: tasks.chain(components.iter().enumerate().map(continuous)).collect(),
            task_ids: task_ids.clone(),
            shared_outputs: actions
                .iter()
                .flatten()
                .map(|action| action + 1)
                .chain(components.iter().copied())
                .max()
                .unwrap(),
            autoreset_mode: if *same_step { AutoresetMode::SameStep } else { AutoresetMode::NextStep },
        }
    }

    /// Returns the shape of a tensor and the bytes of its values.
    fn tensor(&mut self, name: &str, dtype: Dtype) -> (Vec<usize>, Vec<u8>) {
        let tensors = SafeTensors::deserialize(&self.bytes).unwrap();
        let tensor = tensors.tensor(name).unwrap_or_else(|error| panic!("{}: {name}: {error}", self.name));
        assert_eq!(tensor.dtype(), dtype, "{}: {name}", self.name);
        let (shape, bytes) = (tensor.shape().to_vec(), tensor.data().to_vec());
        self.read.insert(name.to_owned());
        (shape, bytes)
    }

    pub(crate) fn floats(&mut self, name: &str) -> Vec<f32> {
        let (_, bytes) = self.tensor(name, Dtype::F32);
        bytes.as_chunks().0.iter().map(|&value| f32::from_le_bytes(value)).collect()
    }

    pub(crate) fn integers(&mut self, name: &str) -> Vec<i32> {
        let (_, bytes) = self.tensor(name, Dtype::I32);
        bytes.as_chunks().0.iter().map(|&value| i32::from_le_bytes(value)).collect()
    }

    pub(crate) fn random_numbers(&mut self, name: &str) -> Recorded {
        let (_, bytes) = self.tensor(name, Dtype::I64);
        Recorded::new(bytes.as_chunks().0.iter().map(|&value| u64::from_le_bytes(value)).collect())
    }

    pub(crate) fn flags(&mut self, name: &str) -> Vec<bool> {
        let (_, bytes) = self.tensor(name, Dtype::U8);
        bytes.into_iter().map(|value| value == 1).collect()
    }

    /// Returns observations as rows of bytes.
    fn rows(&mut self, name: &str) -> Vec<Vec<u8>> {
        let dtype = if self.description.observation.len() == 3 { Dtype::U8 } else { Dtype::F32 };
        let row_bytes = self.spec().observation_space.byte_len();
        let (_, bytes) = self.tensor(name, dtype);
        bytes.chunks_exact(row_bytes).map(<[u8]>::to_vec).collect()
    }

    /// Returns all weights whose names begin with `prefix`.
    pub(crate) fn weights(&mut self, prefix: &str) -> Vec<NamedWeights> {
        let tensors = SafeTensors::deserialize(&self.bytes).unwrap();
        let names =
            tensors.names().into_iter().filter_map(|name| name.strip_prefix(prefix)?.strip_prefix('.'));
        let names: Vec<String> = names.map(str::to_owned).collect();
        names
            .into_iter()
            .map(|name| {
                let (shape, _) = self.tensor(&format!("{prefix}.{name}"), Dtype::F32);
                NamedWeights { shape, values: self.floats(&format!("{prefix}.{name}")), name }
            })
            .collect()
    }

    /// Loads the recorded weights into a learner.
    pub(crate) fn load(&mut self, prefix: &str, learner: &mut impl Learner) {
        let weights = self.weights(prefix);
        let source = TrainedNetwork { description: learner.description(), weights };
        let transferred = learner.start_from(&source).unwrap();
        assert_eq!((transferred.tensors, transferred.fresh_heads.len()), (transferred.total, 0));
    }

    /// Returns the batches of each update. A batch holds the results of the step before it, so there is one more batch
    /// than steps.
    pub(crate) fn batches(&mut self, updates: usize) -> Vec<Vec<Batch>> {
        let spec = self.spec();
        let envs = spec.num_envs();
        let observations = self.rows("observations");
        let same_step = spec.autoreset_mode == AutoresetMode::SameStep;
        let final_observations = if same_step { self.rows("final_observations") } else { Vec::new() };
        let rewards = self.floats("rewards");
        let [terminated, truncated, autoreset] =
            ["terminated", "truncated", "autoreset"].map(|name| self.flags(name));
        // The recording contains every way in which an episode can end.
        assert!(
            terminated.contains(&true) && truncated.contains(&true) && autoreset.contains(&true) != same_step
        );
        let steps = rewards.len() / envs / updates;
        let batch = |update: usize, step: usize| {
            let mut batch = Batch::new(envs, spec.observation_space.byte_len(), same_step);
            for env in 0..envs {
                let row = &observations[(update * (steps + 1) + step) * envs + env];
                batch.observations.row_mut(env).copy_from_slice(row);
                // The results of the step that led to this observation.
                let Some(before) = step.checked_sub(1) else { continue };
                let entry = (update * steps + before) * envs + env;
                batch.rewards[env] = rewards[entry];
                batch.terminated[env] = terminated[entry];
                batch.truncated[env] = truncated[entry];
                batch.autoreset[env] = autoreset[entry];
                if same_step {
                    batch.final_observations.row_mut(env).copy_from_slice(&final_observations[entry]);
                }
            }
            batch
        };
        (0..updates).map(|update| (0..=steps).map(|step| batch(update, step)).collect()).collect()
    }

    /// Asserts that a metric equals the recorded one, apart from rounding to 32 bits.
    pub(crate) fn assert_metric(&mut self, name: &str, update: usize, value: f32) {
        let expected = self.floats(name)[update];
        let difference = (value - expected).abs();
        assert!(
            difference <= 2e-5 * expected.abs().max(0.1),
            "{}: {name}: {value}, not {expected}",
            self.name
        );
    }

    /// Asserts that the weights have changed as recorded, and that the moments of Adam are those recorded.
    pub(crate) fn assert_trained<N: Module>(
        &mut self,
        training: &Training<N>,
        torch_weights: impl Fn(&N) -> Result<Vec<NamedWeights>, LearnerError>,
    ) {
        let [first, second] = training.moments();
        self.assert_networks([&training.network, &first, &second], torch_weights);
    }

    /// Like [`assert_trained`](Self::assert_trained), for a network, and for networks that hold the moments of Adam
    /// instead of weights.
    pub(crate) fn assert_networks<N>(
        &mut self,
        networks: [&N; 3],
        torch_weights: impl Fn(&N) -> Result<Vec<NamedWeights>, LearnerError>,
    ) {
        self.assert_part("", networks, torch_weights);
    }

    /// Like [`assert_networks`](Self::assert_networks), for a part of a network, whose tensors have names that begin
    /// with `part`.
    pub(crate) fn assert_part<N>(
        &mut self,
        part: &str,
        [network, first, second]: [&N; 3],
        weights_of: impl Fn(&N) -> Result<Vec<NamedWeights>, LearnerError>,
    ) {
        let before = self.weights(&format!("{part}weights"));
        let zero: Vec<NamedWeights> = before
            .iter()
            .map(|weights| NamedWeights { values: vec![0.0; weights.values.len()], ..weights.clone() })
            .collect();
        for (network, prefix, before) in [
            (network, "new_weights", &before),
            (first, "first_moment", &zero),
            (second, "second_moment", &zero),
        ] {
            let prefix = format!("{part}{prefix}");
            let (ours, theirs) = (weights_of(network).unwrap(), self.weights(&prefix));
            assert_eq!(ours.len(), theirs.len());
            for theirs in &theirs {
                let find = |weights: &[NamedWeights]| {
                    weights.iter().find(|ours| ours.name == theirs.name).cloned().unwrap()
                };
                let (ours, before) = (find(&ours), find(before));
                assert_eq!(ours.shape, theirs.shape);
                let error = relative_error(&ours.values, &theirs.values, &before.values);
                assert!(error < 1e-4, "{}: {prefix}.{}: {error:e}", self.name, theirs.name);
            }
        }
    }

    /// Asserts that weights equal the recorded ones, apart from rounding to 32 bits.
    pub(crate) fn assert_weights(&mut self, prefix: &str, ours: &[NamedWeights]) {
        let theirs = self.weights(prefix);
        assert_eq!(ours.len(), theirs.len());
        for theirs in &theirs {
            let ours = ours.iter().find(|ours| ours.name == theirs.name).unwrap();
            let are_close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * b.abs().max(1.0);
            assert!(
                ours.shape == theirs.shape && ours.values.iter().zip(&theirs.values).all(are_close),
                "{}: {prefix}: {ours:?} {theirs:?}",
                self.name
            );
        }
    }

    /// Asserts that every tensor was read.
    pub(crate) fn finish(self) {
        let tensors = SafeTensors::deserialize(&self.bytes).unwrap();
        let unread: Vec<&str> =
            tensors.names().into_iter().filter(|name| !self.read.contains(*name)).collect();
        assert!(unread.is_empty(), "{}: {unread:?}", self.name);
    }
}

/// Returns the norm of the differences between `ours` and `theirs`, divided by that of the change from `before` to
/// `theirs`.
fn relative_error(ours: &[f32], theirs: &[f32], before: &[f32]) -> f32 {
    let distance = |values: &[f32]| {
        let squares =
            values.iter().zip(theirs).map(|(value, theirs)| (f64::from(*value) - f64::from(*theirs)).powi(2));
        squares.sum::<f64>().sqrt()
    };
    let change = distance(before);
    assert!(change > 0.0, "nothing has changed");
    (distance(ours) / change) as f32
}

/// A random generator that replays recorded 53-bit numbers, which are uniform in `0..1` as `f64`. Random integers are
/// always 0.
pub(crate) struct Recorded(VecDeque<u64>);

impl Recorded {
    pub(crate) fn new(numbers: Vec<u64>) -> Self {
        Self(numbers.into())
    }

    /// Asserts that every number was used.
    pub(crate) fn finish(self) {
        assert!(self.0.is_empty(), "{} numbers are left", self.0.len());
    }
}

impl RngCore for Recorded {
    fn next_u32(&mut self) -> u32 {
        0
    }

    fn next_u64(&mut self) -> u64 {
        // `f64` takes the upper 53 bits.
        self.0.pop_front().expect("a recorded number") << 11
    }

    fn fill_bytes(&mut self, _: &mut [u8]) {
        unreachable!("only numbers are drawn")
    }
}
