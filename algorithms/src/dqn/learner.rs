use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use rl_env::Batch;

use super::augmentation::Distortion;
use super::minibatch::{Minibatch, StepNoise, branches};
use super::{Augmentation, Distribution, DqnConfig, DqnMetrics, Policy};
use crate::action_values::{Head, ReturnModel, StepMetrics, loss};
use crate::cluster::Cluster;
use crate::engine::backward::Pause;
use crate::engine::gradient::{Gradient, ShardGradient};
use crate::engine::halt;
use crate::engine::off_policy;
use crate::engine::off_policy::OffPolicy;
use crate::engine::optimizer_step::StepResult;
use crate::engine::schedule::LinearSchedule;
use crate::engine::seeds::Stream;
use crate::engine::training::Mark;
use crate::engine::training::{StepSize, Training};
use crate::experience::batch_reader::BatchReader;
use crate::experience::replay::Priorities;
use crate::experience::replay::{Draw, ReplayOptions, ReplaySize, ReplayStorage, replay_size};
use crate::networks::value_scale::TaskScales;
use crate::networks::{NamedWeights, Noise, PolicyConfig, QNetwork, QNetworkOptions, layout_of, soft_update};
use crate::{LearnerError, SpecError, VectorSpec};

/// The names of the terms of the loss.
const TERMS: [&str; 1] = ["the loss"];

/// A learner of action values with a replay buffer. [`dqn`](crate::dqn) shows the order of its methods.
pub struct Dqn {
    pub(super) config: DqnConfig,
    pub(super) policy: PolicyConfig,
    pub(super) off_policy: OffPolicy<i32>,
    pub(super) training: Training<QNetwork>,
    /// The policy that acts: the network's weights without gradients.
    pub(super) actor: Policy,
    /// The target network, without gradients.
    pub(super) target: QNetwork,
    /// The elements of the actions of the current step.
    pub(super) actions: Vec<i32>,
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
        let (cluster, storage) = (Cluster::default(), ReplayStorage::UNLIMITED);
        Self::in_cluster(config, policy, spec, cluster, storage, device, seed)
    }

    /// Like [`new`](Self::new), but trains together with the other processes of a cluster. `storage` holds this
    /// process's part of the replay buffer. Only the rows of this process's [own](Cluster::own_envs) environments act
    /// and are observed here. Every process must make the same calls.
    pub fn in_cluster(
        config: DqnConfig,
        policy: PolicyConfig,
        spec: VectorSpec,
        cluster: Cluster,
        storage: ReplayStorage,
        device: &Device,
        seed: u64,
    ) -> Result<Self, LearnerError> {
        spec.check()?;
        config.validate()?;
        policy.validate()?;
        config.validate_policy(&policy)?;
        spec.check_choices()?;
        policy.precision.validate_on(device)?;
        let layout = layout_of(&spec.observation_space)?;
        config.validate_observations(layout)?;
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
        let (options, place) = (replay_options(&config), (cluster, storage));
        Ok(Self {
            off_policy: OffPolicy::new(spec, layout, options, config.plan(), place, seed)?,
            actor: Policy::new(network.valid(), head, reader),
            target: network.valid(),
            training: Training::new(network, config.adam_epsilon, policy.precision, device),
            actions: Vec::new(),
            config,
            policy,
        })
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
        config: &DqnConfig,
        spec: &VectorSpec,
        cluster: &Cluster,
    ) -> Result<ReplaySize, LearnerError> {
        spec.check()?;
        spec.check_choices()?;
        let layout = layout_of(&spec.observation_space)?;
        Ok(replay_size::<i32>(spec, layout, &replay_options(config), cluster)?)
    }

    /// Returns the hyperparameters.
    pub fn config(&self) -> &DqnConfig {
        &self.config
    }

    /// Returns the current probability of a random action.
    pub fn epsilon(&self) -> f64 {
        let DqnConfig { start_e, end_e, exploration_fraction, total_steps, .. } = self.config;
        let steps = (f64::from(exploration_fraction) * total_steps as f64) as u64;
        LinearSchedule { start: start_e.into(), end: end_e.into(), steps }.value(self.off_policy.steps)
    }

    /// Takes the gradient steps that are due. On an error the weights are those of the last successful step.
    pub fn update(&mut self) -> Result<DqnMetrics, LearnerError> {
        halt::complete(|stop| self.update_unless(stop))
    }

    /// Like [`update`](Self::update), but calls `stop` before each gradient step if many are due. If `stop` returns
    /// true, the update is undone and the result is `None`: the learner is bit for bit as before the call, and the
    /// update is still due.
    pub fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<DqnMetrics>, LearnerError> {
        let mut before = self.off_policy.begin_update()?.map(|before| BeforeUpdate::of(self, before));
        let mut steps = Vec::new();
        while self.off_policy.due >= 1.0 {
            if let Some(before) = before.take_if(|_| stop()) {
                before.restore(self);
                return Ok(None);
            }
            steps.push(self.learn()?);
            self.off_policy.count_update();
            if self.off_policy.updates.is_multiple_of(self.config.target_network_frequency) {
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
            replay_steps: self.off_policy.replay.len(),
            gradient_steps: steps.len(),
        }))
    }

    /// Returns the current policy for the environments of `spec`, without learning. These environments may differ from
    /// the learner's, but their tasks must be among its tasks.
    pub fn policy(&self, spec: &VectorSpec) -> Result<Policy, SpecError> {
        self.off_policy.spec.check_observations(spec)?;
        self.actor.for_envs(spec)
    }

    /// Returns the current exponent of the importance weights, which correct the bias of prioritised
    /// sampling.
    pub(super) fn per_beta(&self) -> f32 {
        let start = f64::from(self.config.per_beta);
        LinearSchedule { start, end: 1.0, steps: self.config.total_steps }.value(self.off_policy.steps) as f32
    }

    /// Takes one gradient step. After an error, only the random generators and the value scales have changed; the
    /// predictions of both networks are the same as before.
    fn learn(&mut self) -> Result<StepMetrics, LearnerError> {
        let (count, beta) = (self.config.batch_size, self.per_beta());
        let OffPolicy { replay, replay_rng, .. } = &mut self.off_policy;
        let draws = replay.draw(count, beta, replay_rng);
        let noise = self.draw_noise();
        self.learn_from(&draws, &noise)
    }

    /// Draws the noise of a gradient step.
    pub(super) fn draw_noise(&mut self) -> StepNoise {
        let Self { training, target, config, off_policy: OffPolicy { noise_rng, .. }, .. } = self;
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

    /// Takes one gradient step on the given draws.
    pub(super) fn learn_from(
        &mut self,
        draws: &[Draw],
        noise: &StepNoise,
    ) -> Result<StepMetrics, LearnerError> {
        let device = self.training.device.clone();
        let shards = self.off_policy.shards_of(draws).into_iter();
        let minibatches: Vec<Minibatch> =
            shards.map(|shard| Minibatch::gather(&self.off_policy, draws, shard, noise, &device)).collect();
        let targets = self.targets(&minibatches, noise)?;
        let branches = branches(&self.off_policy, draws, &device);
        let atoms = self.actor.head().num_atoms();
        // The losses of all branches, then the outputs of all branches.
        let details = branches.len() * (1 + atoms);
        let shards = minibatches.iter().map(|minibatch| &minibatch.shard);
        let gradient = self.off_policy.gradient(&self.training, (&TERMS, details), shards, |index| {
            let minibatch = &minibatches[index];
            let weight = minibatch.draws.len() as f32 / draws.len() as f32;
            let gradient = self.gradient(minibatch, &targets[index], noise.online.as_ref(), weight);
            let own = branches.of_rows(&minibatch.shard.rows);
            let outputs = own.iter().flat_map(|branch| (0..atoms).map(move |atom| branch * atoms + atom));
            let places = own.iter().copied().chain(outputs.map(|place| branches.len() + place));
            ShardGradient { gradient, places: places.collect() }
        })?;
        let size =
            StepSize { learning_rate: self.config.learning_rate, max_grad_norm: self.config.max_grad_norm };
        let step = self.training.apply(gradient, size);
        let result = step.and_then(|step| self.training.read_one(step));
        let result = result.map_err(|error| self.diagnose(error, &minibatches, &targets))?;
        let head = self.actor.head();
        let (losses, predicted) = result.details.split_at(branches.len());
        let tasks: Vec<usize> = draws.iter().map(|draw| self.off_policy.task(draw)).collect();
        let outputs = predicted.chunks_exact(atoms).zip(branches.repeat(&tasks));
        let values: Vec<f32> = outputs.map(|(atoms, task)| head.mean(task, atoms)).collect();
        let q_values = branches.means(&values).iter().sum::<f32>() / draws.len() as f32;
        // The priority of a step comes from the sum over its branches (Tavakoli et al. 2018).
        self.off_policy.replay.set_errors(draws, &branches.sums(&head.errors(losses)));
        let StepResult { grad_norm, dead_units, .. } = result;
        Ok(StepMetrics { td_loss: result.terms[0], q_values, grad_norm, dead_units })
    }

    /// Computes the gradient of the loss of a minibatch times `weight`.
    fn gradient(
        &self,
        minibatch: &Minibatch,
        targets: &[f32],
        noise: Option<&Noise>,
        weight: f32,
    ) -> Gradient {
        let (head, branches) = (self.actor.head(), &minibatch.branches);
        let (network, rows) = (&self.training.network, &minibatch.rows);
        let body = network.body(minibatch.observations.clone(), rows);
        let (body, pause) = Pause::at(body, self.off_policy.pauses());
        let outputs = network.outputs(body, rows, noise);
        let predicted = branches.select(outputs);
        let losses = head.losses(predicted.clone(), self.tensor(branches.repeat(targets)));
        let loss = loss::weighted_mean(losses.clone(), minibatch.weights.clone()).mul_scalar(weight);
        let predicted = predicted.reshape([branches.len() * head.num_atoms()]);
        let details = Tensor::cat(vec![losses, predicted], 0);
        self.training.gradient(&loss, vec![(TERMS[0], loss.clone())], details, pause)
    }

    /// Turns a `NonFinite` error into a report with this process's part of the minibatch.
    fn diagnose(&self, error: LearnerError, minibatches: &[Minibatch], targets: &[Vec<f32>]) -> LearnerError {
        let OffPolicy { replay, layout, spec, updates, .. } = &self.off_policy;
        let draws: Vec<Draw> = minibatches.iter().flat_map(|minibatch| &minibatch.draws).copied().collect();
        let rows: Vec<&str> =
            draws.iter().map(|draw| spec.tasks[self.off_policy.task(draw)].name.as_str()).collect();
        let column = |name: &str, values: Vec<f32>| NamedWeights {
            name: name.to_owned(),
            shape: vec![values.len()],
            values,
        };
        let columns = |name: &str, values: Vec<f32>| NamedWeights {
            name: name.to_owned(),
            shape: vec![draws.len(), values.len() / draws.len().max(1)],
            values,
        };
        let actions = draws.iter().flat_map(|draw| replay.action(draw));
        let returns = || minibatches.iter().flat_map(|minibatch| &minibatch.returns);
        let observations = |name: &str, bytes: &[u8]| {
            NamedWeights::of_rows(name, *layout, bytes.chunks_exact(layout.row_bytes()))
        };
        let batch = vec![
            column("rewards", returns().map(|of| of.rewards).collect()),
            column("discounts", returns().map(|of| of.discount).collect()),
            column("weights", draws.iter().map(|draw| draw.weight).collect()),
            columns("targets", targets.concat()),
            columns("actions", actions.map(|option| option as f32).collect()),
            observations("observations", &replay.observations(&draws)),
            observations("successors", &replay.successors(&draws)),
        ];
        self.training.diagnose(error, *updates, self.config.learning_rate, &rows, batch)
    }

    /// Returns the outputs of options, which are stored one after another, as `[options, num_atoms]`.
    fn tensor(&self, outputs: Vec<f32>) -> Tensor<2> {
        let atoms = self.actor.head().num_atoms();
        let shape = [outputs.len() / atoms, atoms];
        Tensor::from_data(TensorData::new(outputs, shape), &self.training.device)
    }

    /// Returns the values of the options of this process's environments, given the noise of all environments.
    pub(super) fn values(&self, batch: &Batch, noise: Option<&Noise>) -> Result<Vec<Vec<f32>>, LearnerError> {
        self.off_policy.by_shard(batch, |rows| {
            let noise = noise.map(|noise| noise.of_rows(&(rows[0].env..rows[rows.len() - 1].env + 1)));
            Ok(self.actor.evaluate(&batch.observations, rows, noise.as_ref())?.0)
        })
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

/// Describes the outputs of the network.
pub(super) fn outputs(config: &DqnConfig) -> String {
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

/// Everything that an update changes, with its value before the update.
struct BeforeUpdate {
    training: Mark<QNetwork>,
    target: QNetwork,
    scales: TaskScales,
    priorities: Priorities,
    off_policy: off_policy::BeforeUpdate,
}

impl BeforeUpdate {
    fn of(dqn: &Dqn, off_policy: off_policy::BeforeUpdate) -> Self {
        Self {
            training: dqn.training.mark(),
            target: dqn.target.clone(),
            scales: dqn.actor.head().scales.clone(),
            priorities: dqn.off_policy.replay.priorities(),
            off_policy,
        }
    }

    fn restore(self, dqn: &mut Dqn) {
        dqn.training.return_to(self.training);
        dqn.target = self.target;
        *dqn.actor.scales_mut() = self.scales;
        dqn.actor.set_network(dqn.training.network.valid());
        dqn.off_policy.replay.set_priorities(self.priorities);
        dqn.off_policy.undo_update(self.off_policy);
    }
}
