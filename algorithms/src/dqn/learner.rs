use std::io::Write;

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use rand_chacha::ChaCha8Rng;
use rl_env::{Actions, Batch};

use super::augmentation::Distortion;
use super::before_update::BeforeUpdate;
use super::minibatch::Minibatch;
use super::{Augmentation, Distribution, DqnConfig, DqnMetrics, Policy, state};
use crate::action_values::{Head, ReturnModel, StepMetrics, epsilon_greedy, greedy, loss};
use crate::batch_reader::{BatchReader, check_rewards};
use crate::halt;
use crate::host::to_host;
use crate::networks::{
    NamedWeights, NetworkDescription, Noise, ObservationLayout, PolicyConfig, QNetwork, QNetworkOptions,
    TrainedNetwork, TransferError, Transferred, soft_update, transfer,
};
use crate::optimizer_step::StepResult;
use crate::replay::{Draw, ReplayBuffer, ReplayOptions, ReplaySize, ReplayStorage, replay_size};
use crate::schedule::LinearSchedule;
use crate::seeds::Stream;
use crate::training::{StepSize, Training};
use crate::value_scale::TaskReturn;
use crate::{Learner, LearnerError, SpecError, VectorSpec};

/// The number of gradient steps from which an update can be stopped. Fewer take little time, of which copying the state
/// would be a noticeable part.
const STOPPABLE: f64 = 8.0;

/// A learner of action values with a replay buffer. [`dqn`](crate::dqn) shows the order of its methods.
pub struct Dqn {
    pub(super) config: DqnConfig,
    pub(super) policy: PolicyConfig,
    pub(super) spec: VectorSpec,
    pub(super) layout: ObservationLayout,
    pub(super) training: Training<QNetwork>,
    /// The policy that acts: the network's weights without gradients.
    pub(super) actor: Policy,
    /// The target network, without gradients.
    pub(super) target: QNetwork,
    pub(super) replay: ReplayBuffer<i32>,
    pub(super) action_rng: ChaCha8Rng,
    pub(super) replay_rng: ChaCha8Rng,
    pub(super) noise_rng: ChaCha8Rng,
    /// The number of steps observed, over all environments.
    pub(super) steps: u64,
    /// The number of gradient steps made.
    pub(super) updates: u64,
    /// The number of gradient steps that are due, including a fraction.
    pub(super) due: f64,
    /// The elements of the actions of the current step.
    actions: Vec<i32>,
}

/// The noise of one gradient step: of layers, if the network is noisy, and of images, if they are augmented.
#[derive(Default)]
pub(super) struct StepNoise {
    /// Of the target network.
    pub(super) target: Option<Noise>,
    /// Of the online network that selects the next action, in double DQN.
    pub(super) selection: Option<Noise>,
    /// Of the online network that learns.
    pub(super) online: Option<Noise>,
    /// Of each observation before an action.
    pub(super) observations: Vec<Distortion>,
    /// Of each observation from which a return is bootstrapped.
    pub(super) successors: Vec<Distortion>,
}

impl Dqn {
    /// Creates a learner with fresh weights for the environments of `spec`, and an empty replay buffer in memory. All
    /// randomness comes from `seed`.
    pub fn new(
        config: DqnConfig,
        policy: PolicyConfig,
        spec: VectorSpec,
        device: &Device,
        seed: u64,
    ) -> Result<Self, LearnerError> {
        Self::with_storage(config, policy, spec, ReplayStorage::UNLIMITED, device, seed)
    }

    /// Like [`new`](Self::new), with the replay buffer in `storage`.
    pub fn with_storage(
        config: DqnConfig,
        policy: PolicyConfig,
        spec: VectorSpec,
        storage: ReplayStorage,
        device: &Device,
        seed: u64,
    ) -> Result<Self, LearnerError> {
        config.validate()?;
        policy.validate()?;
        config.validate_policy(&policy)?;
        spec.check_choices()?;
        policy.precision.validate_on(device)?;
        let layout = ObservationLayout::of(&spec.observation_space)?;
        config.validate_observations(layout)?;
        let replay = ReplayBuffer::new(&spec, layout, replay_options(&config), storage)?;
        let device = device.clone().autodiff();
        let head = Head::new(return_model(&config), policy.scales(spec.tasks.len()));
        let options = QNetworkOptions {
            num_atoms: head.num_atoms(),
            dueling: config.dueling,
            noisy_sigma: config.noisy.then_some(config.noisy_sigma),
            layer_norm: false,
        };
        let mut rng = Stream::Initialization.rng(seed);
        let network = QNetwork::new(layout, &spec, &policy, options, &mut rng, &device);
        let reader = BatchReader::new(&spec, layout, device.clone().without_autodiff());
        Ok(Self {
            actor: Policy::new(network.valid(), head, reader),
            target: network.valid(),
            training: Training::new(network, config.adam_epsilon, policy.precision, device),
            action_rng: Stream::Actions.rng(seed),
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
            replay,
        })
    }

    /// Computes the size of the replay buffer of a learner with this configuration, without allocating it.
    ///
    /// ```
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
    /// let size = Dqn::replay_size(&DqnConfig::default(), &spec)?;
    /// assert_eq!(size.steps, 1_000_000);
    /// // Each frame of 84 x 84 bytes is stored once, not once for each of the four stacks that contain it.
    /// assert!(size.total_bytes() < 2 * 1_000_000 * 84 * 84);
    /// # Ok::<(), algorithms::LearnerError>(())
    /// ```
    pub fn replay_size(config: &DqnConfig, spec: &VectorSpec) -> Result<ReplaySize, LearnerError> {
        spec.check_choices()?;
        let layout = ObservationLayout::of(&spec.observation_space)?;
        Ok(replay_size::<i32>(spec, layout, &replay_options(config))?)
    }

    /// Returns the hyperparameters.
    pub fn config(&self) -> &DqnConfig {
        &self.config
    }

    /// Returns the current probability of a random action.
    pub fn epsilon(&self) -> f64 {
        let DqnConfig { start_e, end_e, exploration_fraction, total_steps, .. } = self.config;
        let steps = (f64::from(exploration_fraction) * total_steps as f64) as u64;
        LinearSchedule { start: start_e.into(), end: end_e.into(), steps }.value(self.steps)
    }

    /// Makes the gradient steps that are due. On an error the weights are those of the last successful step.
    pub fn update(&mut self) -> Result<DqnMetrics, LearnerError> {
        halt::complete(|stop| self.update_unless(stop))
    }

    /// Like [`update`](Self::update), but if many gradient steps are due, asks `stop` before each. If it returns true, the
    /// update is undone and the result is `None`: the learner is bit for bit as before the call, and the update is still
    /// due.
    pub fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<DqnMetrics>, LearnerError> {
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
                    soft_update(self.target.clone(), &self.training.network.valid(), self.config.tau);
            }
        }
        self.actor.set_network(self.training.network.valid());
        let StepMetrics { td_loss, q_values, grad_norm, dead_units } = StepMetrics::mean(&steps);
        Ok(Some(DqnMetrics {
            td_loss,
            q_values,
            grad_norm,
            dead_units,
            epsilon: self.epsilon(),
            replay_steps: self.replay.len(),
            gradient_steps: steps.len(),
        }))
    }

    /// Returns the current policy for the environments of `spec`, without learning. They may be other
    /// environments than the learner's, but their tasks must be among its tasks.
    pub fn policy(&self, spec: &VectorSpec) -> Result<Policy, SpecError> {
        self.spec.check_observations(spec)?;
        self.actor.for_envs(spec)
    }

    /// Returns the current exponent of the importance weights, which correct the bias of prioritised
    /// sampling.
    pub(super) fn per_beta(&self) -> f32 {
        let start = f64::from(self.config.per_beta);
        LinearSchedule { start, end: 1.0, steps: self.config.total_steps }.value(self.steps) as f32
    }

    /// Makes one gradient step. On an error only the random generators and the value scales have changed, and
    /// the predictions of both networks are the same.
    fn learn(&mut self) -> Result<StepMetrics, LearnerError> {
        let draws = self.replay.draw(self.config.batch_size, self.per_beta(), &mut self.replay_rng);
        let noise = self.draw_noise();
        self.learn_from(draws, &noise)
    }

    /// Draws the noise of a gradient step.
    fn draw_noise(&mut self) -> StepNoise {
        let Self { training, target, noise_rng, config, .. } = self;
        let plain = training.device.clone().without_autodiff();
        let images = if config.augmentation == Augmentation::Drq { config.batch_size } else { 0 };
        let mut distortions = || (0..images).map(|_| Distortion::draw(noise_rng)).collect();
        let (observations, successors) = (distortions(), distortions());
        StepNoise {
            target: target.draw_noise(1, noise_rng, &plain),
            selection: if config.double { training.network.draw_noise(1, noise_rng, &plain) } else { None },
            online: training.network.draw_noise(1, noise_rng, &training.device),
            observations,
            successors,
        }
    }

    /// Makes one gradient step on the given draws.
    pub(super) fn learn_from(
        &mut self,
        draws: Vec<Draw>,
        noise: &StepNoise,
    ) -> Result<StepMetrics, LearnerError> {
        let minibatch =
            Minibatch::gather(&self.replay, draws, &self.spec, self.layout, noise, &self.training.device);
        let targets = self.targets(&minibatch, noise)?;
        let head = self.actor.head();
        let (observations, noise) = (minibatch.observations.clone(), noise.online.as_ref());
        let outputs = self.training.network.forward(observations, &minibatch.rows, noise);
        let branches = &minibatch.branches;
        let predicted = branches.select(outputs);
        let losses = head.losses(predicted.clone(), self.tensor(branches.repeat(&targets)));
        let loss = loss::weighted_mean(losses.clone(), minibatch.weights.clone());
        let predicted = predicted.reshape([branches.len() * head.num_atoms()]);
        let details = Tensor::cat(vec![losses, predicted], 0);
        let size =
            StepSize { learning_rate: self.config.learning_rate, max_grad_norm: self.config.max_grad_norm };
        let step = self.training.step(&loss, vec![("the loss", loss.clone())], details, size);
        let result = step.and_then(|step| self.training.read_one(step));
        let result = result.map_err(|error| self.diagnose(error, &minibatch, targets))?;
        let (losses, predicted) = result.details.split_at(branches.len());
        let outputs = predicted.chunks_exact(head.num_atoms()).zip(branches.repeat(&minibatch.tasks));
        let values: Vec<f32> = outputs.map(|(atoms, task)| head.mean(task, atoms)).collect();
        let q_values = branches.means(&values).iter().sum::<f32>() / minibatch.draws.len() as f32;
        // The priority of a step comes from the sum over its branches (Tavakoli et al. 2018).
        self.replay.set_errors(&minibatch.draws, &branches.sums(&head.errors(losses)));
        let StepResult { grad_norm, dead_units, .. } = result;
        Ok(StepMetrics { td_loss: result.terms[0], q_values, grad_norm, dead_units })
    }

    /// Turns a `NonFinite` error into a report with the minibatch.
    fn diagnose(&self, error: LearnerError, minibatch: &Minibatch, targets: Vec<f32>) -> LearnerError {
        let (replay, layout, draws) = (&self.replay, self.layout, &minibatch.draws);
        let rows: Vec<&str> =
            draws.iter().map(|draw| self.spec.tasks[self.spec.task_ids[draw.env]].name.as_str()).collect();
        let column = |name: &str, values: Vec<f32>| NamedWeights {
            name: name.to_owned(),
            shape: vec![values.len()],
            values,
        };
        let columns = |name: &str, values: Vec<f32>| NamedWeights {
            name: name.to_owned(),
            shape: vec![draws.len(), values.len() / draws.len()],
            values,
        };
        let actions = draws.iter().flat_map(|draw| replay.action(draw));
        let observations =
            |name: &str, bytes: &[u8]| layout.named_tensor(name, bytes.chunks_exact(layout.row_bytes()));
        let batch = vec![
            column("rewards", minibatch.returns.iter().map(|of| of.rewards).collect()),
            column("discounts", minibatch.returns.iter().map(|of| of.discount).collect()),
            column("weights", draws.iter().map(|draw| draw.weight).collect()),
            columns("targets", targets),
            columns("actions", actions.map(|option| option as f32).collect()),
            observations("observations", &replay.observations(draws)),
            observations("successors", &replay.successors(draws)),
        ];
        self.training.diagnose(error, self.updates, self.config.learning_rate, &rows, batch)
    }

    /// Computes the regression targets of each row's action, row by row the outputs of an option, and updates the value scales
    /// with the returns behind them.
    ///
    /// The next action is the legal one with the largest sum of values. The target is the mean over its choices.
    pub(super) fn targets(
        &mut self,
        minibatch: &Minibatch,
        noise: &StepNoise,
    ) -> Result<Vec<f32>, LearnerError> {
        let outputs = |network: &QNetwork, noise: &Option<Noise>| {
            let (successors, rows) = (minibatch.successors.clone(), &minibatch.successor_rows);
            to_host(network.forward(successors, rows, noise.as_ref()))
        };
        let values = outputs(&self.target, &noise.target)?;
        let choices = if self.config.double {
            Some(outputs(&self.training.network.valid(), &noise.selection)?)
        } else {
            None
        };
        let head = self.actor.head();
        let atoms = head.num_atoms();
        let width = self.spec.max_outputs() * atoms;
        let mut returns = Vec::with_capacity(minibatch.returns.len());
        let mut next_outputs: Vec<Vec<&[f32]>> = Vec::with_capacity(minibatch.returns.len());
        for (row, (of, &task)) in minibatch.returns.iter().zip(&minibatch.tasks).enumerate() {
            let judged = &choices.as_ref().unwrap_or(&values)[row * width..][..width];
            let actions = self.spec.tasks[task].actions.expect_joint();
            let options = greedy(actions, &head.values(task, judged, actions.num_outputs()));
            let of_column = |column: usize| &values[row * width + column * atoms..][..atoms];
            let next: Vec<&[f32]> = actions.columns(&options).map(of_column).collect();
            returns.push(head.returns(task, of, &next));
            next_outputs.push(next);
        }
        self.rescale(minibatch, &returns);
        let head = self.actor.head();
        let rows = minibatch.tasks.iter().zip(&returns).zip(next_outputs);
        Ok(rows.flat_map(|((&task, returns), next)| head.target(task, returns, &next)).collect())
    }

    /// Returns outputs of options, one after another, as `[options, num_atoms]`.
    fn tensor(&self, outputs: Vec<f32>) -> Tensor<2> {
        let atoms = self.actor.head().num_atoms();
        let shape = [outputs.len() / atoms, atoms];
        Tensor::from_data(TensorData::new(outputs, shape), &self.training.device)
    }

    /// Updates the value scales with the returns of each row, without changing the predictions of both networks. Rows that
    /// priorities made more probable count less, so that the scales are those of the replay.
    fn rescale(&mut self, minibatch: &Minibatch, returns: &[Vec<f32>]) {
        let rows = minibatch.tasks.iter().zip(&minibatch.draws).zip(returns);
        let returns = rows.flat_map(|((&task, draw), returns)| {
            let weight = draw.correction / returns.len() as f32;
            returns.iter().map(move |&value| TaskReturn { task, value, weight })
        });
        let changes = self.actor.update_scales(&returns.collect::<Vec<_>>());
        if !changes.is_empty() {
            self.training.network = self.training.network.clone().rescale_values(&changes);
            self.target = self.target.clone().rescale_values(&changes);
        }
    }
}

impl Learner for Dqn {
    fn spec(&self) -> &VectorSpec {
        &self.spec
    }

    /// Returns the greedy action for each environment, or a random one. Draws a random number and one per choice for each row,
    /// in row order.
    fn act(&mut self, batch: &Batch) -> Result<Actions<'_>, LearnerError> {
        if !self.can_act(batch) {
            return Err(LearnerError::OutOfOrder(
                "act was called before the last actions were observed and learned from",
            ));
        }
        self.actor.check_complete(batch)?;
        let device = self.training.device.clone().without_autodiff();
        // Each environment explores by itself.
        let noise = self.training.network.draw_noise(batch.len(), &mut self.noise_rng, &device);
        let diagnose = |error| {
            let (rate, spec) = (self.config.learning_rate, (&self.spec, self.layout));
            self.training.diagnose_acting(error, self.updates, rate, spec, batch)
        };
        let values = self.actor.values_with_noise(batch, noise.as_ref()).map_err(diagnose)?;
        let (epsilon, num_choices) = (self.epsilon(), self.spec.max_choices());
        let mut padded = Vec::with_capacity(batch.len() * num_choices);
        self.actions.clear();
        for (env, values) in values.iter().enumerate() {
            let actions = self.spec.joint_actions(env);
            let options = epsilon_greedy(actions, values, epsilon, &mut self.action_rng);
            actions.write(&options, &mut self.actions);
            padded.extend(options);
            padded.resize((env + 1) * num_choices, 0);
        }
        self.replay.begin_step(batch, &padded);
        Ok(Actions::Discrete(&self.actions))
    }

    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        if !self.replay.is_acting() {
            return Err(LearnerError::OutOfOrder("observe was called without a preceding act"));
        }
        self.actor.check_complete(batch)?;
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

    fn is_ready(&self) -> bool {
        self.due >= 1.0 && !self.replay.is_acting() && self.replay.can_draw()
    }

    fn can_act(&self, _: &Batch) -> bool {
        !self.replay.is_acting() && !self.is_ready()
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
        self.training.network.torch_weights()
    }

    fn description(&self) -> NetworkDescription {
        NetworkDescription::new(
            ("dqn", outputs(&self.config)),
            &self.policy,
            &self.spec,
            &self.actor.head().scales,
        )
    }

    fn start_from(&mut self, source: &TrainedNetwork) -> Result<Transferred, TransferError> {
        let network = self.training.network.clone();
        let (network, scales, transferred) = transfer(network, &self.description(), source)?;
        self.actor.set_network(network.valid());
        *self.actor.scales_mut() = scales;
        self.target = network.valid();
        self.training.network = network;
        Ok(transferred)
    }
}

fn replay_options(config: &DqnConfig) -> ReplayOptions {
    ReplayOptions {
        buffer_size: config.buffer_size,
        n_step: config.n_step,
        gamma: config.gamma,
        alpha: config.prioritized.then_some(config.per_alpha),
    }
}

/// Returns the meaning of the outputs of the network.
fn outputs(config: &DqnConfig) -> String {
    let DqnConfig { num_atoms, v_min, v_max, .. } = config;
    match config.distribution {
        Distribution::Mean => "mean returns".to_owned(),
        Distribution::C51 => format!("probabilities of {num_atoms} returns from {v_min} to {v_max}"),
        Distribution::Quantile => format!("{num_atoms} quantiles of returns"),
    }
}

fn return_model(config: &DqnConfig) -> ReturnModel {
    match config.distribution {
        Distribution::Mean => ReturnModel::Mean(config.loss),
        Distribution::C51 => ReturnModel::categorical(config.num_atoms, config.v_min, config.v_max),
        Distribution::Quantile => ReturnModel::Quantile { count: config.num_atoms },
    }
}
