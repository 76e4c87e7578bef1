use std::time::{Duration, Instant};

use ale::Action;
use vcs::Joystick;

/// How long a key counts as held after a press, on terminals that do not tell when it is let go.
///
/// A key that is kept down repeats some thirty times a second, after a first pause of a quarter of a second or more.
const HOLD: Duration = Duration::from_millis(180);

/// A part of the joystick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stick {
    Up,
    Down,
    Left,
    Right,
    Fire,
}

impl Stick {
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

/// Until when a part of the joystick is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    No,
    Until(Instant),
    /// Until it is let go.
    Down,
}

/// Which parts of the joystick are held.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    held: [Held; 5],
    /// Whether the terminal tells when a key is let go.
    has_releases: bool,
}

impl Keys {
    /// Nothing is held, on a terminal that may tell when a key is let go.
    pub(super) fn new(has_releases: bool) -> Self {
        Self { held: [Held::No; 5], has_releases }
    }

    /// A key was pressed, or repeats.
    pub(super) fn press(&mut self, stick: Stick, now: Instant) {
        if let Some(opposite) = stick.opposite() {
            self.held[opposite as usize] = Held::No;
        }
        if self.has_releases {
            self.held[stick as usize] = Held::Down;
            return;
        }
        // Only the key that was pressed last repeats: others that are held at this moment are taken to stay held as long.
        for other in Stick::ALL {
            if other == stick || self.is_held(other, now) && other != Stick::Fire {
                self.held[other as usize] = Held::Until(now + HOLD);
            }
        }
    }

    /// A key was let go.
    pub(super) fn release(&mut self, stick: Stick) {
        self.held[stick as usize] = Held::No;
    }

    /// Nobody hears any more what is let go.
    pub(super) fn release_all(&mut self) {
        self.held = [Held::No; 5];
    }

    /// What the joystick does now.
    pub(super) fn action(&self, now: Instant) -> Action {
        let [up, down, left, right, fire] = Stick::ALL.map(|stick| self.is_held(stick, now));
        Action::of_joystick(Joystick { up, down, left, right, fire })
    }

    fn is_held(&self, stick: Stick, now: Instant) -> bool {
        match self.held[stick as usize] {
            Held::No => false,
            Held::Until(end) => now < end,
            Held::Down => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALMOST: Duration = Duration::from_millis(170);

    fn name(keys: &Keys, now: Instant) -> String {
        keys.action(now).to_string()
    }

    #[test]
    fn without_releases_a_key_is_held_for_a_while_and_repeats_hold_it_on() {
        let mut keys = Keys::new(false);
        let start = Instant::now();
        assert_eq!(name(&keys, start), "NOOP");
        keys.press(Stick::Left, start);
        assert_eq!(name(&keys, start + ALMOST), "LEFT");
        assert_eq!(name(&keys, start + HOLD), "NOOP");
        for repeat in 0..10 {
            keys.press(Stick::Left, start + repeat * ALMOST);
        }
        assert_eq!(name(&keys, start + 10 * ALMOST), "LEFT");
    }

    #[test]
    fn without_releases_fire_does_not_end_a_direction_that_stops_repeating() {
        let mut keys = Keys::new(false);
        let start = Instant::now();
        keys.press(Stick::Right, start);
        keys.press(Stick::Fire, start + ALMOST);
        assert_eq!(name(&keys, start + 2 * ALMOST), "RIGHTFIRE");
        // But a direction does not keep the button down.
        keys.press(Stick::Up, start + 2 * ALMOST);
        assert_eq!(name(&keys, start + 3 * ALMOST), "UPRIGHT");
    }

    #[test]
    fn with_releases_a_key_is_held_until_it_is_let_go() {
        let mut keys = Keys::new(true);
        let start = Instant::now();
        keys.press(Stick::Down, start);
        keys.press(Stick::Left, start);
        keys.press(Stick::Fire, start);
        let later = start + Duration::from_mins(1);
        assert_eq!(name(&keys, later), "DOWNLEFTFIRE");
        keys.release(Stick::Left);
        assert_eq!(name(&keys, later), "DOWNFIRE");
        keys.release_all();
        assert_eq!(name(&keys, later), "NOOP");
    }

    #[test]
    fn a_joystick_is_never_pushed_to_both_sides() {
        for has_releases in [false, true] {
            let mut keys = Keys::new(has_releases);
            let now = Instant::now();
            keys.press(Stick::Left, now);
            keys.press(Stick::Right, now);
            keys.press(Stick::Up, now);
            assert_eq!(name(&keys, now), "UPRIGHT");
        }
    }
}
