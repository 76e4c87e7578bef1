//! The learners of `algorithms` behind one trait: all that the application asks of them.

mod dqn;
mod ppo;
mod pqn;
mod replay_storage;

use algorithms::dqn::Dqn;
use algorithms::ppo::Ppo;
use algorithms::pqn::Pqn;
use algorithms::{LearnerError, ReplayStorage, SpecError, VectorSpec};
use anyhow::Result;
use burn::tensor::Device;
use rl_env::Batch;

use crate::config::{Algorithm, Experiment};
use crate::device::DeviceName;
use crate::telemetry::Sample;

use dqn::DqnLearner;

/// Someone who plays and no longer learns.
pub(crate) trait Player {
    /// An action for each environment of a batch.
    fn act(&mut self, batch: &Batch) -> Result<Vec<i32>, LearnerError>;

    /// How the player reads each environment's observation: that of the batch it has acted on last, as it read it then.
    fn readings(&self, batch: &Batch) -> Result<Vec<Reading>, LearnerError>;
}

/// What a player makes of an observation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reading {
    /// The probability of each action, and the value of the position: the discounted rewards to come, as learners see them.
    Policy { probabilities: Vec<f32>, value: f32 },
    /// The value of each action.
    Values(Vec<f32>),
}

impl Reading {
    /// The value of the position; of values the highest.
    pub(crate) fn value(&self) -> f32 {
        match self {
            Self::Policy { value, .. } => *value,
            Self::Values(values) => values.iter().copied().fold(f32::NEG_INFINITY, f32::max),
        }
    }

    /// The value of the position with two decimals; what rounds to nothing has no sign.
    pub(crate) fn value_digits(&self) -> String {
        let digits = format!("{:.2}", self.value());
        if digits == "-0.00" { "0.00".to_owned() } else { digits }
    }
}

/// A learner at work, with what the application asks of it beside the verbs of all learners.
pub(crate) trait Learner: algorithms::Learner {
    /// Learns, and reports what there is to report; nothing where a report would be the same as the one before.
    fn update(&mut self) -> Result<Vec<Sample>, LearnerError>;

    /// Someone who plays with what was learned, in environments like `spec`: `greedy`, or with chance as in training, the
    /// chance coming from `seed`.
    fn player(&self, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError>;
}

/// A new learner for an experiment.
pub(crate) fn create(experiment: &Experiment, spec: VectorSpec) -> Result<Box<dyn Learner>> {
    let (device, seed) = (experiment.device.open()?, experiment.seed);
    let policy = experiment.policy.clone();
    Ok(match experiment.algorithm {
        Algorithm::Ppo => Box::new(Ppo::new(experiment.ppo.clone(), policy, spec, &device, seed)?),
        Algorithm::Dqn => {
            let storage = replay_storage::of(experiment, &spec)?;
            let dqn = Dqn::with_storage(experiment.dqn.clone(), policy, spec, storage, &device, seed)?;
            Box::new(DqnLearner::new(dqn, experiment.replay.in_checkpoint))
        }
        Algorithm::Pqn => Box::new(Pqn::new(experiment.pqn.clone(), policy, spec, &device, seed)?),
    })
}

/// The learner of a checkpoint, to go on with on `device`.
pub(crate) fn restore(
    experiment: &Experiment,
    device: DeviceName,
    spec: &VectorSpec,
    state: &[u8],
) -> Result<Box<dyn Learner>> {
    let storage = match experiment.algorithm {
        Algorithm::Dqn => replay_storage::of(experiment, spec)?,
        Algorithm::Ppo | Algorithm::Pqn => ReplayStorage::Memory { available: 0 },
    };
    from_state(experiment, state, storage, &device.open()?)
}

/// The learner of a checkpoint, to play with, on the CPU: whoever plays need not have the device of whoever learned. Memory
/// that its replay does not fill is never touched.
pub(crate) fn restore_to_play(experiment: &Experiment, state: &[u8]) -> Result<Box<dyn Learner>> {
    from_state(experiment, state, ReplayStorage::Memory { available: u64::MAX }, &Device::flex())
}

fn from_state(
    experiment: &Experiment,
    state: &[u8],
    storage: ReplayStorage,
    device: &Device,
) -> Result<Box<dyn Learner>> {
    Ok(match experiment.algorithm {
        Algorithm::Ppo => Box::new(Ppo::from_state(state, device)?),
        Algorithm::Dqn => {
            let dqn = Dqn::from_state_with_storage(state, storage, device)?;
            Box::new(DqnLearner::new(dqn, experiment.replay.in_checkpoint))
        }
        Algorithm::Pqn => Box::new(Pqn::from_state(state, device)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_rounds_to_nothing_has_no_sign() {
        for (value, digits) in [(-0.004, "0.00"), (-0.0, "0.00"), (-0.006, "-0.01"), (12.345_6, "12.35")] {
            assert_eq!(Reading::Values(vec![-20.0, value]).value_digits(), digits);
        }
    }
}
