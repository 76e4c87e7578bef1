//! Quantities that change over the course of training.

/// A value that changes linearly from `start` to `end` over `steps` steps, and then remains constant.
///
/// ```
/// use algorithms::schedule::LinearSchedule;
///
/// let epsilon = LinearSchedule { start: 1.0, end: 0.5, steps: 100 };
/// assert_eq!([0, 50, 1000].map(|step| epsilon.value(step)), [1.0, 0.75, 0.5]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearSchedule {
    /// The value at step 0.
    pub start: f64,
    /// The value at step `steps` and later.
    pub end: f64,
    /// The duration in steps.
    pub steps: u64,
}

impl LinearSchedule {
    /// Returns the value at `step`.
    pub fn value(&self, step: u64) -> f64 {
        if step >= self.steps {
            return self.end;
        }
        self.start + (self.end - self.start) * (step as f64 / self.steps as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_linear_and_then_constant() {
        let schedule = LinearSchedule { start: 2.0, end: 1.0, steps: 4 };
        let values: Vec<f64> = (0..7).map(|step| schedule.value(step)).collect();
        assert_eq!(values, [2.0, 1.75, 1.5, 1.25, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn a_schedule_of_length_zero_has_one_value() {
        assert_eq!(LinearSchedule { start: 1.0, end: 0.5, steps: 0 }.value(0), 0.5);
    }
}
