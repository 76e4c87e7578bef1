//! The parts of SAC that depend on the kind of actions.

use std::fmt::Debug;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::SacConfig;
use crate::experience::replay::ActionElement;
use crate::networks::{ObservationLayout, PolicyConfig, RowTasks, TorchNames};
use crate::state_bytes::Header;
use crate::{ConfigError, LearnerError, Task, TaskActions, VectorSpec};

/// Observations as a network reads them, with their tasks.
pub struct States {
    /// `[rows, length]`, normalised if configured.
    pub(super) observations: Tensor<2>,
    pub(super) rows: RowTasks,
}

/// The policy and the critics in some states, `[rows]` each.
pub struct Evaluation {
    /// The log-density of a sampled action, or the expected log-probability of an action: minus the entropy.
    pub(super) log_probs: Tensor<1>,
    /// The value of the sampled action, or the expected value of an action, by the smaller of both estimates.
    pub(super) values: Tensor<1>,
}

/// The loss of a critic and the mean of its values, `[1]` each.
pub struct CriticLoss {
    pub(super) loss: Tensor<1>,
    pub(super) value: Tensor<1>,
}

/// The way in which actions are chosen in training.
#[derive(Clone, Copy)]
pub struct Exploring {
    /// True if actions are uniformly random.
    pub(super) is_random: bool,
    pub(super) noise_correlation: f32,
}

/// A kind of actions: its networks, its losses and its exploration.
pub trait Kind: Clone + Debug + 'static {
    /// An element of an action in the replay buffer.
    type Element: ActionElement;
    /// The network of the policy.
    type Actor: Module;
    /// The networks of the critics.
    type Critics: Module;
    /// The policy and the critics.
    type Network: Module + TorchNames;
    /// The actions of a minibatch as tensors.
    type Taken;
    /// The distribution of the actions of a row, on the host.
    type RowPolicy: Clone;
    /// The state of the exploration of all environments.
    type Exploration: Clone + Serialize + DeserializeOwned;

    /// The magic bytes and the version of checkpoints.
    const HEADER: Header;
    /// Adam epsilon, as in `CleanRL`.
    const ADAM_EPSILON: f32;
    /// The meaning of the outputs of the networks.
    const OUTPUTS: &str;

    /// Returns the observation layout. Fails if SAC cannot learn in the environments.
    fn layout(spec: &VectorSpec) -> Result<ObservationLayout, LearnerError>;

    /// Fails if a setting is not possible with these actions.
    fn check_settings(
        config: &SacConfig,
        policy: &PolicyConfig,
        layout: ObservationLayout,
    ) -> Result<(), ConfigError>;

    /// Creates networks with fresh weights.
    fn network(
        layout: ObservationLayout,
        spec: &VectorSpec,
        policy: &PolicyConfig,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> Self::Network;

    /// Joins the policy and the critics.
    fn joined(actor: Self::Actor, critics: Self::Critics) -> Self::Network;

    /// Takes the policy and the critics apart.
    fn parts(network: Self::Network) -> (Self::Actor, Self::Critics);

    /// Returns the usual target of the entropy of a task's policy.
    fn target_entropy(actions: &TaskActions) -> f32;

    /// Returns the actions of rows, each with its task and its elements in the replay buffer.
    fn taken(actions: &[(usize, Vec<Self::Element>)], spec: &VectorSpec, device: &Device) -> Self::Taken;

    /// Evaluates the policy and the critics. `noise` is the noise of the actions, `[rows * components]`; empty for
    /// choices, whose expectations are exact.
    fn evaluate(
        actor: &Self::Actor,
        critics: &Self::Critics,
        states: &States,
        noise: &[f32],
        tasks: &[Task],
    ) -> Evaluation;

    /// Computes the losses of both critics, given the regression targets, `[rows]`.
    fn critic_losses(
        critics: &Self::Critics,
        states: &States,
        taken: &Self::Taken,
        targets: Tensor<1>,
    ) -> [CriticLoss; 2];

    /// Returns the distributions of the actions of rows with these environments and actions.
    fn row_policies(
        network: &Self::Network,
        states: &States,
        rows: &[(usize, &TaskActions)],
    ) -> Result<Vec<Self::RowPolicy>, LearnerError>;

    /// Computes the values of states when the policy acts, `[rows]`.
    fn values(network: &Self::Network, states: &States, tasks: &[Task]) -> Tensor<1>;

    /// Returns the greedy action.
    fn greedy(policy: &Self::RowPolicy, actions: &TaskActions) -> Vec<Self::Element>;

    /// Samples an action: draws two random numbers for each component, or one for each choice.
    fn sample(policy: &Self::RowPolicy, actions: &TaskActions, rng: &mut impl Rng) -> Vec<Self::Element>;

    /// Returns the log-probability of each action of a discrete space, or that of each option of each choice; empty for
    /// continuous actions.
    fn log_probs(policy: &Self::RowPolicy, actions: &TaskActions) -> Vec<f32>;

    /// Appends the elements of the action that the environment receives.
    fn write(actions: &TaskActions, action: &[Self::Element], elements: &mut Vec<Self::Element>);

    /// Creates the exploration of the environments of `spec`.
    fn exploration(spec: &VectorSpec, rng: &mut ChaCha8Rng) -> Self::Exploration;

    /// Returns true if both are for the same environments. Returns false for a damaged state.
    fn are_alike(exploration: &Self::Exploration, other: &Self::Exploration) -> bool;

    /// Returns the next action of an environment in training: uniformly random, or of its policy. The policy is absent
    /// if another process has the environment; then the action is arbitrary, but the random numbers are drawn.
    fn explore(
        exploration: &mut Self::Exploration,
        env: (usize, &TaskActions),
        policy: Option<&Self::RowPolicy>,
        settings: Exploring,
        rng: &mut ChaCha8Rng,
    ) -> Vec<Self::Element>;
}
