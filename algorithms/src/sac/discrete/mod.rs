//! Discrete actions (Christodoulou 2019, <https://arxiv.org/abs/1910.07207>): the critics output the values of all
//! actions, so that expectations over the policy are exact.
//!
//! An action that consists of several choices has a policy for each choice. The value of an action is the mean of the
//! values of its options, which all learn the same target, as in [`Branches`](crate::action_values::Branches). Its
//! log-probability is the sum of those of its options.

mod taken;

use burn::tensor::{Device, Tensor};
use kernels::host::to_host;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::SacConfig;
use super::kind::{CriticLoss, Evaluation, Exploring, Kind, States};
use crate::choice_policies::{Distributions, Graphs, JointPolicy};
use crate::networks::{
    DiscreteSoftActorCritic, ILLEGAL_LOGIT, ObservationLayout, PolicyConfig, QNetwork, TwinQNetwork,
    layout_of, mask_logits,
};
use crate::state_bytes::Header;
use crate::{ConfigError, LearnerError, Task, TaskActions, VectorSpec};

use taken::Taken;

/// The share of the largest entropy that policies have as their target, as in `CleanRL`.
const ENTROPY_SHARE: f32 = 0.89;

/// Choices among a few options.
#[derive(Clone, Debug)]
pub struct Discrete;

/// The distribution of an action, on the host.
#[derive(Clone)]
pub struct RowPolicy {
    joint: JointPolicy,
    /// True for the options that the action mask allows.
    allowed: Vec<bool>,
}

impl Kind for Discrete {
    type Element = i32;
    type Actor = QNetwork;
    type Critics = TwinQNetwork;
    type Network = DiscreteSoftActorCritic;
    type Taken = Taken;
    type RowPolicy = RowPolicy;
    /// The actions of successive steps are independent.
    type Exploration = ();

    const HEADER: Header = Header { magic: b"SACCHOIC", version: 1 };
    const ADAM_EPSILON: f32 = 1e-4;
    const OUTPUTS: &str = "logits of actions and their values";

    fn layout(spec: &VectorSpec) -> Result<ObservationLayout, LearnerError> {
        spec.check_choices()?;
        Ok(layout_of(&spec.observation_space)?)
    }

    fn check_settings(
        config: &SacConfig,
        policy: &PolicyConfig,
        layout: ObservationLayout,
    ) -> Result<(), ConfigError> {
        let correlation = config.noise_correlation;
        let is_possible = correlation == 0.0;
        let allowed = "0 for discrete actions, which have no noise";
        ConfigError::unless(is_possible, "noise_correlation", &correlation, allowed)
            .map_err(|error| error.within("sac"))?;
        policy.validate_observations(layout)
    }

    fn network(
        layout: ObservationLayout,
        spec: &VectorSpec,
        policy: &PolicyConfig,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> DiscreteSoftActorCritic {
        DiscreteSoftActorCritic::new(layout, spec, policy, rng, device)
    }

    fn joined(actor: QNetwork, critics: TwinQNetwork) -> DiscreteSoftActorCritic {
        DiscreteSoftActorCritic { actor, critics }
    }

    fn parts(network: DiscreteSoftActorCritic) -> (QNetwork, TwinQNetwork) {
        (network.actor, network.critics)
    }

    /// Returns a share of the entropy of the uniform policy over the task's legal actions, whatever masks allow.
    fn target_entropy(actions: &TaskActions) -> f32 {
        ENTROPY_SHARE * actions.expect_joint().ln_count() as f32
    }

    fn taken(actions: &[(usize, Vec<i32>)], spec: &VectorSpec, device: &Device) -> Taken {
        Taken::new(actions, &spec.tasks, device)
    }

    fn evaluate(
        actor: &QNetwork,
        critics: &TwinQNetwork,
        states: &States,
        _: &[f32],
        tasks: &[Task],
    ) -> Evaluation {
        let distributions = distributions(actor, states, tasks);
        let [first, second] = critics.forward(states.observations.clone(), &states.rows);
        let values = distributions.expectations(first.min_pair(second));
        Evaluation { log_probs: distributions.entropies().neg(), values }
    }

    fn critic_losses(
        critics: &TwinQNetwork,
        states: &States,
        taken: &Taken,
        targets: Tensor<1>,
    ) -> [CriticLoss; 2] {
        let values = critics.forward(states.observations.clone(), &states.rows);
        values.map(|values| taken.loss(values, targets.clone()))
    }

    fn row_policies(
        network: &DiscreteSoftActorCritic,
        states: &States,
        rows: &[(usize, &TaskActions)],
    ) -> Result<Vec<RowPolicy>, LearnerError> {
        let logits = logits(&network.actor, states);
        let [_, width] = logits.dims();
        let logits = to_host(logits)?;
        let row = |(row, (env, actions)): (usize, &(usize, &TaskActions))| {
            let actions = actions.expect_joint();
            let own = &logits[row * width..][..actions.num_outputs()];
            if own.iter().any(|logit| !logit.is_finite()) {
                return Err(LearnerError::NonFinite { what: format!("a logit of environment {env}") });
            }
            let allowed = own.iter().map(|&logit| logit > ILLEGAL_LOGIT).collect();
            Ok(RowPolicy { joint: JointPolicy::new(actions, own), allowed })
        };
        rows.iter().enumerate().map(row).collect()
    }

    /// Computes the expected values of the policy's actions: the smaller estimates of the discounted sums of rewards
    /// and weighted entropies that follow.
    fn values(network: &DiscreteSoftActorCritic, states: &States, tasks: &[Task]) -> Tensor<1> {
        Self::evaluate(&network.actor, &network.critics, states, &[], tasks).values
    }

    /// Returns the most probable action, the first one if several are equal.
    fn greedy(policy: &RowPolicy, actions: &TaskActions) -> Vec<i32> {
        policy.joint.greedy(actions.expect_joint())
    }

    fn sample(policy: &RowPolicy, actions: &TaskActions, rng: &mut impl Rng) -> Vec<i32> {
        policy.joint.sample(actions.expect_joint(), rng).0
    }

    fn log_probs(policy: &RowPolicy, actions: &TaskActions) -> Vec<f32> {
        policy.joint.log_probs(actions.expect_joint())
    }

    fn write(actions: &TaskActions, action: &[i32], elements: &mut Vec<i32>) {
        actions.expect_joint().write(action, elements);
    }

    fn exploration(_: &VectorSpec, _: &mut ChaCha8Rng) {}

    fn are_alike((): &(), (): &()) -> bool {
        true
    }

    fn explore(
        (): &mut (),
        (_, actions): (usize, &TaskActions),
        policy: Option<&RowPolicy>,
        Exploring { is_random, .. }: Exploring,
        rng: &mut ChaCha8Rng,
    ) -> Vec<i32> {
        if is_random {
            let is_allowed = |column: usize| policy.is_none_or(|policy| policy.allowed[column]);
            return actions.random(is_allowed, rng);
        }
        let Some(policy) = policy else {
            skip_sample(actions, rng);
            return Vec::new();
        };
        Self::sample(policy, actions, rng)
    }
}

/// Draws and discards the random numbers that [`Kind::sample`] would use: one for each choice.
fn skip_sample(actions: &TaskActions, rng: &mut impl Rng) {
    for _ in 0..actions.num_choices() {
        let _: f64 = rng.random();
    }
}

/// Returns the logits of the policy, `[rows, max_outputs]`, in which illegal options are masked.
fn logits(actor: &QNetwork, states: &States) -> Tensor<2> {
    let logits = actor.forward(states.observations.clone(), &states.rows, None).squeeze_dim(2);
    mask_logits(logits, states.rows.illegal())
}

/// Returns the distributions of the actions in some states.
fn distributions(actor: &QNetwork, states: &States, tasks: &[Task]) -> Distributions {
    let logits = logits(actor, states);
    let are_single = tasks.iter().all(|task| task.actions.is_single_choice());
    let device = logits.device();
    let graphs = (!are_single).then(|| Graphs::new(states.rows.task_ids(), tasks, &device));
    Distributions::new(logits, graphs)
}
