use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Tensor};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rl_env::Batch;

use super::loss::{self, PolicyChange};
use super::metrics::explained_variance;
use super::minibatch::Minibatch;
use super::{Policy, PpoConfig, PpoMetrics};
use crate::batch_reader::{BatchReader, check_rewards};
use crate::networks::{ActorCritic, NamedWeights, ObservationLayout, weights};
use crate::optimizer::{AdamOptimizer, clip_scale, global_norm};
use crate::rollout::{Estimates, Rollout, rows_with_final_values, split};
use crate::schedule::LinearSchedule;
use crate::{EnvSpec, LearnerError, SpecError, categorical};

/// The optimiser's epsilon, as in `CleanRL` and the original implementation.
const ADAM_EPSILON: f32 = 1e-5;

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

/// A learner by Proximal Policy Optimization. [`ppo`](crate::ppo) shows the order of its methods.
pub struct Ppo {
    pub(super) config: PpoConfig,
    pub(super) spec: EnvSpec,
    pub(super) layout: ObservationLayout,
    /// With gradients.
    pub(super) device: Device,
    /// What is being trained.
    pub(super) network: ActorCritic,
    /// The same weights without gradients: what acts.
    pub(super) actor: Policy,
    pub(super) optimizer: AdamOptimizer,
    pub(super) rollout: Rollout,
    /// The values of the observations after a complete rollout.
    pub(super) last_values: Vec<f32>,
    pub(super) action_rng: ChaCha8Rng,
    pub(super) shuffle_rng: ChaCha8Rng,
    /// Updates made.
    pub(super) updates: u64,
    actions: Vec<i32>,
}

/// What one minibatch reports.
struct MinibatchMetrics {
    policy_loss: f32,
    value_loss: f32,
    entropy: f32,
    change: PolicyChange,
    grad_norm: f32,
}

impl Ppo {
    /// A learner with fresh weights for the environments of `spec`. All randomness comes from `seed`.
    pub fn new(config: PpoConfig, spec: EnvSpec, device: &Device, seed: u64) -> Result<Self, LearnerError> {
        config.validate(spec.num_envs())?;
        let layout = ObservationLayout::of(&spec.observation_space)?;
        let device = device.clone().autodiff();
        let network = ActorCritic::new(layout, &spec.tasks, &mut Stream::Initialization.rng(seed), &device);
        let reader = BatchReader::new(&spec, layout, device.clone().without_autodiff());
        let actor = Policy::new(network.valid(), reader);
        Ok(Self {
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
            actor,
        })
    }

    /// The hyperparameters.
    pub fn config(&self) -> &PpoConfig {
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

    /// Updates in `total_steps` steps; the learning rate is annealed over them.
    pub fn num_updates(&self) -> u64 {
        self.config.total_steps / (self.spec.num_envs() * self.config.num_steps) as u64
    }

    /// Draws an action for each environment: one random number a row, in the order of the rows.
    ///
    /// `batch` is the one that `reset` or the last [`observe`](Self::observe) had.
    pub fn act(&mut self, batch: &Batch) -> Result<&[i32], LearnerError> {
        if self.rollout.is_acting() || self.rollout.is_full() {
            return Err(LearnerError::OutOfOrder(
                "act came before the last actions were observed and learned from",
            ));
        }
        let evaluation = self.actor.evaluate_batch(batch)?;
        self.actions.clear();
        let mut log_probs = Vec::with_capacity(batch.len());
        for row in &evaluation.log_probs {
            let action = categorical::sample(row, &mut self.action_rng);
            self.actions.push(action as i32);
            log_probs.push(row[action]);
        }
        self.rollout.begin_step(batch, &self.actions, &log_probs, &evaluation.values);
        Ok(&self.actions)
    }

    /// Takes what came of the actions of the last [`act`](Self::act).
    pub fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        if !self.rollout.is_acting() {
            return Err(LearnerError::OutOfOrder("observe came without an act before it"));
        }
        self.actor.check(batch)?;
        check_rewards(batch)?;
        let final_values = self.final_values(batch)?;
        let is_last = self.rollout.steps_left() == 1;
        if is_last {
            self.last_values = self.actor.evaluate_batch(batch)?.values;
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
    pub fn update(&mut self) -> Result<PpoMetrics, LearnerError> {
        if !self.is_ready() {
            return Err(LearnerError::OutOfOrder("update came before a rollout was complete"));
        }
        let learning_rate = self.learning_rate();
        let estimates = self.rollout.estimates(&self.last_values, self.config.gamma, self.config.gae_lambda);
        let entries = self.rollout.transitions();
        let transitions = entries.len();
        let values: Vec<f32> = entries.iter().map(|&entry| self.rollout.value(entry)).collect();
        let returns: Vec<f32> = entries.iter().map(|&entry| estimates.returns[entry]).collect();
        let (minibatches, epochs) = self.learn_epochs(entries, &estimates, learning_rate)?;
        self.finish_update()?;

        let last = minibatches.last().expect("two steps of an environment hold at least one transition");
        let clipfracs = minibatches.iter().map(|minibatch| minibatch.change.clipfrac);
        Ok(PpoMetrics {
            policy_loss: last.policy_loss,
            value_loss: last.value_loss,
            entropy: last.entropy,
            old_approx_kl: last.change.old_approx_kl,
            approx_kl: last.change.approx_kl,
            clipfrac: clipfracs.sum::<f32>() / minibatches.len() as f32,
            explained_variance: explained_variance(&values, &returns),
            learning_rate,
            grad_norm: last.grad_norm,
            epochs,
            transitions,
        })
    }

    /// All parameters of the present network.
    pub fn weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        weights(&self.network)
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
        let schedule = if self.config.anneal_lr {
            LinearSchedule { start, end: 0.0, steps: self.num_updates() }
        } else {
            LinearSchedule::constant(start)
        };
        schedule.value(self.updates)
    }

    /// For each row the value of its final observation, where that is not what comes next in its environment.
    fn final_values(&self, batch: &Batch) -> Result<Vec<Option<f32>>, LearnerError> {
        let rows = rows_with_final_values(batch, self.spec.autoreset_mode);
        let mut final_values = vec![None; batch.len()];
        if !rows.is_empty() {
            let evaluation = self.actor.evaluate(&batch.final_observations, &rows)?;
            for (row, value) in rows.into_iter().zip(evaluation.values) {
                final_values[row] = Some(value);
            }
        }
        Ok(final_values)
    }

    /// Learns from the given entries of the rollout, epoch after epoch in a new order. Returns what every minibatch
    /// reported, and the number of epochs.
    fn learn_epochs(
        &mut self,
        mut entries: Vec<usize>,
        estimates: &Estimates,
        learning_rate: f64,
    ) -> Result<(Vec<MinibatchMetrics>, usize), LearnerError> {
        let mut minibatches: Vec<MinibatchMetrics> = Vec::new();
        for epoch in 1..=self.config.update_epochs {
            entries.shuffle(&mut self.shuffle_rng);
            for part in split(&entries, self.config.num_minibatches) {
                let minibatch = Minibatch::gather(
                    &self.rollout,
                    estimates,
                    part,
                    self.config.norm_adv,
                    &self.spec,
                    self.layout,
                    &self.device,
                );
                minibatches.push(self.learn(minibatch, learning_rate)?);
            }
            let moved = minibatches.last().map_or(0.0, |last| last.change.approx_kl);
            if self.config.target_kl.is_some_and(|target_kl| moved > target_kl) {
                return Ok((minibatches, epoch));
            }
        }
        Ok((minibatches, self.config.update_epochs))
    }

    /// One step of the optimiser. On an error nothing has changed.
    fn learn(&mut self, minibatch: Minibatch, learning_rate: f64) -> Result<MinibatchMetrics, LearnerError> {
        let config = &self.config;
        let outputs = self.network.forward(minibatch.observations, &minibatch.rows);
        let log_probs = log_softmax(outputs.logits, 1);
        let log_ratio = loss::log_prob(log_probs.clone(), minibatch.actions) - minibatch.log_probs;
        let policy_loss = loss::policy_loss(log_ratio.clone(), minibatch.advantages, config.clip_coef);
        let value_loss = if config.clip_vloss {
            let old_values = minibatch.values;
            loss::clipped_value_loss(outputs.values, old_values, minibatch.returns, config.clip_coef)
        } else {
            loss::value_loss(outputs.values, minibatch.returns)
        };
        let entropy = loss::entropy(log_probs);
        let total = policy_loss.clone() - entropy.clone().mul_scalar(config.ent_coef)
            + value_loss.clone().mul_scalar(config.vf_coef);
        let mut gradients = GradientsParams::from_grads(total.backward(), &self.network);
        let grad_norm = global_norm(&self.network, &gradients);

        // One read, so that a device is waited for once a minibatch.
        let numbers = Tensor::cat(
            vec![policy_loss.inner(), value_loss.inner(), entropy.inner(), grad_norm, log_ratio.inner()],
            0,
        );
        let numbers =
            numbers.try_into_vec_as::<f32>().map_err(|error| LearnerError::Device(error.to_string()))?;
        for (what, number) in
            ["the policy loss", "the value loss", "the entropy", "the gradient's norm"].iter().zip(&numbers)
        {
            if !number.is_finite() {
                return Err(LearnerError::NonFinite { what: (*what).to_owned() });
            }
        }
        let scale = clip_scale(numbers[3], config.max_grad_norm);
        let network = self.network.clone();
        self.network = self.optimizer.step(network, &mut gradients, learning_rate, scale);
        Ok(MinibatchMetrics {
            policy_loss: numbers[0],
            value_loss: numbers[1],
            entropy: numbers[2],
            change: PolicyChange::of(&numbers[4..], config.clip_coef),
            grad_norm: numbers[3],
        })
    }

    /// Lets the new weights act and begins the next rollout.
    fn finish_update(&mut self) -> Result<(), LearnerError> {
        for parameter in weights(&self.network)? {
            if parameter.values.iter().any(|value| !value.is_finite()) {
                return Err(LearnerError::NonFinite { what: format!("a weight of {}", parameter.name) });
            }
        }
        self.actor.set_network(self.network.valid());
        self.rollout.clear();
        self.updates += 1;
        Ok(())
    }
}
