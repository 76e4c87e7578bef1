use algorithms::VectorSpec;

use super::algorithm::Workload;

/// The largest number of samples of a minibatch in a measurement; a larger one would take too long.
const TRIAL_SAMPLES: usize = 1024;
/// The bytes of a step in a rollout besides its observation.
const STEP: usize = 32;

pub(super) const MEMORY_REMEDY: &str = "use fewer environments (--num-envs), shorter rollouts (num_steps), more minibatches \
    (num_minibatches) or smaller observations (environments.img_height and img_width)";

/// The sizes of the rollouts of an on-policy learner.
pub(super) struct Rollouts {
    pub(super) num_steps: usize,
    pub(super) num_minibatches: usize,
    pub(super) update_epochs: usize,
}

impl Rollouts {
    /// Returns the amount of learning in the environments of `spec`.
    pub(super) fn workload(&self, spec: &VectorSpec) -> Workload {
        let samples = spec.num_envs() * self.num_steps;
        Workload {
            samples_per_step: self.update_epochs as f64,
            minibatch: samples.div_ceil(self.num_minibatches),
            learning_starts: 0,
            experience: (samples * (spec.observation_space.byte_len() + STEP)) as u64,
            capacity: samples as u64,
            in_checkpoint: 0,
            values_per_weight: 3,
        }
    }

    /// Returns the number of steps of a rollout that is one minibatch, or less than one if minibatches are large.
    pub(super) fn trial_steps(&self, spec: &VectorSpec) -> usize {
        let of_minibatch = self.num_steps.div_ceil(self.num_minibatches);
        of_minibatch.min(TRIAL_SAMPLES / spec.num_envs()).clamp(2, self.num_steps)
    }
}
