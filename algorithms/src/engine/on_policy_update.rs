//! The update of an on-policy learner: epochs, minibatches, and the gradient of each from its shards.

use std::collections::HashMap;
use std::mem;

use burn::module::Module;

use super::backward::SplitPoint;
use super::gradient::{Gradient, ShardGradient};
use super::halt::{self, Halt, halt_if};
use super::loss::Loss;
use super::minibatch_rows::MinibatchRows;
use super::on_policy_learner::{OnPolicyAlgorithm, OnPolicyLearner, Update};
use super::optimizer_step::OptimizerStep;
use super::rollout_plan::RolloutPlan;
use crate::LearnerError;
use crate::experience::rollout::last_minibatch;

/// A step of the optimiser, whose result may still be on the device.
struct UnreadStep {
    epoch: usize,
    rows: MinibatchRows,
    step: OptimizerStep,
}

impl<A: OnPolicyAlgorithm> OnPolicyLearner<A> {
    /// Learns from the last `num_steps` steps. An error skips the remaining minibatches. On the CPU the weights may
    /// then be non-finite; on a device, where several minibatches are read together, they are those of the last
    /// successful read.
    pub fn update(&mut self) -> Result<A::Metrics, LearnerError> {
        halt::complete(|stop| self.update_unless(stop))
    }

    /// Like [`update`](Self::update), but calls `stop` several times for each minibatch. If it returns true, the update
    /// is undone and the result is `None`: the learner is bit for bit as before the call, and the update is still due.
    pub fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<A::Metrics>, LearnerError> {
        let before = self.on_policy.begin_update()?;
        self.agent.exchange(&self.on_policy.cluster, self.on_policy.rollout.own_envs())?;
        let agent = self.agent.clone();
        match self.try_update(stop) {
            Ok(metrics) => Ok(Some(metrics)),
            Err(Halt::Failed(error)) => Err(error),
            Err(Halt::Stopped) => {
                self.on_policy.undo_update(before);
                self.agent = agent;
                Ok(None)
            }
        }
    }

    fn try_update(&mut self, stop: &dyn Fn() -> bool) -> Result<A::Metrics, Halt> {
        let transitions = self.on_policy.rollout.transitions();
        let targets = A::targets(self, &transitions, stop)?;
        let update = self.learn_epochs(transitions, &targets, stop)?;
        self.agent.set_network(self.on_policy.training.network.valid());
        let metrics = A::finish(self, targets, update);
        self.on_policy.finish_update();
        Ok(metrics)
    }

    /// Learns from transitions in several epochs, each in a new order.
    fn learn_epochs(
        &mut self,
        transitions: Vec<usize>,
        targets: &A::Targets,
        stop: &dyn Fn() -> bool,
    ) -> Result<Update<A::StepMetrics>, Halt> {
        let (RolloutPlan { num_minibatches, .. }, update_epochs) = (self.on_policy.plan, A::epochs(self));
        let learning_rate = self.on_policy.step_options().learning_rate;
        let mut update =
            Update { steps: Vec::new(), epochs: 0, learning_rate, transitions: transitions.len() };
        let mut units = transitions;
        if self.agent.is_recurrent() {
            units = (0..self.on_policy.spec.num_envs()).collect();
        }
        let mut unread = Vec::new();
        for epoch in 1..=update_epochs {
            for part in self.on_policy.minibatches(&mut units, num_minibatches) {
                let rows = self.rows_of(part);
                if rows.transitions.is_empty() {
                    continue;
                }
                let learned = self.learn(&rows, targets, stop);
                let step =
                    learned.map_err(|halt| halt.map_error(|error| self.diagnose(error, &rows, targets)))?;
                unread.push(UnreadStep { epoch, rows, step });
            }
            if A::may_end_early(&self.config) || epoch == update_epochs {
                update.steps.extend(self.read(mem::take(&mut unread), targets)?);
            }
            if let Err(error) = self.on_policy.training.check_weights() {
                let rows = self.rows_of(last_minibatch(&units, num_minibatches));
                return Err(self.diagnose(error, &rows, targets).into());
            }
            update.epochs = epoch;
            if update.steps.last().is_some_and(|(_, last)| A::ends_early(&self.config, last)) {
                break;
            }
        }
        Ok(update)
    }

    /// Returns the rows of a part of a rollout. The units are entries or, for a recurrent network, environments.
    pub(crate) fn rows_of(&self, units: &[usize]) -> MinibatchRows {
        let rollout = &self.on_policy.rollout;
        let entries: Vec<usize> = if self.agent.is_recurrent() {
            let steps = self.on_policy.plan.num_steps;
            (0..steps).flat_map(|step| units.iter().map(move |env| env * steps + step)).collect()
        } else {
            units.to_vec()
        };
        let transitions = entries.iter().copied().filter(|&entry| rollout.is_transition(entry)).collect();
        MinibatchRows { units: units.to_vec(), entries, transitions }
    }

    /// Takes one step of the optimiser on a minibatch, unless `stop` returns true. On an error nothing changes.
    fn learn(
        &mut self,
        minibatch: &MinibatchRows,
        targets: &A::Targets,
        stop: &dyn Fn() -> bool,
    ) -> Result<OptimizerStep, Halt> {
        let gradient = if self.on_policy.cluster.has_single_shard() {
            self.gradient(minibatch, minibatch, targets, stop)?
        } else {
            self.sum_of_shards(minibatch, targets, stop)?
        };
        let step_options = self.on_policy.step_options();
        Ok(self.on_policy.training.apply(gradient, step_options)?)
    }

    /// Computes the gradient of a minibatch from those of its shards.
    fn sum_of_shards(
        &self,
        minibatch: &MinibatchRows,
        targets: &A::Targets,
        stop: &dyn Fn() -> bool,
    ) -> Result<Gradient, Halt> {
        let offsets: HashMap<(usize, usize), usize> =
            A::details(self, minibatch).into_iter().zip(0..).collect();
        let env = |unit| if self.agent.is_recurrent() { unit } else { self.on_policy.rollout.env(unit) };
        self.on_policy.gradient(&minibatch.units, env, A::terms(&self.config), offsets.len(), |units| {
            let shard = self.rows_of(units);
            if shard.transitions.is_empty() {
                return Ok(None);
            }
            let gradient = self.gradient(minibatch, &shard, targets, stop)?;
            let offsets = A::details(self, &shard).iter().map(|detail| offsets[detail]).collect();
            Ok(Some(ShardGradient { gradient, offsets }))
        })
    }

    /// Computes the gradient of the loss of a shard, weighted by its part of the minibatch, unless `stop` returns true.
    fn gradient(
        &self,
        minibatch: &MinibatchRows,
        shard: &MinibatchRows,
        targets: &A::Targets,
        stop: &dyn Fn() -> bool,
    ) -> Result<Gradient, Halt> {
        halt_if(stop)?;
        let tensors = A::gather(self, minibatch, shard, targets);
        // Check here because a minibatch of many environments takes seconds.
        halt_if(stop)?;
        let training = &self.on_policy.training;
        let mut split = SplitPoint::new(self.on_policy.splits_backward_pass());
        let Loss { total, terms, details } = A::loss(&self.config, &training.network, tensors, &mut split);
        halt_if(stop)?;
        let weight = shard.transitions.len() as f32 / minibatch.transitions.len() as f32;
        let terms = terms.into_iter().map(|term| term.mul_scalar(weight));
        let terms = A::terms(&self.config).iter().copied().zip(terms).collect();
        Ok(training.gradient(&total.mul_scalar(weight), terms, details, split))
    }

    /// Reads the metrics of steps.
    fn read(
        &mut self,
        unread: Vec<UnreadStep>,
        targets: &A::Targets,
    ) -> Result<Vec<(usize, A::StepMetrics)>, LearnerError> {
        let (minibatches, steps): (Vec<_>, Vec<_>) =
            unread.into_iter().map(|UnreadStep { epoch, rows, step }| ((epoch, rows), step)).unzip();
        let results = self.on_policy.training.read(steps);
        let results =
            results.map_err(|(index, error)| self.diagnose(error, &minibatches[index].1, targets))?;
        let steps = minibatches.iter().zip(&results);
        Ok(steps.map(|((epoch, rows), result)| (*epoch, A::read(self, rows, result))).collect())
    }

    /// Turns a `NonFinite` error into a report with the minibatch.
    fn diagnose(&self, error: LearnerError, rows: &MinibatchRows, targets: &A::Targets) -> LearnerError {
        let columns = A::columns(targets, &self.on_policy.rollout);
        self.on_policy.diagnose(error, &rows.entries, &columns)
    }
}
