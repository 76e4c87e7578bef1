use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// The suffixes of large numbers, with the number from which each is used and its factor.
const SUFFIXES: [(f64, f64, &str); 4] =
    [(1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")];
/// Numbers on an axis that ends below this have an exponent.
const TINY: f64 = 1e-3;
/// The smallest length of an axis, relative to its values: nearly equal values are shown as equal.
const LEAST_SPAN: f64 = 1e-3;
/// Values below this are shown as 0. The steps of an axis could not be represented.
const LEAST_VALUE: f64 = 1e-100;
/// The largest number of labels.
const MOST_LABELS: f64 = 100.0;

/// An axis of a chart with round numbers, whose labels all differ.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    range: Range<f64>,
    /// Distance between two labelled numbers: 1, 2 or 5 times a power of ten.
    step: f64,
}

impl Axis {
    /// Returns an axis from exactly `low` to `high` with about `count` labels.
    pub(super) fn exact(low: f64, high: f64, count: usize) -> Self {
        let raw = (high - low) / count as f64;
        let power = 10f64.powf(raw.log10().floor());
        let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= raw).unwrap_or(10.0);
        Self { range: low..high, step: factor * power }
    }

    /// Returns an axis around the values, with a margin.
    pub(super) fn around(values: impl Iterator<Item = f64> + Clone, count: usize) -> Self {
        let (low, high) =
            (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max));
        let size = low.abs().max(high.abs());
        let least = if size < LEAST_VALUE { 1.0 } else { size * LEAST_SPAN };
        let margin = ((high - low) * 0.05).max((least - (high - low)) / 2.0);
        Self::exact(low - margin, high + margin, count)
    }

    /// Returns the numbers with labels, from the lowest to the highest.
    fn ticks(&self) -> Vec<f64> {
        let (first, last) = ((self.range.start / self.step).ceil(), (self.range.end / self.step).floor());
        (0..=(last - first).clamp(0.0, MOST_LABELS) as u32)
            .map(|index| (first + f64::from(index)) * self.step)
            .collect()
    }

    /// Returns the label of a number, with as many decimals as tell neighbours apart.
    fn label(&self, value: f64) -> String {
        let size = self.range.start.abs().max(self.range.end.abs());
        if size < TINY {
            let exponent = size.log10().floor();
            return match self.decimals(value, 10f64.powf(exponent)) {
                zero if zero == "0" => zero,
                digits => format!("{digits}e{exponent}"),
            };
        }
        let suffix = SUFFIXES.iter().find(|(from, ..)| size >= *from);
        let &(_, factor, suffix) = suffix.unwrap_or(&(0.0, 1.0, ""));
        match self.decimals(value, factor) {
            zero if zero == "0" => zero,
            digits => digits + suffix,
        }
    }

    /// Returns a number in units of `factor`, without trailing zeros.
    fn decimals(&self, value: f64, factor: f64) -> String {
        // The tolerance is for steps that equal a power of ten except for rounding.
        let decimals = (-(self.step / factor).log10() + 1.0 - 1e-9).floor().max(0.0) as usize;
        let text = format!("{:.decimals$}", value / factor);
        let text =
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text.as_str() };
        if text == "-0" { "0".to_owned() } else { text.to_owned() }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let Range { start, end } = self.range;
        let share = (value - start) / (end - start);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // There are no grid lines between the labels.
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.label(*value)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn labels(values: &[f64]) -> Vec<String> {
        let axis = Axis::around(values.iter().copied(), 6);
        axis.ticks().into_iter().map(|value| axis.label(value)).collect()
    }

    #[test]
    fn labels_are_round_and_have_no_trailing_zeros() {
        assert_eq!(labels(&[0.0, 1.0]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(&[-21.0, 21.0]), ["-20", "-10", "0", "10", "20"]);
        assert_eq!(labels(&[0.0, 2_400_000.0]), ["0", "0.5M", "1M", "1.5M", "2M", "2.5M"]);
        assert_eq!(labels(&[0.0, 40_960.0]), ["0", "10k", "20k", "30k", "40k"]);
        assert_eq!(labels(&[0.0, 3.1e-6]), ["0", "1e-6", "2e-6", "3e-6"]);
    }

    #[test]
    fn labels_of_one_axis_never_repeat() {
        let ends = [
            [4000.0, 4000.0],
            [4000.0, 4000.0003],
            [-0.001, 0.001],
            [0.0, 0.0],
            [1e-9, 1e-9],
            [0.9998, 1.0],
            [123_456.0, 123_457.0],
            [-1e7, 3.0],
            [1e12, 1.1e12],
            [9_999.0, 10_001.0],
            // Of a damaged file.
            [0.0, 1e-323],
            [-1e100, 1e100],
        ];
        for values in ends {
            let labels = labels(&values);
            let distinct: HashSet<&String> = labels.iter().collect();
            assert!(labels.len() >= 2 && distinct.len() == labels.len(), "{values:?}: {labels:?}");
        }
    }
}
