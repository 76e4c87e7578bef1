/// What one update reports, by `CleanRL`'s names: means over its minibatches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PqnMetrics {
    /// The squared error of the values.
    pub td_loss: f32,
    /// The values of the actions that were taken.
    pub q_values: f32,
    /// Length of the gradient of all parameters together, before it was clipped.
    pub grad_norm: f32,
    /// The step size of this update.
    pub learning_rate: f64,
    /// The probability of a random action at present.
    pub epsilon: f64,
    /// Transitions that were learned from: the rollout's steps without those that only reset an environment.
    pub transitions: usize,
}
