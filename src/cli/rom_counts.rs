use std::str::FromStr;

use anyhow::{Context, Error, Result, ensure};

/// The largest number of ROMs: each takes about 100 KB at every point of the sweep.
const MOST_ROMS: usize = 65_536;

/// The numbers of ROMs of a sweep: the ends of a range and the powers of two between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RomCounts {
    first: usize,
    last: usize,
}

impl FromStr for RomCounts {
    type Err = Error;

    /// Errors complete "it must be ...".
    fn from_str(text: &str) -> Result<Self> {
        let ends =
            text.split_once("..").and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
        let (first, last) = ends.context("two numbers of ROMs, such as 1..256")?;
        ensure!(
            1 <= first && first <= last && last <= MOST_ROMS,
            "a range that starts at 1 or more and ends between its start and {MOST_ROMS}"
        );
        Ok(Self { first, last })
    }
}

impl RomCounts {
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        let Self { first, last } = self;
        let powers = (0..usize::BITS).map(|bit| 1 << bit).filter(|power| (first..=last).contains(power));
        let mut points: Vec<usize> = powers.chain([first, last]).collect();
        points.sort_unstable();
        points.dedup();
        points.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contains_both_ends_and_the_powers_of_two_between_them() {
        let points = |text: &str| text.parse::<RomCounts>().unwrap().iter().collect::<Vec<_>>();
        assert_eq!(points("1..256"), [1, 2, 4, 8, 16, 32, 64, 128, 256]);
        assert_eq!(points("3..20"), [3, 4, 8, 16, 20]);
        assert_eq!(points("5..5"), [5]);
    }

    #[test]
    fn rejects_text_that_is_not_a_range() {
        for text in ["", "7", "0..4", "8..2", "1..x", "1..1000000", "-1..3"] {
            assert!(text.parse::<RomCounts>().is_err(), "{text}");
        }
    }
}
