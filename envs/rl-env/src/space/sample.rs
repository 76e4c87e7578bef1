//! Sampling of random values.

use std::f64::consts::TAU;

use super::{Dtype, Leaf, Space};
use crate::Pcg64;

impl Space {
    /// Writes a random value to `row`, as `gymnasium.spaces.Space.sample` does.
    ///
    /// Discrete and binary values are uniform. An element of a `Box` is uniform if it has two finite bounds,
    /// exponential with mean 1 from the bound on if it has one, and normal otherwise. Integers are rounded down.
    ///
    /// With the same generator the values equal Gymnasium's for spaces whose elements all have two bounds, except
    /// `Dict` and `Tuple`. Their leaves share one generator here, while Gymnasium gives each leaf its own.
    pub fn sample(&self, generator: &mut Pcg64, row: &mut [u8]) {
        row.fill(0);
        for leaf in self.leaves() {
            leaf.sample(generator, row);
        }
    }
}

impl Leaf<'_> {
    fn sample(&self, generator: &mut Pcg64, row: &mut [u8]) {
        let elements = self.space.num_elements();
        match self.space {
            &Space::Discrete { n, start } => {
                let choice = generator.below(u32::try_from(n).unwrap_or(u32::MAX));
                self.set_element(row, 0, start as f64 + f64::from(choice));
            }
            Space::MultiDiscrete { nvec, start } => {
                for (index, (&n, &start)) in nvec.iter().zip(start).enumerate() {
                    self.set_element(row, index, start as f64 + (generator.random() * n as f64).floor());
                }
            }
            Space::MultiBinary { .. } => {
                for (index, toss) in generator.coin_tosses().take(elements).enumerate() {
                    self.set_element(row, index, toss.into());
                }
            }
            Space::Box { dtype, .. } => {
                for index in 0..elements {
                    let value = element(self.space.range(index), *dtype, generator);
                    self.set_element(row, index, value);
                }
            }
            Space::Dict(_) | Space::Tuple(_) => {}
        }
    }
}

/// Draws an element of a box.
fn element((low, high): (f64, f64), dtype: Dtype, generator: &mut Pcg64) -> f64 {
    let above = if dtype.is_float() { high } else { high + 1.0 };
    let drawn = match (low.is_finite(), high.is_finite()) {
        (true, true) => generator.uniform(low, above),
        (true, false) => low + exponential(generator),
        (false, true) => above - exponential(generator),
        // The Box-Muller method.
        (false, false) => {
            let radius = (2.0 * exponential(generator)).sqrt();
            radius * (TAU * generator.random()).cos()
        }
    };
    if dtype.is_float() { drawn } else { drawn.floor().min(high) }
}

/// Draws from the exponential distribution with mean 1.
fn exponential(generator: &mut Pcg64) -> f64 {
    // 1 - random() is never 0, whose logarithm is infinite.
    -(1.0 - generator.random()).ln()
}
