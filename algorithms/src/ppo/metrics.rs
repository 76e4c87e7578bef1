use serde::{Deserialize, Serialize};

use super::explained::Explained;
use super::loss::PolicyChange;
use super::rnd::IntrinsicTargets;
use super::targets::Targets;
use super::{Ppo, PpoConfig};
use crate::engine::minibatch_rows::MinibatchRows;
use crate::engine::on_policy_learner::Update;
use crate::engine::optimizer_step::StepResult;

/// Metrics of an update, named as in `CleanRL`.
///
/// Losses, divergences and the gradient norm are those of the update's last minibatch, as in `CleanRL`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PpoMetrics {
    /// The clipped surrogate objective, negated.
    pub policy_loss: f32,
    /// Half the (clipped) squared error of the values.
    pub value_loss: f32,
    /// Mean entropy of the policy, in nats.
    pub entropy: f32,
    /// Kullback-Leibler divergence from the policy that acted to the new one, estimated as
    /// `mean(-log_ratio)`.
    pub old_approx_kl: f32,
    /// The same divergence, by the better estimate `mean(ratio - 1 - log_ratio)`.
    pub approx_kl: f32,
    /// The fraction of samples whose probability ratio was clipped, averaged over all minibatches.
    pub clipfrac: f32,
    /// The fraction of the returns' variance that the values explained before the update: 1 is perfect, 0 is as good as
    /// a constant, NaN if all returns are equal. Over all tasks together: a task with large returns hides the others.
    pub explained_variance: f32,
    /// The learning rate of this update.
    pub learning_rate: f64,
    /// Norm of the gradient of all parameters together, before clipping.
    pub grad_norm: f32,
    /// Share of the ReLU units that no row of a minibatch activated, in the layer with the largest
    /// share.
    pub dead_units: f32,
    /// The number of epochs; lower than configured if `target_kl` ended the update.
    pub epochs: usize,
    /// The number of transitions: the rollout's steps without those that only reset an environment.
    pub transitions: usize,
    /// The metrics of each task, if there are several.
    pub tasks: Vec<TaskMetrics>,
    /// The metrics of intrinsic rewards, if the update learned from any. No state with metrics has them.
    #[serde(skip)]
    pub rnd: Option<RndMetrics>,
}

/// Metrics of intrinsic rewards. The losses are those of the update's last minibatch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RndMetrics {
    /// The mean intrinsic reward of a transition, in the scale in which it is learned.
    pub reward: f32,
    /// The mean squared error of the predictor.
    pub predictor_loss: f32,
    /// Half the squared error of the intrinsic values.
    pub value_loss: f32,
    /// The fraction of the intrinsic returns' variance that the values explained before the update.
    pub explained_variance: f32,
}

/// Metrics of an update for one of several tasks: means over its transitions in the last epoch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskMetrics {
    /// Half the (clipped) squared error of the values.
    pub value_loss: f32,
    /// Mean entropy of the policy, in nats.
    pub entropy: f32,
    /// Kullback-Leibler divergence from the policy that acted to the new one, `mean(ratio - 1 - log_ratio)`.
    pub approx_kl: f32,
    /// The fraction of samples whose probability ratio was clipped.
    pub clipfrac: f32,
    /// The fraction of the returns' variance that the values explained before the update.
    pub explained_variance: f32,
    /// The task's share of the gradient that reaches the layers that all tasks share: the norms of the gradients of its
    /// rows' features, divided by those of all rows. The shares add up to 1. NaN if the task has no rows, or if all
    /// gradients are 0.
    pub gradient_share: f32,
}

/// Metrics of one minibatch.
#[derive(Default)]
pub struct MinibatchMetrics {
    policy_loss: f32,
    value_loss: f32,
    entropy: f32,
    change: PolicyChange,
    grad_norm: f32,
    dead_units: f32,
    /// The losses of the predictor and of the intrinsic values, if there are intrinsic rewards.
    intrinsic_losses: Option<[f32; 2]>,
    /// The transitions of the minibatch, if there are several tasks.
    rows: Vec<LearnedRow>,
}

impl MinibatchMetrics {
    /// Computes the metrics of a step on some rows.
    pub(super) fn new(ppo: &Ppo, rows: &MinibatchRows, result: &StepResult) -> Self {
        let on_policy = &ppo.on_policy;
        let task = |&entry: &usize| on_policy.rollout.is_transition(entry).then(|| on_policy.task(entry));
        let tasks: Vec<Option<usize>> = rows.entries.iter().map(task).collect();
        let log_ratios = &result.details[..rows.transitions.len()];
        Self {
            policy_loss: result.terms[0],
            value_loss: result.terms[1],
            entropy: result.terms[2],
            change: PolicyChange::of(log_ratios, ppo.config.clip_coef),
            grad_norm: result.grad_norm,
            dead_units: result.dead_units,
            intrinsic_losses: result.terms[3..].first_chunk().copied(),
            rows: LearnedRow::split(&result.details, &tasks),
        }
    }

    /// Returns true if the policy has moved further than `target_kl` allows.
    pub(super) fn has_moved_too_far(&self, config: &PpoConfig) -> bool {
        config.target_kl.is_some_and(|target_kl| self.change.approx_kl > target_kl)
    }
}

impl PpoMetrics {
    /// Summarises an update of `num_tasks` tasks. Without steps of the optimiser, losses are 0.
    pub(super) fn new(
        config: &PpoConfig,
        num_tasks: usize,
        targets: &Targets,
        update: &Update<MinibatchMetrics>,
    ) -> Self {
        let Update { steps, epochs, learning_rate, transitions } = update;
        let no_step = MinibatchMetrics::default();
        let last = steps.last().map_or(&no_step, |(_, last)| last);
        let clipfracs = steps.iter().map(|(_, minibatch)| minibatch.change.clipfrac);
        let last_epoch = steps.iter().filter(|(epoch, _)| epoch == epochs);
        let learned: Vec<LearnedRow> =
            last_epoch.flat_map(|(_, minibatch)| &minibatch.rows).copied().collect();
        Self {
            policy_loss: last.policy_loss,
            value_loss: last.value_loss,
            entropy: last.entropy,
            old_approx_kl: last.change.old_approx_kl,
            approx_kl: last.change.approx_kl,
            clipfrac: clipfracs.sum::<f32>() / steps.len().max(1) as f32,
            explained_variance: targets.explained.variance(),
            learning_rate: *learning_rate,
            grad_norm: last.grad_norm,
            dead_units: last.dead_units,
            epochs: *epochs,
            transitions: *transitions,
            tasks: task_metrics(num_tasks, &learned, &targets.explained, config.clip_coef),
            rnd: last.intrinsic_losses.zip(targets.intrinsic.as_ref()).map(RndMetrics::new),
        }
    }
}

impl RndMetrics {
    fn new(([predictor_loss, value_loss], targets): ([f32; 2], &IntrinsicTargets)) -> Self {
        let (reward, explained_variance) = (targets.mean_reward, targets.explained.variance());
        Self { reward, predictor_loss, value_loss, explained_variance }
    }
}

/// A transition after a step of the optimiser on its minibatch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LearnedRow {
    task: usize,
    log_ratio: f32,
    entropy: f32,
    /// The (clipped) squared error of the value.
    value_error: f32,
    /// The norm of the gradient of the features.
    gradient: f32,
}

impl LearnedRow {
    /// Splits the details of a step: log-ratios, entropies and value errors of all transitions, and the gradients of
    /// all rows. `tasks` holds the task of each row that is a transition. Returns nothing if there are only log-ratios.
    pub(super) fn split(details: &[f32], tasks: &[Option<usize>]) -> Vec<Self> {
        let transitions = tasks.iter().flatten().count();
        let [log_ratios, entropies, value_errors] =
            [0, 1, 2].map(|column| details.chunks_exact(transitions).nth(column));
        let (Some(log_ratios), Some(entropies), Some(value_errors)) = (log_ratios, entropies, value_errors)
        else {
            return Vec::new();
        };
        let gradients = &details[3 * transitions..];
        let transitions =
            tasks.iter().zip(gradients).filter_map(|(&task, &gradient)| Some((task?, gradient)));
        let row = |(index, (task, gradient))| Self {
            task,
            log_ratio: log_ratios[index],
            entropy: entropies[index],
            value_error: value_errors[index],
            gradient,
        };
        transitions.enumerate().map(row).collect()
    }
}

/// Identifies the details of a step on some rows as [`LearnedRow::split`] expects them: the column and the entry of
/// each.
pub(super) fn details(num_tasks: usize, rows: &MinibatchRows) -> Vec<(usize, usize)> {
    let column = |column, entries: &[usize]| entries.iter().map(|&entry| (column, entry)).collect();
    let of_transitions = |index| -> Vec<_> { column(index, &rows.transitions) };
    if num_tasks == 1 {
        return of_transitions(0);
    }
    [of_transitions(0), of_transitions(1), of_transitions(2), column(3, &rows.entries)].concat()
}

/// Computes the metrics of each task. Returns nothing without rows.
pub(super) fn task_metrics(
    num_tasks: usize,
    rows: &[LearnedRow],
    explained: &Explained,
    clip_coef: f32,
) -> Vec<TaskMetrics> {
    if rows.is_empty() {
        return Vec::new();
    }
    let gradients: f64 = rows.iter().map(|row| f64::from(row.gradient)).sum();
    let metrics = |task| {
        let rows: Vec<LearnedRow> = rows.iter().copied().filter(|row| row.task == task).collect();
        let sum = |value: fn(&LearnedRow) -> f32| rows.iter().map(|row| f64::from(value(row))).sum::<f64>();
        let mean = |value| (sum(value) / rows.len() as f64) as f32;
        let log_ratios: Vec<f32> = rows.iter().map(|row| row.log_ratio).collect();
        let change = PolicyChange::of(&log_ratios, clip_coef);
        TaskMetrics {
            value_loss: 0.5 * mean(|row| row.value_error),
            entropy: mean(|row| row.entropy),
            approx_kl: change.approx_kl,
            clipfrac: change.clipfrac,
            explained_variance: explained.variance_of(task),
            gradient_share: if rows.is_empty() {
                f32::NAN
            } else {
                (sum(|row| row.gradient) / gradients) as f32
            },
        }
    };
    (0..num_tasks).map(metrics).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_split_into_rows() {
        // Three rows, the second of which only reset its environment.
        let tasks = [Some(1), None, Some(0)];
        let details = [0.1, 0.2, 1.0, 2.0, 10.0, 20.0, 5.0, 0.0, 7.0];
        let row = |task, log_ratio, entropy, value_error, gradient| LearnedRow {
            task,
            log_ratio,
            entropy,
            value_error,
            gradient,
        };
        let expected = [row(1, 0.1, 1.0, 10.0, 5.0), row(0, 0.2, 2.0, 20.0, 7.0)];
        assert_eq!(LearnedRow::split(&details, &tasks), expected);
        assert_eq!(LearnedRow::split(&details[..2], &tasks), []);
    }

    #[test]
    fn metrics_of_tasks_by_hand() {
        let ln2 = 2f32.ln();
        let row = |task, log_ratio, value_error, gradient| LearnedRow {
            task,
            log_ratio,
            entropy: value_error / 2.0,
            value_error,
            gradient,
        };
        let rows = [row(0, 0.0, 2.0, 1.0), row(1, ln2, 6.0, 4.0), row(0, 0.0, 4.0, 3.0)];
        let explained = Explained {
            tasks: vec![0, 1, 0, 1],
            values: vec![1.0, 5.0, 2.0, 5.0],
            returns: vec![1.0, 3.0, 2.0, 4.0],
        };
        let [first, second] = task_metrics(2, &rows, &explained, 0.1).try_into().unwrap();
        assert_eq!((first.value_loss, first.entropy, first.approx_kl, first.clipfrac), (1.5, 1.5, 0.0, 0.0));
        assert_eq!((first.explained_variance, first.gradient_share), (1.0, 0.5));
        assert_eq!((second.value_loss, second.entropy, second.clipfrac), (3.0, 3.0, 1.0));
        assert!((second.approx_kl - (1.0 - ln2)).abs() < 1e-6);
        assert_eq!((second.explained_variance, second.gradient_share), (0.0, 0.5));
        assert_eq!(task_metrics(2, &[], &explained, 0.1), []);
    }
}
