//! The console and the environment's loop: hand-computed cases, generated programs, and comparisons of screens.

mod checklist;
mod conformance;
mod detection;
mod fuzz;
mod open_game;
mod players;
mod screens;
mod sound;
mod synthetic;
