//! The program inside another process, such as a Python interpreter.
//!
//! * [`Command`] runs a command of the program.
//! * [`Agent`] acts with a trained agent.
//! * [`Learner`] trains in a loop of the caller.
//!
//! All of them work on threads of their own, each with its network thread pool, so that any thread may call them. They
//! leave the signals of the process alone.

mod agent;
mod command;
mod error;
mod learner;
mod own_thread;
mod rows;
mod run;

pub use agent::{Agent, AgentOutputs, AgentTask, PlayerId};
pub use command::Command;
pub use error::CallError;
pub use learner::{Learner, LearnerEnvs, Transition};
pub use run::{Progress, experiment, key_of_setting, planned_experiment, progress};

pub use crate::environments::provided::Provider;
pub use crate::telemetry::Observer;
