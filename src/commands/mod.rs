//! The commands that are a single file each. The larger ones have folders of their own beside this one.

pub(crate) mod checkpoint;
pub(crate) mod config;
pub(crate) mod export;
pub(crate) mod games;
pub(crate) mod man;
pub(crate) mod presets;
pub(crate) mod roms;
pub(crate) mod trace;
pub(crate) mod zoo;
