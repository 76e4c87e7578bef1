//! Long short-term memory (Hochreiter and Schmidhuber 1997), with PyTorch's order of the gates.

use super::layers::Linear;
use super::weights::Weights;
use crate::error::FileError;

/// The memory of a recurrent network between two steps. Empty at the start of an episode.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    hidden: Vec<f32>,
    cell: Vec<f32>,
}

#[derive(Clone, Debug)]
pub(super) struct Lstm {
    input: Linear,
    recurrent: Linear,
    size: usize,
}

impl Lstm {
    /// Reads the layer, if there is one.
    pub(super) fn read(weights: &Weights, inputs: usize) -> Result<Option<Self>, FileError> {
        const RECURRENT: &str = "lstm.weight_hh_l0";
        if !weights.has(RECURRENT) {
            return Ok(None);
        }
        let ([gates, size], _) = weights.get::<2>(RECURRENT)?;
        let input = Linear::read_parts(weights, "lstm.weight_ih_l0", "lstm.bias_ih_l0", inputs)?;
        let recurrent = Linear::read_parts(weights, RECURRENT, "lstm.bias_hh_l0", size)?;
        if gates != 4 * size || input.outputs() != gates {
            return Err(FileError::Tensor(RECURRENT.to_owned()));
        }
        Ok(Some(Self { input, recurrent, size }))
    }

    pub(super) fn outputs(&self) -> usize {
        self.size
    }

    /// Computes the next memory and returns its hidden values.
    pub(super) fn apply(&self, input: &[f32], memory: &mut Memory) -> Vec<f32> {
        memory.hidden.resize(self.size, 0.0);
        memory.cell.resize(self.size, 0.0);
        let mut gates = self.input.apply(input);
        for (gate, recurrent) in gates.iter_mut().zip(self.recurrent.apply(&memory.hidden)) {
            *gate += recurrent;
        }
        for index in 0..self.size {
            let [write, keep, new, read] = [0, 1, 2, 3].map(|gate| gates[gate * self.size + index]);
            let cell = sigmoid(keep) * memory.cell[index] + sigmoid(write) * new.tanh();
            memory.cell[index] = cell;
            memory.hidden[index] = sigmoid(read) * cell.tanh();
        }
        memory.hidden.clone()
    }
}

fn sigmoid(value: f32) -> f32 {
    (1.0 + (-value).exp()).recip()
}
