use std::io::Write;

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use rand_chacha::ChaCha8Rng;
use rl_env::{Actions, Batch};

use super::before_update::BeforeUpdate;
use super::exploration::Exploration;
use super::metrics::{ActorMetrics, SacMetrics, StepMetrics};
use super::minibatch::Minibatch;
use super::squashed::{Sample, sample};
use super::temperature::{Temperature, of_rows};
use super::{Policy, SacConfig, state};
use crate::batch_reader::{BatchReader, check_rewards};
use crate::halt;
use crate::host::to_host;
use crate::networks::{
    NamedWeights, NetworkDescription, ObservationLayout, PolicyConfig, SoftActorCritic, SquashedActor,
    TrainedNetwork, TransferError, Transferred, TwinCritic, soft_update, standard_normal, transfer,
};
use crate::replay::{Draw, ReplayBuffer, ReplayOptions, ReplaySize, ReplayStorage, replay_size};
use crate::seeds::Stream;
use crate::training::{StepSize, Training};
use crate::{Learner, LearnerError, SpecError, VectorSpec};

/// Adam epsilon, as in `CleanRL`.
const ADAM_EPSILON: f32 = 1e-8;

/// The number of gradient steps from which an update can be stopped. Fewer take little time, of which copying the state
/// would be a noticeable part.
const STOPPABLE: f64 = 8.0;

/// A learner by Soft Actor-Critic. [`sac`](crate::sac) shows the order of its methods.
pub struct Sac {
    pub(super) config: SacConfig,
    pub(super) policy: PolicyConfig,
    pub(super) spec: VectorSpec,
    pub(super) layout: ObservationLayout,
    pub(super) actor: Training<SquashedActor>,
    pub(super) critics: Training<TwinCritic>,
    /// Unused if the temperature is fixed.
    pub(super) temperature: Training<Temperature>,
    /// The critics that targets come from, without gradients.
    pub(super) target: TwinCritic,
    /// The policy that acts: the weights of the trained networks without gradients.
    acting: Policy,
    pub(super) replay: ReplayBuffer<f32>,
    pub(super) exploration: Exploration,
    pub(super) action_rng: ChaCha8Rng,
    pub(super) replay_rng: ChaCha8Rng,
    pub(super) noise_rng: ChaCha8Rng,
    /// The number of steps observed, over all environments.
    pub(super) steps: u64,
    /// The number of gradient steps of the critics.
    pub(super) updates: u64,
    /// The number of gradient steps that are due, including a fraction.
    pub(super) due: f64,
    /// The components of the actions of the current step.
    actions: Vec<f32>,
}

/// The noise of the actions of a gradient step, each `[rows * components]`.
pub(super) struct StepNoise {
    /// Of the actions in the observations that values are bootstrapped from.
    pub(super) successors: Vec<f32>,
    /// Of the actions of each gradient step of the policy.
    pub(super) policy: Vec<Vec<f32>>,
}

impl Sac {
    /// Creates a learner with fresh weights for the environments of `spec`, and an empty replay buffer in memory. All
    /// randomness comes from `seed`.
    pub fn new(
        config: SacConfig,
        policy: PolicyConfig,
        spec: VectorSpec,
        device: &Device,
        seed: u64,
    ) -> Result<Self, LearnerError> {
        Self::with_storage(config, policy, spec, ReplayStorage::UNLIMITED, device, seed)
    }

    /// Like [`new`](Self::new), with the replay buffer in `storage`.
    pub fn with_storage(
        config: SacConfig,
        policy: PolicyConfig,
        spec: VectorSpec,
        storage: ReplayStorage,
        device: &Device,
        seed: u64,
    ) -> Result<Self, LearnerError> {
        config.validate()?;
        policy.validate()?;
        policy.validate_soft_actor_critic()?;
        policy.precision.validate_on(device)?;
        let layout = layout_of(&spec)?;
        let replay = ReplayBuffer::new(&spec, layout, replay_options(&config), storage)?;
        let device = device.clone().autodiff();
        let mut rng = Stream::Initialization.rng(seed);
        let network = SoftActorCritic::new(layout.length(), &spec, &policy, &mut rng, &device);
        let reader = BatchReader::new(&spec, layout, device.clone().without_autodiff());
        let acting = Policy::new(network.valid(), reader);
        let target = network.critics.valid();
        let temperature = Temperature::new(spec.tasks.len(), &device);
        let mut action_rng = Stream::Actions.rng(seed);
        let precision = policy.precision;
        Ok(Self {
            actor: Training::new(network.actor, ADAM_EPSILON, precision, device.clone()),
            critics: Training::new(network.critics, ADAM_EPSILON, precision, device.clone()),
            temperature: Training::new(temperature, ADAM_EPSILON, precision, device),
            target,
            acting,
            replay,
            exploration: Exploration::new(spec.num_envs(), spec.max_components(), &mut action_rng),
            action_rng,
            replay_rng: Stream::Minibatches.rng(seed),
            noise_rng: Stream::Noise.rng(seed),
            steps: 0,
            updates: 0,
            due: 0.0,
            actions: Vec::new(),
            config,
            policy,
            spec,
            layout,
        })
    }

    /// Computes the size of the replay buffer of a learner with this configuration, without allocating it.
    pub fn replay_size(config: &SacConfig, spec: &VectorSpec) -> Result<ReplaySize, LearnerError> {
        Ok(replay_size::<f32>(spec, layout_of(spec)?, &replay_options(config))?)
    }

    /// Returns the hyperparameters.
    pub fn config(&self) -> &SacConfig {
        &self.config
    }

    /// Makes the gradient steps that are due. On an error the weights of each network are those of its last successful step.
    pub fn update(&mut self) -> Result<SacMetrics, LearnerError> {
        halt::complete(|stop| self.update_unless(stop))
    }

    /// Like [`update`](Self::update), but if many gradient steps are due, asks `stop` before each. If it returns true, the
    /// update is undone and the result is `None`: the learner is bit for bit as before the call, and the update is still
    /// due.
    pub fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<SacMetrics>, LearnerError> {
        if !self.is_ready() {
            return Err(LearnerError::OutOfOrder("update was called before a gradient step was due"));
        }
        let mut before = (self.due >= STOPPABLE).then(|| BeforeUpdate::of(self));
        let mut steps = Vec::new();
        while self.due >= 1.0 {
            if let Some(before) = before.take_if(|_| stop()) {
                before.restore(self);
                return Ok(None);
            }
            steps.push(self.learn()?);
            self.due -= 1.0;
            self.updates += 1;
            if self.updates.is_multiple_of(self.config.target_network_frequency) {
                self.target =
                    soft_update(self.target.clone(), &self.critics.network.valid(), self.config.tau);
            }
        }
        self.use_trained_network();
        let alphas = to_host(self.alphas())?;
        let alpha = alphas.iter().sum::<f32>() / alphas.len() as f32;
        Ok(Some(SacMetrics::mean(&steps, alpha, self.replay.len())))
    }

    /// Returns the current policy for the environments of `spec`, without learning. They may be other
    /// environments than the learner's, but their tasks must be among its tasks.
    pub fn policy(&self, spec: &VectorSpec) -> Result<Policy, SpecError> {
        self.spec.check_observations(spec)?;
        self.acting.for_envs(spec)
    }

    /// Acts with the trained networks from now on.
    pub(super) fn use_trained_network(&mut self) {
        self.acting.set_network(self.network().valid());
    }

    /// Returns the networks with all exported weights.
    fn network(&self) -> SoftActorCritic {
        SoftActorCritic { actor: self.actor.network.clone(), critics: self.critics.network.clone() }
    }

    /// Returns the temperature of each task, `[tasks]`, without gradients.
    fn alphas(&self) -> Tensor<1> {
        let alphas = self.temperature.network.valid().alphas();
        if self.config.autotune { alphas } else { alphas.zeros_like().add_scalar(self.config.alpha) }
    }

    /// Makes one gradient step of the critics and, if they are due, those of the policy and the temperature.
    fn learn(&mut self) -> Result<StepMetrics, LearnerError> {
        let draws = self.replay.draw(self.config.batch_size, 0.0, &mut self.replay_rng);
        let noise = self.draw_noise(draws.len());
        self.learn_from(draws, &noise)
    }

    /// Draws the noise of a gradient step of `rows` rows.
    pub(super) fn draw_noise(&mut self, rows: usize) -> StepNoise {
        let count = rows * self.spec.max_components();
        let mut noise = || (0..count).map(|_| standard_normal(&mut self.noise_rng) as f32).collect();
        // As many steps of the policy as were left out.
        let frequency = self.config.policy_frequency;
        let of_policy = if (self.updates + 1).is_multiple_of(frequency) { frequency } else { 0 };
        StepNoise { successors: noise(), policy: (0..of_policy).map(|_| noise()).collect() }
    }

    /// Makes one gradient step on the given draws.
    pub(super) fn learn_from(
        &mut self,
        draws: Vec<Draw>,
        noise: &StepNoise,
    ) -> Result<StepMetrics, LearnerError> {
        let device = &self.critics.device;
        let minibatch = Minibatch::gather(&self.replay, draws, &self.spec, self.layout, device);
        let mut metrics = self.learn_values(&minibatch, &noise.successors)?;
        for noise in &noise.policy {
            metrics.actor.push(self.learn_policy(&minibatch, noise)?);
        }
        Ok(metrics)
    }

    /// Makes a step of the critics.
    fn learn_values(&mut self, minibatch: &Minibatch, noise: &[f32]) -> Result<StepMetrics, LearnerError> {
        let plain_targets = self.targets(minibatch, noise);
        let targets = Tensor::from_inner(plain_targets.clone());
        let Minibatch { observations, actions, rows, .. } = minibatch;
        let values = self.critics.network.forward(observations.clone(), actions.clone(), rows);
        let [first, second] = values.clone().map(|values| (values - targets.clone()).square().mean());
        let loss = first.clone() + second.clone();
        let terms = vec![("the loss of the first critic", first), ("the loss of the second critic", second)];
        let details = Tensor::cat(values.map(Tensor::mean).to_vec(), 0);
        let size = StepSize { learning_rate: self.config.q_lr, max_grad_norm: None };
        let step = self.critics.step(&loss, terms, details, size);
        let result = step.and_then(|step| self.critics.read_one(step));
        let result = result.map_err(|error| {
            let targets = to_host(plain_targets).unwrap_or_default();
            self.diagnose(&self.critics, self.config.q_lr, error, minibatch, targets)
        })?;
        Ok(StepMetrics {
            qf_loss: f32::midpoint(result.terms[0], result.terms[1]),
            qf_values: [result.details[0], result.details[1]],
            grad_norm: result.grad_norm,
            dead_units: result.dead_units,
            actor: Vec::new(),
        })
    }

    /// Computes the regression targets of the critics, `[rows]`, without gradients: the reward, and the discounted value of an
    /// action of the policy with its entropy.
    pub(super) fn targets(&self, minibatch: &Minibatch, noise: &[f32]) -> Tensor<1> {
        let Minibatch { successors, successor_rows: rows, rewards, discounts, .. } = minibatch;
        let noise = self.noise_tensor(noise, &successors.device());
        let outputs = self.actor.network.valid().forward(successors.clone(), rows);
        let Sample { actions, log_probs } = sample(outputs, noise, rows);
        let [first, second] = self.target.forward(successors.clone(), actions, rows);
        let values = first.min_pair(second) - of_rows(self.alphas(), rows) * log_probs;
        rewards.clone() + discounts.clone() * values
    }

    /// Makes a step of the policy, and one of the temperature with the log-densities of the same actions.
    pub(super) fn learn_policy(
        &mut self,
        minibatch: &Minibatch,
        noise: &[f32],
    ) -> Result<ActorMetrics, LearnerError> {
        let Minibatch { observations, rows, .. } = minibatch;
        let noise = self.noise_tensor(noise, &self.actor.device);
        let outputs = self.actor.network.forward(observations.clone(), rows);
        let Sample { actions, log_probs } = sample(outputs, noise, rows);
        // Only the policy learns: gradients of the critics' weights are not computed.
        let critics = self.critics.network.clone().no_grad();
        let [first, second] = critics.forward(observations.clone(), actions, rows);
        let alphas = of_rows(Tensor::from_inner(self.alphas()), rows);
        let loss = (alphas * log_probs.clone() - first.min_pair(second)).mean();
        let size = StepSize { learning_rate: self.config.policy_lr, max_grad_norm: None };
        let step = self.actor.step(&loss, vec![("the loss of the policy", loss.clone())], log_probs, size);
        let result = step.and_then(|step| self.actor.read_one(step));
        let result = result.map_err(|error| {
            self.diagnose(&self.actor, self.config.policy_lr, error, minibatch, Vec::new())
        })?;
        let log_probs = result.details;
        let entropy = -log_probs.iter().sum::<f32>() / log_probs.len() as f32;
        let alpha_loss = if self.config.autotune { Some(self.tune(minibatch, &log_probs)?) } else { None };
        Ok(ActorMetrics { actor_loss: result.terms[0], entropy, alpha_loss })
    }

    /// Makes a step of the temperature, given the log-density of each row's action. Returns the loss.
    fn tune(&mut self, minibatch: &Minibatch, log_probs: &[f32]) -> Result<f32, LearnerError> {
        let excess = log_probs.iter().zip(&minibatch.tasks);
        let excess: Vec<f32> = excess.map(|(log_prob, &task)| log_prob + self.target_entropy(task)).collect();
        let shape = [excess.len()];
        let excess = Tensor::from_data(TensorData::new(excess, shape), &self.temperature.device);
        let loss = self.temperature.network.loss(excess, &minibatch.rows);
        let size = StepSize { learning_rate: self.config.q_lr, max_grad_norm: None };
        let terms = vec![("the loss of the temperature", loss.clone())];
        let step = self.temperature.step(&loss, terms, loss.clone(), size);
        let result = step.and_then(|step| self.temperature.read_one(step));
        let result = result.map_err(|error| {
            self.diagnose(&self.temperature, self.config.q_lr, error, minibatch, Vec::new())
        })?;
        Ok(result.terms[0])
    }

    /// Returns the target of the entropy of a task's policy.
    fn target_entropy(&self, task: usize) -> f32 {
        -(self.spec.tasks[task].actions.num_components() as f32) * self.config.target_entropy_scale
    }

    /// Returns noise as `[rows, components]`.
    fn noise_tensor(&self, noise: &[f32], device: &Device) -> Tensor<2> {
        let width = self.spec.max_components();
        Tensor::from_data(TensorData::new(noise.to_vec(), [noise.len() / width, width]), device)
    }

    /// Turns a `NonFinite` error of a network's step into a report with the minibatch. `targets` are empty if the step had none.
    fn diagnose<N: Module>(
        &self,
        training: &Training<N>,
        learning_rate: f64,
        error: LearnerError,
        minibatch: &Minibatch,
        targets: Vec<f32>,
    ) -> LearnerError {
        let (replay, layout, draws) = (&self.replay, self.layout, &minibatch.draws);
        let rows: Vec<&str> =
            minibatch.tasks.iter().map(|&task| self.spec.tasks[task].name.as_str()).collect();
        let columns = |name: &str, values: Vec<f32>| NamedWeights {
            name: name.to_owned(),
            shape: vec![draws.len(), values.len() / draws.len()],
            values,
        };
        let returns = || draws.iter().map(|draw| replay.n_step_return(draw));
        let observations =
            |name: &str, bytes: &[u8]| layout.named_tensor(name, bytes.chunks_exact(layout.row_bytes()));
        let mut batch = vec![
            columns("rewards", returns().map(|of| of.rewards).collect()),
            columns("discounts", returns().map(|of| of.discount).collect()),
            columns("actions", draws.iter().flat_map(|draw| replay.action(draw)).collect()),
            observations("observations", &replay.observations(draws)),
            observations("successors", &replay.successors(draws)),
        ];
        if !targets.is_empty() {
            batch.insert(2, columns("targets", targets));
        }
        training.diagnose(error, self.updates, learning_rate, &rows, batch)
    }

    /// Chooses an action for each row, in -1..=1, padded to the largest number of components.
    fn choose(&mut self, batch: &Batch) -> Result<Vec<f32>, LearnerError> {
        let width = self.spec.max_components();
        let SacConfig { learning_starts, noise_correlation, .. } = self.config;
        let policies = self.acting.row_policies(batch)?;
        let is_random = self.steps < learning_starts as u64;
        let mut padded = Vec::with_capacity(batch.len() * width);
        for (env, policy) in policies.iter().enumerate() {
            let rng = &mut self.action_rng;
            if is_random {
                let random = self.exploration.random(env, noise_correlation, rng);
                padded.extend_from_slice(&random[..policy.means.len()]);
            } else {
                padded.extend(policy.action(self.exploration.noise(env, noise_correlation, rng)));
            }
            padded.resize((env + 1) * width, 0.0);
        }
        Ok(padded)
    }
}

impl Learner for Sac {
    fn spec(&self) -> &VectorSpec {
        &self.spec
    }

    /// Returns an action of the policy for each environment, or a uniformly random one before learning starts. Draws random
    /// numbers for each row, in row order.
    fn act(&mut self, batch: &Batch) -> Result<Actions<'_>, LearnerError> {
        if !self.can_act(batch) {
            return Err(LearnerError::OutOfOrder(
                "act was called before the last actions were observed and learned from",
            ));
        }
        let chosen = self.choose(batch).map_err(|error| {
            let (rate, spec) = (self.config.policy_lr, (&self.spec, self.layout));
            self.actor.diagnose_acting(error, self.updates, rate, spec, batch)
        })?;
        self.actions.clear();
        for (env, components) in chosen.chunks_exact(self.spec.max_components()).enumerate() {
            let actions = self.spec.actions(env).expect_continuous();
            actions.write_scaled(&components[..actions.num_components()], &mut self.actions);
        }
        self.replay.begin_step(batch, &chosen);
        Ok(Actions::Continuous(&self.actions))
    }

    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        if !self.replay.is_acting() {
            return Err(LearnerError::OutOfOrder("observe was called without a preceding act"));
        }
        self.acting.check(batch)?;
        check_rewards(batch)?;
        let steps = self.replay.end_step(batch);
        self.steps += steps;
        // Counts the steps in the replay buffer, so that a lost one is filled again before learning
        // continues.
        if self.replay.written() >= self.config.learning_starts as u64 {
            self.due += steps as f64 * self.config.train_ratio;
        }
        Ok(())
    }

    fn can_act(&self, _: &Batch) -> bool {
        !self.replay.is_acting() && !self.is_ready()
    }

    fn is_ready(&self) -> bool {
        self.due >= 1.0 && !self.replay.is_acting() && self.replay.can_draw()
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn updates(&self) -> u64 {
        self.updates
    }

    fn is_complete(&self) -> bool {
        self.steps >= self.config.total_steps
    }

    fn write_state(&self, out: &mut dyn Write) -> Result<(), LearnerError> {
        state::write(self, true, out)
    }

    fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        self.network().torch_weights()
    }

    fn description(&self) -> NetworkDescription {
        let scales = self.policy.scales(self.spec.tasks.len());
        let outputs = "squashed actions and their values".to_owned();
        NetworkDescription::new(("sac", outputs), &self.policy, &self.spec, &scales)
    }

    fn start_from(&mut self, source: &TrainedNetwork) -> Result<Transferred, TransferError> {
        let (network, _, transferred) = transfer(self.network(), &self.description(), source)?;
        self.target = network.critics.valid();
        (self.actor.network, self.critics.network) = (network.actor, network.critics);
        self.use_trained_network();
        Ok(transferred)
    }
}

/// Returns the layout of the observations. Fails if SAC cannot learn in the environments.
fn layout_of(spec: &VectorSpec) -> Result<ObservationLayout, SpecError> {
    spec.check_bounded()?;
    match ObservationLayout::of(&spec.observation_space)? {
        ObservationLayout::Images { .. } => {
            Err(SpecError::ImageObservations(spec.observation_space.to_string()))
        }
        layout => Ok(layout),
    }
}

fn replay_options(config: &SacConfig) -> ReplayOptions {
    ReplayOptions { buffer_size: config.buffer_size, n_step: 1, gamma: config.gamma, alpha: None }
}
