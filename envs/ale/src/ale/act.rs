//! Acting: sticky actions, the frame skip, and one emulated frame with the game's rules.

use rl_env::interrupt;
use vcs::Inputs;

use super::{Ale, LastAction, State, input};
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
    ///
    /// With several [players](crate::AleSettings::players), this is the action of the first one, without `strength`,
    /// while the others do nothing; [`act_players`](Self::act_players) has an action for each.
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
        if self.others.is_some() {
            return self.act_all([action, Action::NOOP, Action::NOOP, Action::NOOP])[0];
        }
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
        self.generate_sound();
        reward
    }

    /// Generates the sound of an act.
    pub(super) fn generate_sound(&mut self) {
        if let Some(sound) = &mut self.sound {
            sound.generate(self.state.console.sound_registers());
        }
    }

    /// Emulates one frame of the last action, unless the episode is over. Returns its reward.
    pub(super) fn frame(&mut self, rendering: Rendering) -> i32 {
        if self.game_over() || self.truncated() {
            return 0;
        }
        let LastAction { code, strength } = self.state.last_action;
        let legal = self.game().legal_actions.contains(&code);
        let action = Action::new(code).filter(|_| legal).unwrap_or(Action::NOOP);
        self.hold_last_actions();
        self.emulate(action, strength, 1, rendering);
        self.release();
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
        let (play, paddle_range) = (self.play(), self.paddle_range());
        for _ in 0..frames {
            self.state.paddles.turn(0, paddle_range, action, strength);
            if let Some(others) = &mut self.others {
                others.turn_paddles(&mut self.state.paddles, paddle_range);
            }
            let inputs = self.inputs(action);
            let state = &mut self.state;
            state.console.set_inputs(inputs);
            match rendering {
                Rendering::Immediate => state.console.run_frame(),
                Rendering::Deferred => state.console.run_frame_undrawn(),
            }
            if let Some(byte) = play.rules.step(&mut state.variables, &state.console) {
                state.console.drive_bus(byte);
            }
        }
        self.state.console.read_out_ram();
    }

    /// Returns the state of the controllers and switches during an action.
    pub(super) fn inputs(&self, action: Action) -> Inputs {
        let State { paddles, difficulty, .. } = self.state;
        let mut inputs = input::inputs(self.game(), action, paddles, difficulty);
        if let Some(others) = &self.others {
            input::add_others(&mut inputs, self.game(), others.held(), others.paddles);
        }
        inputs
    }
}
