use burn::tensor::activation::log_softmax;
use burn::tensor::{Tensor, TensorData};

use super::LossKind;
use super::loss;
use crate::experience::returns::NStepReturn;
use crate::networks::value_scale::TaskScales;
use crate::tasks::categorical;

/// Interprets the outputs of a Q-network. Everything that needs no gradient is computed on the host.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Head {
    model: ReturnModel,
    /// Scale of the returns of each task.
    pub(crate) scales: TaskScales,
}

/// The statistic of an action's return that the network predicts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ReturnModel {
    /// The mean.
    Mean(LossKind),
    /// Logits of the probabilities of the returns in `support`, which are evenly spaced and ascending.
    Categorical { support: Vec<f32> },
    /// `count` quantiles, quantile `i` at `(i + 0.5) / count`.
    Quantile { count: usize },
}

impl ReturnModel {
    /// Returns a categorical distribution over `num_atoms` returns from `v_min` to `v_max`.
    pub(crate) fn categorical(num_atoms: usize, v_min: f32, v_max: f32) -> Self {
        let step = (v_max - v_min) / (num_atoms - 1) as f32;
        Self::Categorical { support: (0..num_atoms).map(|atom| v_min + atom as f32 * step).collect() }
    }
}

impl Head {
    pub(crate) fn new(model: ReturnModel, scales: TaskScales) -> Self {
        Self { model, scales }
    }

    /// Returns the number of outputs per action.
    pub(crate) fn num_atoms(&self) -> usize {
        match &self.model {
            ReturnModel::Mean(_) => 1,
            ReturnModel::Categorical { support } => support.len(),
            ReturnModel::Quantile { count } => *count,
        }
    }

    /// Returns the mean return that the outputs of an action of a task represent.
    pub(crate) fn mean(&self, task: usize, outputs: &[f32]) -> f32 {
        let expand = |output: f32| self.scales.expand(task, output);
        match &self.model {
            ReturnModel::Mean(_) => expand(outputs[0]),
            ReturnModel::Categorical { support } => probabilities(outputs)
                .iter()
                .zip(support)
                .map(|(probability, &value)| probability * expand(value))
                .sum(),
            ReturnModel::Quantile { count } => {
                outputs.iter().map(|&output| expand(output)).sum::<f32>() / *count as f32
            }
        }
    }

    /// Returns the mean return of each option of a task: the first `num_outputs` options in a row of outputs.
    pub(crate) fn values(&self, task: usize, row: &[f32], num_outputs: usize) -> Vec<f32> {
        row.chunks_exact(self.num_atoms()).take(num_outputs).map(|outputs| self.mean(task, outputs)).collect()
    }

    /// Returns the returns that the outputs of an action should represent: the rewards plus the discounted returns
    /// represented by `next`, the outputs of the next action, averaged over its choices. For the categorical model
    /// these are the returns of all atoms, regardless of their probabilities.
    pub(crate) fn returns(&self, task: usize, n_step: &NStepReturn, next: &[&[f32]]) -> Vec<f32> {
        let expanded = |atoms: &[f32]| -> Vec<f32> {
            atoms
                .iter()
                .map(|&atom| n_step.rewards + n_step.discount * self.scales.expand(task, atom))
                .collect()
        };
        match &self.model {
            ReturnModel::Mean(_) | ReturnModel::Quantile { .. } => {
                mean(next.iter().map(|atoms| expanded(atoms)))
            }
            ReturnModel::Categorical { support } => expanded(support),
        }
    }

    /// Returns the targets with which an action's outputs represent `returns`, which were computed from `next`. For the
    /// categorical model the targets are probabilities.
    pub(crate) fn target(&self, task: usize, returns: &[f32], next: &[&[f32]]) -> Vec<f32> {
        let squashed = returns.iter().map(|&value| self.scales.squash(task, value));
        match &self.model {
            ReturnModel::Mean(_) | ReturnModel::Quantile { .. } => squashed.collect(),
            ReturnModel::Categorical { support } => {
                project(support, squashed.zip(mean(next.iter().map(|logits| probabilities(logits)))))
            }
        }
    }

    /// Computes the loss of each row, `[rows]`, from outputs and targets, both `[rows, num_atoms]`.
    pub(crate) fn losses(&self, outputs: Tensor<2>, targets: Tensor<2>) -> Tensor<1> {
        match &self.model {
            ReturnModel::Mean(kind) => {
                let errors = (outputs - targets).squeeze_dim(1);
                match kind {
                    LossKind::Mse => errors.square(),
                    LossKind::Huber => loss::huber(errors),
                }
            }
            ReturnModel::Categorical { .. } => loss::cross_entropy(log_softmax(outputs, 1), targets),
            ReturnModel::Quantile { count } => {
                let levels: Vec<f32> =
                    (0..*count).map(|index| (index as f32 + 0.5) / *count as f32).collect();
                let levels = Tensor::from_data(TensorData::new(levels, [1, *count]), &outputs.device());
                loss::quantile_huber(outputs, targets, levels)
            }
        }
    }

    /// Returns the error of each row, from which its priority is computed: the absolute error if the mean is predicted,
    /// otherwise the loss.
    pub(crate) fn errors(&self, losses: &[f32]) -> Vec<f32> {
        let error = |&loss: &f32| match &self.model {
            ReturnModel::Mean(LossKind::Mse) => loss.sqrt(),
            ReturnModel::Mean(LossKind::Huber) if loss < 0.5 => (2.0 * loss).sqrt(),
            ReturnModel::Mean(LossKind::Huber) => loss + 0.5,
            ReturnModel::Categorical { .. } | ReturnModel::Quantile { .. } => loss,
        };
        losses.iter().map(error).collect()
    }
}

/// Returns the element-wise mean of one or more vectors.
fn mean(vectors: impl ExactSizeIterator<Item = Vec<f32>>) -> Vec<f32> {
    let count = vectors.len() as f32;
    let sum =
        |sum: Vec<f32>, vector: Vec<f32>| sum.iter().zip(vector).map(|(sum, value)| sum + value).collect();
    let sum: Vec<f32> = vectors.reduce(sum).expect("an action has at least one choice");
    sum.into_iter().map(|sum| sum / count).collect()
}

fn probabilities(logits: &[f32]) -> Vec<f32> {
    let mut log_probs = logits.to_vec();
    categorical::log_softmax(&mut log_probs);
    log_probs.iter().map(|log_prob| log_prob.exp()).collect()
}

/// Projects a distribution over arbitrary returns onto the evenly spaced returns of `support`. Probability between two
/// of them is split by linear interpolation, and probability outside the support goes to the nearest end (Bellemare et
/// al. 2017, algorithm 1).
fn project(support: &[f32], returns: impl Iterator<Item = (f32, f32)>) -> Vec<f32> {
    let last = support.len() - 1;
    let (low, high) = (support[0], support[last]);
    let mut projected = vec![0.0; support.len()];
    for (value, probability) in returns {
        let position = (value.clamp(low, high) - low) / (high - low) * last as f32;
        let lower = (position.floor() as usize).min(last);
        let upper_part = position - lower as f32;
        projected[lower] += probability * (1.0 - upper_part);
        if upper_part > 0.0 {
            projected[(lower + 1).min(last)] += probability * upper_part;
        }
    }
    projected
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::ValueScale;
    use crate::networks::value_scale::{LEAST_DEVIATION, TaskReturn};

    const RETURN: NStepReturn = NStepReturn { rewards: 1.0, discount: 0.5, steps: 1 };

    fn close(outputs: &[f32], expected: &[f32]) {
        let near = |(atom, expected): (&f32, &f32)| (atom - expected).abs() < 1e-5;
        assert!(outputs.len() == expected.len() && outputs.iter().zip(expected).all(near), "{outputs:?}");
    }

    fn plain() -> TaskScales {
        TaskScales::new(ValueScale::None, 1.0, LEAST_DEVIATION, 1)
    }

    fn symlog() -> TaskScales {
        TaskScales::new(ValueScale::Symlog, 1.0, LEAST_DEVIATION, 1)
    }

    /// Targets for a return of the first task.
    fn target(head: &Head, n_step: &NStepReturn, next: &[f32]) -> Vec<f32> {
        head.target(0, &head.returns(0, n_step, &[next]), &[next])
    }

    fn mean(loss: LossKind) -> Head {
        Head::new(ReturnModel::Mean(loss), plain())
    }

    fn quantiles(count: usize) -> Head {
        Head::new(ReturnModel::Quantile { count }, plain())
    }

    fn categorical(num_atoms: usize) -> Head {
        Head::new(ReturnModel::categorical(num_atoms, -2.0, 2.0), plain())
    }

    #[test]
    fn targets_of_means_and_quantiles_by_hand() {
        assert_eq!(target(&mean(LossKind::Mse), &RETURN, &[4.0]), [3.0]);
        assert_eq!(target(&quantiles(2), &RETURN, &[-2.0, 4.0]), [0.0, 3.0]);
        let terminated = NStepReturn { discount: 0.0, ..RETURN };
        assert_eq!(target(&quantiles(2), &terminated, &[-2.0, 4.0]), [1.0, 1.0]);
    }

    #[test]
    fn targets_in_another_scale_by_hand() {
        // Outputs are ln(x + 1): 3 represents e^3 - 1, and half of that plus 1 is (e^3 + 1) / 2.
        let mean = Head::new(ReturnModel::Mean(LossKind::Mse), symlog());
        let of_three = (3f32.exp().midpoint(1.0) + 1.0).ln();
        close(&target(&mean, &RETURN, &[3.0]), &[of_three]);
        close(&[mean.mean(0, &[3.0])], &[3f32.exp() - 1.0]);
        // Greedy actions have the highest mean return, not the highest mean output.
        let quantiles = Head::new(ReturnModel::Quantile { count: 2 }, symlog());
        close(
            &quantiles.values(0, &[0.0, 3.0, 1.6, 1.6], 2),
            &[(3f32.exp() - 1.0) / 2.0, 1.6f32.exp() - 1.0],
        );
        // Support -2, 0 and 2. All probability is on 2, which represents e^2 - 1; half of that plus 1 is (e^2
        // + 1) / 2.
        let categorical = Head::new(ReturnModel::categorical(3, -2.0, 2.0), symlog());
        let position = (2f32.exp().midpoint(1.0) + 1.0).ln() / 2.0;
        close(&target(&categorical, &RETURN, &[-1e30, -1e30, 0.0]), &[0.0, 1.0 - position, position]);
    }

    #[test]
    fn targets_in_the_scale_of_a_task_by_hand() {
        // Returns 1 and 5 of the second task: mean 3, deviation 2.
        let mut scales = TaskScales::new(ValueScale::PopArt, 0.1, LEAST_DEVIATION, 2);
        scales.observe(&[1.0, 5.0].map(|value| TaskReturn::new(1, value)));
        let mean = Head::new(ReturnModel::Mean(LossKind::Mse), scales);
        // 4 represents 11; half of that plus 1 is 6.5, which is 1.75 deviations above the mean.
        assert_eq!(mean.returns(1, &RETURN, &[&[4.0]]), [6.5]);
        assert_eq!(mean.target(1, &[6.5], &[&[4.0]]), [1.75]);
        assert_eq!((mean.mean(0, &[4.0]), mean.mean(1, &[4.0])), (4.0, 11.0));
        assert_eq!(target(&mean, &RETURN, &[4.0]), [3.0]);
    }

    #[test]
    fn a_projection_by_hand() {
        // Support -2, -1, 0, 1, 2. 1.25 is three quarters 1 and one quarter 2; 9 is beyond the end; -1 is
        // exact.
        let support = [-2.0, -1.0, 0.0, 1.0, 2.0];
        let projected = project(&support, [(1.25, 0.4), (9.0, 0.5), (-1.0, 0.1)].into_iter());
        close(&projected, &[0.0, 0.1, 0.0, 0.3, 0.6]);
    }

    #[test]
    fn categorical_targets_by_hand() {
        let head = categorical(5);
        // Probabilities 1/4 and 3/4 at -2 and 2 move to 1 - 1 = 0 and 1 + 1 = 2.
        let never = -1e30;
        let next = [0.0, never, never, never, 3f32.ln()];
        close(&target(&head, &RETURN, &next), &[0.0, 0.0, 0.25, 0.0, 0.75]);
        close(&[head.mean(0, &next)], &[0.25 * -2.0 + 0.75 * 2.0]);
        // After a terminal step only the rewards count.
        let terminated = NStepReturn { discount: 0.0, ..RETURN };
        close(&target(&head, &terminated, &next), &[0.0, 0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn targets_of_several_choices_are_means_over_the_choices() {
        let of_choices = |head: &Head, next: &[&[f32]]| head.target(0, &head.returns(0, &RETURN, next), next);
        // 1 + 0.5 * (4 - 2) / 2.
        assert_eq!(of_choices(&mean(LossKind::Mse), &[&[4.0], &[-2.0]]), [1.5]);
        assert_eq!(of_choices(&quantiles(2), &[&[-2.0, 4.0], &[0.0, 2.0]]), [0.5, 2.5]);
        // Deterministic returns of -2 and 2 form an equal mixture, which moves to 0 and 2.
        let never = -1e30;
        let next: [&[f32]; 2] = [&[0.0, never, never, never, never], &[never, never, never, never, 0.0]];
        close(&of_choices(&categorical(5), &next), &[0.0, 0.0, 0.5, 0.0, 0.5]);
        // The mean is taken over returns, not over their logarithms.
        let head = Head::new(ReturnModel::Mean(LossKind::Mse), symlog());
        close(&of_choices(&head, &[&[0.0], &[3.0]]), &[((3f32.exp() - 1.0) / 4.0 + 2.0).ln()]);
    }

    #[test]
    fn projections_preserve_the_total_probability_and_the_mean() {
        for seed in 0..200 {
            println!("seed {seed}");
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let model = ReturnModel::categorical(rng.random_range(2..60), -3.0, 7.0);
            let ReturnModel::Categorical { support } = model else { unreachable!() };
            let logits: Vec<f32> = support.iter().map(|_| rng.random_range(-3.0..3.0)).collect();
            let probabilities = probabilities(&logits);
            let (rewards, discount) = (rng.random_range(-1.0..1.0), rng.random_range(0.0..0.6));
            let returns: Vec<f32> = support.iter().map(|value| rewards + discount * value).collect();
            let projected = project(&support, returns.iter().copied().zip(probabilities.iter().copied()));
            let mean = |values: &[f32], weights: &[f32]| -> f32 {
                values.iter().zip(weights).map(|(value, weight)| value * weight).sum()
            };
            assert!((projected.iter().sum::<f32>() - 1.0).abs() < 1e-4);
            assert!((mean(&support, &projected) - mean(&returns, &probabilities)).abs() < 1e-3);
        }
    }

    #[test]
    fn priorities_of_means_are_absolute_errors() {
        // Errors 0.5 and 3: squares 0.25 and 9; Huber 0.125 and 2.5.
        close(&mean(LossKind::Mse).errors(&[0.25, 9.0]), &[0.5, 3.0]);
        close(&mean(LossKind::Huber).errors(&[0.125, 2.5]), &[0.5, 3.0]);
        close(&categorical(5).errors(&[0.25]), &[0.25]);
    }

    #[test]
    fn values_cover_only_legal_actions() {
        let head = quantiles(2);
        assert_eq!(head.values(0, &[1.0, 3.0, -2.0, 2.0, 9.0, 99.0], 2), [2.0, 0.0]);
    }
}
