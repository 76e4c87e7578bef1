use rand::Rng;
use rl_env::{Batch, ObservationBuffer};

use super::RecurrentState;
use super::recurrent::episode_starts;
use crate::batch_reader::{BatchReader, BatchRow, ReadRows, rows};
use crate::host::to_host;
use crate::networks::{ActorCritic, PackedRows};
use crate::value_scale::TaskScales;
use crate::{LearnerError, SpecError, VectorSpec, categorical};

/// A trained policy, used for evaluation only.
#[derive(Clone, Debug)]
pub struct Policy {
    network: ActorCritic,
    reader: BatchReader,
    /// The value scales of the tasks.
    pub(super) scales: TaskScales,
    /// Size of the LSTM state of one environment; 0 if the network is not recurrent.
    lstm_size: usize,
}

/// The outputs of a policy for some rows, on the host.
pub(super) struct Evaluation {
    /// For each row the log-probabilities of its legal actions.
    pub(super) log_probs: Vec<Vec<f32>>,
    /// For each row its value.
    pub(super) values: Vec<f32>,
    /// The recurrent state of these rows after the step.
    pub(super) state: RecurrentState,
    /// The packed observations, if they are on a device.
    pub(super) packed: Option<PackedRows>,
}

impl Policy {
    /// Creates a policy for the environments of `reader`. The network must not track gradients.
    pub(super) fn new(
        network: ActorCritic,
        reader: BatchReader,
        scales: TaskScales,
        lstm_size: usize,
    ) -> Self {
        Self { network, reader, scales, lstm_size }
    }

    /// Returns the same policy for other environments. The policy must know their tasks.
    pub(super) fn for_envs(&self, spec: &VectorSpec) -> Result<Self, SpecError> {
        Ok(Self { reader: self.reader.for_envs(spec)?, ..self.clone() })
    }

    /// Replaces the network.
    pub(super) fn set_network(&mut self, network: ActorCritic) {
        self.network = network;
    }

    /// Returns the recurrent state before the first observation. Each run of the environments needs a state
    /// of its own.
    pub fn initial_state(&self) -> RecurrentState {
        RecurrentState::new(self.reader.num_envs(), self.lstm_size)
    }

    /// Returns an action for each environment: the most probable one (the first if several are equal) if
    /// `greedy`, else a sample, for which one random number per row is drawn, in row order.
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

    /// Returns for each environment the log-probabilities of its actions and the value of its observation,
    /// given a recurrent state.
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

    /// Returns the most probable action of each environment, the first if several are equal. Uses the initial
    /// recurrent state, as do the methods below.
    pub fn greedy(&self, batch: &Batch) -> Result<Vec<i32>, LearnerError> {
        let log_probs = self.log_probs(batch)?;
        Ok(log_probs.iter().map(|log_probs| categorical::argmax(log_probs) as i32).collect())
    }

    /// Returns for each environment the log-probabilities of its actions.
    pub fn log_probs(&self, batch: &Batch) -> Result<Vec<Vec<f32>>, LearnerError> {
        Ok(self.evaluate_batch(batch, &self.initial_state())?.log_probs)
    }

    /// Returns the value of each environment's observation: an estimate of the discounted sum of future
    /// rewards, as learners see them.
    pub fn values(&self, batch: &Batch) -> Result<Vec<f32>, LearnerError> {
        Ok(self.evaluate_batch(batch, &self.initial_state())?.values)
    }

    /// Evaluates all rows of a batch.
    pub(super) fn evaluate_batch(
        &self,
        batch: &Batch,
        state: &RecurrentState,
    ) -> Result<Evaluation, LearnerError> {
        self.check(batch)?;
        self.evaluate(&batch.observations, &rows(batch), state)
    }

    /// Evaluates the given rows of `observations`. `state` is that of all environments.
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

    /// Returns the log-probabilities of an environment's legal actions.
    fn legal_log_probs(&self, env: usize, logits: &[f32]) -> Result<Vec<f32>, LearnerError> {
        let mut log_probs = logits[..self.reader.num_actions(env)].to_vec();
        if log_probs.iter().any(|logit| !logit.is_finite()) {
            return Err(LearnerError::NonFinite { what: format!("a logit of environment {env}") });
        }
        categorical::log_softmax(&mut log_probs);
        Ok(log_probs)
    }

    /// Fails unless a batch holds some of the policy's environments, each at most once and in order.
    pub(super) fn check(&self, batch: &Batch) -> Result<(), LearnerError> {
        self.reader.check(batch)
    }
}
