use kernels::PackedRows;
use rl_env::Batch;

use super::{Policy, PqnConfig};
use crate::engine::OnPolicyLearner;
use crate::engine::schedule::LinearSchedule;
use crate::experience::batch_reader::{Observed, rows};
use crate::networks::TaskNetwork;
use crate::networks::value_scale::TaskReturn;
use crate::{Learner, LearnerError};

/// A learner of action values without replay. [`ppo`](crate::ppo) shows the order of its methods.
///
/// ```
/// use algorithms::networks::PolicyConfig;
/// use algorithms::pqn::{Pqn, PqnConfig};
/// use algorithms::{Learner, Task, VectorSpec};
/// use burn::tensor::Device;
/// use rl_env::{AutoresetMode, Space};
///
/// # fn main() -> Result<(), algorithms::LearnerError> {
/// let spec = VectorSpec {
///     observation_space: Space::floats(4, -1.0, 1.0),
///     tasks: vec![Task::new("cart pole", 2)],
///     task_ids: vec![0; 8],
///     shared_outputs: 2,
///     autoreset_mode: AutoresetMode::NextStep,
/// };
/// let pqn = Pqn::new(PqnConfig::default(), PolicyConfig::default(), spec, &Device::flex(), 1)?;
/// assert_eq!(pqn.epsilon(), 1.0);
/// let restored = Pqn::from_state(&pqn.state()?, &Device::flex())?;
/// assert_eq!(restored.torch_weights()?, pqn.torch_weights()?);
/// # Ok(())
/// # }
/// ```
pub type Pqn = OnPolicyLearner<PqnAgent>;

/// The acting part of PQN: the policy with the network's weights, and its value scales. The values of its
/// rollout are those of the greedy action.
#[derive(Clone)]
pub struct PqnAgent {
    /// The policy: the network's weights without gradients.
    pub(super) actor: Policy,
}

/// The values of the options of some rows.
pub struct Evaluation {
    pub(super) values: Vec<Vec<f32>>,
    /// The probability of a random action.
    pub(super) epsilon: f64,
}

impl Pqn {
    /// Returns the probability of a random action in the current rollout.
    pub fn epsilon(&self) -> f64 {
        let PqnConfig { start_e, end_e, exploration_fraction, num_steps, .. } = self.config;
        // The decay is counted in steps, because it may end within a rollout.
        let batch_size = (self.spec().num_envs() * num_steps) as u64;
        let total_steps = self.num_updates() * batch_size;
        let steps = (f64::from(exploration_fraction) * total_steps as f64) as u64;
        LinearSchedule { start: start_e.into(), end: end_e.into(), steps }
            .value(self.on_policy.updates * batch_size)
    }

    /// Evaluates a batch of this process's environments. Also returns the packed observations if they are on a device.
    pub(super) fn evaluate(&self, batch: &Batch) -> Result<(Evaluation, Option<PackedRows>), LearnerError> {
        let evaluate = |rows: &[_]| self.agent.actor.evaluate(Observed::of(batch), rows, None);
        let parts = self.on_policy.evaluate_by_shard(&rows(batch), evaluate)?;
        let (values, packed): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let packed: Option<Vec<PackedRows>> = packed.into_iter().collect();
        let evaluation = Evaluation { values: values.concat(), epsilon: self.epsilon() };
        Ok((evaluation, packed.map(PackedRows::cat)))
    }

    /// Updates the value scales with the returns of transitions, without changing the network's predictions.
    pub(super) fn rescale(&mut self, transitions: &[usize], returns: &[f32]) {
        let of_entry = |&entry: &usize| TaskReturn::new(self.on_policy.task(entry), returns[entry]);
        let returns: Vec<TaskReturn> = transitions.iter().map(of_entry).collect();
        let changes = self.agent.actor.update_scales(&returns);
        if !changes.is_empty() {
            let training = &mut self.on_policy.training;
            training.network = training.network.clone().rescale_values(&changes);
        }
    }
}
