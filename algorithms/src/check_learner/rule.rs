//! The rules that every learner follows, and their violations.

use std::fmt;

use thiserror::Error;

/// A rule that every learner follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearnerRule {
    /// Calls in the documented order succeed.
    LearnsInItsEnvironments,
    /// Actions that a mask does not allow are never chosen.
    RespectsMasks,
    /// The same seed and batches give the same actions, metrics and state.
    SeedDeterminesTraining,
    /// A call out of order fails and changes nothing.
    RefusesCallsOutOfOrder,
    /// A batch from other environments, or with a reward that is not finite, is refused and changes nothing.
    RefusesInvalidBatches,
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
            Self::RefusesInvalidBatches => "invalid batches are refused",
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
    /// Returns a violation of this rule unless `holds`.
    pub(super) fn check(self, holds: bool, problem: impl Into<String>) -> Result<(), LearnerViolation> {
        if holds { Ok(()) } else { Err(LearnerViolation { rule: self, problem: problem.into() }) }
    }
}
