//! Environments of tasks other than Atari games: those of the registry, in Python, and both together.

use anyhow::{Context, Result, ensure};
use rl_env::{Env as _, VectorEnv as _};
use vector::{PoolOptions, PoolVectorEnv};

use super::builder::Builder;
use super::joined::Joined;
use super::padded::length_of;
#[cfg(unix)]
use super::python;
use super::registered::registered;
use super::{Environments, Purpose};
use crate::selection;

impl Builder {
    /// Builds environments of tasks, given the id and the number of each.
    pub(super) fn build_tasks(
        &self,
        groups: &[(&'static str, usize)],
        purpose: Purpose,
        pool: PoolOptions,
        length: usize,
    ) -> Result<Box<dyn Environments>> {
        let (in_python, built_in): (Vec<_>, Vec<_>) =
            groups.iter().copied().partition(|(id, _)| selection::is_in_python(id));
        let padded = |length| {
            let copies = built_in.iter().flat_map(|&(id, num_envs)| std::iter::repeat_n(id, num_envs));
            registered(copies, self.settings.rescale_observations, length)
        };
        let Some((python_id, _)) = in_python.first() else {
            return Ok(Box::new(PoolVectorEnv::new(padded(length)?, pool)?));
        };
        let own_length = padded(length)?.first().and_then(|(_, env)| length_of(env.observation_space()));
        let python =
            self.build_in_python(&in_python, purpose, pool.batch_size, own_length.unwrap_or(length))?;
        let Some((id, _)) = built_in.first() else { return Ok(python) };
        ensure!(
            !self.settings.gymnasium.action_masks,
            "environments.gymnasium.action_masks = true is not possible: {id} has no action masks"
        );
        let length = length_of(python.single_observation_space()).with_context(|| {
            format!("{id} cannot be trained together with {python_id}, whose observations are images")
        })?;
        let built_in = PoolVectorEnv::new(padded(length)?, pool)?;
        let ids: Vec<&str> = groups.iter().map(|&(id, _)| id).collect();
        Ok(Box::new(Joined::new(vec![Box::new(built_in), python], &ids)))
    }

    /// Builds environments in Python, given the name and the number of each. Vectors of observations have at least
    /// `length` elements.
    #[cfg(unix)]
    fn build_in_python(
        &self,
        groups: &[(&str, usize)],
        purpose: Purpose,
        batch_size: usize,
        length: usize,
    ) -> Result<Box<dyn Environments>> {
        let workers = match self.settings.gymnasium.workers {
            0 => self.num_threads,
            workers => workers,
        };
        python::build(groups, &self.settings.gymnasium, purpose, workers, batch_size, length)
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
