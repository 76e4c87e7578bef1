//! The choice of the command, and the small commands, a file each. Larger commands have their own modules.

pub(crate) mod checkpoint;
pub(crate) mod config;
mod dispatch;
pub(crate) mod export;
pub(crate) mod games;
pub(crate) mod man;
pub(crate) mod presets;
pub(crate) mod roms;
pub(crate) mod trace;
pub(crate) mod zoo;

pub(crate) use dispatch::run;
