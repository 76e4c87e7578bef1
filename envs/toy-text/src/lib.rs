//! Gymnasium's toy text environments: worlds of a few numbered states, given by tables, and Blackjack.
//!
//! Every reset with the same seed, and every step from there on, equals Gymnasium's. This crate knows no thread and no
//! learner. [`register`] gives the environments their Gymnasium ids and time limits.

mod blackjack;
mod cliff_walking;
mod frozen_lake;
mod grid;
mod ids;
mod tabular;
mod taxi;

pub use blackjack::{Blackjack, BlackjackRules};
pub use cliff_walking::cliff_walking;
pub use frozen_lake::{FrozenLakeError, FrozenLakeOptions, MAP_4X4, MAP_8X8, frozen_lake};
pub use ids::register;
pub use tabular::{Outcome, Tabular, TabularInfo};
pub use taxi::{Taxi, TaxiInfo, TaxiOptions};
