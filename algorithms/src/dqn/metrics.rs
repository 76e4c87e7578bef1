/// Metrics of an update, named as in `CleanRL`: means over its gradient steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DqnMetrics {
    /// The loss, weighted if replay is prioritised.
    pub td_loss: f32,
    /// The values of the actions taken.
    pub q_values: f32,
    /// Norm of the gradient of all parameters together, before clipping.
    pub grad_norm: f32,
    /// Share of the ReLU units that no row of a minibatch activated, in the layer with the largest
    /// share.
    pub dead_units: f32,
    /// The current probability of a random action.
    pub epsilon: f64,
    /// The number of steps in the replay buffer that can be drawn.
    pub replay_steps: usize,
    /// The number of gradient steps: 1 or more.
    pub gradient_steps: usize,
}
