use std::f32::consts::PI;

use rl_env::Space;
use vcs::Joystick;

use crate::Action;

/// Returns the action space: radius, angle and button.
pub(super) fn space() -> Space {
    Space::float_ranges(&[(0.0, 1.0), (-PI, PI), (0.0, 1.0)])
}

/// Converts the position of an analogue stick and its button to an action and the strength with which it turns a
/// paddle.
///
/// The position is the distance from the centre and the angle, 0 to the right and growing counterclockwise. A direction
/// is held if its component exceeds `threshold`. Positions outside the space are accepted. As in ale-py, all arithmetic
/// is in single precision, which decides positions exactly at the threshold.
pub(super) fn read(&[radius, angle, button]: &[f32; 3], threshold: f32) -> (Action, f32) {
    let (x, y) = (radius * angle.cos(), radius * angle.sin());
    // With a negative threshold both of two opposite directions may be held; they then cancel.
    let further_than = |one_way: f32| one_way > threshold && -one_way <= threshold;
    let held = Joystick {
        up: further_than(y),
        right: further_than(x),
        left: further_than(-x),
        down: further_than(-y),
        fire: button > threshold,
    };
    (Action::of_joystick(held), radius)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(stick: [f32; 3]) -> String {
        read(&stick, 0.5).0.to_string()
    }

    #[test]
    fn angles_grow_counterclockwise_from_the_right() {
        for (eighth, name_there) in
            ["RIGHT", "UPRIGHT", "UP", "UPLEFT", "LEFT", "DOWNLEFT", "DOWN", "DOWNRIGHT"].iter().enumerate()
        {
            let angle = eighth as f32 * PI / 4.0;
            assert_eq!(name([1.0, angle, 0.0]), *name_there);
            assert_eq!(name([1.0, angle - 2.0 * PI, 1.0]), format!("{name_there}FIRE"));
        }
    }

    #[test]
    fn thresholds_are_strict() {
        assert_eq!(name([0.5, 0.0, 0.5]), "NOOP");
        assert_eq!(name([0.500_000_1, 0.0, 0.500_000_1]), "RIGHTFIRE");
        assert_eq!(name([0.0, 2.0, 1.0]), "FIRE");
        assert_eq!(read(&[0.6, 0.0, 0.0], 0.7), (Action::NOOP, 0.6));
    }

    #[test]
    fn opposite_directions_cancel() {
        assert_eq!(read(&[0.0, 0.0, -1.0], -0.1).0, Action::NOOP);
        assert_eq!(read(&[1.0, PI / 2.0, -1.0], -0.1).0.to_string(), "UP");
        assert_eq!(read(&[1.0, -3.0 * PI / 4.0, -1.0], -0.1).0.to_string(), "DOWNLEFT");
    }
}
