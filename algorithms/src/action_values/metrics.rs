/// Metrics of one gradient step.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepMetrics {
    pub(crate) td_loss: f32,
    pub(crate) q_values: f32,
    pub(crate) grad_norm: f32,
    pub(crate) dead_units: f32,
}

impl StepMetrics {
    /// Returns the mean over at least one step.
    pub(crate) fn mean(steps: &[Self]) -> Self {
        let mean = |value: fn(&Self) -> f32| steps.iter().map(value).sum::<f32>() / steps.len() as f32;
        Self {
            td_loss: mean(|step| step.td_loss),
            q_values: mean(|step| step.q_values),
            grad_norm: mean(|step| step.grad_norm),
            dead_units: mean(|step| step.dead_units),
        }
    }
}
