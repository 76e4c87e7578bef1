use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{Actions, AutoresetMode, Batch, Dtype, ObservationBuffer};

use crate::VectorSpec;

/// Random observations, action masks, rewards and ends of episodes, with the flags of an autoreset mode.
#[derive(Clone)]
pub(crate) struct RandomEnvs {
    pub(crate) spec: VectorSpec,
    rng: ChaCha8Rng,
    pub(crate) batch: Batch,
}

impl RandomEnvs {
    pub(crate) fn new(spec: VectorSpec) -> Self {
        let with_final = spec.autoreset_mode == AutoresetMode::SameStep;
        let batch = Batch::new(spec.num_envs(), spec.observation_space.byte_len(), with_final);
        let mask_bytes = spec.mask_bytes();
        let batch = if mask_bytes > 0 { batch.with_action_masks(mask_bytes) } else { batch };
        let mut envs = Self { spec, rng: ChaCha8Rng::seed_from_u64(5), batch };
        envs.observe();
        envs
    }

    fn observe(&mut self) {
        let leaves = self.spec.observation_space.leaves();
        for row in self.batch.observations.rows_mut() {
            for leaf in &leaves {
                let own = &mut row[leaf.offset..][..leaf.byte_len()];
                match leaf.dtype {
                    Dtype::U8 => self.rng.fill(own),
                    Dtype::F32 => {
                        for value in own.as_chunks_mut().0 {
                            *value = self.rng.random_range(-1f32..1.0).to_ne_bytes();
                        }
                    }
                    other => unreachable!("learners do not support {} observations", other.name()),
                }
            }
        }
        if self.batch.final_observations.rows() > 0 {
            self.batch.final_observations = self.batch.observations.clone();
        }
        let Self { spec, rng, batch } = self;
        allow_some(&mut batch.action_masks, spec, rng);
        allow_some(&mut batch.final_action_masks, spec, rng);
    }

    /// Returns true if the masks allow these actions, one for each environment. Without masks, all are allowed.
    pub(crate) fn allow(&self, actions: Actions<'_>) -> bool {
        let (Some(mut rest), true) = (actions.discrete(), self.batch.has_action_masks()) else { return true };
        (0..self.batch.len()).all(|env| {
            let (own, others) = rest.split_at(self.spec.actions(env).num_choices());
            rest = others;
            let mask = self.batch.action_masks.row(env);
            self.spec.joint_actions(env).columns(own).all(|column| mask[column] == 1)
        })
    }

    pub(crate) fn step(&mut self) {
        for env in 0..self.batch.len() {
            let ended = self.batch.terminated[env] || self.batch.truncated[env];
            let reset = ended && self.spec.autoreset_mode == AutoresetMode::NextStep;
            let fate: f32 = self.rng.random();
            self.batch.autoreset[env] = reset;
            self.batch.terminated[env] = !reset && fate < 0.1;
            self.batch.truncated[env] = !reset && fate > 0.9;
            self.batch.rewards[env] = if reset { 0.0 } else { self.rng.random_range(-1.0..1.0) };
        }
        self.observe();
    }
}

/// Writes masks that allow at least one option of each choice, and about half of the others.
fn allow_some(masks: &mut ObservationBuffer, spec: &VectorSpec, rng: &mut ChaCha8Rng) {
    for env in 0..masks.rows() {
        let mask = masks.row_mut(env);
        mask.fill(0);
        let mut start = 0;
        for &size in spec.joint_actions(env).sizes() {
            let own = &mut mask[start..start + size];
            own.fill_with(|| u8::from(rng.random::<bool>()));
            own[rng.random_range(0..size)] = 1;
            start += size;
        }
    }
}
