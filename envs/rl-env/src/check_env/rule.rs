use std::fmt;

use thiserror::Error;

/// A rule that every [`Env`](crate::Env) follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// Spaces have elements and ordered bounds, and the action space has either integers or floats.
    SpacesAreValid,
    /// The spaces never change.
    SpacesAreConstant,
    /// `reset`, `step` and `observe` write all of the row.
    ObservationsAreWritten,
    /// Observations lie in the observation space; NaN lies in no space.
    ObservationsAreInSpace,
    /// `observe` repeats the observation that `reset` or `step` wrote.
    ObserveRepeats,
    /// The same seed and actions give the same episodes.
    SeedsDetermineEpisodes,
    /// `advance` and `observe` together do what `step` does.
    AdvanceEqualsStep,
    /// Actions in the action space are performed.
    LegalActionsSucceed,
    /// Actions that do not [fit](crate::Action::fits) the space are
    /// [`EnvError::InvalidAction`](crate::EnvError::InvalidAction).
    IllegalActionsAreErrors,
    /// A rejected action leaves the state unchanged.
    FailedStepsChangeNothing,
    /// Rewards are finite.
    RewardsAreFinite,
    /// A step does not both terminate and truncate, and `continues` comes only with `terminated`.
    FlagsAreConsistent,
    /// A snapshot can be restored, and `observe` then writes the observation from when it was taken.
    SnapshotsRestore,
    /// An episode continues from a restored snapshot as it did before.
    RestoredStatesContinue,
    /// A truncated snapshot is [`EnvError::BadSnapshot`](crate::EnvError::BadSnapshot).
    DamagedSnapshotsAreErrors,
    /// A rejected snapshot leaves the state unchanged.
    FailedRestoresChangeNothing,
}

impl Rule {
    /// All rules, in the order in which each is first checked.
    pub const ALL: [Self; 16] = [
        Self::SpacesAreValid,
        Self::SpacesAreConstant,
        Self::ObservationsAreWritten,
        Self::ObservationsAreInSpace,
        Self::ObserveRepeats,
        Self::SeedsDetermineEpisodes,
        Self::AdvanceEqualsStep,
        Self::LegalActionsSucceed,
        Self::IllegalActionsAreErrors,
        Self::FailedStepsChangeNothing,
        Self::RewardsAreFinite,
        Self::FlagsAreConsistent,
        Self::SnapshotsRestore,
        Self::RestoredStatesContinue,
        Self::DamagedSnapshotsAreErrors,
        Self::FailedRestoresChangeNothing,
    ];

    /// The violation of this rule.
    pub(super) fn violated(self, details: String) -> Violation {
        Violation { rule: self, details }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SpacesAreValid => "spaces must be valid",
            Self::SpacesAreConstant => "spaces must not change",
            Self::ObservationsAreWritten => "observations must be written completely",
            Self::ObservationsAreInSpace => "observations must lie in the observation space",
            Self::ObserveRepeats => "observe must repeat the last observation",
            Self::SeedsDetermineEpisodes => "the same seed and actions must give the same episodes",
            Self::AdvanceEqualsStep => "advance must do what step does",
            Self::LegalActionsSucceed => "actions in the action space must succeed",
            Self::IllegalActionsAreErrors => "other actions must be InvalidAction errors",
            Self::FailedStepsChangeNothing => "a refused action must change nothing",
            Self::RewardsAreFinite => "rewards must be finite",
            Self::FlagsAreConsistent => "the flags of a step must be consistent",
            Self::SnapshotsRestore => "snapshots must be restorable",
            Self::RestoredStatesContinue => "episodes must continue from a restored snapshot as before",
            Self::DamagedSnapshotsAreErrors => "damaged snapshots must be BadSnapshot errors",
            Self::FailedRestoresChangeNothing => "a refused snapshot must change nothing",
        })
    }
}

/// A rule that an environment breaks.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{rule}: {details}")]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The call and the values that break it.
    pub details: String,
}
