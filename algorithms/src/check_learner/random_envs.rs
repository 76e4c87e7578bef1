use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{AutoresetMode, Batch, Space};

use crate::VectorSpec;

/// Random observations, rewards and ends of episodes, with the flags of an autoreset mode.
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
        let mut envs = Self { spec, rng: ChaCha8Rng::seed_from_u64(5), batch };
        envs.observe();
        envs
    }

    fn observe(&mut self) {
        let Space::Box { dtype, .. } = &self.spec.observation_space else { unreachable!() };
        for row in self.batch.observations.rows_mut() {
            match dtype {
                rl_env::Dtype::U8 => self.rng.fill(row),
                rl_env::Dtype::F32 => {
                    for value in row.as_chunks_mut().0 {
                        *value = self.rng.random_range(-1f32..1.0).to_ne_bytes();
                    }
                }
                other => unreachable!("learners do not support {} observations", other.name()),
            }
        }
        if self.batch.final_observations.rows() > 0 {
            self.batch.final_observations = self.batch.observations.clone();
        }
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
