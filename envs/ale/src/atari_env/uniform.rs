use vcs::Mt19937;

/// Draws integers uniformly from a range that starts at 0.
///
/// The algorithm is that of the C++ standard library that ale-py is built with: Lemire's multiplication (2019), which
/// rejects the few outputs that would bias the result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uniform {
    range: u32,
}

impl Uniform {
    /// Returns the distribution over the integers below `range`, which is at least 1.
    pub(super) fn below(range: u32) -> Self {
        Self { range }
    }

    pub(super) fn draw(self, random: &mut Mt19937) -> u32 {
        loop {
            let product = u64::from(random.next_u32()) * u64::from(self.range);
            if product as u32 >= self.range.wrapping_neg() % self.range {
                return (product >> 32) as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_draws_equal_those_of_ale_py() {
        let first = |seed| Uniform::below(30).draw(&mut Mt19937::new(seed));
        assert_eq!((0..12).map(first).collect::<Vec<_>>(), [16, 12, 13, 16, 29, 6, 26, 2, 26, 0, 23, 5]);
    }

    #[test]
    fn rejects_outputs_that_would_bias_the_draw() {
        // 2^32 mod 3000000000 outputs, about 30 %, are rejected: a draw may take several outputs.
        let (mut random, mut outputs) = (Mt19937::new(1), Mt19937::new(1));
        let draw = Uniform::below(3_000_000_000);
        for _ in 0..100 {
            let drawn = draw.draw(&mut random);
            let accepted = std::iter::repeat_with(|| u64::from(outputs.next_u32()) * 3_000_000_000)
                .find(|product| (product & 0xffff_ffff) >= 1_294_967_296)
                .map(|product| (product >> 32) as u32);
            assert_eq!(Some(drawn), accepted);
        }
        assert_eq!(random, outputs);
        assert_eq!(Uniform::below(1).draw(&mut random), 0);
        assert_ne!(random, outputs, "a draw below 1 takes an output too");
    }
}
