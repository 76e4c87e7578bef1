use thiserror::Error;

/// The two numbers that bound the random numbers of an episode's first state: options of Gymnasium's `reset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// The names of the options.
    pub names: [&'static str; 2],
    /// The values of the options.
    pub values: [f64; 2],
    /// True if each value bounds a random number on both sides of 0, false if they are the bounds of all random
    /// numbers.
    is_symmetric: bool,
    /// The largest magnitude of a value.
    limit: f64,
}

/// An error in bounds of the first state.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum StartError {
    /// There is no such bound.
    #[error("the first state has no bound {name:?}; its bounds are {first} and {second}", first = known[0], second = known[1])]
    Unknown {
        /// The name as it was given.
        name: String,
        /// The names of the bounds.
        known: [&'static str; 2],
    },
    /// A bound is not a number, or too large for a simulation.
    #[error("{name} is {value}, but must be between {} and {limit}", -limit)]
    OutOfRange {
        /// The name of the bound.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The largest magnitude.
        limit: f64,
    },
    /// No number lies within the bounds.
    #[error("the lower bound {low} of the first state exceeds the upper bound {high}")]
    Empty {
        /// The lower bound.
        low: f64,
        /// The upper bound.
        high: f64,
    },
}

impl Start {
    /// Far beyond the states of all tasks.
    const LIMIT: f64 = 1e6;

    /// Random numbers between `low` and `high`.
    pub const fn between(low: f64, high: f64) -> Self {
        Self { names: ["low", "high"], values: [low, high], is_symmetric: false, limit: Self::LIMIT }
    }

    /// Two random numbers, of at most these magnitudes.
    pub const fn within(x_init: f64, y_init: f64) -> Self {
        Self { names: ["x_init", "y_init"], values: [x_init, y_init], is_symmetric: true, limit: Self::LIMIT }
    }

    /// The same with another largest magnitude of a value.
    #[must_use]
    pub const fn limited(self, limit: f64) -> Self {
        Self { limit, ..self }
    }

    /// Replaces the values of some options.
    pub fn with(mut self, options: &[(&str, f64)]) -> Result<Self, StartError> {
        for &(name, value) in options {
            let Some(index) = self.names.iter().position(|known| *known == name) else {
                return Err(StartError::Unknown { name: name.to_owned(), known: self.names });
            };
            if value.is_nan() || value.abs() > self.limit {
                return Err(StartError::OutOfRange { name: self.names[index], value, limit: self.limit });
            }
            self.values[index] = value;
        }
        match self.ranges().into_iter().find(|(low, high)| low > high) {
            Some((low, high)) => Err(StartError::Empty { low, high }),
            None => Ok(self),
        }
    }

    /// Returns the ranges of the first and of the second random number.
    pub fn ranges(&self) -> [(f64, f64); 2] {
        let [first, second] = self.values;
        if self.is_symmetric { [(-first, first), (-second, second)] } else { [(first, second); 2] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_replace_the_defaults() {
        let start = Start::between(-0.05, 0.05);
        assert_eq!(start.with(&[]), Ok(start));
        assert_eq!(start.with(&[("high", 0.5)]).unwrap().ranges(), [(-0.05, 0.5); 2]);
        let start = Start::within(3.0, 1.0);
        assert_eq!(start.with(&[("y_init", 0.5)]).unwrap().ranges(), [(-3.0, 3.0), (-0.5, 0.5)]);
    }

    #[test]
    fn unsuitable_options_are_refused() {
        let refused = |start: Start, name, value: f64| start.with(&[(name, value)]).unwrap_err().to_string();
        let [between, within] = [Start::between(-0.05, 0.05), Start::within(3.0, 1.0)];
        assert_eq!(
            refused(between, "x_init", 1.0),
            "the first state has no bound \"x_init\"; its bounds are low and high"
        );
        assert_eq!(
            refused(between, "low", 0.1),
            "the lower bound 0.1 of the first state exceeds the upper bound 0.05"
        );
        assert_eq!(
            refused(within, "x_init", -1.0),
            "the lower bound 1 of the first state exceeds the upper bound -1"
        );
        for value in [f64::NAN, f64::INFINITY, -2e6] {
            let expected = format!("high is {value}, but must be between -1000000 and 1000000");
            assert_eq!(refused(between, "high", value), expected);
        }
    }
}
