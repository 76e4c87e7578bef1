use classic_control::{Control, Dynamics, StartError};
use mujoco::MujocoEnv;
use toy_text::{Blackjack, Tabular, Taxi};

/// An environment whose first states may have bounds.
pub(crate) trait Begins {
    /// The names of the bounds, which are options of Gymnasium's `reset`.
    const BOUNDS: &'static [&'static str] = &[];

    /// Replaces bounds of the first state in the next reset.
    fn start_within(&mut self, _bounds: &[(&str, f64)]) -> Result<(), StartError> {
        Ok(())
    }
}

impl<D: Dynamics> Begins for Control<D> {
    const BOUNDS: &'static [&'static str] = &D::START.names;

    fn start_within(&mut self, bounds: &[(&str, f64)]) -> Result<(), StartError> {
        self.start_within(bounds)
    }
}

impl Begins for Blackjack {}
impl Begins for MujocoEnv {}
impl Begins for Tabular {}
impl Begins for Taxi {}
