use burn::module::Module;

use super::value_scale::Rescaling;

/// A network whose value heads belong to tasks.
pub trait TaskNetwork: Module {
    /// Returns the network adapted to new value scales, one for each task, with the same predictions.
    #[must_use]
    fn rescale_values(self, changes: &[Rescaling]) -> Self;
}
