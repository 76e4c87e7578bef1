use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;
use kernels::tanh;

use super::Initializer;

/// The state of a recurrent layer between two steps.
#[derive(Clone, Debug)]
pub struct LstmState {
    /// `[rows, size]`.
    pub hidden: Tensor<2>,
    /// `[rows, size]`.
    pub cell: Tensor<2>,
}

/// Arrangement of the rows of a batch as sequences: step by step, and in each step one row for each sequence.
#[derive(Clone, Debug)]
pub struct Sequences {
    /// The state before the first step of each sequence.
    pub state: LstmState,
    /// `[steps, sequences]`: 0 where an episode begins, which resets the state, else 1.
    pub keep: Tensor<2>,
}

/// Long short-term memory (Hochreiter and Schmidhuber 1997) with a forget gate, as in PyTorch:
///
/// ```text
/// i, f, g, o = sigmoid, sigmoid, tanh, sigmoid of the four parts of  W x + U h + b
/// c' = f * c + i * g,  h' = o * tanh(c')
/// ```
#[derive(Module, Debug)]
pub(super) struct Lstm {
    input: Linear,
    recurrent: Linear,
}

impl Lstm {
    /// Creates a layer with orthogonal weights and zero biases, as in `CleanRL`'s `ppo_atari_lstm.py`.
    pub(super) fn new(inputs: usize, size: usize, initializer: &mut Initializer<'_>) -> Self {
        Self {
            input: initializer.linear(inputs, 4 * size, 1.0),
            recurrent: initializer.linear(size, 4 * size, 1.0),
        }
    }

    /// Computes the hidden states `[steps * sequences, size]` of `[steps * sequences, inputs]`, and the final
    /// state.
    pub(super) fn forward(&self, inputs: Tensor<2>, sequences: Sequences) -> (Tensor<2>, LstmState) {
        let Sequences { state: LstmState { mut hidden, mut cell }, keep } = sequences;
        let [steps, count] = keep.dims();
        let gates = self.input.forward(inputs);
        let [_, size] = hidden.dims();
        let mut outputs = Vec::with_capacity(steps);
        for step in 0..steps {
            let keep = keep.clone().narrow(0, step, 1).reshape([count, 1]);
            let gates =
                gates.clone().narrow(0, step * count, count) + self.recurrent.forward(hidden * keep.clone());
            let gate = |index: usize| gates.clone().narrow(1, index * size, size);
            cell = sigmoid(gate(1)) * (cell * keep) + sigmoid(gate(0)) * tanh(gate(2));
            hidden = sigmoid(gate(3)) * tanh(cell.clone());
            outputs.push(hidden.clone());
        }
        (Tensor::cat(outputs, 0), LstmState { hidden, cell })
    }
}

#[cfg(test)]
mod tests {
    use burn::module::Param;
    use burn::tensor::{Device, TensorData};

    use super::*;

    fn device() -> Device {
        Device::flex().autodiff()
    }

    fn tensor(values: &[f32], shape: [usize; 2]) -> Tensor<2> {
        Tensor::from_data(TensorData::new(values.to_vec(), shape), &device())
    }

    fn linear(weights: &[f32; 4], bias: [f32; 4]) -> Linear {
        Linear {
            weight: Param::from_tensor(tensor(weights, [1, 4])),
            bias: Some(Param::from_data(TensorData::new(bias.to_vec(), [4]), &device())),
        }
    }

    /// Returns an LSTM with one input and one hidden value.
    fn lstm() -> Lstm {
        Lstm {
            input: linear(&[1.0, -0.5, 2.0, 0.5], [0.1, 0.2, 0.3, 0.4]),
            recurrent: linear(&[0.3, 0.6, -1.0, 0.2], [0.0, 0.1, 0.0, -0.1]),
        }
    }

    /// Computes the equations above in `f64`.
    fn by_hand(input: f64, hidden: f64, cell: f64) -> (f64, f64) {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let write = sigmoid(input + 0.3 * hidden + 0.1);
        let keep = sigmoid(-0.5 * input + 0.6 * hidden + 0.3);
        let new = (2.0 * input - hidden + 0.3).tanh();
        let read = sigmoid(0.5 * input + 0.2 * hidden + 0.3);
        let cell = keep * cell + write * new;
        (read * cell.tanh(), cell)
    }

    fn state(hidden: &[f32], cell: &[f32]) -> LstmState {
        let shape = [hidden.len(), 1];
        LstmState { hidden: tensor(hidden, shape), cell: tensor(cell, shape) }
    }

    #[test]
    fn sequences_by_hand_with_an_episode_boundary() {
        // Two sequences of two steps; an episode begins at the second step of the second one.
        let sequences = Sequences {
            state: state(&[0.5, -0.5], &[1.0, 2.0]),
            keep: tensor(&[1.0, 1.0, 1.0, 0.0], [2, 2]),
        };
        let (outputs, last) = lstm().forward(tensor(&[0.7, -0.2, 0.4, 0.9], [4, 1]), sequences);
        let (h00, c00) = by_hand(0.7, 0.5, 1.0);
        let (h01, _) = by_hand(-0.2, -0.5, 2.0);
        let (h10, c10) = by_hand(0.4, h00, c00);
        let (h11, c11) = by_hand(0.9, 0.0, 0.0);
        let near = |tensor: Tensor<2>, expected: &[f64]| {
            let values: Vec<f32> = tensor.try_into_vec_as().unwrap();
            for (value, expected) in values.iter().zip(expected) {
                assert!((f64::from(*value) - expected).abs() < 1e-6, "{value} and {expected}");
            }
        };
        near(outputs, &[h00, h01, h10, h11]);
        near(last.hidden, &[h10, h11]);
        near(last.cell, &[c10, c11]);
    }

    #[test]
    fn gradients_equal_finite_differences_and_stop_at_episode_boundaries() {
        let loss = |values: &[f32], keep: f32| -> (Tensor<2>, Tensor<1>) {
            let inputs = tensor(values, [3, 1]).require_grad();
            let sequences =
                Sequences { state: state(&[0.5], &[1.0]), keep: tensor(&[1.0, keep, 1.0], [3, 1]) };
            let (outputs, _) = lstm().forward(inputs.clone(), sequences);
            (inputs, outputs.narrow(0, 2, 1).sum())
        };
        let values = [0.7, -0.2, 0.4];
        for keep in [1.0, 0.0] {
            let (inputs, last) = loss(&values, keep);
            let gradient: Vec<f32> = inputs.grad(&last.backward()).unwrap().try_into_vec_as().unwrap();
            for index in 0..3 {
                let at = |step: f32| {
                    let mut values = values;
                    values[index] += step;
                    loss(&values, keep).1.into_scalar::<f32>()
                };
                let slope = (at(1e-2) - at(-1e-2)) / 2e-2;
                assert!((slope - gradient[index]).abs() < 1e-3, "{index}: {slope} and {}", gradient[index]);
            }
            assert_eq!(gradient[0] == 0.0, keep == 0.0);
        }
    }
}
