//! The eighteen actions of a joystick with one button.

use std::fmt;

use vcs::Joystick;

/// The number of actions.
pub const ACTIONS: u8 = 18;

/// The names of the actions by code, spelled as in ale-py.
pub const ACTION_NAMES: [&str; ACTIONS as usize] = [
    "NOOP",
    "FIRE",
    "UP",
    "RIGHT",
    "LEFT",
    "DOWN",
    "UPRIGHT",
    "UPLEFT",
    "DOWNRIGHT",
    "DOWNLEFT",
    "UPFIRE",
    "RIGHTFIRE",
    "LEFTFIRE",
    "DOWNFIRE",
    "UPRIGHTFIRE",
    "UPLEFTFIRE",
    "DOWNRIGHTFIRE",
    "DOWNLEFTFIRE",
];

/// The number of options of each choice in an action: the button (released, pressed), the horizontal direction (none,
/// right, left) and the vertical one (none, up, down).
pub const CHOICES: [usize; 3] = [2, 3, 3];

/// The options chosen by each action, by its code: one for each of the [`CHOICES`].
pub const ACTION_FACTORS: [[usize; 3]; ACTIONS as usize] = [
    [0, 0, 0],
    [1, 0, 0],
    [0, 0, 1],
    [0, 1, 0],
    [0, 2, 0],
    [0, 0, 2],
    [0, 1, 1],
    [0, 2, 1],
    [0, 1, 2],
    [0, 2, 2],
    [1, 0, 1],
    [1, 1, 0],
    [1, 2, 0],
    [1, 0, 2],
    [1, 1, 1],
    [1, 2, 1],
    [1, 1, 2],
    [1, 2, 2],
];

/// An action of the player, code 0 to 17, or the RESET switch.
///
/// ```
/// use ale::Action;
///
/// let action = Action::new(14).expect("codes below 18 are actions");
/// assert_eq!(action.to_string(), "UPRIGHTFIRE");
/// assert!(action.joystick().up && action.joystick().fire);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action(u8);

impl Action {
    /// No operation.
    pub const NOOP: Self = Self(0);
    /// The fire button.
    pub const FIRE: Self = Self(1);
    /// The RESET switch of the console, code 40. Only reset sequences use it.
    pub(crate) const RESET: Self = Self(40);

    /// Returns the action with this code, or `None` if it is not 0 to 17.
    pub fn new(code: u8) -> Option<Self> {
        (code < ACTIONS).then_some(Self(code))
    }

    /// Returns an action of a game's reset sequence: 0 to 17 or 40.
    pub(crate) fn from_sequence(code: u8) -> Option<Self> {
        if code == Self::RESET.0 { Some(Self::RESET) } else { Self::new(code) }
    }

    /// Returns the code.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// Returns the action that corresponds to a joystick position. Opposite directions must not be held together.
    pub fn of_joystick(held: Joystick) -> Self {
        let directions = match (held.up, held.right, held.left, held.down) {
            (true, true, _, _) => 6,
            (true, _, true, _) => 7,
            (_, true, _, true) => 8,
            (_, _, true, true) => 9,
            (true, ..) => 2,
            (_, true, ..) => 3,
            (_, _, true, _) => 4,
            (.., true) => 5,
            _ => 0,
        };
        Self(match (directions, held.fire) {
            (0, fire) => fire.into(),
            (directions, false) => directions,
            (directions, true) => directions + 8,
        })
    }

    /// Returns the position of the joystick. It is released for the RESET switch.
    pub fn joystick(self) -> Joystick {
        let (directions, fire) = match self.0 {
            1 => (0, true),
            2..=9 => (self.0, false),
            10..=17 => (self.0 - 8, true),
            _ => (0, false),
        };
        Joystick {
            up: matches!(directions, 2 | 6 | 7),
            right: matches!(directions, 3 | 6 | 8),
            left: matches!(directions, 4 | 7 | 9),
            down: matches!(directions, 5 | 8 | 9),
            fire,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ACTION_NAMES.get(usize::from(self.0)).unwrap_or(&"RESET"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_factors_of_the_actions_are_all_combinations_and_match_the_names() {
        for (name, &[button, horizontal, vertical]) in ACTION_NAMES.iter().zip(&ACTION_FACTORS) {
            let parts =
                [["", "UP", "DOWN"][vertical], ["", "RIGHT", "LEFT"][horizontal], ["", "FIRE"][button]];
            let spelled = parts.concat();
            assert_eq!(*name, if spelled.is_empty() { "NOOP" } else { &spelled });
        }
        let distinct: BTreeSet<_> = ACTION_FACTORS.into_iter().collect();
        assert_eq!(distinct.len(), CHOICES.iter().product());
    }

    #[test]
    fn joystick_positions_match_the_action_names() {
        for (code, name) in ACTION_NAMES.iter().enumerate() {
            let action = Action::new(code as u8).unwrap();
            let stick = action.joystick();
            assert_eq!(Action::of_joystick(stick), action);
            for (part, held) in [
                ("UP", stick.up),
                ("DOWN", stick.down),
                ("LEFT", stick.left),
                ("RIGHT", stick.right),
                ("FIRE", stick.fire),
            ] {
                assert_eq!(held, name.contains(part), "{name}: {part}");
            }
        }
        assert_eq!(Action::new(18), None);
    }
}
