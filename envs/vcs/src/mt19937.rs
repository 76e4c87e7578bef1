use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

/// The parameters of MT19937 by their names in the paper: the degree of the recurrence, the offset of its middle word,
/// the last row of the twist matrix, and the masks of the tempering.
const N: usize = 624;
const M: usize = 397;
const A: u32 = 0x9908b0df;
const B: u32 = 0x9d2c5680;
const C: u32 = 0xefc60000;
/// The bits of a word that the recurrence takes from the current word and from the next one.
const UPPER_MASK: u32 = 0x80000000;
const LOWER_MASK: u32 = 0x7fffffff;

/// The 32-bit Mersenne Twister MT19937 of Matsumoto and Nishimura (1998), seeded with one integer.
///
/// One generator fills the console's memory at power-up, another draws the environment's sticky actions.
///
/// # Examples
///
/// ```
/// let mut generator = vcs::Mt19937::new(5489);
/// assert_eq!(generator.next_u32(), 3499211612);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mt19937 {
    #[serde(with = "BigArray")]
    state: [u32; N],
    /// The index of the next word; `N` if all have been used.
    next: usize,
}

impl Mt19937 {
    /// Creates a generator with the standard seeding by one integer (multiplier 1812433253).
    pub fn new(seed: u32) -> Self {
        let mut state = [seed; N];
        for i in 1..N {
            let previous = state[i - 1];
            state[i] = (previous ^ (previous >> 30)).wrapping_mul(1812433253).wrapping_add(i as u32);
        }
        Self { state, next: N }
    }

    /// Returns the next 32-bit output.
    pub fn next_u32(&mut self) -> u32 {
        // Not `==`: a damaged snapshot may hold any index.
        if self.next >= N {
            self.refill();
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & B;
        y ^= (y << 15) & C;
        y ^ (y >> 18)
    }

    /// Returns the next output scaled to [0, 1): `next_u32() / 2^32`.
    pub fn next_f64(&mut self) -> f64 {
        f64::from(self.next_u32()) / 4294967296.0
    }

    /// Computes the next `N` words of the state.
    fn refill(&mut self) {
        for i in 0..N {
            let y = (self.state[i] & UPPER_MASK) | (self.state[(i + 1) % N] & LOWER_MASK);
            let twist = if y & 1 == 1 { A } else { 0 };
            self.state[i] = self.state[(i + M) % N] ^ (y >> 1) ^ twist;
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The C++ standard ([rand.predef]) fixes the 10,000th output for the default seed 5489.
    #[test]
    fn the_default_seed_gives_the_output_of_the_standard() {
        let mut generator = Mt19937::new(5489);
        let last = (0..10_000).map(|_| generator.next_u32()).last();
        assert_eq!(last, Some(4123659995));
    }

    /// Every game finds these bytes in RAM at power-up.
    #[test]
    fn the_console_seed_gives_the_power_up_ram() {
        let mut generator = Mt19937::new(crate::console::SYSTEM_SEED);
        let bytes: Vec<u8> = (0..16).map(|_| generator.next_u32() as u8).collect();
        assert_eq!(bytes[..8], [0xb8, 0x96, 0xc0, 0x49, 0xcb, 0x55, 0xc8, 0x7f]);
        assert_eq!(bytes[8..], [0xfb, 0xb4, 0x45, 0x66, 0x2b, 0x34, 0x10, 0xca]);
    }
}
