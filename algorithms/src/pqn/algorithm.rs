//! The implementation of [`OnPolicyAlgorithm`] for PQN.

use burn::tensor::Device;
use kernels::PackedRows;
use rand_chacha::ChaCha8Rng;
use rl_env::Batch;
use serde::{Deserialize, Serialize};

use super::learner::{Evaluation, Pqn, PqnAgent};
use super::loss;
use super::minibatch::Minibatch;
use super::{Policy, PqnConfig, PqnMetrics};
use crate::action_values::{
    Head, LossKind, ReturnModel, StepMetrics, best_value, epsilon_greedy, skip_epsilon_greedy,
};
use crate::engine::OnPolicyAlgorithm;
use crate::engine::backward::SplitPoint;
use crate::engine::halt::Halt;
use crate::engine::loss::Loss;
use crate::engine::minibatch_rows::MinibatchRows;
use crate::engine::on_policy_learner::{Successors, Update};
use crate::engine::optimizer_step::StepResult;
use crate::engine::rollout_plan::RolloutPlan;
use crate::experience::batch_reader::BatchReader;
use crate::experience::rollout::{Decision, Rollout};
use crate::networks::value_scale::TaskScales;
use crate::networks::{ObservationLayout, PolicyConfig, QNetwork, QNetworkOptions, layout_of};
use crate::state_bytes::Header;
use crate::tasks::ChosenAction;
use crate::{ConfigError, LearnerError, SpecError, TaskActions, VectorSpec};

/// The state of what acts.
#[derive(Serialize, Deserialize)]
pub struct State {
    scales: TaskScales,
}

impl OnPolicyAlgorithm for PqnAgent {
    type Config = PqnConfig;
    type Network = QNetwork;
    type Policy = Policy;
    type Evaluation = Evaluation;
    /// The returns, entry by entry.
    type Targets = Vec<f32>;
    type Minibatch = Minibatch;
    type StepMetrics = StepMetrics;
    type Metrics = PqnMetrics;
    type State = State;

    const HEADER: Header = Header { magic: b"PQNSTATE", version: 11 };
    const NAME: (&'static str, &'static str) = ("pqn", "mean returns");
    /// The default of Kingma and Ba 2015.
    const ADAM_EPSILON: f32 = 1e-8;

    fn validate(config: &PqnConfig, policy: &PolicyConfig, num_envs: usize) -> Result<(), ConfigError> {
        config.validate(num_envs).map_err(|error| error.within("pqn"))?;
        let of_policy = policy.validate().and_then(|()| policy.validate_action_values());
        of_policy.map_err(|error| error.within("policy"))
    }

    fn checked_layout(
        _: &PqnConfig,
        _: &PolicyConfig,
        spec: &VectorSpec,
    ) -> Result<ObservationLayout, LearnerError> {
        spec.check_choices()?;
        Ok(layout_of(&spec.observation_space)?)
    }

    fn terms(_: &PqnConfig) -> &'static [&'static str] {
        loss::TERMS
    }

    fn plan(config: &PqnConfig) -> RolloutPlan {
        config.plan()
    }

    fn network(
        _: &PqnConfig,
        policy: &PolicyConfig,
        spec: &VectorSpec,
        layout: ObservationLayout,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> QNetwork {
        let options = QNetworkOptions { num_atoms: 1, dueling: false, noisy_sigma: None, layer_norm: true };
        QNetwork::new(layout, spec, policy, options, rng, device)
    }

    fn new(
        network: QNetwork,
        _: &PqnConfig,
        policy: &PolicyConfig,
        spec: &VectorSpec,
        layout: ObservationLayout,
        device: &Device,
    ) -> Self {
        let head = Head::new(ReturnModel::Mean(LossKind::Mse), policy.scales(spec.tasks.len()));
        Self { actor: Policy::new(network, head, BatchReader::new(spec, layout, device.clone())) }
    }

    fn policy(&self, spec: &VectorSpec) -> Result<Policy, SpecError> {
        self.actor.for_envs(spec)
    }

    fn set_network(&mut self, network: QNetwork) {
        self.actor.set_network(network);
    }

    fn scales(&self) -> &TaskScales {
        &self.actor.head().scales
    }

    fn scales_mut(&mut self) -> &mut TaskScales {
        self.actor.scales_mut()
    }

    fn check_batch(&self, batch: &Batch) -> Result<(), LearnerError> {
        self.actor.check(batch)
    }

    fn evaluate(pqn: &Pqn, batch: &Batch) -> Result<(Evaluation, Option<PackedRows>), LearnerError> {
        pqn.evaluate(batch)
    }

    /// Returns the greedy action or a random one. Draws one random number and one more per choice.
    fn choose(evaluation: &Evaluation, row: usize, actions: &TaskActions, rng: &mut ChaCha8Rng) -> Decision {
        let values = &evaluation.values[row];
        let options = epsilon_greedy(actions, values, evaluation.epsilon, rng);
        let action = ChosenAction { options, ..ChosenAction::default() };
        Decision { action, value: best_value(actions.expect_joint(), values), ..Decision::default() }
    }

    fn skip(actions: &TaskActions, rng: &mut ChaCha8Rng) {
        skip_epsilon_greedy(actions, rng);
    }

    /// Returns the values of the greedy actions.
    fn values(&self, successors: &[Successors<'_>]) -> Result<Vec<f32>, LearnerError> {
        let rows =
            || successors.iter().flat_map(|group| group.rows.iter().map(move |row| (group.observed, row)));
        let envs: Vec<usize> = rows().map(|(_, row)| row.env).collect();
        let observations: Vec<&[u8]> = rows().map(|(observed, row)| observed.observation(row.row)).collect();
        let masks: Vec<&[u8]> = rows().map(|(observed, row)| observed.mask(row.row)).collect();
        self.actor.best_values(&observations, &masks, &envs)
    }

    /// Returns the returns of the paper. With values of the greedy action, lambda-returns are
    /// `R_t = r_t + gamma * (lambda * R_{t+1} + (1 - lambda) * max over a of Q(s_{t+1}, a))`.
    fn targets(pqn: &mut Pqn, transitions: &[usize], _: &dyn Fn() -> bool) -> Result<Vec<f32>, Halt> {
        let PqnConfig { gamma, q_lambda, .. } = pqn.config;
        let returns =
            pqn.on_policy.rollout.estimates(&pqn.on_policy.last_values, None, gamma, q_lambda).returns;
        pqn.rescale(transitions, &returns);
        Ok(returns)
    }

    fn columns<'a>(returns: &'a Vec<f32>, rollout: &'a Rollout) -> Vec<(&'static str, &'a [f32])> {
        vec![("returns", returns), ("values", rollout.values())]
    }

    fn gather(pqn: &Pqn, _: &MinibatchRows, shard: &MinibatchRows, returns: &Vec<f32>) -> Minibatch {
        Minibatch::gather(pqn, &shard.transitions, returns)
    }

    fn loss(_: &PqnConfig, network: &QNetwork, minibatch: Minibatch, split: &mut SplitPoint) -> Loss {
        loss::loss(network, minibatch, split)
    }

    /// There is one detail for each choice of each action.
    fn details(pqn: &Pqn, rows: &MinibatchRows) -> Vec<(usize, usize)> {
        let num_choices = |entry| pqn.on_policy.num_choices(entry);
        let of_entry = |&entry: &usize| (0..num_choices(entry)).map(move |choice| (choice, entry));
        rows.transitions.iter().flat_map(of_entry).collect()
    }

    fn read(pqn: &Pqn, rows: &MinibatchRows, result: &StepResult) -> StepMetrics {
        let (head, on_policy) = (pqn.agent.actor.head(), &pqn.on_policy);
        let mut details = &result.details[..];
        let mut sum = 0.0;
        for &entry in &rows.transitions {
            let (task, num_choices) = (on_policy.task(entry), on_policy.num_choices(entry));
            let values;
            (values, details) = details.split_at(num_choices);
            sum += values.iter().map(|&value| head.mean(task, &[value])).sum::<f32>() / num_choices as f32;
        }
        StepMetrics {
            td_loss: result.terms[0],
            q_values: sum / rows.transitions.len() as f32,
            grad_norm: result.grad_norm,
            dead_units: result.dead_units,
        }
    }

    fn finish(pqn: &mut Pqn, _: Vec<f32>, update: Update<StepMetrics>) -> PqnMetrics {
        let Update { steps, learning_rate, transitions, .. } = update;
        let steps: Vec<StepMetrics> = steps.into_iter().map(|(_, step)| step).collect();
        let StepMetrics { td_loss, q_values, grad_norm, dead_units } = StepMetrics::mean(&steps);
        let epsilon = pqn.epsilon();
        PqnMetrics { td_loss, q_values, grad_norm, dead_units, learning_rate, epsilon, transitions }
    }

    fn state(&self) -> State {
        State { scales: self.actor.head().scales.clone() }
    }

    fn restore(&mut self, state: State) -> Result<(), LearnerError> {
        self.actor.scales_mut().restore(state.scales)
    }
}
