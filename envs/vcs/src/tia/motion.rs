//! Horizontal motion: HMOVE at any cycle of the line, and the Cosmic Ark starfield.

use serde::{Deserialize, Serialize};

/// How many pixels to the right HMOVE at `cycle` (0 to 75) of a line moves an object with this motion value (0 to 15).
///
/// The regular moment is just after WSYNC (cycle 3). HMOVE at cycles 4 to 20 counts on (`video_chess`, trondead), at 21
/// to 54 moves nothing (entombed, amidar), at 55 to 74 moves left only (koolaid).
pub(super) fn hmove(cycle: u32, motion: u8) -> i32 {
    let regular = if motion < 8 { -i32::from(motion) } else { 16 - i32::from(motion) };
    let cycle = cycle as usize;
    match cycle {
        0..=20 => regular.max(AT_LEAST[cycle]),
        21..=54 => 0,
        55..=74 => (regular + LATE[cycle - 55]).min(0),
        _ => regular,
    }
}

/// Cycles 0 to 20: some of the clocks that move an object left come too late.
const AT_LEAST: [i32; 21] = [-7, -7, -7, -7, -6, -5, -5, -4, -3, -2, -2, -1, 0, 1, 1, 2, 3, 4, 4, 5, 6];

/// Cycles 55 to 74: some clocks already count for the next line.
const LATE: [i32; 20] = [6, 5, 4, 4, 3, 2, 1, 1, 0, -1, -2, -2, -3, -4, -5, -5, -6, -7, -8, -8];

/// The motion of missile 0 that Cosmic Ark makes its stars from, and `journey_escape` uses all the time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CosmicArk {
    pub(super) active: bool,
    /// Lines modulo 4.
    pub(super) counter: u8,
}

impl CosmicArk {
    /// The distance in colour clocks from HMOVE to the write of HMM0 that starts the motion.
    pub(super) const TRIGGER: i32 = 63;
    /// The old and the new value of HMM0 that start it.
    pub(super) const CHANGE: (u8, u8) = (7, 6);
    /// How far to the left the missile goes in each of four lines.
    pub(super) const STEPS: [i32; 4] = [18, 33, 0, 17];
}
