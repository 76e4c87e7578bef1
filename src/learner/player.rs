use algorithms::LearnerError;
use rl_env::{ActionBuffer, Batch};

/// A trained policy, used without learning.
pub(crate) trait Player {
    /// Returns an action for each environment of a batch.
    fn act(&mut self, batch: &Batch) -> Result<ActionBuffer, LearnerError>;

    /// Makes random numbers follow from `seed` from now on.
    fn reseed(&mut self, seed: u64);

    /// Returns the outputs of the network for each environment of the batch that it would act on next.
    fn readings(&self, batch: &Batch) -> Result<Vec<Reading>, LearnerError>;
}

/// The outputs of a network for one observation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reading {
    /// The probability of each action, none if actions are continuous, and the state value: the discounted return in
    /// the scale of training.
    Policy { probabilities: Vec<f32>, value: f32 },
    /// The value of each action.
    Values(Vec<f32>),
}

impl Reading {
    /// Returns the state value, which is the largest of action values.
    pub(crate) fn value(&self) -> f32 {
        match self {
            Self::Policy { value, .. } => *value,
            Self::Values(values) => values.iter().copied().fold(f32::NEG_INFINITY, f32::max),
        }
    }

    /// Returns the state value with two decimals, without a sign if they are zeros.
    pub(crate) fn value_digits(&self) -> String {
        let digits = format!("{:.2}", self.value());
        if digits == "-0.00" { "0.00".to_owned() } else { digits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_round_to_zero_have_no_sign() {
        for (value, digits) in [(-0.004, "0.00"), (-0.0, "0.00"), (-0.006, "-0.01"), (12.345_6, "12.35")] {
            assert_eq!(Reading::Values(vec![-20.0, value]).value_digits(), digits);
        }
    }
}
