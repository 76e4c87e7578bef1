//! The largest values of options. The settings of the application and the Python package use them, too.

/// The most rows or columns of an observation.
pub const MAX_SIDE: usize = 4096;

/// The most players of a game.
pub const MAX_PLAYERS: usize = 4;

/// The most frames in an observation.
pub const MAX_STACK_NUM: usize = 64;

/// The most emulated frames of a step: that of ale-py, whose integers have 32 bits.
pub const MAX_FRAME_SKIP: u32 = i32::MAX.unsigned_abs();

/// The largest bound on the number of no-ops of a reset. This is half an hour of play, the usual limit of an episode.
pub const MAX_NOOP_MAX: u32 = 108_000;
