//! The learner that all on-policy algorithms share. It enforces the order of calls, and collects rollouts.

use std::fmt::Debug;
use std::io::Write;
use std::ops::Range;

use burn::module::Module;
use burn::tensor::Device;
use kernels::PackedRows;
use rand_chacha::ChaCha8Rng;
use rl_env::{ActionBuffer, Actions, AutoresetMode, Batch};
use serde::Serialize;
use serde::de::DeserializeOwned;
use settings::Settings;

use super::backward::SplitPoint;
use super::halt::Halt;
use super::loss::Loss;
use super::minibatch_rows::MinibatchRows;
use super::on_policy::OnPolicy;
use super::optimizer_step::StepResult;
use super::rollout_plan::RolloutPlan;
use super::seeds::Stream;
use super::training::Training;
use super::{Learner, Resumable};
use crate::cluster::Cluster;
use crate::experience::batch_reader::{BatchRow, Observed, rows};
use crate::experience::rollout::{Decision, Rollout};
use crate::networks::{
    NamedWeights, NetworkDescription, NewScales, ObservationLayout, PolicyConfig, TaskNetwork, TaskScales,
    TorchNames, TrainedNetwork, TransferError, Transferred, torch_weights, transfer,
};
use crate::state_bytes::Header;
use crate::{ConfigError, FixedSetting, LearnerError, SpecError, TaskActions, VectorSpec};

/// An on-policy algorithm: its network, action selection, targets and loss. [`OnPolicyLearner`] implements everything
/// else.
///
/// An implementation holds what acts: the policy with the network's weights, and its value scales.
pub trait OnPolicyAlgorithm: Clone {
    /// The hyperparameters.
    type Config: Settings + Clone + Serialize + DeserializeOwned;
    /// The network in training.
    type Network: TaskNetwork + TorchNames;
    /// The policy for evaluation.
    type Policy;
    /// The outputs of the network for the rows of a batch.
    type Evaluation;
    /// The targets of all entries of a rollout.
    type Targets;
    /// The tensors of a minibatch.
    type Minibatch;
    /// The metrics of a step of the optimiser.
    type StepMetrics;
    /// The metrics of an update.
    type Metrics: Debug + PartialEq;
    /// The part of a checkpoint that belongs to the algorithm.
    type State: Serialize + DeserializeOwned;

    /// The magic bytes and the version of checkpoints.
    const HEADER: Header;
    /// The name of the algorithm, and what the outputs of its network are.
    const NAME: (&'static str, &'static str);
    /// The epsilon of Adam.
    const ADAM_EPSILON: f32;
    /// Validates the settings. An error names the section and the key.
    fn validate(config: &Self::Config, policy: &PolicyConfig, num_envs: usize) -> Result<(), ConfigError>;

    /// Checks that the algorithm can learn in the environments. Returns the observation layout.
    fn checked_layout(
        config: &Self::Config,
        policy: &PolicyConfig,
        spec: &VectorSpec,
    ) -> Result<ObservationLayout, LearnerError>;

    /// Fails if a setting that is fixed differs from that in the settings before.
    fn check_change(config: &Self::Config, before: &Self::Config) -> Result<(), FixedSetting> {
        config.check_change(before)
    }

    /// Fails if the processes of a cluster cannot train the learner together.
    fn check_cluster(_: &Self::Config, _: &Cluster) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Returns the names of the terms of the [loss](Self::loss).
    fn terms(config: &Self::Config) -> &'static [&'static str];

    /// Returns the settings that determine the course of training.
    fn plan(config: &Self::Config) -> RolloutPlan;

    /// Creates a network with fresh weights. `device` supports gradients.
    fn network(
        config: &Self::Config,
        policy: &PolicyConfig,
        spec: &VectorSpec,
        layout: ObservationLayout,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> Self::Network;

    /// Creates what acts, with a network that does not track gradients on `device`.
    fn new(
        network: Self::Network,
        config: &Self::Config,
        policy: &PolicyConfig,
        spec: &VectorSpec,
        layout: ObservationLayout,
        device: &Device,
    ) -> Self;

    /// Returns the policy for the environments of `spec`.
    fn policy(&self, spec: &VectorSpec) -> Result<Self::Policy, SpecError>;

    /// Replaces the network that acts.
    fn set_network(&mut self, network: Self::Network);

    /// Returns the value scales of the tasks.
    fn scales(&self) -> &TaskScales;

    /// Returns the value scales of the tasks.
    fn scales_mut(&mut self) -> &mut TaskScales;

    /// Returns true if the network is recurrent. Minibatches are then whole environments.
    fn is_recurrent(&self) -> bool {
        false
    }

    /// Fails unless a batch holds some of the environments, each at most once and in order.
    fn check_batch(&self, batch: &Batch) -> Result<(), LearnerError>;

    /// Evaluates a batch of this process's environments. Also returns the packed observations if they are on a device.
    fn evaluate(
        learner: &OnPolicyLearner<Self>,
        batch: &Batch,
    ) -> Result<(Self::Evaluation, Option<PackedRows>), LearnerError>;

    /// Called before the actions of a batch are chosen.
    fn begin_steps(_: &mut OnPolicyLearner<Self>, _: &Batch, _: &Self::Evaluation) {}

    /// Chooses the action of a row of a batch.
    fn choose(
        evaluation: &Self::Evaluation,
        row: usize,
        actions: &TaskActions,
        rng: &mut ChaCha8Rng,
    ) -> Decision;

    /// Draws and discards the random numbers that [`choose`](Self::choose) would use.
    fn skip(actions: &TaskActions, rng: &mut ChaCha8Rng);

    /// Called with each batch that is observed.
    fn observe(&mut self, _: &Batch, _: AutoresetMode) -> Result<(), LearnerError> {
        Ok(())
    }

    /// Returns the values of observations that follow an action, in the scale of rewards.
    fn values(&self, successors: &[Successors<'_>]) -> Result<Vec<f32>, LearnerError>;

    /// Exchanges what a complete rollout needs, besides its steps, with the other processes of a cluster. `envs` are
    /// those of this process.
    fn exchange(&mut self, _: &Cluster, _envs: Range<usize>) -> Result<(), LearnerError> {
        Ok(())
    }

    /// Computes the targets of a complete rollout, whose `transitions` are entries. Adapts value scales and network.
    fn targets(
        learner: &mut OnPolicyLearner<Self>,
        transitions: &[usize],
        stop: &dyn Fn() -> bool,
    ) -> Result<Self::Targets, Halt>;

    /// Returns the named columns of a report of a divergence, entry by entry.
    fn columns<'a>(targets: &'a Self::Targets, rollout: &'a Rollout) -> Vec<(&'static str, &'a [f32])>;

    /// Collects the tensors of a minibatch, or of a shard of it.
    fn gather(
        learner: &OnPolicyLearner<Self>,
        minibatch: &MinibatchRows,
        shard: &MinibatchRows,
        targets: &Self::Targets,
    ) -> Self::Minibatch;

    /// Computes the loss of a minibatch: a mean over its transitions.
    fn loss(
        config: &Self::Config,
        network: &Self::Network,
        minibatch: Self::Minibatch,
        split: &mut SplitPoint,
    ) -> Loss;

    /// Identifies each detail of the [loss](Self::loss) of some rows, in order, by its column and its entry.
    fn details(learner: &OnPolicyLearner<Self>, rows: &MinibatchRows) -> Vec<(usize, usize)>;

    /// Computes the metrics of a step of the optimiser on some rows.
    fn read(learner: &OnPolicyLearner<Self>, rows: &MinibatchRows, result: &StepResult) -> Self::StepMetrics;

    /// Returns the number of epochs of the next update.
    fn epochs(learner: &OnPolicyLearner<Self>) -> usize {
        learner.on_policy.plan.update_epochs
    }

    /// Returns true if an update may end after any epoch.
    fn may_end_early(_: &Self::Config) -> bool {
        false
    }

    /// Returns true if an update ends with the epoch of its last step.
    fn ends_early(_: &Self::Config, _last: &Self::StepMetrics) -> bool {
        false
    }

    /// Completes an update, and returns its report.
    fn finish(
        learner: &mut OnPolicyLearner<Self>,
        targets: Self::Targets,
        update: Update<Self::StepMetrics>,
    ) -> Self::Metrics;

    /// Returns the state of what acts.
    fn state(&self) -> Self::State;

    /// Restores what [`state`](Self::state) returned. The network is set separately.
    fn restore(&mut self, state: Self::State) -> Result<(), LearnerError>;

    /// Writes an optional part of the state, which follows the rest. `state` is that of what acts.
    fn write_optional(_: &Self::Config, _state: &Self::State, _: &mut dyn Write) -> Result<(), LearnerError> {
        Ok(())
    }

    /// Reads what [`write_optional`](Self::write_optional) wrote, if `bytes` begin with it. Returns the rest.
    fn read_optional<'a>(
        _: &mut Self::Config,
        _state: &mut Self::State,
        bytes: &'a [u8],
    ) -> Result<&'a [u8], LearnerError> {
        Ok(bytes)
    }

    /// Returns what the exported weights contain besides those of the network.
    fn further_weights(&self) -> Vec<NamedWeights> {
        Vec::new()
    }

    /// Starts from another agent, apart from weights and value scales.
    fn start_from(
        &mut self,
        _source: &TrainedNetwork,
        _own: &NetworkDescription,
    ) -> Result<(), TransferError> {
        Ok(())
    }
}

/// Observations that follow an action.
pub struct Successors<'a> {
    pub(crate) observed: Observed<'a>,
    pub(crate) rows: &'a [BatchRow],
    /// True for the last observations of episodes, false for those on which the next actions are chosen.
    pub(crate) are_final: bool,
}

/// The steps of the optimiser in an update.
pub struct Update<S> {
    /// The metrics of each step, with its epoch.
    pub(crate) steps: Vec<(usize, S)>,
    pub(crate) epochs: usize,
    pub(crate) learning_rate: f64,
    /// The number of transitions in the rollout.
    pub(crate) transitions: usize,
}

/// A learner with a rollout.
pub struct OnPolicyLearner<A: OnPolicyAlgorithm> {
    pub(crate) config: A::Config,
    pub(crate) policy: PolicyConfig,
    pub(crate) on_policy: OnPolicy<A::Network>,
    /// The acting part: the policy with the network's weights, and its value scales.
    pub(crate) agent: A,
    /// The actions of the current step.
    actions: ActionBuffer,
}

impl<A: OnPolicyAlgorithm> OnPolicyLearner<A> {
    /// Creates a learner with fresh weights for the environments of `spec`. All randomness comes from `seed`.
    pub fn new(
        config: A::Config,
        policy: PolicyConfig,
        spec: VectorSpec,
        device: &Device,
        seed: u64,
    ) -> Result<Self, LearnerError> {
        spec.check()?;
        A::validate(&config, &policy, spec.num_envs())?;
        let layout = A::checked_layout(&config, &policy, &spec)?;
        policy.precision.validate_on(device)?;
        let autodiff = device.clone().autodiff();
        let mut rng = Stream::Initialization.rng(seed);
        let network = A::network(&config, &policy, &spec, layout, &mut rng, &autodiff);
        let plain = autodiff.clone().without_autodiff();
        let agent = A::new(network.valid(), &config, &policy, &spec, layout, &plain);
        let actions = match spec.max_components() {
            0 => ActionBuffer::Discrete(Vec::new()),
            _ => ActionBuffer::Continuous(Vec::new()),
        };
        let training = Training::new(network, A::ADAM_EPSILON, policy.precision, autodiff);
        let on_policy = OnPolicy::new(spec, layout, training, A::plan(&config), seed);
        Ok(Self { config, policy, on_policy, agent, actions })
    }

    /// Trains together with the other processes of a cluster from now on. Only the rows of this process's
    /// [own](Cluster::own_envs) environments act and are observed here; `env_ids` count the environments of all
    /// processes. Every process must be in the same state and make the same updates. During a rollout, no single
    /// process holds the complete state of the learner.
    pub fn join(&mut self, cluster: Cluster) -> Result<(), LearnerError> {
        A::check_cluster(&self.config, &cluster)?;
        Ok(self.on_policy.join(cluster)?)
    }

    /// Returns the hyperparameters.
    pub fn config(&self) -> &A::Config {
        &self.config
    }

    /// Returns the number of updates in `total_steps` steps, over which schedules run.
    pub fn num_updates(&self) -> u64 {
        self.on_policy.num_updates()
    }

    /// Returns the current policy for the environments of `spec`, without learning. These environments may differ from
    /// the learner's, but their tasks must be among its tasks.
    pub fn policy(&self, spec: &VectorSpec) -> Result<A::Policy, SpecError> {
        self.on_policy.spec.check_observations(spec)?;
        self.agent.policy(spec)
    }

    /// Chooses the actions of a batch, which begin its steps.
    fn choose(&mut self, batch: &Batch, evaluation: &A::Evaluation) {
        let Self { on_policy, actions: buffer, .. } = self;
        buffer.clear();
        on_policy.draw(A::skip, |OnPolicy { spec, action_rng, rollout, .. }| {
            for (index, row) in rows(batch).into_iter().enumerate() {
                let actions = spec.actions(row.env);
                let decision = A::choose(evaluation, index, actions, action_rng);
                decision.action.write(actions, buffer);
                rollout.begin_step(row, &decision);
            }
        });
    }

    /// Returns the values of the final observations of `final_rows`, and of all observations if the batch ends the
    /// rollout.
    fn values_after(&self, batch: &Batch, final_rows: &[BatchRow]) -> Result<[Vec<f32>; 2], LearnerError> {
        let next_rows = if self.on_policy.ends_rollout(batch) { rows(batch) } else { Vec::new() };
        let successors = [
            Successors { observed: Observed::last_of(batch), rows: final_rows, are_final: true },
            Successors { observed: Observed::of(batch), rows: &next_rows, are_final: false },
        ];
        if self.on_policy.is_on_device() && self.on_policy.cluster.has_single_shard() {
            // Evaluates both together, to wait for the device only once.
            let mut values = self.values(&successors)?;
            let next_values = values.split_off(final_rows.len());
            return Ok([values, next_values]);
        }
        let [final_values, next_values] = successors.map(|Successors { observed, rows, are_final }| {
            let values = |rows: &[BatchRow]| self.values(&[Successors { observed, rows, are_final }]);
            self.on_policy.evaluate_by_shard(rows, values)
        });
        Ok([final_values?.concat(), next_values?.concat()])
    }

    /// Returns the values of successors, of which there may be none.
    fn values(&self, successors: &[Successors<'_>]) -> Result<Vec<f32>, LearnerError> {
        if successors.iter().all(|successors| successors.rows.is_empty()) {
            return Ok(Vec::new());
        }
        self.agent.values(successors)
    }
}

impl<A: OnPolicyAlgorithm> Learner for OnPolicyLearner<A> {
    fn spec(&self) -> &VectorSpec {
        &self.on_policy.spec
    }

    /// Chooses an action for each row, in order.
    fn act(&mut self, batch: &Batch) -> Result<Actions<'_>, LearnerError> {
        self.agent.check_batch(batch)?;
        self.on_policy.check_act(batch)?;
        let evaluated = A::evaluate(self, batch);
        let (evaluation, packed) = evaluated.map_err(|error| self.on_policy.diagnose_acting(error, batch))?;
        A::begin_steps(self, batch, &evaluation);
        self.on_policy.store(packed, batch);
        self.choose(batch, &evaluation);
        Ok(self.actions.as_actions())
    }

    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        self.agent.check_batch(batch)?;
        self.on_policy.check_observe(batch)?;
        self.agent.observe(batch, self.on_policy.spec.autoreset_mode)?;
        let final_rows = self.on_policy.rows_with_final_values(batch);
        let [final_values, next_values] = self.values_after(batch, &final_rows)?;
        self.on_policy.end_steps(batch, &final_rows, final_values, next_values);
        Ok(())
    }

    fn can_act(&self, batch: &Batch) -> bool {
        self.on_policy.can_act(batch)
    }

    fn is_ready(&self) -> bool {
        self.on_policy.rollout.is_full()
    }

    fn is_idle(&self) -> bool {
        self.on_policy.rollout.is_empty()
    }

    fn updates(&self) -> u64 {
        self.on_policy.updates
    }

    fn is_complete(&self) -> bool {
        self.on_policy.is_complete()
    }

    fn write_state(&self, out: &mut dyn Write) -> Result<(), LearnerError> {
        self.write(out)
    }

    fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        let mut weights = torch_weights(&self.on_policy.training.network)?;
        weights.extend(self.agent.further_weights());
        Ok(weights)
    }

    fn description(&self) -> NetworkDescription {
        let (name, outputs) = A::NAME;
        let name = (name, outputs.to_owned());
        NetworkDescription::new(name, &self.policy, &self.on_policy.spec, self.agent.scales())
    }

    fn start_from(&mut self, source: &TrainedNetwork) -> Result<Transferred, TransferError> {
        let (network, own) = (self.on_policy.training.network.clone(), self.description());
        let (network, NewScales { scales, changes }, transferred) = transfer(network, &own, source)?;
        let network = if changes.is_empty() { network } else { network.rescale_values(&changes) };
        self.agent.start_from(source, &own)?;
        self.agent.set_network(network.valid());
        *self.agent.scales_mut() = scales;
        self.on_policy.training.network = network;
        Ok(transferred)
    }
}

impl<A: OnPolicyAlgorithm> Resumable for OnPolicyLearner<A> {
    type Metrics = A::Metrics;

    fn from_state(bytes: &[u8], device: &Device) -> Result<Self, LearnerError> {
        Self::from_state(bytes, device)
    }

    fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<A::Metrics>, LearnerError> {
        self.update_unless(stop)
    }
}
