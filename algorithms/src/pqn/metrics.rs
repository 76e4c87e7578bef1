/// Metrics of an update, named as in `CleanRL`: means over its minibatches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PqnMetrics {
    /// The squared error of the values.
    pub td_loss: f32,
    /// The values of the actions taken.
    pub q_values: f32,
    /// Norm of the gradient of all parameters together, before clipping.
    pub grad_norm: f32,
    /// Share of the ReLU units that no row of a minibatch activated, in the layer with the largest
    /// share.
    pub dead_units: f32,
    /// The learning rate of this update.
    pub learning_rate: f64,
    /// The probability of a random action in this rollout.
    pub epsilon: f64,
    /// The number of transitions: the rollout's steps without those that only reset an environment.
    pub transitions: usize,
}
