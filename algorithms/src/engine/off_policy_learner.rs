//! The learner that all off-policy algorithms share. It enforces the order of calls and can stop and undo an update.

use std::fmt::Debug;
use std::io::Write;

use burn::tensor::Device;
use rand_chacha::ChaCha8Rng;
use rl_env::{Actions, Batch};
use serde::Serialize;
use serde::de::DeserializeOwned;
use settings::Settings;

use super::halt;
use super::off_policy::OffPolicy;
use super::placement::Placement;
use super::replay_plan::ReplayPlan;
use super::seeds::Stream;
use super::{Learner, Resumable};
use crate::cluster::Cluster;
use crate::experience::replay::{ActionElement, ReplayOptions, ReplaySize, replay_size};
use crate::networks::{
    NamedWeights, NetworkDescription, ObservationLayout, PolicyConfig, TrainedNetwork, TransferError,
    Transferred,
};
use crate::state_bytes::Header;
use crate::{ConfigError, LearnerError, SpecError, VectorSpec};

/// An off-policy algorithm: its networks, action selection and gradient steps. [`OffPolicyLearner`] implements
/// everything else.
pub trait OffPolicyAlgorithm: Clone {
    /// The hyperparameters.
    type Config: Settings + Clone + Serialize + DeserializeOwned;
    /// An element of an action in the replay buffer.
    type Element: ActionElement;
    /// The policy for evaluation.
    type Policy;
    /// The metrics of a gradient step.
    type StepMetrics;
    /// The metrics of an update.
    type Metrics: Debug + PartialEq;
    /// The part of a checkpoint that belongs to the algorithm.
    type State: Serialize + DeserializeOwned;

    /// The magic bytes and the version of checkpoints.
    const HEADER: Header;

    /// Validates the settings. An error names the section and the key.
    fn validate(config: &Self::Config, policy: &PolicyConfig, num_envs: usize) -> Result<(), ConfigError>;

    /// Checks that the algorithm can learn in the environments. Returns the observation layout.
    fn checked_layout(
        config: &Self::Config,
        policy: &PolicyConfig,
        spec: &VectorSpec,
    ) -> Result<ObservationLayout, LearnerError>;

    /// Returns the observation layout. Fails if the algorithm does not support the environments.
    fn layout(spec: &VectorSpec) -> Result<ObservationLayout, LearnerError>;

    /// Returns the options of the replay buffer.
    fn replay_options(config: &Self::Config) -> ReplayOptions;

    /// Returns the settings that determine the course of training.
    fn plan(config: &Self::Config) -> ReplayPlan;

    /// Creates networks with fresh weights. `device` supports gradients.
    fn new(
        config: &Self::Config,
        policy: &PolicyConfig,
        off_policy: &mut OffPolicy<Self::Element>,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> Self;

    /// Chooses an action for each row. Writes the actions that the environments receive to `learner.actions`. Returns
    /// them as the replay buffer stores them, padded to the longest action.
    fn choose(
        learner: &mut OffPolicyLearner<Self>,
        batch: &Batch,
    ) -> Result<Vec<Self::Element>, LearnerError>;

    /// Fails unless a batch consists of the rows of this process's environments.
    fn check_batch(learner: &OffPolicyLearner<Self>, batch: &Batch) -> Result<(), LearnerError>;

    /// Called after a batch has been stored, for example to update observation statistics.
    fn after_observe(_: &mut OffPolicyLearner<Self>, _: &Batch) -> Result<(), LearnerError> {
        Ok(())
    }

    /// Takes one gradient step.
    fn learn(learner: &mut OffPolicyLearner<Self>) -> Result<Self::StepMetrics, LearnerError>;

    /// Moves the target network towards the trained one.
    fn update_target(&mut self, config: &Self::Config);

    /// Acts with the trained network from now on.
    fn use_trained_network(&mut self);

    /// Returns the report of an update.
    fn metrics(
        learner: &OffPolicyLearner<Self>,
        steps: &[Self::StepMetrics],
    ) -> Result<Self::Metrics, LearnerError>;

    /// Returns the state of the networks.
    fn state(&self) -> Result<Self::State, LearnerError>;

    /// Restores what [`state`](Self::state) returned.
    fn restore(&mut self, state: Self::State) -> Result<(), LearnerError>;

    /// Returns the policy for the environments of `spec`.
    fn policy(&self, spec: &VectorSpec) -> Result<Self::Policy, SpecError>;

    /// Returns the weights with the names of PyTorch's modules.
    fn torch_weights(learner: &OffPolicyLearner<Self>) -> Result<Vec<NamedWeights>, LearnerError>;

    /// Describes the network for transfers between agents.
    fn description(learner: &OffPolicyLearner<Self>) -> NetworkDescription;

    /// Starts from the weights of another agent.
    fn start_from(
        learner: &mut OffPolicyLearner<Self>,
        source: &TrainedNetwork,
    ) -> Result<Transferred, TransferError>;
}

/// A learner with a replay buffer.
pub struct OffPolicyLearner<A: OffPolicyAlgorithm> {
    pub(crate) config: A::Config,
    pub(crate) policy: PolicyConfig,
    pub(crate) off_policy: OffPolicy<A::Element>,
    /// The networks of the algorithm.
    pub(crate) agent: A,
    /// The elements of the actions of the current step.
    pub(crate) actions: Vec<A::Element>,
    /// True if states contain the replay buffer.
    pub(super) replay_in_state: bool,
}

impl<A: OffPolicyAlgorithm> OffPolicyLearner<A> {
    /// Creates a learner with fresh weights for the environments of `spec`, and an empty replay buffer in memory. All
    /// randomness comes from `seed`.
    pub fn new(
        config: A::Config,
        policy: PolicyConfig,
        spec: VectorSpec,
        device: &Device,
        seed: u64,
    ) -> Result<Self, LearnerError> {
        Self::in_cluster(config, policy, spec, Placement::default(), device, seed)
    }

    /// Like [`new`](Self::new), but trains together with the other processes of a cluster. Only the rows of this
    /// process's [own](Cluster::own_envs) environments act and are observed here. Every process must make the same
    /// calls.
    pub fn in_cluster(
        config: A::Config,
        policy: PolicyConfig,
        spec: VectorSpec,
        placement: Placement,
        device: &Device,
        seed: u64,
    ) -> Result<Self, LearnerError> {
        spec.check()?;
        A::validate(&config, &policy, spec.num_envs())?;
        let layout = A::checked_layout(&config, &policy, &spec)?;
        policy.precision.validate_on(device)?;
        let (options, plan) = (A::replay_options(&config), A::plan(&config));
        let mut off_policy = OffPolicy::new(spec, layout, options, plan, placement, seed)?;
        let mut rng = Stream::Initialization.rng(seed);
        let agent = A::new(&config, &policy, &mut off_policy, &mut rng, &device.clone().autodiff());
        Ok(Self { config, policy, off_policy, agent, actions: Vec::new(), replay_in_state: true })
    }

    /// Computes the size of the part of the replay buffer that a process of a cluster holds, without allocating it.
    ///
    /// ```
    /// use algorithms::cluster::Cluster;
    /// use algorithms::dqn::{Dqn, DqnConfig};
    /// use algorithms::{Task, VectorSpec};
    /// use rl_env::{AutoresetMode, Space};
    ///
    /// let spec = VectorSpec {
    ///     observation_space: Space::bytes([4, 84, 84]),
    ///     tasks: vec![Task::new("pong", 6)],
    ///     task_ids: vec![0; 8],
    ///     shared_outputs: 6,
    ///     autoreset_mode: AutoresetMode::SameStep,
    /// };
    /// let size = Dqn::replay_size(&DqnConfig::default(), &spec, &Cluster::default())?;
    /// assert_eq!(size.steps, 1_000_000);
    /// // Each frame of 84 x 84 bytes is stored once, not once for each of the four stacks that contain it.
    /// assert!(size.total_bytes() < 2 * 1_000_000 * 84 * 84);
    /// # Ok::<(), algorithms::LearnerError>(())
    /// ```
    pub fn replay_size(
        config: &A::Config,
        spec: &VectorSpec,
        cluster: &Cluster,
    ) -> Result<ReplaySize, LearnerError> {
        spec.check()?;
        let layout = A::layout(spec)?;
        Ok(replay_size::<A::Element>(spec, layout, &A::replay_options(config), cluster)?)
    }

    /// Returns the hyperparameters.
    pub fn config(&self) -> &A::Config {
        &self.config
    }

    /// Takes the gradient steps that are due. On an error the weights of each network are those of its last successful
    /// step.
    pub fn update(&mut self) -> Result<A::Metrics, LearnerError> {
        halt::complete(|stop| self.update_unless(stop))
    }

    /// Like [`update`](Self::update), but calls `stop` before each gradient step if many are due. If `stop` returns
    /// true, the update is undone and the result is `None`: the learner is bit for bit as before the call, and the
    /// update is still due.
    pub fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<A::Metrics>, LearnerError> {
        let mut before = self.off_policy.begin_update()?.map(|before| (before, self.agent.clone()));
        let mut steps = Vec::new();
        while self.off_policy.due_gradient_steps >= 1.0 {
            if let Some((before, agent)) = before.take_if(|_| stop()) {
                self.agent = agent;
                self.off_policy.undo_update(before);
                return Ok(None);
            }
            steps.push(A::learn(self)?);
            if self.off_policy.count_update() {
                self.agent.update_target(&self.config);
            }
        }
        self.agent.use_trained_network();
        A::metrics(self, &steps).map(Some)
    }

    /// Returns the current policy for the environments of `spec`, without learning. These environments may differ from
    /// the learner's, but their tasks must be among its tasks.
    pub fn policy(&self, spec: &VectorSpec) -> Result<A::Policy, SpecError> {
        self.off_policy.spec.check_observations(spec)?;
        self.agent.policy(spec)
    }
}

impl<A: OffPolicyAlgorithm> Learner for OffPolicyLearner<A> {
    fn spec(&self) -> &VectorSpec {
        &self.off_policy.spec
    }

    /// Chooses an action for each of this process's environments, in order.
    fn act(&mut self, batch: &Batch) -> Result<Actions<'_>, LearnerError> {
        self.off_policy.check_act()?;
        A::check_batch(self, batch)?;
        self.actions.clear();
        let padded = A::choose(self, batch)?;
        self.off_policy.replay.begin_step(batch, &padded);
        Ok(A::Element::as_actions(&self.actions))
    }

    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        self.off_policy.check_observe()?;
        A::check_batch(self, batch)?;
        self.off_policy.observe(batch)?;
        A::after_observe(self, batch)
    }

    fn is_ready(&self) -> bool {
        self.off_policy.is_ready()
    }

    fn can_act(&self, _: &Batch) -> bool {
        self.off_policy.can_act()
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn updates(&self) -> u64 {
        self.off_policy.updates
    }

    fn is_complete(&self) -> bool {
        self.off_policy.is_complete()
    }

    fn write_state(&self, out: &mut dyn Write) -> Result<(), LearnerError> {
        self.write(out)
    }

    fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        A::torch_weights(self)
    }

    fn description(&self) -> NetworkDescription {
        A::description(self)
    }

    fn start_from(&mut self, source: &TrainedNetwork) -> Result<Transferred, TransferError> {
        A::start_from(self, source)
    }
}

impl<A: OffPolicyAlgorithm> Resumable for OffPolicyLearner<A> {
    type Metrics = A::Metrics;

    fn from_state(bytes: &[u8], device: &Device) -> Result<Self, LearnerError> {
        Self::from_state(bytes, device)
    }

    fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<A::Metrics>, LearnerError> {
        self.update_unless(stop)
    }
}
