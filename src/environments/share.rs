//! The environments of one of several processes.

use std::ops::Range;

use ale::RgbImage;
use algorithms::VectorSpec;
use rl_env::{Actions, AutoresetMode, Batch, ResetSeeds, Space, VectorEnv, VectorError};

use super::Environments;

/// A consecutive part of all training environments. Ids, tasks and the snapshots to restore cover all environments;
/// everything else covers only this part.
pub(super) struct Share {
    /// The environments of this process.
    local: Box<dyn Environments>,
    /// The ids of these environments.
    envs: Range<usize>,
    tasks: Vec<String>,
    /// The task of each environment of all processes.
    task_ids: Vec<usize>,
    /// The last batch, with the ids of all environments.
    batch: Batch,
}

impl Share {
    /// Creates the share `local`, with the ids `envs`, of the environments that `spec` describes.
    pub(super) fn new(local: Box<dyn Environments>, envs: Range<usize>, spec: &VectorSpec) -> Self {
        let mut share = Self {
            batch: local.batch().clone(),
            local,
            envs,
            tasks: spec.tasks.iter().map(|task| task.name.clone()).collect(),
            task_ids: spec.task_ids.clone(),
        };
        share.update_batch();
        share
    }

    /// Copies the last batch of this process's environments.
    fn update_batch(&mut self) -> &Batch {
        self.batch.clone_from(self.local.batch());
        self.batch.env_ids.iter_mut().for_each(|env| *env += self.envs.start);
        &self.batch
    }
}

impl VectorEnv for Share {
    fn num_envs(&self) -> usize {
        self.local.num_envs()
    }

    fn batch_size(&self) -> usize {
        self.local.batch_size()
    }

    fn single_observation_space(&self) -> &Space {
        self.local.single_observation_space()
    }

    fn action_spaces(&self) -> &[Space] {
        self.local.action_spaces()
    }

    fn tasks(&self) -> &[String] {
        &self.tasks
    }

    fn task_ids(&self) -> &[usize] {
        &self.task_ids
    }

    fn autoreset_mode(&self) -> AutoresetMode {
        self.local.autoreset_mode()
    }

    fn reset(&mut self, seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError> {
        let seeds: Vec<Option<u64>> = self.envs.clone().map(|env| seeds.of(env)).collect();
        self.local.reset(ResetSeeds::Each(&seeds))?;
        Ok(self.update_batch())
    }

    fn send(&mut self, actions: Actions<'_>) -> Result<(), VectorError> {
        self.local.send(actions)
    }

    fn recv(&mut self) -> Result<&Batch, VectorError> {
        self.local.recv()?;
        Ok(self.update_batch())
    }

    fn batch(&self) -> &Batch {
        &self.batch
    }

    fn snapshot(&self) -> Result<Vec<u8>, VectorError> {
        self.local.snapshot()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<&Batch, VectorError> {
        let part = self.local.part_of_snapshot(snapshot, self.envs.clone())?;
        self.local.restore(&part)?;
        Ok(self.update_batch())
    }
}

impl Environments for Share {
    fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError> {
        let ids: Vec<usize> = env_ids.iter().map(|env| env - self.envs.start).collect();
        self.local.send_to(actions, &ids)
    }

    fn screen(&self, env: usize) -> Result<Option<RgbImage>, VectorError> {
        self.local.screen(env - self.envs.start)
    }

    fn steps_per_second(&self, env: usize) -> Result<Option<f64>, VectorError> {
        self.local.steps_per_second(env - self.envs.start)
    }

    fn why_state_cannot_be_saved(&self) -> Option<String> {
        self.local.why_state_cannot_be_saved()
    }

    fn why_state_was_lost(&self, snapshot: &[u8]) -> Option<String> {
        self.local.why_state_was_lost(snapshot)
    }

    fn join_snapshots(&self, parts: &[Vec<u8>]) -> Result<Vec<u8>, VectorError> {
        self.local.join_snapshots(parts)
    }

    fn part_of_snapshot(&self, snapshot: &[u8], envs: Range<usize>) -> Result<Vec<u8>, VectorError> {
        self.local.part_of_snapshot(snapshot, envs)
    }

    fn has_failed(&self) -> bool {
        self.local.has_failed()
    }

    /// Has no effect on environments of other processes.
    fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError> {
        if self.envs.contains(&env) { self.local.limit_steps(env - self.envs.start, steps) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use algorithms::Task;

    use super::*;

    /// Two environments, as far as a share asks for them: those with the ids 0 and 1 in their process.
    struct Local(Batch);

    impl VectorEnv for Local {
        fn num_envs(&self) -> usize {
            2
        }

        fn batch_size(&self) -> usize {
            2
        }

        fn single_observation_space(&self) -> &Space {
            unreachable!()
        }

        fn action_spaces(&self) -> &[Space] {
            unreachable!()
        }

        fn tasks(&self) -> &[String] {
            unreachable!()
        }

        fn task_ids(&self) -> &[usize] {
            unreachable!()
        }

        fn autoreset_mode(&self) -> AutoresetMode {
            unreachable!()
        }

        fn reset(&mut self, _: ResetSeeds<'_>) -> Result<&Batch, VectorError> {
            unreachable!()
        }

        fn send(&mut self, _: Actions<'_>) -> Result<(), VectorError> {
            unreachable!()
        }

        fn recv(&mut self) -> Result<&Batch, VectorError> {
            unreachable!()
        }

        fn batch(&self) -> &Batch {
            &self.0
        }

        fn snapshot(&self) -> Result<Vec<u8>, VectorError> {
            unreachable!()
        }

        fn restore(&mut self, _: &[u8]) -> Result<&Batch, VectorError> {
            unreachable!()
        }
    }

    impl Environments for Local {
        fn send_to(&mut self, _: Actions<'_>, _: &[usize]) -> Result<(), VectorError> {
            unreachable!()
        }

        fn screen(&self, _: usize) -> Result<Option<RgbImage>, VectorError> {
            unreachable!()
        }

        fn steps_per_second(&self, env: usize) -> Result<Option<f64>, VectorError> {
            Ok(Some(50.0 + env as f64))
        }

        fn limit_steps(&mut self, _: usize, _: Option<u64>) -> Result<(), VectorError> {
            unreachable!()
        }

        fn part_of_snapshot(&self, snapshot: &[u8], envs: Range<usize>) -> Result<Vec<u8>, VectorError> {
            Ok(snapshot[envs].to_vec())
        }

        fn has_failed(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_share_passes_on_what_its_environments_say() {
        let spec = VectorSpec {
            observation_space: Space::bytes([1]),
            tasks: vec![Task::new("pong", 6)],
            task_ids: vec![0; 4],
            shared_outputs: 6,
            autoreset_mode: AutoresetMode::SameStep,
        };
        let share = Share::new(Box::new(Local(Batch::new(2, 1, true))), 2..4, &spec);
        assert_eq!(share.steps_per_second(3), Ok(Some(51.0)));
        assert_eq!(share.part_of_snapshot(b"abcd", 1..3), Ok(b"bc".to_vec()));
        assert!(share.has_failed());
    }
}
