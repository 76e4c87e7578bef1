//! Acting: sticky actions, the frame skip, and one emulated frame with the game's rules.

use rl_env::interrupt;
use vcs::Inputs;

use super::{Ale, LastAction, input};
use crate::Action;
use crate::average::Averages;

/// The time at which the screen of a frame is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rendering {
    Immediate,
    /// Only on request, which saves time if none is made.
    Deferred,
}

/// The number of frames between two polls for an interruption: tens of milliseconds. A step of fewer frames never
/// polls.
const FRAMES_PER_POLL: u32 = 1024;

/// Returns true if frames should not be continued after the one with this index or this number of remaining ones.
pub(crate) fn is_interrupted_at(frame: u32) -> bool {
    frame % FRAMES_PER_POLL == FRAMES_PER_POLL - 1 && interrupt::poll()
}

impl Ale {
    /// Performs `action` for [`frame_skip`](crate::AleSettings::frame_skip) frames and returns the sum of their
    /// rewards. `strength` scales the turning of a paddle (continuous actions); it is 1 otherwise.
    ///
    /// Every frame draws two random numbers, one for each player, even without sticky actions and after the end of the
    /// episode. An [interruption](rl_env::interrupt) skips the remaining frames.
    pub fn act(&mut self, action: Action, strength: f32) -> i32 {
        let reward = self.act_in(action, strength, Rendering::Immediate);
        self.show();
        reward
    }

    /// Like [`act`](Self::act), but does not draw the screen, which takes less time. [`screen`](Self::screen) is valid
    /// only after the next `act` or after [`show`](Self::show).
    pub fn act_undrawn(&mut self, action: Action, strength: f32) -> i32 {
        self.act_in(action, strength, Rendering::Deferred)
    }

    /// Draws the screen of the last frame if it has not been drawn yet.
    pub fn show(&mut self) {
        if self.settings.color_averaging {
            self.state.console.draw_screens();
            self.average_screens();
        } else {
            self.state.console.draw_screen();
        }
    }

    /// Averages the last two frames, which must be drawn.
    pub(super) fn average_screens(&mut self) {
        let console = &self.state.console;
        let averages = Averages::for_tv(self.powered.tv());
        let previous = match &self.replaced {
            Some((screen, frame)) if self.state.frame_number == frame.wrapping_add(1) => screen.as_slice(),
            _ => console.previous_screen(),
        };
        averages.write(previous, console.screen(), &mut self.averaged);
    }

    fn act_in(&mut self, action: Action, strength: f32, rendering: Rendering) -> i32 {
        let mut reward: i32 = 0;
        for remaining in (0..self.settings.frame_skip).rev() {
            let p = f64::from(self.settings.repeat_action_probability);
            if self.state.random.next_f64() >= p {
                self.state.last_action = LastAction { code: action.code(), strength };
            }
            self.state.random.next_f64();
            let rendering = if remaining > 0 { Rendering::Deferred } else { rendering };
            reward = reward.wrapping_add(self.record_frame(rendering));
            if is_interrupted_at(remaining) {
                break;
            }
        }
        if let Some(sound) = &mut self.sound {
            sound.generate(self.state.console.sound_registers());
        }
        reward
    }

    /// Emulates one frame of the last action, unless the episode is over. Returns its reward.
    pub(super) fn frame(&mut self, rendering: Rendering) -> i32 {
        if self.game_over() || self.truncated() {
            return 0;
        }
        let LastAction { code, strength } = self.state.last_action;
        let legal = self.game().legal_actions.contains(&code);
        let action = Action::new(code).filter(|_| legal).unwrap_or(Action::NOOP);
        self.emulate(action, strength, 1, rendering);
        self.count_frame();
        self.state.variables.reward()
    }

    pub(super) fn count_frame(&mut self) {
        self.state.frame_number = self.state.frame_number.wrapping_add(1);
        self.state.episode_frame_number = self.state.episode_frame_number.wrapping_add(1);
    }

    /// Emulates frames of an action, applies the game's rules after each, and copies RAM at the end.
    ///
    /// ale-py's rules and its copy of RAM read through the bus. This affects programs that run at the TIA's addresses,
    /// where an instruction fetch returns the last byte on the bus (theme "noise" of `tests/behaviour/synthetic`).
    pub(super) fn emulate(&mut self, action: Action, strength: f32, frames: u32, rendering: Rendering) {
        let (game, paddle_range) = (self.game(), self.paddle_range());
        for _ in 0..frames {
            self.state.paddles.turn(paddle_range, action, strength);
            let inputs = self.inputs(action);
            let state = &mut self.state;
            state.console.set_inputs(inputs);
            match rendering {
                Rendering::Immediate => state.console.run_frame(),
                Rendering::Deferred => state.console.run_frame_undrawn(),
            }
            if let Some(byte) = game.rules.step(&mut state.variables, &state.console) {
                state.console.drive_bus(byte);
            }
        }
        self.state.console.read_out_ram();
    }

    /// Returns the state of the controllers and switches during an action.
    pub(super) fn inputs(&self, action: Action) -> Inputs {
        input::inputs(self.game(), action, self.state.paddles, self.state.difficulty)
    }
}
