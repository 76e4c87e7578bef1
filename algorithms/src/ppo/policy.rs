use burn::tensor::Tensor;
use kernels::host::{columns_to_host, floats};
use kernels::{PackedRows, on_cpu};
use rand::Rng;
use rl_env::{ActionBuffer, Batch};

use super::RecurrentState;
use super::device_sampling;
use super::recurrent::episode_starts;
use super::row_policy::RowPolicy;
use crate::experience::batch_reader::{BatchReader, BatchRow, Observed, ReadRows, rows};
use crate::networks::observation_statistics::{Normalizer, ObservationStatistics};
use crate::networks::value_scale::TaskScales;
use crate::networks::{ActorCritic, LstmState, Outputs, RowTasks};
use crate::tasks::ChosenAction;
use crate::{LearnerError, SpecError, TaskActions, VectorSpec};

/// A policy that acts without learning.
#[derive(Clone, Debug)]
pub struct Policy {
    network: ActorCritic,
    reader: BatchReader,
    /// The value scales of the tasks.
    pub(super) scales: TaskScales,
    /// Present if observations are normalised.
    normalizer: Option<Normalizer>,
    /// Size of the LSTM state of one environment; 0 if the network is not recurrent.
    lstm_size: usize,
}

/// The inputs of a policy for some rows.
pub(super) struct Inputs<'a> {
    pub(super) envs: Vec<usize>,
    pub(super) observations: Vec<&'a [u8]>,
    /// The action mask of each observation.
    pub(super) masks: Vec<&'a [u8]>,
    /// The recurrent state of each row.
    pub(super) state: RecurrentState,
}

impl<'a> Inputs<'a> {
    /// Collects the given rows. `state` is that of all environments.
    pub(super) fn new(observed: Observed<'a>, rows: &[BatchRow], state: &RecurrentState) -> Self {
        let envs: Vec<usize> = rows.iter().map(|row| row.env).collect();
        let state = state.select(&envs);
        Self {
            envs,
            observations: rows.iter().map(|row| observed.observation(row.row)).collect(),
            masks: rows.iter().map(|row| observed.mask(row.row)).collect(),
            state,
        }
    }

    /// Adds the rows of `other`.
    pub(super) fn extend(&mut self, other: Self) {
        self.envs.extend(other.envs);
        self.observations.extend(other.observations);
        self.masks.extend(other.masks);
        self.state.extend(other.state);
    }
}

/// The outputs of a network for some rows, on its device.
struct Evaluated {
    outputs: Outputs,
    tasks: RowTasks,
    state: Option<LstmState>,
    packed: Option<PackedRows>,
}

/// The outputs of a policy for some rows, on the host.
pub struct Evaluation {
    /// The distribution of each row's actions, or the action that was sampled on the device.
    pub(super) policies: Vec<RowPolicy>,
    /// The value of each row.
    pub(super) values: Vec<f32>,
    /// The intrinsic value of each row, if the agent learns from intrinsic rewards.
    pub(super) intrinsic_values: Vec<f32>,
    /// The recurrent state of these rows after the step.
    pub(super) state: RecurrentState,
    /// The packed observations, if they are on a device.
    pub(super) packed: Option<PackedRows>,
}

impl Evaluation {
    /// Appends the outputs of further rows.
    pub(super) fn append(mut self, other: Self) -> Self {
        self.policies.extend(other.policies);
        self.values.extend(other.values);
        self.intrinsic_values.extend(other.intrinsic_values);
        self.state.extend(other.state);
        self.packed = self
            .packed
            .into_iter()
            .chain(other.packed)
            .reduce(|left, right| PackedRows::cat(vec![left, right]));
        self
    }
}

impl Policy {
    /// Creates a policy for the environments of `reader`. The network must not track gradients.
    pub(super) fn new(
        network: ActorCritic,
        reader: BatchReader,
        scales: TaskScales,
        lstm_size: usize,
    ) -> Self {
        Self { network, reader, scales, normalizer: None, lstm_size }
    }

    /// Returns this policy for other environments. The policy must know their tasks.
    pub(super) fn for_envs(&self, spec: &VectorSpec) -> Result<Self, SpecError> {
        Ok(Self { reader: self.reader.for_envs(spec)?, ..self.clone() })
    }

    /// Replaces the network.
    pub(super) fn set_network(&mut self, network: ActorCritic) {
        self.network = network;
    }

    /// Normalises observations by these statistics from now on.
    pub(super) fn set_statistics(&mut self, statistics: &ObservationStatistics) {
        self.normalizer = Some(statistics.normalizer(self.reader.device()));
    }

    /// Returns the recurrent state before the first observation. Each run of the environments needs a state
    /// of its own.
    pub fn initial_state(&self) -> RecurrentState {
        RecurrentState::new(self.reader.num_envs(), self.lstm_size)
    }

    /// Returns an action for each environment of the batch: the most probable one if `greedy` is true, with ties going
    /// to the first, otherwise a sample. Sampling draws one random number per choice or two per component, in row
    /// order. `state` is that of all environments; those of the batch change theirs.
    pub fn act(
        &self,
        batch: &Batch,
        state: &mut RecurrentState,
        greedy: bool,
        rng: &mut impl Rng,
    ) -> Result<ActionBuffer, LearnerError> {
        self.check(batch)?;
        self.begin_episodes(batch, state);
        let evaluation = self.evaluate_batch(batch, state)?;
        let actions = self.write(batch, &evaluation, |policy, actions| {
            if greedy { policy.greedy(actions) } else { policy.sample(actions, rng).0 }
        });
        for (row, &env) in batch.env_ids.iter().enumerate() {
            state.set(env, &evaluation.state, row);
        }
        Ok(actions)
    }

    /// Returns the [log-probabilities](Self::log_probs) of each environment's actions and the value of its observation,
    /// given a recurrent state.
    pub fn log_probs_and_values(
        &self,
        batch: &Batch,
        state: &RecurrentState,
    ) -> Result<(Vec<Vec<f32>>, Vec<f32>), LearnerError> {
        self.check(batch)?;
        let mut state = state.clone();
        self.begin_episodes(batch, &mut state);
        let evaluation = self.evaluate_batch(batch, &state)?;
        Ok((self.each_log_probs(batch, &evaluation), evaluation.values))
    }

    /// Zeroes the recurrent states of the environments of a batch whose observation is the first of an episode.
    fn begin_episodes(&self, batch: &Batch, state: &mut RecurrentState) {
        let mut starts = vec![false; self.reader.num_envs()];
        for (&env, begins) in batch.env_ids.iter().zip(episode_starts(batch, self.reader.autoreset_mode())) {
            starts[env] = begins;
        }
        state.reset(&starts);
    }

    /// Returns the most probable action of each environment, the first if several are equal. Uses the initial recurrent
    /// state, as do `log_probs` and `values`.
    pub fn greedy(&self, batch: &Batch) -> Result<ActionBuffer, LearnerError> {
        let evaluation = self.evaluate_batch(batch, &self.initial_state())?;
        Ok(self.write(batch, &evaluation, RowPolicy::greedy))
    }

    /// Returns the action that `choose` selects for each environment.
    fn write(
        &self,
        batch: &Batch,
        evaluation: &Evaluation,
        mut choose: impl FnMut(&RowPolicy, &TaskActions) -> ChosenAction,
    ) -> ActionBuffer {
        let mut buffer = self.action_buffer();
        for (&env, policy) in batch.env_ids.iter().zip(&evaluation.policies) {
            let actions = self.reader.actions(env);
            choose(policy, actions).write(actions, &mut buffer);
        }
        buffer
    }

    /// Returns an empty buffer for actions.
    fn action_buffer(&self) -> ActionBuffer {
        if self.reader.has_continuous_actions() {
            ActionBuffer::Continuous(Vec::new())
        } else {
            ActionBuffer::Discrete(Vec::new())
        }
    }

    /// Returns the log-probabilities of each environment's actions, or for `MultiDiscrete` those of the options of each
    /// choice. They are empty for continuous actions, and about [`ILLEGAL_LOGIT`](crate::networks::ILLEGAL_LOGIT) for
    /// actions that a mask does not allow.
    pub fn log_probs(&self, batch: &Batch) -> Result<Vec<Vec<f32>>, LearnerError> {
        Ok(self.each_log_probs(batch, &self.evaluate_batch(batch, &self.initial_state())?))
    }

    fn each_log_probs(&self, batch: &Batch, evaluation: &Evaluation) -> Vec<Vec<f32>> {
        let rows = batch.env_ids.iter().zip(&evaluation.policies);
        rows.map(|(&env, policy)| policy.log_probs(self.reader.actions(env))).collect()
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
        self.evaluate(Observed::of(batch), &rows(batch), state)
    }

    /// Evaluates the given rows. `state` is that of all environments.
    pub(super) fn evaluate(
        &self,
        observed: Observed<'_>,
        rows: &[BatchRow],
        state: &RecurrentState,
    ) -> Result<Evaluation, LearnerError> {
        let inputs = Inputs::new(observed, rows, state);
        let Evaluated { outputs, state: next, packed, .. } = self.forward(&inputs);
        let Inputs { envs, state, .. } = inputs;
        let [_, max_outputs] = outputs.logits.dims();
        let (values, squashes) = (outputs.values.unsqueeze_dim(1), outputs.squashes);
        let intrinsic_values = outputs.intrinsic_values.map(|values| values.unsqueeze_dim(1));
        let has_intrinsic_values = intrinsic_values.is_some();
        let further = outputs.log_deviations.into_iter().chain(intrinsic_values);
        let columns: Vec<_> = [outputs.logits, values].into_iter().chain(further).collect();
        let (mut columns, state) = read(columns, next, state)?;
        let intrinsic_values = columns.pop_if(|_| has_intrinsic_values).unwrap_or_default();
        let log_deviations = columns.split_off(2).pop().unwrap_or_default();
        let width = log_deviations.len() / rows.len().max(1);
        let policies = envs
            .iter()
            .zip(columns[0].chunks_exact(max_outputs))
            .enumerate()
            .map(|(row, (&env, logits))| {
                let log_deviations = &log_deviations[row * width..(row + 1) * width];
                self.row_policy(env, logits, log_deviations, squashes)
            })
            .collect::<Result<_, _>>()?;
        let values = self.expand(&envs, &columns[1])?;
        check_values(&envs, &intrinsic_values)?;
        Ok(Evaluation { policies, values, intrinsic_values, state, packed })
    }

    /// Returns true if actions are [sampled on the device](Self::evaluate_and_sample).
    pub(super) fn samples_on_device(&self) -> bool {
        !on_cpu(self.reader.device()) && self.reader.has_single_choices()
    }

    /// Like [`evaluate`](Self::evaluate), with policies that have been sampled on the device. `thresholds` has a
    /// [random number](device_sampling::threshold) for each row of the batch.
    pub(super) fn evaluate_and_sample(
        &self,
        observed: Observed<'_>,
        rows: &[BatchRow],
        state: &RecurrentState,
        thresholds: &[f32],
    ) -> Result<Evaluation, LearnerError> {
        let inputs = Inputs::new(observed, rows, state);
        let Evaluated { outputs, tasks, state: next, packed } = self.forward(&inputs);
        let Inputs { envs, state, .. } = inputs;
        let thresholds = rows.iter().map(|row| thresholds[row.row]).collect();
        let thresholds = floats(thresholds, [rows.len(), 1], self.reader.device());
        let sampled = device_sampling::sample(outputs.logits, tasks.illegal(), thresholds);
        let values = outputs.values.unsqueeze_dim(1);
        let intrinsic_values = outputs.intrinsic_values.map(|values| values.unsqueeze_dim(1));
        let columns = [sampled, values].into_iter().chain(intrinsic_values).collect();
        let (mut columns, state) = read(columns, next, state)?;
        let intrinsic_values = columns.split_off(2).pop().unwrap_or_default();
        let sampled = envs.iter().zip(columns[0].chunks_exact(3));
        let policies = sampled.map(|(&env, sampled)| {
            if !sampled[2].is_finite() {
                return Err(LearnerError::NonFinite { what: format!("a logit of environment {env}") });
            }
            Ok(RowPolicy::Sampled { option: sampled[0] as i32, log_prob: sampled[1] })
        });
        let policies = policies.collect::<Result<_, _>>()?;
        let values = self.expand(&envs, &columns[1])?;
        check_values(&envs, &intrinsic_values)?;
        Ok(Evaluation { policies, values, intrinsic_values, state, packed })
    }

    /// Returns the values of observations. Waits for the device once.
    pub(super) fn values_of(&self, inputs: &Inputs<'_>) -> Result<Vec<f32>, LearnerError> {
        let outputs = self.forward(inputs).outputs;
        self.expand(&inputs.envs, &columns_to_host(vec![outputs.values.unsqueeze_dim(1)])?[0])
    }

    fn forward(&self, Inputs { envs, observations, masks, state }: &Inputs<'_>) -> Evaluated {
        let ReadRows { observations, tasks, packed } =
            self.reader.read_observations(observations, masks, envs);
        let observations = match &self.normalizer {
            Some(normalizer) => normalizer.apply(observations, &tasks),
            None => observations,
        };
        let sequences = state.sequences(&vec![false; envs.len()], self.reader.device());
        let (outputs, state) = self.network.forward(observations, &tasks, sequences);
        Evaluated { outputs, tasks, state, packed }
    }

    /// Returns values in the scale of the rewards. Fails if one is not finite.
    fn expand(&self, envs: &[usize], values: &[f32]) -> Result<Vec<f32>, LearnerError> {
        check_values(envs, values)?;
        let expand = |(&env, &value): (&usize, &f32)| self.scales.expand(self.reader.task(env), value);
        Ok(envs.iter().zip(values).map(expand).collect())
    }

    /// Returns the distribution of an environment's actions.
    fn row_policy(
        &self,
        env: usize,
        logits: &[f32],
        log_deviations: &[f32],
        squashes: bool,
    ) -> Result<RowPolicy, LearnerError> {
        let actions = self.reader.actions(env);
        let logits = &logits[..actions.num_outputs()];
        let log_deviations = &log_deviations[..actions.num_components()];
        let are_finite = |outputs: &[f32]| outputs.iter().all(|output| output.is_finite());
        // Checks the standard deviations themselves too.
        let deviations: Vec<f32> = log_deviations.iter().map(|logarithm| logarithm.exp()).collect();
        if !are_finite(logits) || !are_finite(log_deviations) || !are_finite(&deviations) {
            let output = if deviations.is_empty() { "a logit" } else { "a mean or deviation" };
            return Err(LearnerError::NonFinite { what: format!("{output} of environment {env}") });
        }
        Ok(RowPolicy::new(actions, logits, log_deviations, squashes))
    }

    /// Fails unless a batch holds some of the policy's environments, each at most once and in order.
    pub(super) fn check(&self, batch: &Batch) -> Result<(), LearnerError> {
        self.reader.check(batch)
    }
}

/// Fails if the value of an environment is not finite.
fn check_values(envs: &[usize], values: &[f32]) -> Result<(), LearnerError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => {
            Err(LearnerError::NonFinite { what: format!("the value of environment {}", envs[index]) })
        }
        None => Ok(()),
    }
}

/// Copies columns of outputs and the next recurrent state to the host, with a single wait for the device. `state` is
/// the previous one.
fn read(
    mut columns: Vec<Tensor<2>>,
    next: Option<LstmState>,
    state: RecurrentState,
) -> Result<(Vec<Vec<f32>>, RecurrentState), LearnerError> {
    let count = columns.len();
    columns.extend(next.into_iter().flat_map(|LstmState { hidden, cell }| [hidden, cell]));
    let mut columns = columns_to_host(columns)?;
    let next = columns.split_off(count);
    Ok((columns, state.followed_by(next)))
}
