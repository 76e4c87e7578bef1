use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rl_env::Batch;

use super::{Policy, PqnConfig, PqnMetrics};
use crate::batch_reader::{BatchReader, check_rewards};
use crate::dqn::{Head, LossKind, StepMetrics, explore};
use crate::networks::{ObservationLayout, QNetwork, QNetworkOptions, RowTasks};
use crate::optimizer::{AdamOptimizer, clip_scale, global_norm};
use crate::rollout::{Rollout, rows_with_final_values, split};
use crate::schedule::LinearSchedule;
use crate::{EnvSpec, LearnerError, SpecError};

/// The optimiser's epsilon: the default of its authors.
const ADAM_EPSILON: f32 = 1e-8;

/// The streams of a seed: each use of randomness has its own, so that none depends on how often another draws.
enum Stream {
    Initialization,
    Actions,
    Shuffling,
}

impl Stream {
    fn rng(self, seed: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(self as u64);
        rng
    }
}

/// A learner of action values without a replay. [`ppo`](crate::ppo) shows the order of its methods.
pub struct Pqn {
    pub(super) config: PqnConfig,
    pub(super) spec: EnvSpec,
    layout: ObservationLayout,
    /// With gradients.
    pub(super) device: Device,
    /// What is being trained.
    pub(super) network: QNetwork,
    /// The same weights without gradients: what acts.
    pub(super) actor: Policy,
    pub(super) optimizer: AdamOptimizer,
    /// Its values are those of the best action.
    pub(super) rollout: Rollout,
    /// The values of the observations after a complete rollout.
    pub(super) last_values: Vec<f32>,
    pub(super) action_rng: ChaCha8Rng,
    pub(super) shuffle_rng: ChaCha8Rng,
    /// Updates made.
    pub(super) updates: u64,
    actions: Vec<i32>,
}

impl Pqn {
    /// A learner with fresh weights for the environments of `spec`. All randomness comes from `seed`.
    pub fn new(config: PqnConfig, spec: EnvSpec, device: &Device, seed: u64) -> Result<Self, LearnerError> {
        config.validate(spec.num_envs())?;
        let layout = ObservationLayout::of(&spec.observation_space)?;
        let device = device.clone().autodiff();
        let options = QNetworkOptions { num_atoms: 1, dueling: false, noisy_sigma: None, layer_norm: true };
        let mut rng = Stream::Initialization.rng(seed);
        let network = QNetwork::new(layout, &spec.tasks, options, &mut rng, &device);
        let reader = BatchReader::new(&spec, layout, device.clone().without_autodiff());
        Ok(Self {
            actor: Policy::new(network.valid(), Head::Mean(LossKind::Mse), reader),
            rollout: Rollout::new(spec.num_envs(), config.num_steps, layout.row_bytes()),
            last_values: Vec::new(),
            optimizer: AdamOptimizer::new(ADAM_EPSILON),
            action_rng: Stream::Actions.rng(seed),
            shuffle_rng: Stream::Shuffling.rng(seed),
            updates: 0,
            actions: Vec::new(),
            config,
            spec,
            layout,
            device,
            network,
        })
    }

    /// The hyperparameters.
    pub fn config(&self) -> &PqnConfig {
        &self.config
    }

    /// The environments that the learner was made for.
    pub fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    /// Updates made so far.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Updates in `total_steps` steps; the schedules go over them.
    pub fn num_updates(&self) -> u64 {
        self.config.total_steps / (self.spec.num_envs() * self.config.num_steps) as u64
    }

    /// The probability of a random action in the present rollout.
    pub fn epsilon(&self) -> f64 {
        let PqnConfig { start_e, end_e, exploration_fraction, .. } = self.config;
        let updates = (f64::from(exploration_fraction) * self.num_updates() as f64) as u64;
        LinearSchedule { start: start_e.into(), end: end_e.into(), steps: updates }.value(self.updates)
    }

    /// An action for each environment: the best one, or a random one. Two random numbers a row, in the order of the rows.
    ///
    /// `batch` is the one that `reset` or the last [`observe`](Self::observe) had.
    pub fn act(&mut self, batch: &Batch) -> Result<&[i32], LearnerError> {
        if self.rollout.is_acting() || self.rollout.is_full() {
            return Err(LearnerError::OutOfOrder(
                "act came before the last actions were observed and learned from",
            ));
        }
        let values = self.actor.values(batch)?;
        self.actions = explore(&values, self.epsilon(), &mut self.action_rng);
        // Nothing asks how probable an action was.
        let log_probs = vec![0.0; batch.len()];
        self.rollout.begin_step(batch, &self.actions, &log_probs, &best(&values));
        Ok(&self.actions)
    }

    /// Takes what came of the actions of the last [`act`](Self::act).
    pub fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        if !self.rollout.is_acting() {
            return Err(LearnerError::OutOfOrder("observe came without an act before it"));
        }
        self.actor.check(batch)?;
        check_rewards(batch)?;
        let mut final_values = vec![None; batch.len()];
        let rows = rows_with_final_values(batch, self.spec.autoreset_mode);
        if !rows.is_empty() {
            let values = self.actor.values_of(&batch.final_observations, &rows, None)?;
            for (row, value) in rows.into_iter().zip(best(&values)) {
                final_values[row] = Some(value);
            }
        }
        if self.rollout.steps_left() == 1 {
            self.last_values = best(&self.actor.values(batch)?);
        }
        self.rollout.end_step(batch, &final_values);
        Ok(())
    }

    /// Whether enough has been observed for an update; no more can be observed before it.
    pub fn is_ready(&self) -> bool {
        self.rollout.is_full()
    }

    /// Whether no rollout is under way. A state is small then.
    pub fn is_resting(&self) -> bool {
        self.rollout.is_empty()
    }

    /// Learns from the last `num_steps` steps. On an error the weights are those of the last sound minibatch.
    pub fn update(&mut self) -> Result<PqnMetrics, LearnerError> {
        if !self.is_ready() {
            return Err(LearnerError::OutOfOrder("update came before a rollout was complete"));
        }
        let (learning_rate, epsilon) = (self.learning_rate(), self.epsilon());
        // With values of the best action, lambda-returns are those of the paper:
        // R_t = r_t + gamma * (lambda * R_{t+1} + (1 - lambda) * max over a of Q(s_{t+1}, a)).
        let estimates = self.rollout.estimates(&self.last_values, self.config.gamma, self.config.q_lambda);
        let mut entries = self.rollout.transitions();
        let transitions = entries.len();
        let mut steps = Vec::new();
        for _ in 0..self.config.update_epochs {
            entries.shuffle(&mut self.shuffle_rng);
            for part in split(&entries, self.config.num_minibatches) {
                steps.push(self.learn(part, &estimates.returns, learning_rate)?);
            }
        }
        self.actor.set_network(self.network.valid());
        self.rollout.clear();
        self.updates += 1;
        let StepMetrics { td_loss, q_values, grad_norm } = StepMetrics::mean(&steps);
        Ok(PqnMetrics { td_loss, q_values, grad_norm, learning_rate, epsilon, transitions })
    }

    /// The present policy, to act in the environments of `spec` without learning. They need not be the learner's own,
    /// but their tasks must be among its tasks.
    pub fn policy(&self, spec: &EnvSpec) -> Result<Policy, SpecError> {
        self.spec.check_observations(spec)?;
        self.actor.for_envs(spec)
    }

    /// The step size of the next update.
    fn learning_rate(&self) -> f64 {
        let start = self.config.learning_rate;
        let end = if self.config.anneal_lr { 0.0 } else { start };
        LinearSchedule { start, end, steps: self.num_updates() }.value(self.updates)
    }

    /// One step of the optimiser, from the given entries of the rollout. On an error nothing has changed.
    fn learn(
        &mut self,
        entries: &[usize],
        returns: &[f32],
        learning_rate: f64,
    ) -> Result<StepMetrics, LearnerError> {
        let count = entries.len();
        let observations = entries.iter().map(|&entry| self.rollout.observation(entry));
        let observations = self.layout.tensor(observations, &self.device);
        let task_ids = entries.iter().map(|&entry| self.spec.task_ids[self.rollout.env(entry)]);
        let rows = RowTasks::new(task_ids, &self.spec.tasks, &self.device);
        let actions: Vec<i32> = entries.iter().map(|&entry| self.rollout.action(entry)).collect();
        let actions: Tensor<2, Int> = Tensor::from_data(TensorData::new(actions, [count, 1]), &self.device);
        let returns: Vec<f32> = entries.iter().map(|&entry| returns[entry]).collect();
        let returns: Tensor<1> = Tensor::from_data(TensorData::new(returns, [count]), &self.device);

        let values = self.network.forward(observations, &rows, None).squeeze_dim::<2>(2);
        let taken = values.gather(1, actions).squeeze_dim::<1>(1);
        let loss = (taken.clone() - returns).square().mean();
        let mut gradients = GradientsParams::from_grads(loss.backward(), &self.network);
        let grad_norm = global_norm(&self.network, &gradients);
        let numbers = Tensor::cat(vec![loss.inner(), grad_norm, taken.inner().mean()], 0);
        let numbers =
            numbers.try_into_vec_as::<f32>().map_err(|error| LearnerError::Device(error.to_string()))?;
        for (what, number) in ["the loss", "the gradient's norm", "a value"].iter().zip(&numbers) {
            if !number.is_finite() {
                return Err(LearnerError::NonFinite { what: (*what).to_owned() });
            }
        }
        let scale = clip_scale(numbers[1], self.config.max_grad_norm);
        let network = self.network.clone();
        self.network = self.optimizer.step(network, &mut gradients, learning_rate, scale);
        Ok(StepMetrics { td_loss: numbers[0], q_values: numbers[2], grad_norm: numbers[1] })
    }
}

/// The largest value of each row.
fn best(values: &[Vec<f32>]) -> Vec<f32> {
    values.iter().map(|values| values.iter().copied().fold(f32::NEG_INFINITY, f32::max)).collect()
}
