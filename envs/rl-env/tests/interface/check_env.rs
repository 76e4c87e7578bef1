//! `check_env` detects every way to break a rule, and accepts an environment that follows all of them.

use std::cell::Cell;

use rl_env::{
    Action, Bound, Dtype, Env, EnvError, Pcg64, RescaleObservation, Rule, Space, Step, TimeLimit, check_env,
    snapshot,
};
use serde::{Deserialize, Serialize};

/// One way to break a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    NoActions,
    BoundsInReverse,
    BoundsForOtherElements,
    MixedActions,
    SpaceGrows,
    RowNotWritten,
    ObserveWritesNothing,
    NotANumber,
    OutOfBounds,
    ObserveShowsMore,
    SeedIgnored,
    EpisodesNotSeeded,
    AdvanceSkipsAStep,
    LegalActionRefused,
    IllegalActionAccepted,
    IllegalActionOfAnotherType,
    RefusedActionMoves,
    InfiniteReward,
    BothFlags,
    ContinuesWithoutEnd,
    RestoreFails,
    RestoreForgetsPosition,
    SnapshotWithoutGenerator,
    TruncatedSnapshotAccepted,
    TruncatedSnapshotOfAnotherType,
    RefusedSnapshotResets,
}

/// Every fault with the rule that it breaks.
const FAULTS: [(Fault, Rule); 26] = [
    (Fault::NoActions, Rule::SpacesAreValid),
    (Fault::BoundsInReverse, Rule::SpacesAreValid),
    (Fault::BoundsForOtherElements, Rule::SpacesAreValid),
    (Fault::MixedActions, Rule::SpacesAreValid),
    (Fault::SpaceGrows, Rule::SpacesAreConstant),
    (Fault::RowNotWritten, Rule::ObservationsAreWritten),
    (Fault::ObserveWritesNothing, Rule::ObservationsAreWritten),
    (Fault::NotANumber, Rule::ObservationsAreInSpace),
    (Fault::OutOfBounds, Rule::ObservationsAreInSpace),
    (Fault::ObserveShowsMore, Rule::ObserveRepeats),
    (Fault::SeedIgnored, Rule::SeedsDetermineEpisodes),
    (Fault::EpisodesNotSeeded, Rule::SeedsDetermineEpisodes),
    (Fault::AdvanceSkipsAStep, Rule::AdvanceEqualsStep),
    (Fault::LegalActionRefused, Rule::LegalActionsSucceed),
    (Fault::IllegalActionAccepted, Rule::IllegalActionsAreErrors),
    (Fault::IllegalActionOfAnotherType, Rule::IllegalActionsAreErrors),
    (Fault::RefusedActionMoves, Rule::FailedStepsChangeNothing),
    (Fault::InfiniteReward, Rule::RewardsAreFinite),
    (Fault::BothFlags, Rule::FlagsAreConsistent),
    (Fault::ContinuesWithoutEnd, Rule::FlagsAreConsistent),
    (Fault::RestoreFails, Rule::SnapshotsRestore),
    (Fault::RestoreForgetsPosition, Rule::SnapshotsRestore),
    (Fault::SnapshotWithoutGenerator, Rule::RestoredStatesContinue),
    (Fault::TruncatedSnapshotAccepted, Rule::DamagedSnapshotsAreErrors),
    (Fault::TruncatedSnapshotOfAnotherType, Rule::DamagedSnapshotsAreErrors),
    (Fault::RefusedSnapshotResets, Rule::FailedRestoresChangeNothing),
];

const LIMIT: f32 = 100.0;
const EPISODE_LENGTH: u32 = 7;

/// A random walk whose steps are drawn between -1 and 1 and moved by the action.
struct Walk {
    fault: Fault,
    observation_space: Space,
    action_space: Space,
    larger_space: Space,
    state: State,
    observations: Cell<u32>,
}

#[derive(Clone, Serialize, Deserialize)]
struct State {
    position: f32,
    steps: u32,
    generator: Pcg64,
}

impl Walk {
    fn new(fault: Fault) -> Self {
        let observation_space = match fault {
            Fault::BoundsInReverse => Space::floats(1, LIMIT, -LIMIT),
            Fault::BoundsForOtherElements => Space::Box {
                low: Bound::Each(vec![0.0, 1.0]),
                high: Bound::All(LIMIT.into()),
                shape: vec![1],
                dtype: Dtype::F32,
            },
            _ => Space::floats(1, -LIMIT, LIMIT),
        };
        let action_space = match fault {
            Fault::NoActions => Space::discrete(0),
            Fault::MixedActions => Space::tuple([Space::discrete(2), Space::floats(1, 0.0, 1.0)]),
            _ => Space::discrete(3),
        };
        Self {
            fault,
            observation_space,
            action_space,
            larger_space: Space::floats(1, -2.0 * LIMIT, 2.0 * LIMIT),
            state: State { position: 0.0, steps: 0, generator: Pcg64::new(0) },
            observations: Cell::new(0),
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn check(&mut self, action: Action<'_>) -> Result<i32, EnvError> {
        match action.to_index(&self.action_space) {
            Ok(2) if self.has(Fault::LegalActionRefused) => Err(EnvError::Failed("not today".to_owned())),
            Err(_) if self.has(Fault::IllegalActionAccepted) => Ok(0),
            Err(_) if self.has(Fault::IllegalActionOfAnotherType) => {
                Err(EnvError::Failed("no such action".to_owned()))
            }
            Err(error) => {
                if self.has(Fault::RefusedActionMoves) {
                    self.state.position += 1.0;
                }
                Err(error)
            }
            Ok(action) => Ok(action),
        }
    }

    fn make_step(&mut self) -> Step {
        let ends = self.state.steps == EPISODE_LENGTH;
        let truncated = ends && self.state.position > 0.0;
        let reward = if self.has(Fault::InfiniteReward) && ends { f32::INFINITY } else { 1.0 };
        Step {
            terminated: ends && (!truncated || self.has(Fault::BothFlags)),
            truncated,
            continues: self.has(Fault::ContinuesWithoutEnd) && !ends,
            ..Step::reward(reward)
        }
    }
}

impl Env for Walk {
    type Info = ();

    fn observation_space(&self) -> &Space {
        if self.has(Fault::SpaceGrows) && self.state.steps == 3 {
            return &self.larger_space;
        }
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        match seed {
            Some(seed) if !self.has(Fault::SeedIgnored) => self.state.generator = Pcg64::new(seed),
            None if self.has(Fault::EpisodesNotSeeded) => {
                // A second generator that no seed reaches.
                self.observations.set(self.observations.get() + 1);
                self.state.generator = Pcg64::new(self.observations.get().into());
            }
            _ => {}
        }
        self.state.position = self.state.generator.uniform(-1.0, 1.0) as f32;
        self.state.steps = 0;
        self.observe(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let action = self.check(action)?;
        self.state.position += (self.state.generator.uniform(-1.0, 1.0) as f32) + action as f32 - 1.0;
        self.state.steps += 1;
        if self.has(Fault::NotANumber) && self.state.steps == 5 {
            self.state.position = f32::NAN;
        }
        if self.has(Fault::OutOfBounds) && self.state.steps == 5 {
            self.state.position = LIMIT + 1.0;
        }
        if !self.has(Fault::RowNotWritten) {
            observation.copy_from_slice(&self.state.position.to_ne_bytes());
        }
        Ok(self.make_step())
    }

    fn advance(&mut self, action: Action<'_>, scratch: &mut [u8]) -> Result<Step, EnvError> {
        let step = self.step(action, scratch)?;
        if self.has(Fault::AdvanceSkipsAStep) {
            self.state.position += 0.5;
        }
        Ok(step)
    }

    fn info(&self) {}

    fn observe(&self, observation: &mut [u8]) {
        if self.has(Fault::ObserveWritesNothing) {
            return;
        }
        let more = if self.has(Fault::ObserveShowsMore) { self.state.steps as f32 } else { 0.0 };
        observation.copy_from_slice(&(self.state.position + more).to_ne_bytes());
    }

    fn snapshot(&self) -> Vec<u8> {
        let generator = match self.fault {
            Fault::SnapshotWithoutGenerator => Pcg64::new(0),
            _ => self.state.generator.clone(),
        };
        snapshot::encode(&State { generator, ..self.state.clone() })
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        match snapshot::decode::<State>(snapshot) {
            Ok(_) if self.has(Fault::RestoreFails) => Err(EnvError::BadSnapshot("too old".to_owned())),
            Ok(state) if self.has(Fault::RestoreForgetsPosition) => {
                self.state = State { position: 0.0, ..state };
                Ok(())
            }
            Ok(state) => {
                self.state = state;
                Ok(())
            }
            Err(_) if self.has(Fault::TruncatedSnapshotAccepted) => Ok(()),
            Err(_) if self.has(Fault::TruncatedSnapshotOfAnotherType) => {
                Err(EnvError::Failed("too short".to_owned()))
            }
            Err(error) => {
                if self.has(Fault::RefusedSnapshotResets) {
                    self.state.generator = Pcg64::new(0);
                }
                Err(error)
            }
        }
    }
}

#[test]
fn accepts_an_environment_that_follows_all_rules() {
    assert_eq!(check_env(&mut Walk::new(Fault::None)), Ok(()));
}

#[test]
fn accepts_wrapped_environments() {
    assert_eq!(check_env(&mut TimeLimit::new(Walk::new(Fault::None), 3)), Ok(()));
    let rescaled = RescaleObservation::new(TimeLimit::new(Walk::new(Fault::None), 5));
    assert_eq!(check_env(&mut rescaled.unwrap()), Ok(()));
}

#[test]
fn names_the_rule_that_a_fault_breaks() {
    for (fault, rule) in FAULTS {
        let violation = check_env(&mut Walk::new(fault)).expect_err(&format!("{fault:?} is found"));
        assert_eq!(violation.rule, rule, "{fault:?}: {violation}");
    }
}

#[test]
fn every_rule_can_be_broken() {
    for rule in Rule::ALL {
        assert!(FAULTS.iter().any(|&(_, broken)| broken == rule), "{rule:?}");
    }
}

#[test]
fn a_violation_says_what_happened() {
    let violation = check_env(&mut Walk::new(Fault::IllegalActionAccepted)).unwrap_err();
    assert_eq!(
        violation.to_string(),
        "other actions must be InvalidAction errors: step accepted action -2147483648"
    );
}
