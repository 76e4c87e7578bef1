use anyhow::{Context, Result, bail, ensure};
use rand::seq::{IndexedRandom, index};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use settings::{Kind, whole_number};
use toml::Table;

use crate::config;

/// An assignment such as `ppo.gamma=0.9` for each varied key.
pub(super) type Setting = Vec<String>;

/// Returns every combination of the values of the keys or, with `random`, that number of random settings. The choice is
/// deterministic, so that a sweep can be continued.
pub(super) fn settings(vary: &[String], random: Option<usize>) -> Result<Vec<Setting>> {
    let keys = vary.iter().map(|vary| Varied::parse(vary)).collect::<Result<Vec<_>>>()?;
    keys.iter().try_for_each(Varied::check_values)?;
    if let Some(repeated) = keys.iter().enumerate().find_map(|(index, key)| {
        keys[..index].iter().any(|before| before.name == key.name).then_some(&key.name)
    }) {
        bail!("--vary {repeated} is repeated; give all its values at once, separated by commas")
    }
    if let Some(count) = random {
        ensure!(count <= MOST, "--random {count} is not possible: the maximum is {MOST} settings");
    }
    let rng = ChaCha8Rng::seed_from_u64(0);
    match (random, keys.iter().find(|key| matches!(key.values, Values::Range(_)))) {
        (None, None) => {
            let count = number_of_combinations(&keys);
            let count = count.filter(|&count| count <= MOST).with_context(|| {
                format!("there are more than {MOST} combinations; draw some of them with --random")
            })?;
            Ok((0..count).map(|index| combination(&keys, index)).collect())
        }
        (None, Some(key)) => {
            bail!("--vary {}: a range requires --random with the number of settings to draw", key.name)
        }
        (Some(count), None) => sampled(&keys, count, rng),
        (Some(count), Some(_)) => drawn(&keys, count, rng),
    }
}

/// The maximum number of settings of a sweep.
const MOST: usize = 10_000;

/// Keys that cannot be varied, and why.
const FIXED: [(&str, &str); 2] = [
    ("experiment.seed", "--seeds gives the seeds of each setting"),
    ("experiment.num_threads", "it does not affect the results"),
];

/// A varied key.
struct Varied<'a> {
    /// The key, without the spaces and quotation marks that TOML allows.
    name: String,
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
    /// Uniform in the logarithm, rounded for keys that are whole numbers.
    Log {
        from: f64,
        to: f64,
        is_whole: bool,
    },
}

impl<'a> Varied<'a> {
    fn parse(vary: &'a str) -> Result<Self> {
        let (name, values) = vary.split_once('=').with_context(|| {
            format!("--vary {vary}: expected KEY=VALUE,VALUE, such as ppo.gamma=0.9,0.99, or KEY=LOW..HIGH")
        })?;
        let parts: Vec<&str> = name.split('.').map(|part| part.trim().trim_matches(['"', '\''])).collect();
        let name = parts.join(".");
        // A path may contain `..`.
        let is_text = config::field(&name).is_some_and(|field| matches!(field.kind, Kind::Text));
        let values = match values.split_once("..").filter(|_| !is_text) {
            Some((low, high)) => {
                Values::Range(Range::parse(&name, low, high).with_context(|| format!("--vary {vary}"))?)
            }
            None => Values::List(values.split(',').collect()),
        };
        if let Some((_, reason)) = FIXED.iter().find(|(key, _)| *key == name) {
            bail!("--vary {vary}: {name} cannot be varied: {reason}")
        }
        Ok(Self { name, values })
    }

    /// Fails if a value is invalid for the key or repeats an earlier one.
    fn check_values(&self) -> Result<()> {
        let mut before: Vec<(String, Table)> = Vec::new();
        for assignment in self.assignments() {
            let read = config::assigned("--vary", &assignment)?;
            if let Some((same, _)) = before.iter().find(|(_, other)| *other == read) {
                bail!("--vary {assignment} repeats {same}: the values must be different")
            }
            before.push((assignment, read));
        }
        Ok(())
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
    fn parse(key: &str, low: &str, high: &str) -> Result<Self> {
        let (is_log, low) = low.strip_prefix("log:").map_or((false, low), |low| (true, low));
        let (from, to) = (float(low)?, float(high)?);
        ensure!(from < to, "the low end must be less than the high end");
        ensure!((to - from).is_finite(), "the range is too wide");
        ensure!(!is_log || from > 0.0, "a logarithmic range must start above 0");
        let is_whole = config::field(key).is_some_and(|field| field.whole_numbers().is_some());
        Ok(match (integer(low), integer(high)) {
            (Some(from), Some(to)) if !is_log => Self::Integer(from, to),
            (None, _) | (_, None) if is_whole => bail!("both ends must be whole numbers, like {key}"),
            _ if is_log => Self::Log { from, to, is_whole },
            _ => Self::Linear(from, to),
        })
    }

    /// Draws a value: an integer, or a number with as many digits as the width of the range requires.
    fn draw(&self, rng: &mut impl Rng) -> String {
        match *self {
            Self::Integer(from, to) => rng.random_range(from..=to).to_string(),
            Self::Linear(from, to) => rounded(rng.random_range(from..=to), from, to),
            Self::Log { from, to, is_whole } => {
                let drawn = rng.random_range(from.ln()..=to.ln()).exp();
                if is_whole { drawn.round().to_string() } else { rounded(drawn, from, to) }
            }
        }
    }
}

fn integer(text: &str) -> Option<i64> {
    whole_number(text.trim()).and_then(|integer| i64::try_from(integer).ok())
}

fn float(text: &str) -> Result<f64> {
    let float = integer(text).map(|integer| integer as f64).or_else(|| text.trim().parse().ok());
    float.filter(|float| float.is_finite()).with_context(|| format!("'{text}' is not a number"))
}

/// Returns `value`, which is in the range, rounded to three digits, or more if the range is narrow: at least about a
/// hundred different values are possible. The result is within the range.
fn rounded(value: f64, from: f64, to: f64) -> String {
    let narrowness = (from.abs().max(to.abs()) / (to - from)).log10().max(0.0);
    let digits = 2 + narrowness as usize;
    let text = format!("{value:.digits$e}");
    let nearest: f64 = text.parse().unwrap_or(value);
    if nearest < from {
        from.to_string()
    } else if nearest > to {
        to.to_string()
    } else {
        text
    }
}

/// Returns the number of combinations of values of the keys, which are lists. `None` if it exceeds a `usize`.
fn number_of_combinations(keys: &[Varied<'_>]) -> Option<usize> {
    keys.iter().try_fold(1_usize, |count, key| count.checked_mul(key.assignments().len()))
}

/// Returns a combination by its index. The values of the last key change first.
fn combination(keys: &[Varied<'_>], mut index: usize) -> Setting {
    let mut setting = Setting::new();
    for key in keys.iter().rev() {
        let assignments = key.assignments();
        setting.push(assignments[index % assignments.len()].clone());
        index /= assignments.len();
    }
    setting.reverse();
    setting
}

/// Returns a sample of the combinations, in their order.
fn sampled(keys: &[Varied<'_>], count: usize, mut rng: ChaCha8Rng) -> Result<Vec<Setting>> {
    let combinations =
        number_of_combinations(keys).context("--random is not possible: there are too many combinations")?;
    ensure!(
        (1..=combinations).contains(&count),
        "--random {count} is not possible: there are {combinations} combinations"
    );
    let mut indices = index::sample(&mut rng, combinations, count).into_vec();
    indices.sort_unstable();
    Ok(indices.into_iter().map(|index| combination(keys, index)).collect())
}

/// Draws distinct settings. A larger number of settings starts with those of a smaller number.
fn drawn(keys: &[Varied<'_>], count: usize, mut rng: ChaCha8Rng) -> Result<Vec<Setting>> {
    let mut settings = Vec::new();
    // A narrow range of integers may have too few distinct settings.
    for _ in 0..count.saturating_mul(1000) {
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
        let combinations = settings(&vary, None).unwrap();
        assert_eq!(
            (combinations.len(), combinations[0].join(" ")),
            (6, "ppo.gamma=0.9 ppo.num_steps=8".to_owned())
        );
        let some = settings(&vary, Some(4)).unwrap();
        assert!(some.len() == 4 && some.iter().all(|setting| combinations.contains(setting)));
        assert!(complaint(&vary, Some(7)).contains("there are 6 combinations"));
        assert!(complaint(&["nonsense"], None).contains("expected KEY=VALUE,VALUE"));
        assert_eq!(settings(&vary, Some(6)).unwrap(), combinations);
    }

    #[test]
    fn a_sample_needs_no_list_of_all_combinations() {
        let keys = [
            "ppo.learning_rate",
            "ppo.gamma",
            "ppo.gae_lambda",
            "ppo.clip_coef",
            "ppo.ent_coef",
            "ppo.vf_coef",
            "ppo.max_grad_norm",
            "pqn.learning_rate",
            "pqn.gamma",
            "pqn.q_lambda",
        ];
        let vary = keys.map(|key| format!("{key}=0.1,0.2,0.3,0.4,0.5,0.6"));
        let vary = vary.each_ref().map(String::as_str);
        let mut drawn = settings(&vary, Some(20)).unwrap();
        assert!(drawn.iter().all(|setting| setting.len() == keys.len()));
        drawn.dedup();
        assert_eq!(drawn.len(), 20);
        assert!(complaint(&vary, None).contains("there are more than 10000 combinations"));
    }

    /// Returns the number that a setting assigns to a key.
    fn value(setting: &Setting, key: usize) -> f64 {
        setting[key].split_once('=').unwrap().1.parse().unwrap()
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
    fn quoted_keys_and_paths_are_read_like_plain_ones() {
        let drawn = settings(&["\"ppo\" . num_steps=log:16..128"], Some(5)).unwrap();
        let is_whole = |setting: &Setting| setting[0]["ppo.num_steps=".len()..].parse::<u64>().is_ok();
        assert!(drawn.iter().all(is_whole), "{drawn:?}");
        let listed = settings(&["replay.folder=../a,../b"], None).unwrap();
        assert_eq!(listed.concat(), ["replay.folder=../a", "replay.folder=../b"]);
    }

    #[test]
    fn values_of_a_narrow_range_stay_in_it_and_differ() {
        for (from, to) in [(0.995, 0.9999), (0.9995, 0.9999), (-1.2345, -1.2344), (1e-9, 1e3)] {
            let drawn = settings(&[&format!("ppo.gamma={from}..{to}")], Some(30)).unwrap();
            for setting in &drawn {
                let value: f64 = setting[0]["ppo.gamma=".len()..].parse().unwrap();
                assert!((from..=to).contains(&value), "{setting:?}");
            }
        }
        assert_eq!(rounded(0.999_96, 0.0, 0.999_97), "0.99997", "three digits would be 1");
    }

    #[test]
    fn rejects_invalid_ranges() {
        for (vary, random, expected) in [
            ("ppo.gamma=0.9..0.99", None, "a range requires --random"),
            ("ppo.gamma=0.99..0.9", Some(1), "the low end must be less than the high end"),
            ("ppo.gamma=log:0..0.9", Some(1), "must start above 0"),
            ("ppo.gamma=low..0.9", Some(1), "'low' is not a number"),
            ("ppo.num_steps=8..9", Some(3), "only about 2 settings"),
            ("ppo.ent_coef=-1e308..1e308", Some(1), "the range is too wide"),
            ("ppo.gamma=0.9..0.99", Some(10_001), "the maximum is 10000 settings"),
            ("ppo.num_steps=8..9.5", Some(3), "both ends must be whole numbers, like ppo.num_steps"),
        ] {
            let complaint = complaint(&[vary], random);
            assert!(complaint.contains(expected), "{vary}: {complaint}");
        }
    }

    #[test]
    fn values_are_different_and_possible() {
        for (vary, expected) in [
            (
                &["ppo.gamma=0.9,0.90"][..],
                "--vary ppo.gamma=0.90 repeats ppo.gamma=0.9: the values must be different",
            ),
            (&["ppo.num_steps=1_000,1k"], "ppo.num_steps=1k repeats ppo.num_steps=1_000"),
            (&["ppo.gamma=0.9", "ppo.gamma=0.99"], "--vary ppo.gamma is repeated"),
            (&["ppo.gama=0.9"], "did you mean 'ppo.gamma'?"),
            (&["experiment.seed=1,2"], "experiment.seed cannot be varied: --seeds gives the seeds"),
            (&["experiment . \"seed\"=1,2"], "experiment.seed cannot be varied"),
            (&["experiment.num_threads=1,2"], "cannot be varied: it does not affect the results"),
            (
                &["ppo.num_steps=8,x"],
                "ppo.num_steps = \"x\" is invalid: it must be a whole number in 2..=1000000",
            ),
        ] {
            let complaint = complaint(vary, None);
            assert!(complaint.contains(expected), "{vary:?}: {complaint}");
        }
    }

    #[test]
    fn whole_numbers_are_drawn_uniformly_in_the_logarithm() {
        let drawn = settings(&["dqn.buffer_size=log:10k..1M"], Some(200)).unwrap();
        let sizes: Vec<u64> =
            drawn.iter().map(|setting| setting[0]["dqn.buffer_size=".len()..].parse().unwrap()).collect();
        assert!(sizes.iter().all(|size| (10_000..=1_000_000).contains(size)), "{sizes:?}");
        // Half of them, with a standard deviation of 7.1.
        let small = sizes.iter().filter(|&&size| size < 100_000).count();
        assert!((60..=140).contains(&small), "{small}");
    }
}
