use rand::Rng;
use rl_env::{Batch, ObservationBuffer};

use crate::batch_reader::BatchReader;
use crate::networks::ActorCritic;
use crate::value_scale::TaskScales;
use crate::{EnvSpec, LearnerError, SpecError, categorical};

/// A trained network that acts in a vector environment and no longer learns.
#[derive(Clone, Debug)]
pub struct Policy {
    network: ActorCritic,
    reader: BatchReader,
    /// What the network's values stand for.
    pub(super) scales: TaskScales,
}

/// What a policy makes of some rows, on the host.
pub(super) struct Evaluation {
    /// For each row the log-probabilities of its legal actions.
    pub(super) log_probs: Vec<Vec<f32>>,
    /// For each row its value.
    pub(super) values: Vec<f32>,
}

impl Policy {
    /// A policy for the environments of `reader`. The network must not track gradients.
    pub(super) fn new(network: ActorCritic, reader: BatchReader, scales: TaskScales) -> Self {
        Self { network, reader, scales }
    }

    /// The same policy for other environments, whose tasks it must know.
    pub(super) fn for_envs(&self, spec: &EnvSpec) -> Result<Self, SpecError> {
        Ok(Self { reader: self.reader.for_envs(spec)?, ..self.clone() })
    }

    /// Replaces the network.
    pub(super) fn set_network(&mut self, network: ActorCritic) {
        self.network = network;
    }

    /// The most probable action of each environment; the first of equals.
    pub fn greedy(&self, batch: &Batch) -> Result<Vec<i32>, LearnerError> {
        let evaluation = self.evaluate_batch(batch)?;
        Ok(evaluation.log_probs.iter().map(|log_probs| categorical::argmax(log_probs) as i32).collect())
    }

    /// A random action for each environment, as in training: one random number a row, in their order.
    pub fn sample(&self, batch: &Batch, rng: &mut impl Rng) -> Result<Vec<i32>, LearnerError> {
        let evaluation = self.evaluate_batch(batch)?;
        Ok(evaluation.log_probs.iter().map(|log_probs| categorical::sample(log_probs, rng) as i32).collect())
    }

    /// For each environment the log-probabilities of its actions.
    pub fn log_probs(&self, batch: &Batch) -> Result<Vec<Vec<f32>>, LearnerError> {
        Ok(self.evaluate_batch(batch)?.log_probs)
    }

    /// The value of each environment's observation: the discounted sum of the rewards to come, as learners see them.
    pub fn values(&self, batch: &Batch) -> Result<Vec<f32>, LearnerError> {
        Ok(self.evaluate_batch(batch)?.values)
    }

    /// Log-probabilities and values of all rows of a batch.
    pub(super) fn evaluate_batch(&self, batch: &Batch) -> Result<Evaluation, LearnerError> {
        self.check(batch)?;
        let rows: Vec<usize> = (0..batch.len()).collect();
        self.evaluate(&batch.observations, &rows)
    }

    /// Log-probabilities and values of the given rows of `observations`; row `i` is environment `i`'s.
    pub(super) fn evaluate(
        &self,
        observations: &ObservationBuffer,
        rows: &[usize],
    ) -> Result<Evaluation, LearnerError> {
        let (observations, row_tasks) = self.reader.read(observations, rows);
        let outputs = self.network.forward(observations, &row_tasks);
        let device_error = |error: &dyn ToString| LearnerError::Device(error.to_string());
        let [_, max_actions] = outputs.logits.dims();
        let logits = outputs.logits.try_into_vec_as::<f32>().map_err(|error| device_error(&error))?;
        let values = outputs.values.try_into_vec_as::<f32>().map_err(|error| device_error(&error))?;
        let log_probs = rows
            .iter()
            .zip(logits.chunks_exact(max_actions))
            .map(|(&row, logits)| self.legal_log_probs(row, logits))
            .collect::<Result<_, _>>()?;
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(LearnerError::NonFinite {
                what: format!("the value of environment {}", rows[index]),
            });
        }
        let expand = |(&row, &value): (&usize, &f32)| self.scales.expand(self.reader.task(row), value);
        Ok(Evaluation { log_probs, values: rows.iter().zip(&values).map(expand).collect() })
    }

    /// The log-probabilities of a row's legal actions.
    fn legal_log_probs(&self, row: usize, logits: &[f32]) -> Result<Vec<f32>, LearnerError> {
        let mut log_probs = logits[..self.reader.num_actions(row)].to_vec();
        if log_probs.iter().any(|logit| !logit.is_finite()) {
            return Err(LearnerError::NonFinite { what: format!("a logit of environment {row}") });
        }
        categorical::log_softmax(&mut log_probs);
        Ok(log_probs)
    }

    /// Whether a batch is of the environments that the policy was made for.
    pub(super) fn check(&self, batch: &Batch) -> Result<(), LearnerError> {
        self.reader.check(batch)
    }
}
