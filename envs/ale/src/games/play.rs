//! The resets and the rules of a game.

use crate::mode_select::Operation;
use crate::rules::Rules;

/// How a game is reset, and its rewards, lives and ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Play {
    /// The actions at the end of every reset, each with its number of frames. In games for several players, the first
    /// player performs them, then the second one.
    pub(crate) starting_actions: Vec<(u8, u32)>,
    pub(crate) mode_select: Vec<Operation>,
    pub(crate) rules: Rules,
}
