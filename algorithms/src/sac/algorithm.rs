//! The implementation of [`OffPolicyAlgorithm`] for SAC.

use burn::module::Module;
use burn::tensor::Device;
use kernels::host::to_host;
use rand_chacha::ChaCha8Rng;
use rl_env::Batch;
use serde::{Deserialize, Serialize};

use super::exploration::Exploration;
use super::learner::{Sac, SacAgent};
use super::metrics::StepMetrics;
use super::temperature::Temperature;
use super::{Policy, SacConfig, SacMetrics};
use crate::engine::OffPolicyAlgorithm;
use crate::engine::off_policy::OffPolicy;
use crate::engine::replay_plan::ReplayPlan;
use crate::engine::training::{Training, TrainingState};
use crate::experience::batch_reader::BatchReader;
use crate::experience::replay::ReplayOptions;
use crate::networks::observation_statistics::ObservationStatistics;
use crate::networks::{
    NamedWeights, NetworkDescription, ObservationLayout, PolicyConfig, SoftActorCritic, TrainedNetwork,
    TransferError, Transferred, layout_of, load_weights, soft_update, transfer, weights,
};
use crate::state_bytes::{Header, bad};
use crate::{ConfigError, LearnerError, SpecError, VectorSpec};

/// Adam epsilon, as in `CleanRL`.
const ADAM_EPSILON: f32 = 1e-8;

/// The state of the networks and of the exploration.
#[derive(Serialize, Deserialize)]
pub struct State {
    actor: TrainingState,
    critics: TrainingState,
    temperature: TrainingState,
    target: Vec<NamedWeights>,
    exploration: Exploration,
    statistics: Option<ObservationStatistics>,
}

impl OffPolicyAlgorithm for SacAgent {
    type Config = SacConfig;
    type Element = f32;
    type Policy = Policy;
    type StepMetrics = StepMetrics;
    type Metrics = SacMetrics;
    type State = State;

    const HEADER: Header = Header { magic: b"SACSTATE", version: 4 };

    fn validate(config: &SacConfig, policy: &PolicyConfig, _: usize) -> Result<(), ConfigError> {
        config.validate().map_err(|error| error.within("sac"))?;
        let of_policy = policy.validate().and_then(|()| policy.validate_soft_actor_critic());
        of_policy.map_err(|error| error.within("policy"))
    }

    fn checked_layout(
        _: &SacConfig,
        _: &PolicyConfig,
        spec: &VectorSpec,
    ) -> Result<ObservationLayout, LearnerError> {
        Self::layout(spec)
    }

    /// Fails if SAC cannot learn in the environments.
    fn layout(spec: &VectorSpec) -> Result<ObservationLayout, LearnerError> {
        spec.check_continuous()?;
        spec.check_bounded()?;
        match layout_of(&spec.observation_space)? {
            layout if layout.has_images() => {
                Err(SpecError::ImageObservations(spec.observation_space.to_string()).into())
            }
            layout => Ok(layout),
        }
    }

    fn replay_options(config: &SacConfig) -> ReplayOptions {
        ReplayOptions { buffer_size: config.buffer_size, n_step: 1, gamma: config.gamma, alpha: None }
    }

    fn plan(config: &SacConfig) -> ReplayPlan {
        config.plan()
    }

    fn new(
        _: &SacConfig,
        policy: &PolicyConfig,
        off_policy: &mut OffPolicy<f32>,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> Self {
        let OffPolicy { spec, layout, action_rng, .. } = off_policy;
        let network = SoftActorCritic::new(layout.length(), spec, policy, rng, device);
        let reader = BatchReader::new(spec, *layout, device.clone().without_autodiff());
        let acting = Policy::new(network.valid(), reader);
        let target = network.critics.valid();
        let temperature = Temperature::new(spec.tasks.len(), device);
        let precision = policy.precision;
        let statistics = policy
            .normalize_observations
            .then(|| ObservationStatistics::new(spec.tasks.len(), layout.length()));
        let mut agent = Self {
            actor: Training::new(network.actor, ADAM_EPSILON, precision, device.clone()),
            critics: Training::new(network.critics, ADAM_EPSILON, precision, device.clone()),
            temperature: Training::new(temperature, ADAM_EPSILON, precision, device.clone()),
            target,
            acting,
            exploration: Exploration::new(spec.num_envs(), spec.max_components(), action_rng),
            statistics: None,
        };
        agent.set_statistics(statistics);
        agent
    }

    fn check_batch(sac: &Sac, batch: &Batch) -> Result<(), LearnerError> {
        sac.agent.acting.check_complete(batch, &sac.off_policy.replay.own_envs())
    }

    /// Chooses an action of the policy for each environment, or a uniformly random one before learning starts. Draws
    /// random numbers for each environment, in order.
    fn choose(sac: &mut Sac, batch: &Batch) -> Result<Vec<f32>, LearnerError> {
        let own_envs = sac.off_policy.replay.own_envs();
        let chosen = sac.choose(batch).map_err(|error| {
            let OffPolicy { spec, layout, updates, .. } = &sac.off_policy;
            let rate = sac.config.policy_lr;
            sac.agent.actor.diagnose_acting(error, *updates, rate, (spec, *layout), batch)
        })?;
        let spec = &sac.off_policy.spec;
        for (env, components) in own_envs.zip(chosen.chunks_exact(spec.max_components())) {
            let actions = spec.actions(env).expect_continuous();
            actions.write_scaled(&components[..actions.num_components()], &mut sac.actions);
        }
        Ok(chosen)
    }

    fn after_observe(sac: &mut Sac, batch: &Batch) -> Result<(), LearnerError> {
        sac.observe_statistics(batch)
    }

    /// Takes one gradient step of the critics and, if they are due, those of the policy and the temperature.
    fn learn(sac: &mut Sac) -> Result<StepMetrics, LearnerError> {
        let OffPolicy { replay, replay_rng, .. } = &mut sac.off_policy;
        let draws = replay.draw(sac.config.batch_size, 0.0, replay_rng);
        let noise = sac.draw_noise(draws.len());
        sac.learn_from(&draws, &noise)
    }

    fn update_target(&mut self, config: &SacConfig) {
        self.target = soft_update(self.target.clone(), &self.critics.network.valid(), config.tau);
    }

    fn use_trained_network(&mut self) {
        self.acting.set_network(self.network().valid());
    }

    fn metrics(sac: &Sac, steps: &[StepMetrics]) -> Result<SacMetrics, LearnerError> {
        let alphas = to_host(sac.alphas())?;
        let alpha = alphas.iter().sum::<f32>() / alphas.len() as f32;
        Ok(SacMetrics::mean(steps, alpha, sac.off_policy.replay.len()))
    }

    fn state(&self) -> Result<State, LearnerError> {
        Ok(State {
            actor: self.actor.state()?,
            critics: self.critics.state()?,
            temperature: self.temperature.state()?,
            target: weights(&self.target)?,
            exploration: self.exploration.clone(),
            statistics: self.statistics.clone(),
        })
    }

    fn restore(&mut self, state: State) -> Result<(), LearnerError> {
        self.actor.restore(state.actor)?;
        self.critics.restore(state.critics)?;
        self.temperature.restore(state.temperature)?;
        self.target = load_weights(self.target.clone(), state.target)?;
        if !state.exploration.fits(&self.exploration) {
            return Err(bad("the noise does not match the environments"));
        }
        self.exploration = state.exploration;
        if !ObservationStatistics::are_alike(state.statistics.as_ref(), self.statistics.as_ref()) {
            return Err(bad("the statistics of the observations do not match the environments"));
        }
        self.set_statistics(state.statistics);
        Ok(())
    }

    fn policy(&self, spec: &VectorSpec) -> Result<Policy, SpecError> {
        self.acting.for_envs(spec)
    }

    fn torch_weights(sac: &Sac) -> Result<Vec<NamedWeights>, LearnerError> {
        let agent = &sac.agent;
        let mut weights = agent.network().torch_weights()?;
        if sac.config.autotune {
            weights.extend(agent.temperature.network.weights()?);
        }
        weights.extend(agent.statistics.iter().flat_map(ObservationStatistics::weights));
        Ok(weights)
    }

    fn description(sac: &Sac) -> NetworkDescription {
        let spec = &sac.off_policy.spec;
        let scales = sac.policy.scales(spec.tasks.len());
        let outputs = "squashed actions and their values".to_owned();
        NetworkDescription::new(("sac", outputs), &sac.policy, spec, &scales)
    }

    fn start_from(sac: &mut Sac, source: &TrainedNetwork) -> Result<Transferred, TransferError> {
        let own = Self::description(sac);
        let agent = &mut sac.agent;
        let (network, _, transferred) = transfer(agent.network(), &own, source)?;
        let temperature = agent.temperature.network.clone().started_from(source, &own.tasks)?;
        let statistics = agent.statistics.clone();
        let statistics = statistics.map(|statistics| statistics.started_from(source, &own.tasks));
        agent.set_statistics(statistics.transpose()?);
        agent.temperature.network = temperature;
        agent.target = network.critics.valid();
        (agent.actor.network, agent.critics.network) = (network.actor, network.critics);
        agent.use_trained_network();
        Ok(transferred)
    }
}
