//! Small environments: Gymnasium's classic control tasks, and probe environments for testing learners.
//!
//! [`Control`] is the environment of all tasks, which differ in their [`Dynamics`]. [`Task`] is any of them with its
//! parameters. [`register`] adds them to a registry with their Gymnasium ids and time limits.

mod acrobot;
mod arithmetic;
mod cart_pole;
mod control;
mod ids;
mod mountain_car;
mod mountain_car_continuous;
mod pendulum;
mod probe;
mod start;

pub use acrobot::{Acrobot, AcrobotState};
pub use cart_pole::{CartPole, CartPoleState};
pub use control::{Control, ControlInfo, Dynamics, Judgement};
pub use ids::{FAMILY, Task, register};
pub use mountain_car::{MountainCar, MountainCarState};
pub use mountain_car_continuous::{MountainCarContinuous, MountainCarContinuousState};
pub use pendulum::{Pendulum, PendulumState};
pub use probe::{Probe, ProbeKind};
pub use start::{Start, StartError};
