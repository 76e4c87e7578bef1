//! Environments of tasks other than Atari games: those of the registry, in Python, and both together.

use std::iter;

use anyhow::{Context, Result, ensure};
use vector::{PoolOptions, PoolVectorEnv};

use super::builder::Builder;
use super::joined::Joined;
use super::padded::{Padded, length_of};
#[cfg(unix)]
use super::python;
use super::registered::{longest_observation, registered};
use super::{Environments, Purpose};
use crate::selection;

impl Builder {
    /// Builds environments of tasks, given the id and the number of each. Vectors of observations have at least
    /// `min_observation_length` elements.
    pub(super) fn build_tasks(
        &self,
        groups: &[(&'static str, usize)],
        purpose: Purpose,
        pool: PoolOptions,
        min_observation_length: usize,
    ) -> Result<Box<dyn Environments>> {
        let (in_python, built_in): (Vec<_>, Vec<_>) =
            groups.iter().copied().partition(|(id, _)| selection::is_in_python(id));
        let Some((python_id, _)) = in_python.first() else {
            return Ok(Box::new(self.build_registered(&built_in, purpose, pool, min_observation_length)?));
        };
        let built_in_ids = built_in.iter().map(|&(id, _)| id);
        let longest = longest_observation(built_in_ids, self.settings.rescale_observations)?;
        let python =
            self.build_in_python(&in_python, purpose, pool.batch_size, longest.max(min_observation_length))?;
        let Some((id, _)) = built_in.first() else { return Ok(python) };
        ensure!(
            !self.settings.gymnasium.action_masks,
            "environments.gymnasium.action_masks = true is not possible: {id} has no action masks"
        );
        let length = length_of(python.single_observation_space()).with_context(|| {
            format!("{id} cannot be trained together with {python_id}, whose observations are images")
        })?;
        let built_in = self.build_registered(&built_in, purpose, pool, length)?;
        let ids: Vec<&str> = groups.iter().map(|&(id, _)| id).collect();
        Ok(Box::new(Joined::new(vec![Box::new(built_in), python], &ids)))
    }

    /// Builds environments of the registry, given the id and the number of each. Vectors of observations have at least
    /// `min_observation_length` elements.
    fn build_registered(
        &self,
        groups: &[(&'static str, usize)],
        purpose: Purpose,
        pool: PoolOptions,
        min_observation_length: usize,
    ) -> Result<PoolVectorEnv<Padded>> {
        let ids = groups.iter().flat_map(|&(id, num_envs)| iter::repeat_n(id, num_envs));
        let envs = registered(ids, purpose, self.settings.rescale_observations, min_observation_length)?;
        Ok(PoolVectorEnv::new(envs, pool)?)
    }

    /// Builds environments in Python, given the name and the number of each. Vectors of observations have at least
    /// `min_observation_length` elements.
    #[cfg(unix)]
    fn build_in_python(
        &self,
        groups: &[(&str, usize)],
        purpose: Purpose,
        batch_size: usize,
        min_observation_length: usize,
    ) -> Result<Box<dyn Environments>> {
        let workers = match self.settings.gymnasium.workers {
            0 => self.num_threads,
            workers => workers,
        };
        python::build(groups, &self.settings.gymnasium, purpose, workers, batch_size, min_observation_length)
    }

    #[cfg(not(unix))]
    fn build_in_python(
        &self,
        _: &[(&str, usize)],
        _: Purpose,
        _: usize,
        _: usize,
    ) -> Result<Box<dyn Environments>> {
        anyhow::bail!("environments in Python are not supported on this system")
    }
}
