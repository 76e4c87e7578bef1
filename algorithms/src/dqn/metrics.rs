/// What the gradient steps of an update report, by `CleanRL`'s names: the mean over them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DqnMetrics {
    /// The loss: with weights, where steps are prioritised.
    pub td_loss: f32,
    /// The values of the actions that were taken.
    pub q_values: f32,
    /// Length of the gradient of all parameters together, before it was clipped.
    pub grad_norm: f32,
    /// The probability of a random action at present.
    pub epsilon: f64,
    /// Steps in the replay that can be drawn.
    pub replay_steps: usize,
    /// Gradient steps made: 1 or more.
    pub gradient_steps: usize,
}
