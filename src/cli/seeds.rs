use std::str::FromStr;

use settings::whole_number_in;

/// The largest number of seeds, each of which is a run.
const MOST: usize = 10_000;

/// The seeds of a sweep, each once: `1..5`, which includes both ends, or `1,2,7..9`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seeds(pub(crate) Vec<u64>);

impl FromStr for Seeds {
    type Err = String;

    /// Errors complete "it must be ...".
    fn from_str(text: &str) -> Result<Self, String> {
        let mut seeds = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once("..").unwrap_or((part, part));
            let [first, last] = [first, last].map(|end| seed(end.trim()));
            let (first, last) = (first?, last?);
            if first > last {
                return Err(format!("a range that begins with its smaller end, such as {last}..{first}"));
            }
            for seed in first..=last {
                if seeds.contains(&seed) {
                    return Err(format!("a list of different seeds, but {seed} is repeated"));
                }
                if seeds.len() == MOST {
                    return Err(format!("a list of at most {MOST} seeds"));
                }
                seeds.push(seed);
            }
        }
        Ok(Self(seeds))
    }
}

fn seed(text: &str) -> Result<u64, String> {
    let seed = whole_number_in(text, &(0..=i64::MAX as u64));
    seed.map_err(|_| "a list of whole numbers, 0 or more, and ranges, such as 1,2,7..9".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_listed_and_ranges_include_both_ends() {
        let seeds = |text: &str| text.parse::<Seeds>().unwrap().0;
        assert_eq!(seeds("3"), [3]);
        assert_eq!(seeds("1..5"), [1, 2, 3, 4, 5]);
        assert_eq!(seeds("1, 2,7..9"), [1, 2, 7, 8, 9]);
        assert_eq!(seeds("4..4,1k"), [4, 1000]);
    }

    #[test]
    fn every_seed_is_given_once() {
        let error = |text: &str| text.parse::<Seeds>().unwrap_err();
        assert_eq!(error("1,1"), "a list of different seeds, but 1 is repeated");
        assert_eq!(error("5,1..9"), "a list of different seeds, but 5 is repeated");
        assert_eq!(error("5..1"), "a range that begins with its smaller end, such as 1..5");
        assert_eq!(error("0..1G"), "a list of at most 10000 seeds");
        for text in ["", "1,", "1..", "..5", "1..=5", "x", "-1", "1...3", "18446744073709551615"] {
            assert!(error(text).starts_with("a list of whole numbers"), "{text}");
        }
    }
}
