use std::time::{Duration, Instant};

use ale::Action;
use vcs::Joystick;

/// The time for which a key counts as held after a press, on terminals that do not report releases.
///
/// A held key repeats about thirty times a second, after an initial delay of a quarter of a second or more. So it
/// counts as released once before it repeats. A longer time would make short presses too long.
const HOLD: Duration = Duration::from_millis(180);

/// The player who moves the joystick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Controller {
    Human,
    Agent,
}

/// A direction of the joystick, or its button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Button {
    Up,
    Down,
    Left,
    Right,
    Fire,
}

impl Button {
    const ALL: [Self; 5] = [Self::Up, Self::Down, Self::Left, Self::Right, Self::Fire];

    fn opposite(self) -> Option<Self> {
        match self {
            Self::Up => Some(Self::Down),
            Self::Down => Some(Self::Up),
            Self::Left => Some(Self::Right),
            Self::Right => Some(Self::Left),
            Self::Fire => None,
        }
    }
}

/// The state of one button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    No,
    Until(Instant),
    UntilReleased,
}

/// The buttons that are held.
#[derive(Clone, Debug)]
pub(super) struct HeldButtons {
    held: [Held; 5],
    reports_releases: bool,
}

impl HeldButtons {
    /// Creates a state in which no button is held. `reports_releases` is true if the terminal reports when a key is
    /// released.
    pub(super) fn new(reports_releases: bool) -> Self {
        Self { held: [Held::No; 5], reports_releases }
    }

    /// Handles a key press or its repeat.
    pub(super) fn press(&mut self, button: Button, now: Instant) {
        if let Some(opposite) = button.opposite() {
            self.held[opposite as usize] = Held::No;
        }
        if self.reports_releases {
            self.held[button as usize] = Held::UntilReleased;
            return;
        }
        // Only the key that was pressed last repeats. Directions that are held now are assumed to stay held.
        for other in Button::ALL {
            if other == button || self.is_held(other, now) && other != Button::Fire {
                self.held[other as usize] = Held::Until(now + HOLD);
            }
        }
    }

    pub(super) fn release(&mut self, button: Button) {
        self.held[button as usize] = Held::No;
    }

    pub(super) fn release_all(&mut self) {
        self.held = [Held::No; 5];
    }

    /// Returns the action of the joystick in this state.
    pub(super) fn action(&self, now: Instant) -> Action {
        let [up, down, left, right, fire] = Button::ALL.map(|button| self.is_held(button, now));
        Action::of_joystick(Joystick { up, down, left, right, fire })
    }

    fn is_held(&self, button: Button, now: Instant) -> bool {
        match self.held[button as usize] {
            Held::No => false,
            Held::Until(end) => now < end,
            Held::UntilReleased => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALMOST: Duration = Duration::from_millis(170);

    fn name(buttons: &HeldButtons, now: Instant) -> String {
        buttons.action(now).to_string()
    }

    #[test]
    fn without_releases_a_press_lasts_a_while_and_repeats_extend_it() {
        let mut buttons = HeldButtons::new(false);
        let start = Instant::now();
        assert_eq!(name(&buttons, start), "NOOP");
        buttons.press(Button::Left, start);
        assert_eq!(name(&buttons, start + ALMOST), "LEFT");
        assert_eq!(name(&buttons, start + HOLD), "NOOP");
        for repeat in 0..10 {
            buttons.press(Button::Left, start + repeat * ALMOST);
        }
        assert_eq!(name(&buttons, start + 10 * ALMOST), "LEFT");
    }

    #[test]
    fn without_releases_fire_extends_a_direction_that_stopped_repeating() {
        let mut buttons = HeldButtons::new(false);
        let start = Instant::now();
        buttons.press(Button::Right, start);
        buttons.press(Button::Fire, start + ALMOST);
        assert_eq!(name(&buttons, start + 2 * ALMOST), "RIGHTFIRE");
        // A direction does not extend fire.
        buttons.press(Button::Up, start + 2 * ALMOST);
        assert_eq!(name(&buttons, start + 3 * ALMOST), "UPRIGHT");
    }

    #[test]
    fn with_releases_a_button_is_held_until_its_release() {
        let mut buttons = HeldButtons::new(true);
        let start = Instant::now();
        buttons.press(Button::Down, start);
        buttons.press(Button::Left, start);
        buttons.press(Button::Fire, start);
        let later = start + Duration::from_mins(1);
        assert_eq!(name(&buttons, later), "DOWNLEFTFIRE");
        buttons.release(Button::Left);
        assert_eq!(name(&buttons, later), "DOWNFIRE");
        buttons.release_all();
        assert_eq!(name(&buttons, later), "NOOP");
    }

    #[test]
    fn opposite_directions_are_never_held_together() {
        for reports_releases in [false, true] {
            let mut buttons = HeldButtons::new(reports_releases);
            let now = Instant::now();
            buttons.press(Button::Left, now);
            buttons.press(Button::Right, now);
            buttons.press(Button::Up, now);
            assert_eq!(name(&buttons, now), "UPRIGHT");
        }
    }
}
