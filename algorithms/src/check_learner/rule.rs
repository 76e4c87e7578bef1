use std::fmt;

use thiserror::Error;

/// A rule that every learner follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearnerRule {
    /// Calls in order, with batches of the environments, succeed.
    LearnsInItsEnvironments,
    /// Actions that a mask does not allow are never chosen.
    RespectsMasks,
    /// The same seed and batches give the same actions, metrics and state.
    SeedDeterminesTraining,
    /// A call out of order fails and changes nothing.
    RefusesCallsOutOfOrder,
    /// A batch that is not of the environments, or has a reward that is not finite, is refused and changes nothing.
    RefusesForeignBatches,
    /// At any moment, a restored learner has the same state and continues bit for bit.
    StatesContinue,
    /// A damaged state is an error.
    RefusesDamagedStates,
    /// A stopped update changes nothing and is still due.
    StoppedUpdatesAreUndone,
}

impl fmt::Display for LearnerRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::LearnsInItsEnvironments => "calls in order succeed",
            Self::RespectsMasks => "actions are allowed",
            Self::SeedDeterminesTraining => "the seed determines training",
            Self::RefusesCallsOutOfOrder => "calls out of order are refused",
            Self::RefusesForeignBatches => "batches of other environments are refused",
            Self::StatesContinue => "a restored learner continues bit for bit",
            Self::RefusesDamagedStates => "damaged states are refused",
            Self::StoppedUpdatesAreUndone => "stopped updates are undone",
        })
    }
}

/// A broken rule.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{rule}: {problem}")]
pub struct LearnerViolation {
    /// The rule.
    pub rule: LearnerRule,
    /// The behaviour of the learner that violates the rule.
    pub problem: String,
}

impl LearnerRule {
    /// Fails with this rule unless it holds.
    pub(super) fn expect(self, holds: bool, problem: impl Into<String>) -> Result<(), LearnerViolation> {
        if holds { Ok(()) } else { Err(LearnerViolation { rule: self, problem: problem.into() }) }
    }
}
