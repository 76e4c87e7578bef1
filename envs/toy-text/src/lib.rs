//! Gymnasium's toy text environments: tabular environments and Blackjack.
//!
//! Resets with the same seed, and all steps after them, equal Gymnasium's. [`Task`] is any of the environments with its
//! options. [`register`] adds them to a registry with their Gymnasium ids and time limits.

mod blackjack;
mod cliff_walking;
mod frozen_lake;
mod grid;
mod ids;
mod optimal;
mod tabular;
mod taxi;

pub use blackjack::{Blackjack, BlackjackRules};
pub use cliff_walking::cliff_walking;
pub use frozen_lake::{FrozenLakeError, FrozenLakeOptions, MAP_4X4, MAP_8X8, frozen_lake};
pub use ids::{FAMILY, Task, register};
pub use tabular::{Outcome, Tabular, TabularInfo};
pub use taxi::{TAXI_MAP, TAXI_STANDS, Taxi, TaxiInfo, TaxiOptions, TaxiRide};
