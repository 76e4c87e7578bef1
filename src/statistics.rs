//! Summaries of samples: means, medians and percentiles.

use serde::Serialize;

/// Returns the arithmetic mean.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (count, sum) = values.into_iter().fold((0u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / f64::from(count)
}

/// Returns the standard error of the mean, from the sample standard deviation; none for a single value.
pub(crate) fn standard_error(values: &[f64]) -> Option<f64> {
    let (count, mean) = (values.len() as f64, mean(values.iter().copied()));
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt())
}

/// Returns the median, for an even count the mean of the middle two values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (lower, upper) = ((values.len() - 1) / 2, values.len() / 2);
    f64::midpoint(values[lower], values[upper])
}

/// Returns the mean without the lowest and the highest quarter of the values, each rounded down.
pub(crate) fn interquartile_mean(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let cut = values.len() / 4;
    mean(values[cut..values.len() - cut].iter().copied())
}

/// Returns the geometric mean, which doubling any one of the values changes by the same factor.
pub(crate) fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(f64::ln).sum::<f64>() / count).exp()
}

/// Percentiles of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
}

impl Percentiles {
    /// Computes percentiles by nearest rank. `values` must not be empty.
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let ranked = |percent: usize| values[(values.len() * percent).div_ceil(100) - 1];
        Self { p50: ranked(50), p95: ranked(95), p99: ranked(99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_of_the_sample() {
        let hundred = (1..=100).rev().map(f64::from).collect();
        assert_eq!(Percentiles::of(hundred), Percentiles { p50: 50.0, p95: 95.0, p99: 99.0 });
        assert_eq!(Percentiles::of(vec![7.0]), Percentiles { p50: 7.0, p95: 7.0, p99: 7.0 });
    }

    #[test]
    fn doubling_and_halving_cancel_in_the_geometric_mean() {
        assert!((geometric_mean([50.0, 200.0].into_iter()) - 100.0).abs() < 1e-9);
    }
}
