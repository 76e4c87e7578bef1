use crate::statistics::mean;

/// The number of points of a band.
const POINTS: usize = 200;

/// The values of a metric over emulated frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Curve(Vec<(f64, f64)>);

/// A point of the same curve of several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Band {
    pub(super) frames: f64,
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Curve {
    /// Appends a value. Frames never decrease.
    pub(super) fn push(&mut self, frames: f64, value: f64) {
        self.0.push((frames, value));
    }

    /// Returns true if there are at least two values, between which a line can be drawn.
    pub(super) fn is_line(&self) -> bool {
        self.0.len() > 1
    }

    /// Returns the last value.
    pub(super) fn last(&self) -> Option<f64> {
        self.0.last().map(|&(_, value)| value)
    }

    /// Returns the mean of the values after `from` frames and up to `to` frames. Without any, the value at `to` on the
    /// line between its neighbours.
    fn mean_in(&self, from: f64, to: f64) -> f64 {
        let [begin, end] = [from, to].map(|frames| self.0.partition_point(|&(at, _)| at <= frames));
        if begin < end {
            return mean(self.0[begin..end].iter().map(|&(_, value)| value));
        }
        let (before, after) = (self.0[end.saturating_sub(1)], self.0[end.min(self.0.len() - 1)]);
        let share = if after.0 > before.0 { (to - before.0) / (after.0 - before.0) } else { 0.0 };
        before.1 + share.clamp(0.0, 1.0) * (after.1 - before.1)
    }
}

/// Returns the mean, lowest and highest values of curves on a common grid of frames, which every curve covers. Between
/// two points of the grid, values are averaged.
pub(super) fn band<'a>(curves: impl Iterator<Item = &'a Curve>) -> Vec<Band> {
    let curves: Vec<&Curve> = curves.filter(|curve| !curve.0.is_empty()).collect();
    if curves.is_empty() {
        return Vec::new();
    }
    let first = curves.iter().map(|curve| curve.0[0].0).fold(0.0, f64::max);
    let last = curves.iter().map(|curve| curve.0[curve.0.len() - 1].0).fold(f64::INFINITY, f64::min);
    let step = (last - first) / (POINTS - 1) as f64;
    let grid = (0..POINTS).map(|index| first + step * index as f64);
    grid.filter(|_| last >= first)
        .map(|frames| {
            let values: Vec<f64> = curves.iter().map(|curve| curve.mean_in(frames - step, frames)).collect();
            Band {
                frames,
                mean: mean(values.iter().copied()),
                low: values.iter().copied().fold(f64::INFINITY, f64::min),
                high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(f64, f64)]) -> Curve {
        Curve(points.to_vec())
    }

    #[test]
    fn curves_share_a_grid_that_all_runs_cover() {
        let curves = [curve(&[(0.0, 1.0), (10.0, 3.0), (20.0, 5.0)]), curve(&[(10.0, 7.0), (30.0, 9.0)])];
        let band = band(curves.iter());
        assert_eq!(band[0], Band { frames: 10.0, mean: 5.0, low: 3.0, high: 7.0 });
        assert_eq!(*band.last().unwrap(), Band { frames: 20.0, mean: 6.5, low: 5.0, high: 8.0 });
    }

    #[test]
    fn values_between_points_of_the_grid_are_averaged() {
        let noisy =
            curve(&(0..4_000).map(|index| (f64::from(index), f64::from(index % 2))).collect::<Vec<_>>());
        let band = band(std::iter::once(&noisy));
        assert_eq!(band.len(), POINTS);
        assert!(band[1..].iter().all(|point| (point.mean - 0.5).abs() < 0.05), "{band:?}");
        assert!(super::band(std::iter::once(&Curve::default())).is_empty());
    }
}
