//! Parsers of the numbers in flags. Their errors complete "it must be ...".

use std::ops::RangeInclusive;
use std::time::Duration;

use settings::{Kind, Value, whole_number_in};

use crate::config::field;
use crate::threads::threads_or_cores;

/// Returns a parser of whole numbers from `minimum` on.
pub(super) fn at_least<T: Value + TryFrom<u64>>(minimum: u64) -> impl Fn(&str) -> Result<T, String> + Clone {
    between(minimum..=u64::MAX)
}

/// Returns a parser of whole numbers within a range.
pub(super) fn between<T: Value + TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    let maximum = if let Kind::Integer { max } = T::KIND { max } else { u64::MAX };
    let range = *range.start()..=maximum.min(*range.end());
    move |text| {
        let integer = whole_number_in(text, &range)?;
        T::try_from(integer).map_err(|_| "less".to_owned())
    }
}

/// Parses a port.
pub(super) fn port(text: &str) -> Result<u16, String> {
    whole_number_in(text, &(1..=u64::from(u16::MAX))).map(|port| port as u16)
}

/// Returns a parser of the whole numbers that a key of experiments may be.
pub(super) fn of_key<T: Value + TryFrom<u64>>(key: &str) -> impl Fn(&str) -> Result<T, String> + Clone {
    let range = field(key).and_then(settings::Field::whole_numbers);
    between(range.unwrap_or_else(|| unreachable!("{key} is a key for whole numbers")))
}

/// Parses a probability.
pub(super) fn probability(text: &str) -> Result<f32, String> {
    let probability = text.parse().ok().filter(|value| (0.0..=1.0).contains(value));
    probability.ok_or_else(|| "a number in 0..=1".to_owned())
}

/// Parses a number of threads. 0 stands for the number of cores.
pub(super) fn threads(text: &str) -> Result<usize, String> {
    of_key("experiment.num_threads")(text).map(threads_or_cores)
}

/// Parses a positive duration in seconds.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|&seconds| is_duration(seconds)).ok_or_else(|| "a number above 0".to_owned())
}

fn is_duration(seconds: f64) -> bool {
    Duration::try_from_secs_f64(seconds).is_ok_and(|duration| !duration.is_zero())
}
