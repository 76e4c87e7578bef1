//! The controllers and switches of the console during an action.

use serde::{Deserialize, Serialize};
use vcs::{Inputs, Paddle, Switches};

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

    /// Returns both paddles, whose buttons the players' actions press.
    pub(super) fn held(self, actions: [Action; 2]) -> [Paddle; 2] {
        let Self([first, second]) = self;
        let paddle = |resistance, action: Action| Paddle { resistance, fire: action.joystick().fire };
        [paddle(first, actions[0]), paddle(second, actions[1])]
    }
}

/// Returns the state of the controllers and switches during the players' actions. Only the first player's may be the
/// RESET switch. `paddles` are those of the two ports.
pub(super) fn inputs(
    game: &Game,
    actions: [Action; MAX_PLAYERS],
    paddles: [Paddles; 2],
    difficulty: u32,
) -> Inputs {
    let [first, second, third, fourth] = actions;
    let switches = Switches {
        reset: first == Action::RESET,
        select: false,
        left_difficulty_a: difficulty & 1 != 0,
        right_difficulty_a: difficulty & 2 != 0,
    };
    if game.has_paddles() {
        let [left, right] = [paddles[0].held([first, second]), paddles[1].held([third, fourth])];
        Inputs { paddles: [left[0], left[1], right[0], right[1]], switches, ..Inputs::default() }
    } else {
        Inputs { joysticks: [first.joystick(), second.joystick()], switches, ..Inputs::default() }
    }
}
