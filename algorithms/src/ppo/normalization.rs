/// A change of advantages to mean 0 and standard deviation 1.
pub(super) enum Normalization {
    /// Leaves advantages unchanged.
    None,
    /// Subtracts a mean and divides by a deviation.
    Standard { mean: f64, deviation: f64 },
}

impl Normalization {
    /// Returns the change for these advantages. It divides by their (unbiased) standard deviation, but at least by
    /// `floor`. A single advantage is left unchanged.
    pub(super) fn of(advantages: &[f32], floor: f32) -> Self {
        if advantages.len() < 2 {
            return Self::None;
        }
        let count = advantages.len() as f64;
        let mean = advantages.iter().map(|&advantage| f64::from(advantage)).sum::<f64>() / count;
        let squares: f64 = advantages.iter().map(|&advantage| (f64::from(advantage) - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0)).sqrt().max(f64::from(floor));
        Self::Standard { mean, deviation }
    }

    /// Changes advantages.
    pub(super) fn apply(&self, advantages: &mut [f32]) {
        let Self::Standard { mean, deviation } = *self else { return };
        for advantage in advantages {
            *advantage = ((f64::from(*advantage) - mean) / (deviation + 1e-8)) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalisation_by_hand() {
        // Mean 3, unbiased variance (4 + 0 + 4) / 2 = 4.
        let mut values = [1.0, 3.0, 5.0];
        Normalization::of(&values, 0.0).apply(&mut values);
        for (value, expected) in values.iter().zip([-1.0, 0.0, 1.0]) {
            assert!((value - expected).abs() < 1e-6, "{values:?}");
        }
        // The floor counts only above the deviation.
        let mut floored = [1.0, 3.0, 5.0];
        Normalization::of(&floored, 4.0).apply(&mut floored);
        assert_eq!(floored, [-0.5, 0.0, 0.5]);
        Normalization::of(&floored, 0.4).apply(&mut floored);
        assert_eq!(floored, [-1.0, 0.0, 1.0]);
        let mut single = [7.0];
        Normalization::of(&single, 0.0).apply(&mut single);
        assert_eq!(single, [7.0]);
        let mut equal = [2.0, 2.0];
        Normalization::of(&equal, 0.0).apply(&mut equal);
        assert_eq!(equal, [0.0, 0.0]);
    }
}
