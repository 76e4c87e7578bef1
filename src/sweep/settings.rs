use std::slice;

use anyhow::{Context, Result, bail, ensure};
use rand::seq::{IndexedRandom, index};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// An assignment such as `ppo.gamma=0.9` for each varied key.
pub(super) type Setting = Vec<String>;

/// Returns every combination of the values of the keys or, with `random`, that number of settings. The random choice is
/// always the same, so that a sweep can be continued.
pub(super) fn settings(vary: &[String], random: Option<usize>) -> Result<Vec<Setting>> {
    let keys = vary.iter().map(|vary| Varied::parse(vary)).collect::<Result<Vec<_>>>()?;
    let rng = ChaCha8Rng::seed_from_u64(0);
    match (random, keys.iter().find(|key| matches!(key.values, Values::Range(_)))) {
        (None, None) => Ok(combinations(&keys)),
        (None, Some(key)) => {
            bail!("--vary {}: a range requires --random with the number of settings to draw", key.name)
        }
        (Some(count), None) => sampled(&combinations(&keys), count, rng),
        (Some(count), Some(_)) => drawn(&keys, count, rng),
    }
}

/// A varied key.
struct Varied<'a> {
    name: &'a str,
    values: Values<'a>,
}

enum Values<'a> {
    List(Vec<&'a str>),
    Range(Range),
}

/// A range that includes both ends.
enum Range {
    Integer(i64, i64),
    Linear(f64, f64),
    /// Uniform in the logarithm.
    Log(f64, f64),
}

impl<'a> Varied<'a> {
    fn parse(vary: &'a str) -> Result<Self> {
        let (name, values) = vary.split_once('=').with_context(|| {
            format!("--vary {vary}: expected KEY=VALUE,VALUE, such as ppo.gamma=0.9,0.99, or KEY=LOW..HIGH")
        })?;
        let values = match values.split_once("..") {
            Some((low, high)) => {
                Values::Range(Range::parse(low, high).with_context(|| format!("--vary {vary}"))?)
            }
            None => Values::List(values.split(',').collect()),
        };
        Ok(Self { name, values })
    }

    fn assignments(&self) -> Vec<String> {
        match &self.values {
            Values::List(values) => values.iter().map(|value| format!("{}={value}", self.name)).collect(),
            Values::Range(_) => Vec::new(),
        }
    }

    fn draw(&self, rng: &mut impl Rng) -> String {
        let value = match &self.values {
            Values::List(values) => values.choose(rng).copied().unwrap_or_default().to_owned(),
            Values::Range(range) => range.draw(rng),
        };
        format!("{}={value}", self.name)
    }
}

impl Range {
    fn parse(low: &str, high: &str) -> Result<Self> {
        let (is_log, low) = low.strip_prefix("log:").map_or((false, low), |low| (true, low));
        let number = |text: &str| {
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            number.with_context(|| format!("'{text}' is not a number"))
        };
        let (from, to) = (number(low)?, number(high)?);
        ensure!(from < to, "the low end must be less than the high end");
        ensure!(!is_log || from > 0.0, "a logarithmic range must start above 0");
        Ok(match (low.trim().parse(), high.trim().parse(), is_log) {
            (Ok(from), Ok(to), false) => Self::Integer(from, to),
            (_, _, false) => Self::Linear(from, to),
            (_, _, true) => Self::Log(from, to),
        })
    }

    /// Draws a value: an integer, or a number with three digits.
    fn draw(&self, rng: &mut impl Rng) -> String {
        match *self {
            Self::Integer(from, to) => rng.random_range(from..=to).to_string(),
            Self::Linear(from, to) => format!("{:.2e}", rng.random_range(from..=to)),
            Self::Log(from, to) => format!("{:.2e}", rng.random_range(from.ln()..=to.ln()).exp()),
        }
    }
}

fn combinations(keys: &[Varied<'_>]) -> Vec<Setting> {
    keys.iter().fold(vec![Vec::new()], |settings, key| {
        let assignments = key.assignments();
        let with_each = |setting: &Setting| {
            let setting = setting.clone();
            assignments
                .iter()
                .map(move |assignment| [setting.as_slice(), slice::from_ref(assignment)].concat())
        };
        settings.iter().flat_map(with_each).collect()
    })
}

/// Returns a sample of the combinations, in their order.
fn sampled(all: &[Setting], count: usize, mut rng: ChaCha8Rng) -> Result<Vec<Setting>> {
    ensure!(
        (1..=all.len()).contains(&count),
        "--random {count} is not possible: there are {} combinations",
        all.len()
    );
    let mut indices = index::sample(&mut rng, all.len(), count).into_vec();
    indices.sort_unstable();
    Ok(indices.into_iter().map(|index| all[index].clone()).collect())
}

/// Draws different settings. A larger number of settings extends a smaller one.
fn drawn(keys: &[Varied<'_>], count: usize, mut rng: ChaCha8Rng) -> Result<Vec<Setting>> {
    ensure!(count >= 1, "--random 0 is not possible: it must be 1 or more");
    let mut settings = Vec::new();
    // A narrow range of integers has few settings.
    for _ in 0..1000 * count {
        let setting: Setting = keys.iter().map(|key| key.draw(&mut rng)).collect();
        if !settings.contains(&setting) {
            settings.push(setting);
        }
        if settings.len() == count {
            return Ok(settings);
        }
    }
    bail!("--random {count} is not possible: the ranges have only about {} settings", settings.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(vary: &[&str], random: Option<usize>) -> Result<Vec<Setting>> {
        super::settings(&vary.iter().map(|&vary| vary.to_owned()).collect::<Vec<_>>(), random)
    }

    fn complaint(vary: &[&str], random: Option<usize>) -> String {
        format!("{:#}", settings(vary, random).unwrap_err())
    }

    #[test]
    fn returns_all_combinations_or_a_sample() {
        let vary = ["ppo.gamma=0.9,0.99", "ppo.num_steps=8,16,32"];
        let all = settings(&vary, None).unwrap();
        assert_eq!((all.len(), all[0].join(" ")), (6, "ppo.gamma=0.9 ppo.num_steps=8".to_owned()));
        let some = settings(&vary, Some(4)).unwrap();
        assert!(some.len() == 4 && some.iter().all(|setting| all.contains(setting)));
        assert!(complaint(&vary, Some(7)).contains("there are 6 combinations"));
        assert!(complaint(&["nonsense"], None).contains("expected KEY=VALUE,VALUE"));
    }

    #[test]
    fn draws_within_ranges_and_more_draws_extend_fewer() {
        let vary = [
            "ppo.learning_rate=log:1e-5..1e-2",
            "ppo.gamma=0.9..0.99",
            "ppo.num_steps=8..64",
            "ppo.clip_coef=0.1,0.2",
        ];
        let few = settings(&vary, Some(5)).unwrap();
        let many = settings(&vary, Some(300)).unwrap();
        assert_eq!(few, many[..5]);
        let value = |setting: &Setting, key: usize| -> f64 {
            setting[key].split_once('=').unwrap().1.parse().unwrap()
        };
        for (key, ends) in [(0, 1e-5..=1e-2), (1, 0.9..=0.99), (2, 8.0..=64.0), (3, 0.1..=0.2)] {
            assert!(many.iter().all(|setting| ends.contains(&value(setting, key))), "{}", vary[key]);
        }
        // Each of the three decades is equally likely: about 100 of 300, with a standard deviation of 8.2.
        let decade = many.iter().filter(|setting| value(setting, 0) < 1e-4).count();
        assert!((60..=140).contains(&decade), "{decade}");
        let is_whole = |setting: &Setting| setting[2]["ppo.num_steps=".len()..].parse::<u64>().is_ok();
        assert!(many.iter().all(is_whole), "{many:?}");
    }

    #[test]
    fn rejects_invalid_ranges() {
        for (vary, random, expected) in [
            ("ppo.gamma=0.9..0.99", None, "a range requires --random"),
            ("ppo.gamma=0.9..0.99", Some(0), "it must be 1 or more"),
            ("ppo.gamma=0.99..0.9", Some(1), "the low end must be less than the high end"),
            ("ppo.gamma=log:0..0.9", Some(1), "must start above 0"),
            ("ppo.gamma=low..0.9", Some(1), "'low' is not a number"),
            ("ppo.num_steps=8..9", Some(3), "only about 2 settings"),
        ] {
            let complaint = complaint(&[vary], random);
            assert!(complaint.contains(expected), "{vary}: {complaint}");
        }
    }
}
