//! Playing an environment while checking every single call.

use std::fmt;
use std::ops::Range;

use super::actions::OwnedAction;
use super::{Rule, Violation};
use crate::{Action, Env, EnvError, ObservationBuffer, Space, Step};

/// The bytes that a row contains before `reset`, `step` and `advance` write to it, and before `observe` does.
const FILL: [u8; 2] = [0xA5, 0x5A];

/// The method that performs an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Step,
    /// `advance`, then `observe`.
    Advance,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Step => "step",
            Self::Advance => "advance",
        })
    }
}

/// One step, and the reset after it if it ended an episode.
#[derive(Clone, Debug, PartialEq)]
struct Transition {
    step: Step,
    observation: Vec<u8>,
    first_of_next: Option<Vec<u8>>,
}

/// Consecutive steps of an environment.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    start: Vec<u8>,
    transitions: Vec<Transition>,
}

impl Trace {
    /// Returns the observation after `count` steps and the reset that follows them, if any.
    pub(super) fn observation_after(&self, count: usize) -> &[u8] {
        let Some(index) = count.checked_sub(1) else { return &self.start };
        let last = &self.transitions[index];
        last.first_of_next.as_ref().unwrap_or(&last.observation)
    }

    /// Requires that `other` equals this trace from step `from` on, as far as it goes.
    pub(super) fn expect(&self, other: &Self, from: usize, rule: Rule) -> Result<(), Violation> {
        if from == 0 && self.start != other.start {
            return Err(rule.violated("reset wrote a different observation".to_owned()));
        }
        let pairs = self.transitions[from..].iter().zip(&other.transitions).zip(from..);
        for ((expected, actual), index) in pairs {
            if expected.step != actual.step {
                let (expected, actual) = (expected.step, actual.step);
                return Err(rule.violated(format!("step {index} returned {actual:?}, not {expected:?}")));
            }
            if expected != actual {
                return Err(rule.violated(format!("the observation differs after step {index}")));
            }
        }
        Ok(())
    }

    /// Requires that the environment shows this observation after a snapshot has been restored.
    pub(super) fn expect_start(&self, observation: &[u8]) -> Result<(), Violation> {
        if self.start == observation {
            return Ok(());
        }
        Err(Rule::SnapshotsRestore.violated("observe shows a different observation after restore".to_owned()))
    }
}

/// An environment and the actions that it is played with.
pub(super) struct Player<'a, E: ?Sized> {
    pub(super) env: &'a mut E,
    actions: Vec<OwnedAction>,
    observation_space: Space,
    action_space: Space,
    /// The row that `reset` and `step` write, and the row that `observe` writes.
    rows: ObservationBuffer,
}

impl<'a, E: Env + ?Sized> Player<'a, E> {
    pub(super) fn new(env: &'a mut E, actions: Vec<OwnedAction>) -> Self {
        let (observation_space, action_space) = (env.observation_space().clone(), env.action_space().clone());
        let rows = ObservationBuffer::new(2, observation_space.byte_len());
        Self { env, actions, observation_space, action_space, rows }
    }

    /// Plays all actions after a reset with `seed`.
    pub(super) fn play_from(&mut self, seed: u64, call: Call) -> Result<Trace, Violation> {
        let mut trace = self.start(seed)?;
        self.play(&mut trace, 0..self.actions.len(), call)?;
        Ok(trace)
    }

    /// Begins a trace with a reset.
    pub(super) fn start(&mut self, seed: u64) -> Result<Trace, Violation> {
        Ok(Trace { start: self.reset(Some(seed))?, transitions: Vec::new() })
    }

    /// Begins a trace with a snapshot.
    pub(super) fn restore(&mut self, snapshot: &[u8]) -> Result<Trace, Violation> {
        let restored = self.env.restore(snapshot);
        restored.map_err(|error| Rule::SnapshotsRestore.violated(error.to_string()))?;
        self.fill_rows();
        self.env.observe(self.rows.row_mut(0));
        Ok(Trace { start: self.checked_observation("observe")?, transitions: Vec::new() })
    }

    /// Plays some of the actions. Episodes that end are followed by a reset without a seed.
    pub(super) fn play(
        &mut self,
        trace: &mut Trace,
        actions: Range<usize>,
        call: Call,
    ) -> Result<(), Violation> {
        for index in actions {
            let transition = self.transition(index, call)?;
            trace.transitions.push(transition);
        }
        Ok(())
    }

    /// Performs an action without any checks. The observation is in the first row.
    pub(super) fn call(&mut self, call: Call, action: Action<'_>) -> Result<Step, EnvError> {
        self.fill_rows();
        let row = self.rows.row_mut(0);
        match call {
            Call::Step => self.env.step(action, row),
            Call::Advance => {
                let step = self.env.advance(action, row)?;
                self.env.observe(row);
                Ok(step)
            }
        }
    }

    fn transition(&mut self, index: usize, call: Call) -> Result<Transition, Violation> {
        let action = self.actions[index].clone();
        let step = self.call(call, action.as_action()).map_err(|error| {
            Rule::LegalActionsSucceed.violated(format!("{call} with action {action} failed: {error}"))
        })?;
        check_step(&step)?;
        let observation = self.checked_observation(&call.to_string())?;
        let first_of_next = if step.ends_episode() { Some(self.reset(None)?) } else { None };
        Ok(Transition { step, observation, first_of_next })
    }

    fn reset(&mut self, seed: Option<u64>) -> Result<Vec<u8>, Violation> {
        self.fill_rows();
        self.env.reset(seed, self.rows.row_mut(0));
        self.checked_observation("reset")
    }

    fn fill_rows(&mut self) {
        self.rows.rows_mut().zip(FILL).for_each(|(row, fill)| row.fill(fill));
    }

    /// Returns the first row, which `call` has written, after checking it and the spaces.
    fn checked_observation(&mut self, call: &str) -> Result<Vec<u8>, Violation> {
        self.env.observe(self.rows.row_mut(1));
        let (written, observed) = (self.rows.row(0), self.rows.row(1));
        for leaf in self.observation_space.leaves() {
            let mut bytes = leaf.offset..leaf.offset + leaf.byte_len();
            if let Some(byte) = bytes.find(|&byte| written[byte] != observed[byte]) {
                let values = [written[byte], observed[byte]];
                let is_unwritten = values.iter().zip(&FILL).any(|(value, fill)| value == fill);
                let rule = if is_unwritten { Rule::ObservationsAreWritten } else { Rule::ObserveRepeats };
                let details = format!("byte {byte} of the row is {values:?} after {call} and after observe");
                return Err(rule.violated(details));
            }
            for index in 0..leaf.space.num_elements() {
                let (value, (low, high)) = (leaf.element(written, index), leaf.space.range(index));
                if !(low..=high).contains(&value) {
                    let at = format!("element {index} of leaf {:?}", leaf.path);
                    let details =
                        format!("{call} wrote {value} as {at}, which must lie between {low} and {high}");
                    return Err(Rule::ObservationsAreInSpace.violated(details));
                }
            }
        }
        self.check_spaces(call)?;
        Ok(written.to_vec())
    }

    fn check_spaces(&self, call: &str) -> Result<(), Violation> {
        let spaces = [
            (self.env.observation_space(), &self.observation_space),
            (self.env.action_space(), &self.action_space),
        ];
        match spaces.into_iter().find(|(now, before)| now != before) {
            None => Ok(()),
            Some((now, before)) => {
                Err(Rule::SpacesAreConstant.violated(format!("{call} turned {before} into {now}")))
            }
        }
    }
}

fn check_step(step: &Step) -> Result<(), Violation> {
    if !step.reward.is_finite() || !step.raw_reward.is_finite() {
        return Err(Rule::RewardsAreFinite.violated(format!("{step:?}")));
    }
    if step.terminated && step.truncated || step.continues && !step.terminated {
        return Err(Rule::FlagsAreConsistent.violated(format!("{step:?}")));
    }
    Ok(())
}
