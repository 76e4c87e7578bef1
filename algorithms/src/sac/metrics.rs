/// Metrics of an update, named as in `CleanRL`: means over its gradient steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SacMetrics {
    /// Half the sum of the losses of both critics.
    pub qf_loss: f32,
    /// The values of the actions taken, according to each critic.
    pub qf_values: [f32; 2],
    /// Norm of the gradient of both critics together.
    pub grad_norm: f32,
    /// Share of the ReLU units that no row of a minibatch activated, in the layer of the critics with the largest
    /// share.
    pub dead_units: f32,
    /// The temperature after the update, averaged over tasks.
    pub alpha: f32,
    /// The metrics of the policy, if the update made gradient steps of the policy.
    pub actor: Option<ActorMetrics>,
    /// The number of steps in the replay buffer that can be drawn.
    pub replay_steps: usize,
    /// The number of gradient steps of the critics: 1 or more.
    pub gradient_steps: usize,
}

/// Metrics of the gradient steps of the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActorMetrics {
    /// The temperature times the log-density of the policy's actions, minus their values; for discrete actions, the
    /// expectation of this.
    pub actor_loss: f32,
    /// The entropy of the policy, in nats: exact for discrete actions, otherwise estimated from its actions in -1..=1.
    pub entropy: f32,
    /// The loss of the temperature, unless it is fixed.
    pub alpha_loss: Option<f32>,
}

/// Metrics of one gradient step.
pub struct StepMetrics {
    pub(super) qf_loss: f32,
    pub(super) qf_values: [f32; 2],
    pub(super) grad_norm: f32,
    pub(super) dead_units: f32,
    /// The metrics of the gradient steps of the policy.
    pub(super) actor: Vec<ActorMetrics>,
}

impl SacMetrics {
    /// Returns the means over at least one step.
    pub(super) fn mean(steps: &[StepMetrics], alpha: f32, replay_steps: usize) -> Self {
        let actor: Vec<ActorMetrics> = steps.iter().flat_map(|step| &step.actor).copied().collect();
        Self {
            qf_loss: mean(steps, |step| step.qf_loss),
            qf_values: [0, 1].map(|critic| mean(steps, |step| step.qf_values[critic])),
            grad_norm: mean(steps, |step| step.grad_norm),
            dead_units: mean(steps, |step| step.dead_units),
            alpha,
            actor: (!actor.is_empty()).then(|| ActorMetrics::mean(&actor)),
            replay_steps,
            gradient_steps: steps.len(),
        }
    }
}

impl ActorMetrics {
    fn mean(steps: &[Self]) -> Self {
        let alpha_losses: Vec<f32> = steps.iter().filter_map(|step| step.alpha_loss).collect();
        Self {
            actor_loss: mean(steps, |step| step.actor_loss),
            entropy: mean(steps, |step| step.entropy),
            alpha_loss: (!alpha_losses.is_empty()).then(|| mean(&alpha_losses, |loss| *loss)),
        }
    }
}

fn mean<T>(steps: &[T], value: impl Fn(&T) -> f32) -> f32 {
    steps.iter().map(value).sum::<f32>() / steps.len() as f32
}
