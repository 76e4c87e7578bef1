//! Environments of Gymnasium other than Atari games: classic control, toy text and MuJoCo.
//!
//! * `catalogue` makes them by id, with the arguments of Gymnasium's.
//! * `task_env` erases their types and limits their episodes.
//! * `begins` bounds their first states.
//! * `details` is what each reports about a step, and `fields` turns it into info dictionaries.
//! * `pool` is the class that Python sees.

mod begins;
mod catalogue;
mod details;
mod fields;
mod given;
mod installation;
mod pool;
mod spaces;
mod task_env;

pub(crate) use catalogue::environments;
pub(crate) use pool::TaskPool;
