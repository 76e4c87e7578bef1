//! Continuous actions (Haarnoja et al. 2018, <https://arxiv.org/abs/1812.05905>): samples of squashed normal
//! distributions, whose gradients pass through the critics.

mod exploration;
mod squashed;

use burn::tensor::{Device, Tensor, TensorData};
use kernels::host::to_host;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::SacConfig;
use super::kind::{CriticLoss, Evaluation, Exploring, Kind, States};
use crate::networks::{
    ObservationLayout, PolicyConfig, RowTasks, SoftActorCritic, SquashedActor, SquashedOutputs, TwinCritic,
    layout_of, standard_normal,
};
use crate::state_bytes::Header;
use crate::{ConfigError, LearnerError, SpecError, Task, TaskActions, VectorSpec};

use exploration::Exploration;
use squashed::{Sample, sample};

/// Vectors of real numbers, which the policy chooses in -1..=1.
#[derive(Clone, Debug)]
pub struct Continuous;

/// The distribution of an action before tanh, on the host.
#[derive(Clone)]
pub struct RowPolicy {
    pub(super) means: Vec<f32>,
    pub(super) log_deviations: Vec<f32>,
}

impl RowPolicy {
    /// Returns the components of the action with the given noise, from -1 to 1.
    pub(super) fn action(&self, noise: &[f32]) -> Vec<f32> {
        let components = self.means.iter().zip(&self.log_deviations).zip(noise);
        components.map(|((mean, log_deviation), noise)| (mean + log_deviation.exp() * noise).tanh()).collect()
    }
}

impl Kind for Continuous {
    type Element = f32;
    type Actor = SquashedActor;
    type Critics = TwinCritic;
    type Network = SoftActorCritic;
    /// `[rows, components]`, from -1 to 1.
    type Taken = Tensor<2>;
    type RowPolicy = RowPolicy;
    type Exploration = Exploration;

    const HEADER: Header = Header { magic: b"SACSTATE", version: 4 };
    const ADAM_EPSILON: f32 = 1e-8;
    const OUTPUTS: &str = "squashed actions and their values";

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

    fn check_settings(_: &SacConfig, _: &PolicyConfig, _: ObservationLayout) -> Result<(), ConfigError> {
        Ok(())
    }

    fn network(
        layout: ObservationLayout,
        spec: &VectorSpec,
        policy: &PolicyConfig,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> SoftActorCritic {
        SoftActorCritic::new(layout.length(), spec, policy, rng, device)
    }

    fn joined(actor: SquashedActor, critics: TwinCritic) -> SoftActorCritic {
        SoftActorCritic { actor, critics }
    }

    fn parts(network: SoftActorCritic) -> (SquashedActor, TwinCritic) {
        (network.actor, network.critics)
    }

    /// Returns minus the number of components.
    fn target_entropy(actions: &TaskActions) -> f32 {
        -(actions.num_components() as f32)
    }

    fn taken(actions: &[(usize, Vec<f32>)], spec: &VectorSpec, device: &Device) -> Tensor<2> {
        let components: Vec<f32> = actions.iter().flat_map(|(_, components)| components).copied().collect();
        Tensor::from_data(TensorData::new(components, [actions.len(), spec.max_components()]), device)
    }

    fn evaluate(
        actor: &SquashedActor,
        critics: &TwinCritic,
        states: &States,
        noise: &[f32],
        _: &[Task],
    ) -> Evaluation {
        let States { observations, rows } = states;
        let [count, _] = observations.dims();
        let noise = TensorData::new(noise.to_vec(), [count, noise.len() / count]);
        let noise = Tensor::from_data(noise, &observations.device());
        let outputs = actor.forward(observations.clone(), rows);
        let Sample { actions, log_probs } = sample(outputs, noise, rows);
        let [first, second] = critics.forward(observations.clone(), actions, rows);
        Evaluation { log_probs, values: first.min_pair(second) }
    }

    fn critic_losses(
        critics: &TwinCritic,
        states: &States,
        taken: &Tensor<2>,
        targets: Tensor<1>,
    ) -> [CriticLoss; 2] {
        let values = critics.forward(states.observations.clone(), taken.clone(), &states.rows);
        values.map(|values| {
            let loss = (values.clone() - targets.clone()).square().mean();
            CriticLoss { loss, value: values.mean() }
        })
    }

    fn row_policies(
        network: &SoftActorCritic,
        states: &States,
        rows: &[(usize, &TaskActions)],
    ) -> Result<Vec<RowPolicy>, LearnerError> {
        let outputs = network.actor.forward(states.observations.clone(), &states.rows);
        let SquashedOutputs { means, log_deviations } = outputs;
        let [_, width] = means.dims();
        let (means, log_deviations) = (to_host(means)?, to_host(log_deviations)?);
        let row = |(row, (env, actions)): (usize, &(usize, &TaskActions))| {
            let own = |values: &[f32]| values[row * width..][..actions.num_components()].to_vec();
            let policy = RowPolicy { means: own(&means), log_deviations: own(&log_deviations) };
            let are_finite = policy.means.iter().chain(&policy.log_deviations).all(|value| value.is_finite());
            let what = || format!("a mean or deviation of environment {env}");
            if are_finite { Ok(policy) } else { Err(LearnerError::NonFinite { what: what() }) }
        };
        rows.iter().enumerate().map(row).collect()
    }

    /// Computes the values of the greedy actions: the smaller estimate of the discounted sum of rewards and weighted
    /// entropies that follow.
    fn values(network: &SoftActorCritic, states: &States, _: &[Task]) -> Tensor<1> {
        let States { observations, rows } = states;
        let actions = greedy_actions(network.actor.forward(observations.clone(), rows), rows);
        let [first, second] = network.critics.forward(observations.clone(), actions, rows);
        first.min_pair(second)
    }

    /// Returns tanh of the means.
    fn greedy(policy: &RowPolicy, _: &TaskActions) -> Vec<f32> {
        policy.action(&vec![0.0; policy.means.len()])
    }

    fn sample(policy: &RowPolicy, _: &TaskActions, rng: &mut impl Rng) -> Vec<f32> {
        let noise: Vec<f32> = policy.means.iter().map(|_| standard_normal(rng) as f32).collect();
        policy.action(&noise)
    }

    fn log_probs(_: &RowPolicy, _: &TaskActions) -> Vec<f32> {
        Vec::new()
    }

    fn write(actions: &TaskActions, action: &[f32], elements: &mut Vec<f32>) {
        actions.expect_continuous().write_scaled(action, elements);
    }

    fn exploration(spec: &VectorSpec, rng: &mut ChaCha8Rng) -> Exploration {
        Exploration::new(spec.num_envs(), spec.max_components(), rng)
    }

    fn are_alike(exploration: &Exploration, other: &Exploration) -> bool {
        exploration.fits(other)
    }

    fn explore(
        exploration: &mut Exploration,
        (env, actions): (usize, &TaskActions),
        policy: Option<&RowPolicy>,
        Exploring { is_random, noise_correlation }: Exploring,
        rng: &mut ChaCha8Rng,
    ) -> Vec<f32> {
        if is_random {
            return exploration.random(env, noise_correlation, rng)[..actions.num_components()].to_vec();
        }
        let noise = exploration.noise(env, noise_correlation, rng);
        policy.map_or_else(Vec::new, |policy| policy.action(noise))
    }
}

/// Computes the greedy actions: the tanh of the means, `[rows, components]`.
fn greedy_actions(outputs: SquashedOutputs, rows: &RowTasks) -> Tensor<2> {
    let shape = outputs.means.dims();
    let zeros = TensorData::zeros::<f32, _>(shape);
    let noise = Tensor::from_data(zeros, &outputs.means.device());
    sample(outputs, noise, rows).actions
}
