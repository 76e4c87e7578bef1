//! The program, used as its users do.

mod agents;
mod browser;
mod cards;
#[path = "../chromium/mod.rs"]
mod chromium;
mod cli;
mod divergence;
mod export;
#[cfg(unix)]
mod modes;
mod pictures;
mod plan;
#[cfg(unix)]
mod play;
mod presets;
#[path = "../program/mod.rs"]
mod program;
mod python;
#[cfg(unix)]
mod python_environments;
#[cfg(unix)]
mod resume;
#[cfg(unix)]
mod runs;
mod self_play;
mod sweep;
mod tensorboard;
mod tracking;
mod watch;
mod watch_terminal;
