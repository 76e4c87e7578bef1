//! The controllers and switches of the console during an action.

use serde::{Deserialize, Serialize};
use vcs::{Inputs, Joystick, Paddle, Switches};

use crate::limits::MAX_PLAYERS;
use crate::{Action, Game};

/// Ohms that a paddle turns in one frame.
const PADDLE_STEP: f64 = 23000.0;

/// The resistances of the two paddles in ohms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Paddles([i32; 2]);

impl Paddles {
    /// Puts both paddles of a paddle game into the middle.
    pub(super) fn centre(&mut self, range: Option<(i32, i32)>) {
        if let Some((low, high)) = range {
            self.0 = [low.midpoint(high); 2];
        }
    }

    /// Turns the first or the second paddle by one frame of an action.
    pub(super) fn turn(&mut self, index: usize, range: Option<(i32, i32)>, action: Action, strength: f32) {
        let Some((low, high)) = range else {
            return;
        };
        let stick = action.joystick();
        let step = (PADDLE_STEP * f64::from(strength).abs()) as i32;
        let paddle = &mut self.0[index];
        if stick.right {
            *paddle = paddle.saturating_sub(step);
        } else if stick.left {
            *paddle = paddle.saturating_add(step);
        }
        // `clamp` would panic if settings make the range empty; here the upper end wins.
        *paddle = (*paddle).max(low).min(high);
    }
}

/// Returns the state of the controllers and switches while player A performs `action` and nobody else does anything.
pub(super) fn inputs(game: &Game, action: Action, paddles: Paddles, difficulty: u32) -> Inputs {
    let switches = Switches {
        reset: action == Action::RESET,
        select: false,
        left_difficulty_a: difficulty & 1 != 0,
        right_difficulty_a: difficulty & 2 != 0,
    };
    let stick = action.joystick();
    if game.has_paddles() {
        let Paddles([first, second]) = paddles;
        let first = Paddle { resistance: first, fire: stick.fire };
        let second = Paddle { resistance: second, fire: false };
        Inputs {
            paddles: [first, second, Paddle::default(), Paddle::default()],
            switches,
            ..Inputs::default()
        }
    } else {
        Inputs { joysticks: [stick, Joystick::default()], switches, ..Inputs::default() }
    }
}

/// Adds what the players but the first do. `right` are the paddles in the right port.
pub(super) fn add_others(
    inputs: &mut Inputs,
    game: &Game,
    actions: [Action; MAX_PLAYERS - 1],
    right: Paddles,
) {
    let [second, third, fourth] = actions.map(Action::joystick);
    if game.has_paddles() {
        let Paddles([left, right]) = right;
        inputs.paddles[1].fire = second.fire;
        inputs.paddles[2] = Paddle { resistance: left, fire: third.fire };
        inputs.paddles[3] = Paddle { resistance: right, fire: fourth.fire };
    } else {
        inputs.joysticks[1] = second;
    }
}
