//! Environments of the registry: all tasks other than Atari games.

use anyhow::{Context, Result};
use rl_env::{BoxedEnv, Env as _, FlattenObservation, RescaleObservation, TimeLimit};

use super::padded::{Padded, PictureSource, length_of};
use super::{MAX_EPISODE_STEPS, Purpose};
use crate::drawing;
use crate::selection;

/// Returns an environment for each id, with observations padded to the same length, which is at least `min_length`.
pub(super) fn registered<'a>(
    ids: impl Iterator<Item = &'a str>,
    purpose: Purpose,
    rescale: bool,
    min_length: usize,
) -> Result<Vec<(String, Padded)>> {
    let envs = ids.map(|id| Ok((id, make(id, rescale)?))).collect::<Result<Vec<_>>>()?;
    let lengths = envs.iter().filter_map(|(_, (env, _))| length_of(env.observation_space()));
    let length = lengths.max().unwrap_or(0).max(min_length);
    let mut padded = Vec::new();
    for (id, (env, drawn)) in envs {
        let env = Padded::new(env, length).with_context(|| unreadable(id))?;
        let picture = drawn.or_else(|| rendered(id, purpose));
        padded.push((id.to_owned(), env.with_picture(picture)));
    }
    Ok(padded)
}

/// Returns the length of the longest observations of these tasks; 0 without tasks.
pub(super) fn longest_observation<'a>(
    mut ids: impl Iterator<Item = &'a str>,
    rescale: bool,
) -> Result<usize> {
    ids.try_fold(0, |longest, id| {
        let (env, _) = make(id, rescale)?;
        let length = length_of(env.observation_space()).with_context(|| unreadable(id))?;
        Ok(longest.max(length))
    })
}

/// Returns an environment whose observations are vectors, rescaled to -1..=1 if `rescale` is true, and the picture that
/// is drawn from them, if there is one.
fn make(id: &str, rescale: bool) -> Result<(BoxedEnv, Option<PictureSource>)> {
    let env = TimeLimit::new(selection::registry().make(id)?, MAX_EPISODE_STEPS);
    let env = FlattenObservation::new(env);
    let picture = |ranges: &[_]| {
        drawing::of(id).map(|drawing| PictureSource::Drawn { drawing, ranges: ranges.to_vec() })
    };
    if !rescale {
        return Ok((BoxedEnv::new(env), picture(&[])));
    }
    let env = RescaleObservation::new(env).with_context(|| unreadable(id))?;
    let picture = picture(env.ranges());
    Ok((BoxedEnv::new(env), picture))
}

/// Returns the picture that the environment of a task renders, if there is one. It takes long and may need a library
/// that is not installed, so that only shown environments have one.
fn rendered(id: &str, purpose: Purpose) -> Option<PictureSource> {
    let frames_per_second = selection::spec(id)?.frames_per_second?;
    (purpose == Purpose::Showing).then_some(PictureSource::Rendered { frames_per_second })
}

fn unreadable(id: &str) -> String {
    format!("the observations of {id} are not supported by networks")
}

#[cfg(test)]
mod tests {
    use rl_env::{Action, ResetSeeds, VectorEnv as _};
    use vector::{PoolOptions, PoolVectorEnv};

    use super::*;
    use crate::global::Global;
    use crate::mujoco_tasks;
    use crate::skip::skip;

    /// Returns the first observations of a mountain car and an acrobot in one batch.
    fn first_observations(rescale: bool) -> [Vec<f32>; 2] {
        let envs =
            registered(["MountainCar-v0", "Acrobot-v1"].into_iter(), Purpose::Training, rescale, 0).unwrap();
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

    #[test]
    fn the_picture_of_a_rescaled_observation_is_that_of_the_original() {
        let picture = |rescale| {
            let mut envs =
                registered(["MountainCar-v0", "Acrobot-v1"].into_iter(), Purpose::Training, rescale, 0)
                    .unwrap();
            let (_, mut env) = envs.swap_remove(0);
            env.reset(Some(1), &mut vec![0; env.observation_space().byte_len()]);
            assert_eq!(env.frames_per_second(), Some(30.0));
            env.draw().unwrap().unwrap()
        };
        assert_eq!(picture(true), picture(false));
    }

    #[test]
    fn mujoco_renders_its_tasks() {
        if let Err(error) = mujoco::check_rendering() {
            return skip(&error.to_string());
        }
        mujoco_tasks::obtain(&Global { rom_dir: None, offline: false, quiet: true }).unwrap();
        let first_of = |purpose| {
            let ids = ["Reacher-v5", "Hopper-v5"].into_iter();
            let (_, mut env) = registered(ids, purpose, false, 0).unwrap().swap_remove(0);
            let mut observation = vec![0; env.observation_space().byte_len()];
            env.reset(Some(1), &mut observation);
            (env, observation)
        };
        let (mut env, mut observation) = first_of(Purpose::Showing);
        assert_eq!(env.frames_per_second(), Some(50.0));
        let first = env.draw().unwrap().unwrap();
        assert_eq!((first.width, first.height), (480, 480));
        env.step(Action::Continuous(&[1.0, 1.0]), &mut observation).unwrap();
        assert!(env.draw().unwrap().unwrap() != first, "the picture does not change");
        for purpose in [Purpose::Training, Purpose::Evaluation] {
            assert_eq!(first_of(purpose).0.draw().unwrap(), None);
        }
    }
}
