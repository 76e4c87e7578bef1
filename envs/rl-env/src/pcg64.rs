//! NumPy's random number generator, which Gymnasium's environments and spaces use.

use serde::{Deserialize, Serialize};

use crate::ziggurat::{HEIGHTS, LIMITS, WIDTHS};

/// The generator of Gymnasium's environments and spaces: NumPy's `Generator` over `PCG64`, seeded by `SeedSequence`.
/// The same seed yields the same values as `numpy.random.default_rng(seed)`.
///
/// PCG XSL RR 128/64: O'Neill (2014), "PCG: A family of simple fast space-efficient statistically good algorithms for
/// random number generation". Bounded integers: Lemire (2019), "Fast random integer generation in an interval". Normal
/// numbers: Marsaglia and Tsang (2000), "The ziggurat method for generating random variables".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pcg64 {
    state: u128,
    increment: u128,
    /// The upper half of the last 64 bits, if only the lower half has been used.
    half: Option<u32>,
}

const MULTIPLIER: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;
/// The start of the tail of the normal distribution, which has its own method.
const TAIL: f64 = 3.654_152_885_361_009;
const INVERSE_TAIL: f64 = 0.273_661_237_329_758_3;

impl Pcg64 {
    /// Creates the generator of a seed.
    pub fn new(seed: u64) -> Self {
        let [state_high, state_low, stream_high, stream_low] = spread(seed);
        let wide = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        let mut generator = Self { state: 0, increment: wide(stream_high, stream_low) << 1 | 1, half: None };
        generator.advance();
        generator.state = generator.state.wrapping_add(wide(state_high, state_low));
        generator.advance();
        generator
    }

    fn advance(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }

    fn next_u64(&mut self) -> u64 {
        self.advance();
        ((self.state >> 64) as u64 ^ self.state as u64).rotate_right((self.state >> 122) as u32)
    }

    /// Returns the lower half of 64 new bits, and the upper half at the next call.
    fn next_u32(&mut self) -> u32 {
        self.half.take().unwrap_or_else(|| {
            let bits = self.next_u64();
            self.half = Some((bits >> 32) as u32);
            bits as u32
        })
    }

    /// Draws a value in `0.0..1.0`, a multiple of 2^-53: `Generator.random()`.
    pub fn random(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws a value in `low..high`: `Generator.uniform(low, high)`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.random()
    }

    /// Draws from the normal distribution with mean 0 and variance 1: `Generator.standard_normal()`.
    pub fn standard_normal(&mut self) -> f64 {
        loop {
            let bits = self.next_u64();
            let layer = (bits & 0xFF) as usize;
            let fraction = bits >> 9 & 0x000F_FFFF_FFFF_FFFF;
            let distance = fraction as f64 * f64::from_bits(WIDTHS[layer]);
            let sample = if bits >> 8 & 1 == 1 { -distance } else { distance };
            if fraction < LIMITS[layer] {
                return sample;
            }
            if layer == 0 {
                let distance = self.tail();
                return if fraction >> 8 & 1 == 1 { -distance } else { distance };
            }
            let [above, below] = [HEIGHTS[layer - 1], HEIGHTS[layer]].map(f64::from_bits);
            if (above - below) * self.random() + below < (-0.5 * sample * sample).exp() {
                return sample;
            }
        }
    }

    /// Draws from the part of the normal distribution that is above `TAIL`.
    fn tail(&mut self) -> f64 {
        loop {
            let distance = -INVERSE_TAIL * (-self.random()).ln_1p();
            let height = -(-self.random()).ln_1p();
            if height + height > distance * distance {
                return TAIL + distance;
            }
        }
    }

    /// Draws an integer in `0..bound`: `Generator.integers(bound)`. A bound of 0 counts as 1.
    pub fn below(&mut self, bound: u32) -> u32 {
        if bound <= 1 {
            return 0;
        }
        loop {
            let product = u64::from(self.next_u32()) * u64::from(bound);
            if product as u32 >= bound.wrapping_neg() % bound {
                return (product >> 32) as u32;
            }
        }
    }

    /// Draws zeros and ones with probability 1/2: `Generator.integers(0, 2, size, dtype=numpy.int8)`, which uses one
    /// byte for each.
    pub fn coin_tosses(&mut self) -> impl Iterator<Item = u8> {
        let mut bytes = [0; 4];
        (0..4).cycle().map(move |position| {
            if position == 0 {
                bytes = self.next_u32().to_le_bytes();
            }
            bytes[position] >> 7
        })
    }

    /// Draws the index of an outcome, given the cumulative probabilities, as Gymnasium's tabular environments do.
    /// Returns the first index if rounding left the last probability below the draw.
    pub fn categorical(&mut self, cumulative: &[f64]) -> usize {
        let draw = self.random();
        cumulative.iter().position(|&probability| probability > draw).unwrap_or(0)
    }
}

/// Implements NumPy's `SeedSequence(seed).generate_state(4, uint64)`: O'Neill's `seed_seq_fe` with a pool of four
/// words, which turns related seeds into unrelated states.
fn spread(seed: u64) -> [u64; 4] {
    let mut pool = [0; 4];
    let mut hash = Hash { constant: 0x43B0_D7E5, multiplier: 0x931E_8875 };
    let words = [seed as u32, (seed >> 32) as u32, 0, 0];
    for (slot, word) in pool.iter_mut().zip(words) {
        *slot = hash.next(word);
    }
    for from in 0..pool.len() {
        for to in 0..pool.len() {
            if from != to {
                pool[to] = mix(pool[to], hash.next(pool[from]));
            }
        }
    }
    let mut hash = Hash { constant: 0x8B51_F9DD, multiplier: 0x58F3_8DED };
    let mut words = (0..8).map(|index| u64::from(hash.next(pool[index % pool.len()])));
    std::array::from_fn(|_| words.next().unwrap_or(0) | words.next().unwrap_or(0) << 32)
}

/// A hash function that changes with every call.
struct Hash {
    constant: u32,
    multiplier: u32,
}

impl Hash {
    fn next(&mut self, word: u32) -> u32 {
        let word = word ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.multiplier);
        let word = word.wrapping_mul(self.constant);
        word ^ word >> 16
    }
}

fn mix(left: u32, right: u32) -> u32 {
    let mixed = left.wrapping_mul(0xCA01_F9DD).wrapping_sub(right.wrapping_mul(0x4973_F715));
    mixed ^ mixed >> 16
}
