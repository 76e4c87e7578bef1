//! The implementation of [`OffPolicyAlgorithm`] for SAC.

use burn::module::Module;
use burn::tensor::Device;
use kernels::host::to_host;
use rand_chacha::ChaCha8Rng;
use rl_env::Batch;
use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::learner::SacAgent;
use super::metrics::StepMetrics;
use super::policy::Policy;
use super::temperature::Temperature;
use super::{SacConfig, SacMetrics};
use crate::engine::off_policy::OffPolicy;
use crate::engine::replay_plan::ReplayPlan;
use crate::engine::training::{Training, TrainingState};
use crate::engine::{OffPolicyAlgorithm, OffPolicyLearner};
use crate::experience::batch_reader::BatchReader;
use crate::experience::replay::ReplayOptions;
use crate::networks::observation_statistics::ObservationStatistics;
use crate::networks::{
    NamedWeights, NetworkDescription, ObservationLayout, PolicyConfig, TrainedNetwork, TransferError,
    Transferred, load_weights, soft_update, torch_weights, transfer, weights,
};
use crate::state_bytes::{Header, bad};
use crate::{ConfigError, LearnerError, SpecError, VectorSpec};

/// The state of the networks and of the exploration.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct State<K: Kind> {
    actor: TrainingState,
    critics: TrainingState,
    temperature: TrainingState,
    target: Vec<NamedWeights>,
    exploration: K::Exploration,
    statistics: Option<ObservationStatistics>,
}

impl<K: Kind> OffPolicyAlgorithm for SacAgent<K> {
    type Config = SacConfig;
    type Element = K::Element;
    type Policy = Policy<K>;
    type StepMetrics = StepMetrics;
    type Metrics = SacMetrics;
    type State = State<K>;

    const HEADER: Header = K::HEADER;

    fn validate(config: &SacConfig, policy: &PolicyConfig, _: usize) -> Result<(), ConfigError> {
        config.validate().map_err(|error| error.within("sac"))?;
        let of_policy = policy.validate().and_then(|()| policy.validate_soft_actor_critic());
        of_policy.map_err(|error| error.within("policy"))
    }

    fn checked_layout(
        config: &SacConfig,
        policy: &PolicyConfig,
        spec: &VectorSpec,
    ) -> Result<ObservationLayout, LearnerError> {
        let layout = Self::layout(spec)?;
        K::check_settings(config, policy, layout)?;
        Ok(layout)
    }

    fn layout(spec: &VectorSpec) -> Result<ObservationLayout, LearnerError> {
        K::layout(spec)
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
        off_policy: &mut OffPolicy<K::Element>,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> Self {
        let OffPolicy { spec, layout, action_rng, .. } = off_policy;
        let network = K::network(*layout, spec, policy, rng, device);
        let reader = BatchReader::new(spec, *layout, device.clone().without_autodiff());
        let acting = Policy::new(network.valid(), reader);
        let (actor, critics) = K::parts(network);
        let target = critics.valid();
        let temperature = Temperature::new(spec.tasks.len(), device);
        let precision = policy.precision;
        let statistics = policy
            .normalize_observations
            .then(|| ObservationStatistics::new(spec.tasks.len(), layout.length()));
        let mut agent = Self {
            actor: Training::new(actor, K::ADAM_EPSILON, precision, device.clone()),
            critics: Training::new(critics, K::ADAM_EPSILON, precision, device.clone()),
            temperature: Training::new(temperature, K::ADAM_EPSILON, precision, device.clone()),
            target,
            acting,
            exploration: K::exploration(spec, action_rng),
            statistics: None,
        };
        agent.set_statistics(statistics);
        agent
    }

    fn check_batch(sac: &OffPolicyLearner<Self>, batch: &Batch) -> Result<(), LearnerError> {
        sac.agent.acting.check_complete(batch, &sac.off_policy.replay.own_envs())
    }

    /// Chooses an action of the policy for each environment, or a uniformly random one before learning starts. Draws
    /// random numbers for each environment, in order.
    fn choose(sac: &mut OffPolicyLearner<Self>, batch: &Batch) -> Result<Vec<K::Element>, LearnerError> {
        sac.choose(batch).map_err(|error| {
            let OffPolicy { spec, layout, updates, .. } = &sac.off_policy;
            let rate = sac.config.policy_lr;
            sac.agent.actor.diagnose_acting(error, *updates, rate, (spec, *layout), batch)
        })
    }

    fn after_observe(sac: &mut OffPolicyLearner<Self>, batch: &Batch) -> Result<(), LearnerError> {
        sac.observe_statistics(batch)
    }

    /// Takes one gradient step of the critics and, if they are due, those of the policy and the temperature.
    fn learn(sac: &mut OffPolicyLearner<Self>) -> Result<StepMetrics, LearnerError> {
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

    fn metrics(sac: &OffPolicyLearner<Self>, steps: &[StepMetrics]) -> Result<SacMetrics, LearnerError> {
        let alphas = to_host(sac.alphas())?;
        let alpha = alphas.iter().sum::<f32>() / alphas.len() as f32;
        Ok(SacMetrics::mean(steps, alpha, sac.off_policy.replay.len()))
    }

    fn state(&self) -> Result<State<K>, LearnerError> {
        Ok(State {
            actor: self.actor.state()?,
            critics: self.critics.state()?,
            temperature: self.temperature.state()?,
            target: weights(&self.target)?,
            exploration: self.exploration.clone(),
            statistics: self.statistics.clone(),
        })
    }

    fn restore(&mut self, state: State<K>) -> Result<(), LearnerError> {
        self.actor.restore(state.actor)?;
        self.critics.restore(state.critics)?;
        self.temperature.restore(state.temperature)?;
        self.target = load_weights(self.target.clone(), state.target)?;
        if !K::are_alike(&state.exploration, &self.exploration) {
            return Err(bad("the noise does not match the environments"));
        }
        self.exploration = state.exploration;
        if !ObservationStatistics::are_alike(state.statistics.as_ref(), self.statistics.as_ref()) {
            return Err(bad("the statistics of the observations do not match the environments"));
        }
        self.set_statistics(state.statistics);
        Ok(())
    }

    fn policy(&self, spec: &VectorSpec) -> Result<Policy<K>, SpecError> {
        self.acting.for_envs(spec)
    }

    fn torch_weights(sac: &OffPolicyLearner<Self>) -> Result<Vec<NamedWeights>, LearnerError> {
        let agent = &sac.agent;
        let mut weights = torch_weights(&agent.network())?;
        if sac.config.autotune {
            weights.extend(agent.temperature.network.weights()?);
        }
        weights.extend(agent.statistics.iter().flat_map(ObservationStatistics::weights));
        Ok(weights)
    }

    fn description(sac: &OffPolicyLearner<Self>) -> NetworkDescription {
        let spec = &sac.off_policy.spec;
        let scales = sac.policy.scales(spec.tasks.len());
        NetworkDescription::new(("sac", K::OUTPUTS.to_owned()), &sac.policy, spec, &scales)
    }

    fn start_from(
        sac: &mut OffPolicyLearner<Self>,
        source: &TrainedNetwork,
    ) -> Result<Transferred, TransferError> {
        let own = Self::description(sac);
        let agent = &mut sac.agent;
        let (network, _, transferred) = transfer(agent.network(), &own, source)?;
        let temperature = agent.temperature.network.clone().started_from(source, &own.tasks)?;
        let statistics = agent.statistics.clone();
        let statistics = statistics.map(|statistics| statistics.started_from(source, &own.tasks));
        agent.set_statistics(statistics.transpose()?);
        agent.temperature.network = temperature;
        (agent.actor.network, agent.critics.network) = K::parts(network);
        agent.target = agent.critics.network.valid();
        agent.use_trained_network();
        Ok(transferred)
    }
}
