//! Resets: settling frames, mode selection, starting actions.

use super::act::Rendering;
use super::{Ale, LastAction, State};
use crate::Action;
use crate::mode_select::{MAX_FRAMES, Operation};
use crate::rules::Expression;

/// Frames of NOOP at the beginning of a reset.
const SETTLING_FRAMES: u32 = 60;
/// Frames for which RESET is held.
const SOFT_RESET_FRAMES: u32 = 4;

impl Ale {
    /// Starts a new episode. The console's random generator continues, so that episodes differ. With several players,
    /// the numbers come from the generator of sticky actions.
    pub fn reset_game(&mut self) {
        let play = self.play();
        self.state.episode_frame_number = 0;
        let range = self.paddle_range();
        self.state.paddles.centre(range);
        if let Some(others) = &mut self.others {
            others.paddles.centre(range);
            self.state.console.reset_with(&mut self.state.random);
        } else {
            self.state.console.reset();
        }
        self.emulate(Action::NOOP, 1.0, SETTLING_FRAMES, Rendering::Deferred);
        self.soft_reset();
        play.rules.reset(&mut self.state.variables);
        self.state.variables.set_mode(self.state.mode);
        self.select_mode(&play.mode_select, MAX_FRAMES);
        self.soft_reset();
        if self.others.is_some() {
            self.start_both(&play.starting_actions);
        } else {
            self.start(&play.starting_actions);
        }
        self.show();
    }

    /// Performs the starting actions.
    fn start(&mut self, actions: &[(u8, u32)]) {
        for (action, frames) in sequence(actions) {
            for _ in 0..frames {
                self.emulate(action, 1.0, 1, Rendering::Deferred);
            }
        }
    }

    /// Lets the first two players perform the starting actions, one after the other, each followed by a NOOP.
    fn start_both(&mut self, actions: &[(u8, u32)]) {
        self.start(actions);
        self.emulate(Action::NOOP, 1.0, 1, Rendering::Deferred);
        for (action, frames) in sequence(actions) {
            self.hold_as_second(action);
            self.emulate(Action::NOOP, 1.0, frames, Rendering::Deferred);
        }
        self.release();
        self.emulate(Action::NOOP, 1.0, 1, Rendering::Deferred);
    }

    fn soft_reset(&mut self) {
        self.emulate(Action::RESET, 1.0, SOFT_RESET_FRAMES, Rendering::Deferred);
        self.state.last_action = LastAction::NOOP;
        if let Some(others) = &mut self.others {
            others.forget_actions();
        }
    }

    /// Selects the mode, in every reset and for the default mode too. Returns how many of `frames` remain.
    fn select_mode(&mut self, operations: &[Operation], mut frames: u32) -> u32 {
        for operation in operations {
            match operation {
                Operation::Select { hold } => {
                    let hold = u32::try_from(self.evaluate(hold)).unwrap_or(0);
                    self.press_select(hold);
                    frames = frames.saturating_sub(hold + 1);
                }
                Operation::Reset => self.soft_reset(),
                Operation::Act { action, times } => {
                    let action = u8::try_from(self.evaluate(action)).ok().and_then(Action::new);
                    for _ in 0..*times {
                        self.act_undrawn(action.unwrap_or(Action::NOOP), 1.0);
                    }
                    frames = frames.saturating_sub(*times);
                }
                Operation::Let { slot, value } => {
                    let value = self.evaluate(value);
                    self.state.variables.set(*slot, value);
                }
                Operation::Until { condition, body, max } => {
                    let mut rounds = 0;
                    while self.evaluate(condition) == 0 && rounds < *max && frames > 0 {
                        frames = self.select_mode(body, frames);
                        rounds += 1;
                    }
                }
            }
        }
        frames
    }

    fn evaluate(&mut self, expression: &Expression) -> i32 {
        let State { console, random, variables, .. } = &mut self.state;
        expression.value(&mut variables.scope(console, Some(random)))
    }

    /// Holds SELECT for some frames without applying the rules, then releases it for one frame with them. Both frame
    /// counters advance by one.
    fn press_select(&mut self, frames: u32) {
        let mut inputs = self.inputs(Action::NOOP);
        inputs.switches.select = true;
        self.state.console.set_inputs(inputs);
        for _ in 0..frames {
            self.state.console.run_frame();
        }
        self.state.console.read_out_ram();
        self.emulate(Action::NOOP, 1.0, 1, Rendering::Deferred);
        self.count_frame();
    }
}

/// Returns the actions of a reset sequence, each with its number of frames.
fn sequence(actions: &[(u8, u32)]) -> impl Iterator<Item = (Action, u32)> {
    actions.iter().map(|&(code, frames)| (Action::from_sequence(code).unwrap_or(Action::NOOP), frames))
}
