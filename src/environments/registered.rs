//! Environments of the registry: all tasks other than Atari games.

use anyhow::{Context, Result};
use rl_env::{BoxedEnv, Env as _, FlattenObservation, RescaleObservation, TimeLimit};

use super::MAX_EPISODE_STEPS;
use super::padded::{Padded, length_of};
use crate::selection;

/// Returns an environment for each id, with observations padded to the same length, which is at least `min_length`.
pub(super) fn registered<'a>(
    ids: impl Iterator<Item = &'a str>,
    rescale: bool,
    min_length: usize,
) -> Result<Vec<(String, Padded)>> {
    let envs = ids.map(|id| Ok((id, make(id, rescale)?))).collect::<Result<Vec<_>>>()?;
    let lengths = envs.iter().filter_map(|(_, env)| length_of(env.observation_space()));
    let length = lengths.max().unwrap_or(0).max(min_length);
    let pad = |(id, env)| Ok((str::to_owned(id), Padded::new(env, length).with_context(|| unreadable(id))?));
    envs.into_iter().map(pad).collect()
}

/// Returns the length of the longest observations of these tasks; 0 without tasks.
pub(super) fn longest_observation<'a>(
    mut ids: impl Iterator<Item = &'a str>,
    rescale: bool,
) -> Result<usize> {
    ids.try_fold(0, |longest, id| {
        let length = length_of(make(id, rescale)?.observation_space()).with_context(|| unreadable(id))?;
        Ok(longest.max(length))
    })
}

/// Returns an environment whose observations are vectors, rescaled to -1..=1 if `rescale` is true.
fn make(id: &str, rescale: bool) -> Result<BoxedEnv> {
    let env = TimeLimit::new(selection::registry().make(id)?, MAX_EPISODE_STEPS);
    let env = FlattenObservation::new(env);
    let env =
        if rescale { RescaleObservation::new(env).map(BoxedEnv::new) } else { Some(BoxedEnv::new(env)) };
    env.with_context(|| unreadable(id))
}

fn unreadable(id: &str) -> String {
    format!("the observations of {id} are not supported by networks")
}

#[cfg(test)]
mod tests {
    use rl_env::{ResetSeeds, VectorEnv as _};
    use vector::{PoolOptions, PoolVectorEnv};

    use super::*;

    /// Returns the first observations of a mountain car and an acrobot in one batch.
    fn first_observations(rescale: bool) -> [Vec<f32>; 2] {
        let envs = registered(["MountainCar-v0", "Acrobot-v1"].into_iter(), rescale, 0).unwrap();
        let mut envs =
            PoolVectorEnv::new(envs, PoolOptions { num_threads: 1, ..PoolOptions::default() }).unwrap();
        let batch = envs.reset(ResetSeeds::From(1)).unwrap();
        [0, 1].map(|row| batch.observations.row_f32(row).to_vec())
    }

    #[test]
    fn observations_are_rescaled_by_the_bounds_of_their_task_before_they_are_padded() {
        let ([car, acrobot], [shown_car, shown_acrobot]) =
            (first_observations(false), first_observations(true));
        let pi = std::f32::consts::PI;
        // Positions are in -1.2..=0.6, sines and cosines in -1..=1, velocities at most 4 and 9 half turns a second.
        let expected = [(car[0] + 0.3) / 0.9, 0.0, 0.0, 0.0, 0.0, 0.0];
        let bounds = [1.0, 1.0, 1.0, 1.0, 4.0 * pi, 9.0 * pi];
        let halves: Vec<f32> = acrobot.iter().zip(bounds).map(|(value, bound)| value / bound).collect();
        assert!(acrobot.iter().all(|&value| value != 0.0) && car[0] < -0.3, "{car:?} {acrobot:?}");
        for (shown, expected) in [(&shown_car, &expected[..]), (&shown_acrobot, &halves)] {
            assert_eq!(shown.len(), expected.len());
            let close = shown.iter().zip(expected).all(|(shown, expected)| (shown - expected).abs() < 1e-6);
            assert!(close, "{shown:?}, not {expected:?}");
        }
    }
}
