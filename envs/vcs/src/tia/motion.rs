//! Horizontal motion: HMOVE at any cycle of the line, and the Cosmic Ark starfield.

use serde::{Deserialize, Serialize};

/// Returns the pixels to the right by which HMOVE at `cycle` (0 to 75) of a line moves objects, by their motion values
/// (0 to 15).
///
/// The regular time is just after WSYNC (cycle 3). At cycles 4 to 20 some of the motion to the left is lost
/// (`video_chess`, trondead). At 21 to 54 nothing moves (entombed, amidar), and at 55 to 74 objects move left only
/// (koolaid).
#[inline]
pub(super) fn hmove(cycle: u32) -> &'static [i8; 16] {
    &PIXELS[cycle as usize]
}

/// Pixels by cycle and motion value.
static PIXELS: [[i8; 16]; 76] = {
    let mut table = [[0; 16]; 76];
    let mut cycle = 0;
    while cycle < 76 {
        let mut motion = 0;
        while motion < 16 {
            table[cycle][motion as usize] = pixels(cycle, motion);
            motion += 1;
        }
        cycle += 1;
    }
    table
};

const fn pixels(cycle: usize, motion: i8) -> i8 {
    let regular = if motion < 8 { -motion } else { 16 - motion };
    match cycle {
        0..=20 if regular < AT_LEAST[cycle] => AT_LEAST[cycle],
        21..=54 => 0,
        55..=74 if regular + LATE[cycle - 55] > 0 => 0,
        55..=74 => regular + LATE[cycle - 55],
        _ => regular,
    }
}

/// Cycles 0 to 20: minimum motion to the right, because some of the clocks that move an object left come too late.
const AT_LEAST: [i8; 21] = [-7, -7, -7, -7, -6, -5, -5, -4, -3, -2, -2, -1, 0, 1, 1, 2, 3, 4, 4, 5, 6];

/// Cycles 55 to 74: difference from the regular motion, because some clocks already belong to the next line.
const LATE: [i8; 20] = [6, 5, 4, 4, 3, 2, 1, 1, 0, -1, -2, -2, -3, -4, -5, -5, -6, -7, -8, -8];

/// The motion of missile 0 that draws the stars of Cosmic Ark. `journey_escape` uses it all the time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CosmicArk {
    pub(super) active: bool,
    /// Lines modulo 4.
    pub(super) counter: u8,
}

impl CosmicArk {
    /// Colour clocks from HMOVE to the write of HMM0 that starts the motion.
    pub(super) const TRIGGER: i32 = 63;
    /// The old and new value of HMM0 that start the motion.
    pub(super) const CHANGE: (u8, u8) = (7, 6);
    /// Pixels by which the missile moves left in each of four lines.
    pub(super) const STEPS: [i32; 4] = [18, 33, 0, 17];
}
