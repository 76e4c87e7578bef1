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
    /// Starts a new episode. The console's random generator continues, so that episodes differ.
    pub fn reset_game(&mut self) {
        let game = self.game();
        self.state.episode_frame_number = 0;
        self.state.paddles.centre(self.paddle_range());
        self.state.console.reset();
        self.emulate(Action::NOOP, 1.0, SETTLING_FRAMES, Rendering::Deferred);
        self.soft_reset();
        game.rules.reset(&mut self.state.variables);
        self.state.variables.set_mode(self.state.mode);
        self.select_mode(&game.mode_select, MAX_FRAMES);
        self.soft_reset();
        for &(code, frames) in &game.starting_actions {
            let action = Action::from_sequence(code).unwrap_or(Action::NOOP);
            for _ in 0..frames {
                self.emulate(action, 1.0, 1, Rendering::Deferred);
            }
        }
        self.show();
    }

    fn soft_reset(&mut self) {
        self.emulate(Action::RESET, 1.0, SOFT_RESET_FRAMES, Rendering::Deferred);
        self.state.last_action = LastAction::NOOP;
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
