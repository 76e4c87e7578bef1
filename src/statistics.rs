//! Summaries of samples: means, medians, percentiles and confidence intervals.

use serde::Serialize;

/// Returns the arithmetic mean.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (count, sum) = values.into_iter().fold((0u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / f64::from(count)
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

/// A mean with its 95 % confidence interval (Student's t).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Estimate {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Estimate {
    /// Estimates the mean from two or more values.
    pub(crate) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let half = quantile(values.len() - 1) * (squares / (count - 1.0) / count).sqrt();
        Self { mean, low: mean - half, high: mean + half }
    }
}

/// Returns the 97.5 % quantile of Student's t distribution.
fn quantile(degrees_of_freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    // Beyond the table the first terms of the expansion around the normal quantile, 1.96, are accurate to 0.003.
    let tabled = degrees_of_freedom.checked_sub(1).and_then(|index| TABLE.get(index));
    tabled.copied().unwrap_or_else(|| 1.96 + 2.37 / degrees_of_freedom as f64)
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
    fn the_interval_equals_one_computed_by_hand() {
        // Sum of squares 4 + 0 + 4 = 8, sample variance 4, variance of the mean 4/3; two degrees of freedom.
        let half = 4.303 * (4.0f64 / 3.0).sqrt();
        assert_eq!(Estimate::of(&[1.0, 3.0, 5.0]), Estimate { mean: 3.0, low: 3.0 - half, high: 3.0 + half });
    }

    #[test]
    fn the_quantile_is_continuous_at_the_end_of_its_table() {
        assert!(quantile(31) < quantile(30) && (quantile(31) - 2.040).abs() < 0.005);
        assert!((quantile(1_000_000) - 1.96).abs() < 1e-5);
    }

    #[test]
    fn doubling_and_halving_cancel_in_the_geometric_mean() {
        assert!((geometric_mean([50.0, 200.0].into_iter()) - 100.0).abs() < 1e-9);
    }
}
