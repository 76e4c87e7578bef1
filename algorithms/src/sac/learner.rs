use burn::module::Module;
use burn::tensor::{Device, Tensor};
use kernels::host::to_host;
use rl_env::Batch;

use super::exploration::Exploration;
use super::metrics::SacMetrics;
use super::temperature::Temperature;
use super::{Policy, SacConfig};
use crate::cluster::Cluster;
use crate::engine::halt;
use crate::engine::off_policy;
use crate::engine::off_policy::OffPolicy;
use crate::engine::seeds::Stream;
use crate::engine::training::Mark;
use crate::engine::training::Training;
use crate::experience::batch_reader::{BatchReader, BatchRow, rows};
use crate::experience::replay::{ReplayOptions, ReplaySize, ReplayStorage, replay_size};
use crate::networks::observation_statistics::ObservationStatistics;
use crate::networks::{
    ObservationLayout, PolicyConfig, SoftActorCritic, SquashedActor, TwinCritic, soft_update,
};
use crate::{LearnerError, SpecError, VectorSpec};

/// Adam epsilon, as in `CleanRL`.
const ADAM_EPSILON: f32 = 1e-8;

/// A learner that uses Soft Actor-Critic. [`sac`](crate::sac) shows the order of its methods.
pub struct Sac {
    pub(super) config: SacConfig,
    pub(super) policy: PolicyConfig,
    /// The state shared with other off-policy learners. Its updates are the gradient steps of the critics.
    pub(super) off_policy: OffPolicy<f32>,
    pub(super) actor: Training<SquashedActor>,
    pub(super) critics: Training<TwinCritic>,
    /// The temperature in training; unused if it is fixed.
    pub(super) temperature: Training<Temperature>,
    /// The target critics, without gradients.
    pub(super) target: TwinCritic,
    /// The policy that acts: the weights of the trained networks without gradients.
    pub(super) acting: Policy,
    pub(super) exploration: Exploration,
    /// Present if observations are normalised.
    pub(super) statistics: Option<ObservationStatistics>,
    /// The components of the actions of the current step.
    pub(super) actions: Vec<f32>,
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
        let (cluster, storage) = (Cluster::default(), ReplayStorage::UNLIMITED);
        Self::in_cluster(config, policy, spec, cluster, storage, device, seed)
    }

    /// Like [`new`](Self::new), but trains together with the other processes of a cluster. `storage` holds this
    /// process's part of the replay buffer. Only the rows of this process's [own](Cluster::own_envs) environments act
    /// and are observed here. Every process must make the same calls.
    pub fn in_cluster(
        config: SacConfig,
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
        policy.validate_soft_actor_critic()?;
        policy.precision.validate_on(device)?;
        let layout = layout_of(&spec)?;
        let device = device.clone().autodiff();
        let mut rng = Stream::Initialization.rng(seed);
        let network = SoftActorCritic::new(layout.length(), &spec, &policy, &mut rng, &device);
        let reader = BatchReader::new(&spec, layout, device.clone().without_autodiff());
        let acting = Policy::new(network.valid(), reader);
        let target = network.critics.valid();
        let temperature = Temperature::new(spec.tasks.len(), &device);
        let precision = policy.precision;
        let (options, place) = (replay_options(&config), (cluster, storage));
        let mut off_policy = OffPolicy::new(spec, layout, options, config.plan(), place, seed)?;
        let OffPolicy { spec, action_rng, .. } = &mut off_policy;
        let exploration = Exploration::new(spec.num_envs(), spec.max_components(), action_rng);
        let statistics = policy
            .normalize_observations
            .then(|| ObservationStatistics::new(spec.tasks.len(), layout.length()));
        let mut sac = Self {
            actor: Training::new(network.actor, ADAM_EPSILON, precision, device.clone()),
            critics: Training::new(network.critics, ADAM_EPSILON, precision, device.clone()),
            temperature: Training::new(temperature, ADAM_EPSILON, precision, device),
            target,
            acting,
            off_policy,
            exploration,
            statistics: None,
            actions: Vec::new(),
            config,
            policy,
        };
        sac.set_statistics(statistics);
        Ok(sac)
    }

    /// Computes the size of the part of the replay buffer that a process of a cluster holds, without allocating it.
    pub fn replay_size(
        config: &SacConfig,
        spec: &VectorSpec,
        cluster: &Cluster,
    ) -> Result<ReplaySize, LearnerError> {
        spec.check()?;
        Ok(replay_size::<f32>(spec, layout_of(spec)?, &replay_options(config), cluster)?)
    }

    /// Returns the hyperparameters.
    pub fn config(&self) -> &SacConfig {
        &self.config
    }

    /// Takes the gradient steps that are due. On an error the weights of each network are those of its last successful
    /// step.
    pub fn update(&mut self) -> Result<SacMetrics, LearnerError> {
        halt::complete(|stop| self.update_unless(stop))
    }

    /// Like [`update`](Self::update), but calls `stop` before each gradient step if many are due. If `stop` returns
    /// true, the update is undone and the result is `None`: the learner is bit for bit as before the call, and the
    /// update is still due.
    pub fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<SacMetrics>, LearnerError> {
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
                    soft_update(self.target.clone(), &self.critics.network.valid(), self.config.tau);
            }
        }
        self.use_trained_network();
        let alphas = to_host(self.alphas())?;
        let alpha = alphas.iter().sum::<f32>() / alphas.len() as f32;
        Ok(Some(SacMetrics::mean(&steps, alpha, self.off_policy.replay.len())))
    }

    /// Returns the current policy for the environments of `spec`, without learning. These environments may differ from
    /// the learner's, but their tasks must be among its tasks.
    pub fn policy(&self, spec: &VectorSpec) -> Result<Policy, SpecError> {
        self.off_policy.spec.check_observations(spec)?;
        self.acting.for_envs(spec)
    }

    /// Acts with the trained networks from now on.
    pub(super) fn use_trained_network(&mut self) {
        self.acting.set_network(self.network().valid());
    }

    /// Returns the networks with all exported weights.
    pub(super) fn network(&self) -> SoftActorCritic {
        SoftActorCritic { actor: self.actor.network.clone(), critics: self.critics.network.clone() }
    }

    /// Returns the temperature of each task, `[tasks]`, without gradients.
    pub(super) fn alphas(&self) -> Tensor<1> {
        let alphas = self.temperature.network.valid().alphas();
        if self.config.autotune { alphas } else { alphas.zeros_like().add_scalar(self.config.alpha) }
    }

    /// Replaces the statistics by which observations are normalised.
    pub(super) fn set_statistics(&mut self, statistics: Option<ObservationStatistics>) {
        if let Some(statistics) = &statistics {
            self.acting.set_statistics(statistics);
        }
        self.statistics = statistics;
    }

    /// Adds the observations before the steps that `batch` ended to the statistics, shard by shard. Rows that are not
    /// steps do not count: an environment that has used up its steps repeats its observation. Observations from the
    /// replay buffer are normalised by the current statistics in each gradient step.
    pub(super) fn observe_statistics(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        let Some(mut statistics) = self.statistics.clone() else { return Ok(()) };
        let OffPolicy { spec, layout, cluster, replay, .. } = &self.off_policy;
        let observation =
            |row: &BatchRow| (spec.task_ids[row.env], layout.values(&replay.last_observation(row.env)));
        let mut steps = rows(batch);
        steps.retain(|row| !batch.autoreset[row.row]);
        let shards = cluster.split(&steps, |step| step.env, spec.num_envs()).into_iter();
        let shards: Vec<_> = shards.map(|rows| statistics.moments(rows.iter().map(observation))).collect();
        let shards = cluster.gather_values(&shards)?;
        shards.iter().flatten().for_each(|moments| statistics.add(moments));
        statistics.check(&spec.tasks)?;
        self.set_statistics(Some(statistics));
        Ok(())
    }

    /// Chooses an action for each row, in -1..=1, padded to the largest number of components.
    pub(super) fn choose(&mut self, batch: &Batch) -> Result<Vec<f32>, LearnerError> {
        let SacConfig { learning_starts, noise_correlation, .. } = self.config;
        let policies =
            self.off_policy.by_shard(batch, |rows| self.acting.row_policies(&batch.observations, rows))?;
        let of_envs = self.off_policy.of_envs(&policies);
        let OffPolicy { spec, action_rng: rng, steps, .. } = &mut self.off_policy;
        let is_random = *steps < learning_starts as u64;
        let width = spec.max_components();
        let mut padded = Vec::with_capacity(batch.len() * width);
        // Every process draws the noise of all environments.
        for (env, policy) in of_envs.enumerate() {
            let end = padded.len() + width;
            if is_random {
                let random = self.exploration.random(env, noise_correlation, rng);
                padded.extend(policy.iter().flat_map(|policy| &random[..policy.means.len()]));
            } else {
                let noise = self.exploration.noise(env, noise_correlation, rng);
                padded.extend(policy.iter().flat_map(|policy| policy.action(noise)));
            }
            if policy.is_some() {
                padded.resize(end, 0.0);
            }
        }
        Ok(padded)
    }
}

/// Returns the layout of the observations. Fails if SAC cannot learn in the environments.
fn layout_of(spec: &VectorSpec) -> Result<ObservationLayout, SpecError> {
    spec.check_continuous()?;
    spec.check_bounded()?;
    match crate::networks::layout_of(&spec.observation_space)? {
        ObservationLayout::Images { .. } => {
            Err(SpecError::ImageObservations(spec.observation_space.to_string()))
        }
        layout => Ok(layout),
    }
}

fn replay_options(config: &SacConfig) -> ReplayOptions {
    ReplayOptions { buffer_size: config.buffer_size, n_step: 1, gamma: config.gamma, alpha: None }
}

/// Everything that an update changes, with its value before the update.
struct BeforeUpdate {
    actor: Mark<SquashedActor>,
    critics: Mark<TwinCritic>,
    temperature: Mark<Temperature>,
    target: TwinCritic,
    off_policy: off_policy::BeforeUpdate,
}

impl BeforeUpdate {
    fn of(sac: &Sac, off_policy: off_policy::BeforeUpdate) -> Self {
        Self {
            actor: sac.actor.mark(),
            critics: sac.critics.mark(),
            temperature: sac.temperature.mark(),
            target: sac.target.clone(),
            off_policy,
        }
    }

    fn restore(self, sac: &mut Sac) {
        sac.actor.return_to(self.actor);
        sac.critics.return_to(self.critics);
        sac.temperature.return_to(self.temperature);
        sac.target = self.target;
        sac.off_policy.undo_update(self.off_policy);
        sac.use_trained_network();
    }
}
