use rand::Rng;
use rl_env::{Batch, ObservationBuffer};

use super::RecurrentState;
use super::recurrent::episode_starts;
use crate::batch_reader::{BatchReader, BatchRow, ReadRows, rows};
use crate::host::to_host;
use crate::networks::{ActorCritic, PackedRows};
use crate::value_scale::TaskScales;
use crate::{LearnerError, SpecError, VectorSpec, categorical};

/// A trained network that acts in a vector environment and no longer learns.
#[derive(Clone, Debug)]
pub struct Policy {
    network: ActorCritic,
    reader: BatchReader,
    /// What the network's values stand for.
    pub(super) scales: TaskScales,
    /// Numbers that the network remembers of an environment.
    lstm_size: usize,
}

/// What a policy makes of some rows, on the host.
pub(super) struct Evaluation {
    /// For each row the log-probabilities of its legal actions.
    pub(super) log_probs: Vec<Vec<f32>>,
    /// For each row its value.
    pub(super) values: Vec<f32>,
    /// What is remembered of these rows afterwards.
    pub(super) state: RecurrentState,
    /// The observations, where they are on a device.
    pub(super) packed: Option<PackedRows>,
}

impl Policy {
    /// A policy for the environments of `reader`. The network must not track gradients.
    pub(super) fn new(
        network: ActorCritic,
        reader: BatchReader,
        scales: TaskScales,
        lstm_size: usize,
    ) -> Self {
        Self { network, reader, scales, lstm_size }
    }

    /// The same policy for other environments, whose tasks it must know.
    pub(super) fn for_envs(&self, spec: &VectorSpec) -> Result<Self, SpecError> {
        Ok(Self { reader: self.reader.for_envs(spec)?, ..self.clone() })
    }

    /// Replaces the network.
    pub(super) fn set_network(&mut self, network: ActorCritic) {
        self.network = network;
    }

    /// What is remembered before the first observation. One state goes with one course of the environments.
    pub fn initial_state(&self) -> RecurrentState {
        RecurrentState::new(self.reader.num_envs(), self.lstm_size)
    }

    /// An action for each environment: the most probable one (the first of equals) if `greedy`, else a random one as in
    /// training, for which one random number a row is drawn, in their order.
    pub fn act(
        &self,
        batch: &Batch,
        state: &mut RecurrentState,
        greedy: bool,
        rng: &mut impl Rng,
    ) -> Result<Vec<i32>, LearnerError> {
        state.reset(&episode_starts(batch, self.reader.autoreset_mode()));
        let evaluation = self.evaluate_batch(batch, state)?;
        let choose = |log_probs: &Vec<f32>| {
            if greedy { categorical::argmax(log_probs) } else { categorical::sample(log_probs, rng) }
        };
        let actions = evaluation.log_probs.iter().map(choose).map(|action| action as i32).collect();
        *state = evaluation.state;
        Ok(actions)
    }

    /// With such a state, for each environment the log-probabilities of its actions, and the value of its observation.
    pub fn log_probs_and_values(
        &self,
        batch: &Batch,
        state: &RecurrentState,
    ) -> Result<(Vec<Vec<f32>>, Vec<f32>), LearnerError> {
        let mut state = state.clone();
        state.reset(&episode_starts(batch, self.reader.autoreset_mode()));
        let Evaluation { log_probs, values, .. } = self.evaluate_batch(batch, &state)?;
        Ok((log_probs, values))
    }

    /// The most probable action of each environment; the first of equals. A recurrent policy remembers nothing here, nor
    /// in the methods below.
    pub fn greedy(&self, batch: &Batch) -> Result<Vec<i32>, LearnerError> {
        let log_probs = self.log_probs(batch)?;
        Ok(log_probs.iter().map(|log_probs| categorical::argmax(log_probs) as i32).collect())
    }

    /// For each environment the log-probabilities of its actions.
    pub fn log_probs(&self, batch: &Batch) -> Result<Vec<Vec<f32>>, LearnerError> {
        Ok(self.evaluate_batch(batch, &self.initial_state())?.log_probs)
    }

    /// The value of each environment's observation: the discounted sum of the rewards to come, as learners see them.
    pub fn values(&self, batch: &Batch) -> Result<Vec<f32>, LearnerError> {
        Ok(self.evaluate_batch(batch, &self.initial_state())?.values)
    }

    /// Log-probabilities and values of all rows of a batch.
    pub(super) fn evaluate_batch(
        &self,
        batch: &Batch,
        state: &RecurrentState,
    ) -> Result<Evaluation, LearnerError> {
        self.check(batch)?;
        self.evaluate(&batch.observations, &rows(batch), state)
    }

    /// Log-probabilities and values of the given rows of `observations`; `state` is that of all environments.
    pub(super) fn evaluate(
        &self,
        observations: &ObservationBuffer,
        rows: &[BatchRow],
        state: &RecurrentState,
    ) -> Result<Evaluation, LearnerError> {
        let ReadRows { observations, tasks, packed } = self.reader.read(observations, rows);
        let envs: Vec<usize> = rows.iter().map(|row| row.env).collect();
        let sequences = state.select(&envs).sequences(&vec![false; rows.len()], self.reader.device());
        let (outputs, next_state) = self.network.forward(observations, &tasks, sequences);
        let state = next_state.map_or_else(|| Ok(state.select(&envs)), RecurrentState::from_lstm)?;
        let [_, max_actions] = outputs.logits.dims();
        let logits = to_host(outputs.logits)?;
        let values = to_host(outputs.values)?;
        let log_probs = envs
            .iter()
            .zip(logits.chunks_exact(max_actions))
            .map(|(&env, logits)| self.legal_log_probs(env, logits))
            .collect::<Result<_, _>>()?;
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(LearnerError::NonFinite {
                what: format!("the value of environment {}", envs[index]),
            });
        }
        let expand = |(&env, &value): (&usize, &f32)| self.scales.expand(self.reader.task(env), value);
        let values = envs.iter().zip(&values).map(expand).collect();
        Ok(Evaluation { log_probs, values, state, packed })
    }

    /// The log-probabilities of an environment's legal actions.
    fn legal_log_probs(&self, env: usize, logits: &[f32]) -> Result<Vec<f32>, LearnerError> {
        let mut log_probs = logits[..self.reader.num_actions(env)].to_vec();
        if log_probs.iter().any(|logit| !logit.is_finite()) {
            return Err(LearnerError::NonFinite { what: format!("a logit of environment {env}") });
        }
        categorical::log_softmax(&mut log_probs);
        Ok(log_probs)
    }

    /// Whether a batch is of environments that the policy was made for.
    pub(super) fn check(&self, batch: &Batch) -> Result<(), LearnerError> {
        self.reader.check(batch)
    }
}
