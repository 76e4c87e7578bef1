//! The implementation of [`OffPolicyAlgorithm`] for DQN.

use burn::module::Module;
use burn::tensor::Device;
use rand_chacha::ChaCha8Rng;
use rl_env::Batch;
use serde::{Deserialize, Serialize};

use super::learner::{Dqn, DqnAgent};
use super::{Distribution, DqnConfig, DqnMetrics, Policy};
use crate::action_values::{Head, ReturnModel, StepMetrics, epsilon_greedy, skip_epsilon_greedy};
use crate::engine::OffPolicyAlgorithm;
use crate::engine::off_policy::OffPolicy;
use crate::engine::replay_plan::ReplayPlan;
use crate::engine::training::{Training, TrainingState};
use crate::experience::batch_reader::BatchReader;
use crate::experience::replay::ReplayOptions;
use crate::networks::value_scale::TaskScales;
use crate::networks::{
    NamedWeights, NetworkDescription, NewScales, ObservationLayout, PolicyConfig, QNetwork, QNetworkOptions,
    TaskNetwork, TrainedNetwork, TransferError, Transferred, layout_of, load_weights, soft_update, transfer,
    weights,
};
use crate::state_bytes::Header;
use crate::{ConfigError, Learner, LearnerError, SpecError, VectorSpec};

/// The state of the networks.
#[derive(Serialize, Deserialize)]
pub struct State {
    training: TrainingState,
    target: Vec<NamedWeights>,
    scales: TaskScales,
}

impl OffPolicyAlgorithm for DqnAgent {
    type Config = DqnConfig;
    type Element = i32;
    type Policy = Policy;
    type StepMetrics = StepMetrics;
    type Metrics = DqnMetrics;
    type State = State;

    const HEADER: Header = Header { magic: b"DQNSTATE", version: 11 };

    fn validate(config: &DqnConfig, policy: &PolicyConfig, _: usize) -> Result<(), ConfigError> {
        config.validate().map_err(|error| error.within("dqn"))?;
        let of_policy = policy.validate().and_then(|()| config.validate_policy(policy));
        of_policy.map_err(|error| error.within("policy"))
    }

    fn checked_layout(
        config: &DqnConfig,
        _: &PolicyConfig,
        spec: &VectorSpec,
    ) -> Result<ObservationLayout, LearnerError> {
        let layout = Self::layout(spec)?;
        config.validate_observations(layout)?;
        Ok(layout)
    }

    fn layout(spec: &VectorSpec) -> Result<ObservationLayout, LearnerError> {
        spec.check_choices()?;
        Ok(layout_of(&spec.observation_space)?)
    }

    fn replay_options(config: &DqnConfig) -> ReplayOptions {
        ReplayOptions {
            buffer_size: config.buffer_size,
            n_step: config.n_step,
            gamma: config.gamma,
            alpha: config.prioritized.then_some(config.per_alpha),
        }
    }

    fn plan(config: &DqnConfig) -> ReplayPlan {
        config.plan()
    }

    fn new(
        config: &DqnConfig,
        policy: &PolicyConfig,
        off_policy: &mut OffPolicy<i32>,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> Self {
        let OffPolicy { spec, layout, .. } = off_policy;
        let head = Head::new(return_model(config), policy.scales(spec.tasks.len()));
        let options = QNetworkOptions {
            num_atoms: head.num_atoms(),
            dueling: config.dueling,
            noisy_sigma: config.noisy.then_some(config.noisy_sigma),
            layer_norm: false,
        };
        let network = QNetwork::new(*layout, spec, policy, options, rng, device);
        let reader = BatchReader::new(spec, *layout, device.clone().without_autodiff());
        Self {
            actor: Policy::new(network.valid(), head, reader),
            target: network.valid(),
            training: Training::new(network, config.adam_epsilon, policy.precision, device.clone()),
        }
    }

    fn check_batch(dqn: &Dqn, batch: &Batch) -> Result<(), LearnerError> {
        dqn.agent.actor.check_complete(batch, &dqn.off_policy.replay.own_envs())
    }

    /// Chooses the greedy action or a random one for each environment. For each environment, in order, draws one random
    /// number and one more per choice.
    fn choose(dqn: &mut Dqn, batch: &Batch) -> Result<Vec<i32>, LearnerError> {
        let device = dqn.agent.training.device.clone().without_autodiff();
        let (num_envs, num_choices) = (dqn.spec().num_envs(), dqn.spec().max_choices());
        // Each environment draws its own noise.
        let noise = dqn.agent.training.network.draw_noise(num_envs, &mut dqn.off_policy.noise_rng, &device);
        let diagnose = |error| {
            let OffPolicy { spec, layout, updates, .. } = &dqn.off_policy;
            let rate = dqn.config.learning_rate;
            dqn.agent.training.diagnose_acting(error, *updates, rate, (spec, *layout), batch)
        };
        let values = dqn.values(batch, noise.as_ref()).map_err(diagnose)?;
        let epsilon = dqn.epsilon();
        let mut padded = Vec::with_capacity(batch.len() * num_choices);
        let by_env = dqn.off_policy.by_env(&values);
        let OffPolicy { spec, action_rng, .. } = &mut dqn.off_policy;
        for (env, values) in by_env.enumerate() {
            let actions = spec.actions(env);
            let Some(values) = values else {
                skip_epsilon_greedy(actions, action_rng);
                continue;
            };
            let options = epsilon_greedy(actions, values, epsilon, action_rng);
            actions.expect_joint().write(&options, &mut dqn.actions);
            let end = padded.len() + num_choices;
            padded.extend(options);
            padded.resize(end, 0);
        }
        Ok(padded)
    }

    /// Takes one gradient step. After an error, only the random generators and the value scales have changed; the
    /// predictions of both networks are the same as before.
    fn learn(dqn: &mut Dqn) -> Result<StepMetrics, LearnerError> {
        let (count, beta) = (dqn.config.batch_size, dqn.per_beta());
        let OffPolicy { replay, replay_rng, .. } = &mut dqn.off_policy;
        let draws = replay.draw(count, beta, replay_rng);
        let noise = dqn.draw_noise();
        dqn.learn_from(&draws, &noise)
    }

    fn update_target(&mut self, config: &DqnConfig) {
        self.target = soft_update(self.target.clone(), &self.training.network.valid(), config.tau);
    }

    fn use_trained_network(&mut self) {
        self.actor.set_network(self.training.network.valid());
    }

    fn metrics(dqn: &Dqn, steps: &[StepMetrics]) -> Result<DqnMetrics, LearnerError> {
        let StepMetrics { td_loss, q_values, grad_norm, dead_units } = StepMetrics::mean(steps);
        Ok(DqnMetrics {
            td_loss,
            q_values,
            grad_norm,
            dead_units,
            epsilon: dqn.epsilon(),
            replay_steps: dqn.off_policy.replay.len(),
            gradient_steps: steps.len(),
        })
    }

    fn state(&self) -> Result<State, LearnerError> {
        Ok(State {
            training: self.training.state()?,
            target: weights(&self.target)?,
            scales: self.actor.head().scales.clone(),
        })
    }

    fn restore(&mut self, state: State) -> Result<(), LearnerError> {
        self.training.restore(state.training)?;
        self.target = load_weights(self.target.clone(), state.target)?;
        self.actor.scales_mut().restore(state.scales)
    }

    fn policy(&self, spec: &VectorSpec) -> Result<Policy, SpecError> {
        self.actor.for_envs(spec)
    }

    fn torch_weights(dqn: &Dqn) -> Result<Vec<NamedWeights>, LearnerError> {
        dqn.agent.training.network.torch_weights()
    }

    fn description(dqn: &Dqn) -> NetworkDescription {
        let Dqn { config, policy, off_policy, agent, .. } = dqn;
        NetworkDescription::new(
            ("dqn", outputs(config)),
            policy,
            &off_policy.spec,
            &agent.actor.head().scales,
        )
    }

    fn start_from(dqn: &mut Dqn, source: &TrainedNetwork) -> Result<Transferred, TransferError> {
        let network = dqn.agent.training.network.clone();
        let (network, NewScales { scales, changes }, transferred) =
            transfer(network, &Self::description(dqn), source)?;
        let network = if changes.is_empty() { network } else { network.rescale_values(&changes) };
        let DqnAgent { training, actor, target } = &mut dqn.agent;
        actor.set_network(network.valid());
        *actor.scales_mut() = scales;
        *target = network.valid();
        training.network = network;
        Ok(transferred)
    }
}

/// Describes the outputs of the network.
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
