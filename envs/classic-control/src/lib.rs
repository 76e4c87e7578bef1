//! Small environments: Gymnasium's classic control tasks, and the probe environments that tests use.
//!
//! Everything here is arithmetic on a few numbers. This crate knows no picture, no thread and no learner.
//!
//! [`Control`] is the environment; what differs between the tasks is their [`Dynamics`]. [`register`] gives the tasks
//! their Gymnasium ids and time limits.

mod acrobot;
mod cart_pole;
mod control;
mod ids;
mod mountain_car;
mod mountain_car_continuous;
mod pendulum;
mod probe;

pub use acrobot::{Acrobot, AcrobotState};
pub use cart_pole::{CartPole, CartPoleState};
pub use control::{Control, Dynamics};
pub use ids::register;
pub use mountain_car::{MountainCar, MountainCarState};
pub use mountain_car_continuous::{MountainCarContinuous, MountainCarContinuousState};
pub use pendulum::{Pendulum, PendulumState};
pub use probe::{Probe, ProbeKind};
