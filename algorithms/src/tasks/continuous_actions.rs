use std::fmt;

use rl_env::{Dtype, Space};
use serde::{Deserialize, Serialize};

/// The actions of a task that are vectors of real numbers: [`Space::Box`] of 32-bit floats.
///
/// Policies choose either unbounded values, which are clipped to the bounds of the space, or values from -1 to 1, which
/// are scaled to the bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Space", into = "Space")]
pub struct ContinuousActions {
    space: Space,
    /// Lower and upper bound of each component.
    bounds: Vec<(f32, f32)>,
}

impl ContinuousActions {
    /// The largest number of components of an action.
    pub const MAX_COMPONENTS: usize = 1 << 20;

    /// Creates the actions of a space. Returns `None` unless it is a [`Space::Box`] of 1 to
    /// [`MAX_COMPONENTS`](Self::MAX_COMPONENTS) 32-bit floats.
    pub fn of_space(space: &Space) -> Option<Self> {
        let Space::Box { low, high, shape, dtype: Dtype::F32 } = space else { return None };
        let length = shape.iter().try_fold(1_usize, |length, &extent| length.checked_mul(extent))?;
        let has_bounds = |bound: &rl_env::Bound| match bound {
            rl_env::Bound::All(_) => true,
            rl_env::Bound::Each(bounds) => bounds.len() == length,
        };
        let is_possible = (1..=Self::MAX_COMPONENTS).contains(&length) && has_bounds(low) && has_bounds(high);
        let bounds = |index| (low.of(index) as f32, high.of(index) as f32);
        is_possible.then(|| Self { space: space.clone(), bounds: (0..length).map(bounds).collect() })
    }

    /// Returns the action space of the environments.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Returns the number of components of an action.
    pub fn num_components(&self) -> usize {
        self.bounds.len()
    }

    /// Returns the lower and the upper bound of each component.
    pub fn bounds(&self) -> &[(f32, f32)] {
        &self.bounds
    }

    /// Appends the components that the environment receives: `components`, clipped to the bounds.
    pub(crate) fn write(&self, components: &[f32], out: &mut Vec<f32>) {
        // Not `clamp`, which panics if the bounds are in the wrong order.
        out.extend(components.iter().zip(&self.bounds).map(|(value, &(low, high))| value.max(low).min(high)));
    }
}

impl ContinuousActions {
    /// Returns true if the bounds of all components are finite.
    pub(crate) fn is_bounded(&self) -> bool {
        self.bounds.iter().all(|(low, high)| low.is_finite() && high.is_finite())
    }

    /// Appends the components that the environment receives for unbounded `components`: their hyperbolic tangents,
    /// scaled to the bounds, which must be finite.
    pub(crate) fn write_squashed(&self, components: &[f32], out: &mut Vec<f32>) {
        let squashed: Vec<f32> = components.iter().map(|value| value.tanh()).collect();
        self.write_scaled(&squashed, out);
    }

    /// Appends the components that the environment receives for `components` from -1 to 1: -1 is mapped to the lower
    /// bound and 1 to the upper bound. Both must be finite.
    pub(crate) fn write_scaled(&self, components: &[f32], out: &mut Vec<f32>) {
        let scaled = components.iter().zip(&self.bounds).map(|(value, (low, high))| {
            let (low, high) = (f64::from(*low), f64::from(*high));
            (f64::midpoint(low, high) + f64::from(*value) * (high - low) / 2.0) as f32
        });
        let scaled: Vec<f32> = scaled.collect();
        // Rounding may exceed the bounds.
        self.write(&scaled, out);
    }
}

impl TryFrom<Space> for ContinuousActions {
    type Error = String;

    fn try_from(space: Space) -> Result<Self, String> {
        Self::of_space(&space).ok_or_else(|| format!("{space} is not a space of continuous actions"))
    }
}

impl From<ContinuousActions> for Space {
    fn from(actions: ContinuousActions) -> Self {
        actions.space
    }
}

impl fmt::Display for ContinuousActions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.num_components() {
            1 => write!(f, "actions of 1 number"),
            count => write!(f, "actions of {count} numbers"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rl_env::Bound;

    use super::*;

    #[test]
    fn components_are_clipped_to_their_bounds() {
        let space = Space::float_ranges(&[(-1.0, 2.0), (0.0, f32::INFINITY)]);
        let actions = ContinuousActions::of_space(&space).unwrap();
        let mut written = vec![9.0];
        actions.write(&[-3.0, 7.0], &mut written);
        actions.write(&[2.5, -0.5], &mut written);
        assert_eq!(written, [9.0, -1.0, 7.0, 2.0, 0.0]);
        assert_eq!((actions.space(), actions.num_components()), (&space, 2));
    }

    #[test]
    fn components_from_minus_1_to_1_are_scaled_to_their_bounds() {
        let actions = ContinuousActions::of_space(&Space::float_ranges(&[(-2.0, 2.0), (0.0, 0.5)])).unwrap();
        let mut written = Vec::new();
        for component in [-1.0, 0.0, 0.5, 1.0] {
            actions.write_scaled(&[component; 2], &mut written);
        }
        assert_eq!(written, [-2.0, 0.0, 0.0, 0.25, 1.0, 0.375, 2.0, 0.5]);
        written.clear();
        actions.write_squashed(&[0.0, 100.0], &mut written);
        actions.write_squashed(&[3f32.ln() / 2.0, -100.0], &mut written);
        // tanh(ln(3) / 2) is 1 / 2.
        assert!(written.iter().zip([0.0, 0.5, 1.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-6), "{written:?}");
        assert!(actions.is_bounded());
        for open in [(0.0, f32::INFINITY), (f32::NEG_INFINITY, 0.0)] {
            assert!(!ContinuousActions::of_space(&Space::float_ranges(&[open])).unwrap().is_bounded());
        }
    }

    #[test]
    fn other_spaces_are_refused() {
        let [low, high] = [Bound::Each(vec![0.0]), Bound::All(1.0)];
        let unfit = Space::Box { low, high, shape: vec![2], dtype: Dtype::F32 };
        let huge = Space::Box {
            low: Bound::All(0.0),
            high: Bound::All(1.0),
            shape: vec![usize::MAX, 2],
            dtype: Dtype::F32,
        };
        for space in
            [Space::discrete(3), Space::bytes([3]), Space::floats(0, 0.0, 1.0), unfit.clone(), huge.clone()]
        {
            assert_eq!(ContinuousActions::of_space(&space), None, "{space:?}");
        }
        for space in [unfit, huge] {
            let bytes = postcard::to_stdvec(&space).unwrap();
            assert!(postcard::from_bytes::<ContinuousActions>(&bytes).is_err());
        }
    }
}
