//! Pictures of the built-in tasks that do not render any, drawn from their observations: classic control and toy text.

mod canvas;
mod classic_control;
mod toy_text;

use ale::RgbImage;
use anyhow::{Context, Result};

use canvas::Canvas;

/// The picture of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawing {
    /// The number of pictures in a second at the usual speed: Gymnasium's.
    pub(crate) frames_per_second: f64,
    /// Draws an observation of the task.
    paint: fn(&Canvas<'_>, &[f32]) -> Result<()>,
}

/// Returns the drawing of a task, if it has one.
pub(crate) fn of(id: &str) -> Option<Drawing> {
    let drawing = |frames_per_second, paint| Some(Drawing { frames_per_second, paint });
    match id {
        "CartPole-v0" | "CartPole-v1" => drawing(50.0, classic_control::cart_pole),
        "MountainCar-v0" => drawing(30.0, classic_control::mountain_car),
        "MountainCarContinuous-v0" => drawing(30.0, classic_control::mountain_car_continuous),
        "Acrobot-v1" => drawing(15.0, classic_control::acrobot),
        "Pendulum-v1" => drawing(30.0, classic_control::pendulum),
        "FrozenLake-v1" => drawing(4.0, toy_text::frozen_lake_4x4),
        "FrozenLake8x8-v1" => drawing(4.0, toy_text::frozen_lake_8x8),
        "CliffWalking-v1" | "CliffWalkingSlippery-v1" => drawing(4.0, toy_text::cliff_walking),
        "Taxi-v4" => drawing(4.0, toy_text::taxi),
        "Blackjack-v1" => drawing(4.0, toy_text::blackjack),
        _ => None,
    }
}

impl Drawing {
    /// Draws an observation in the units of the task; discrete ones are one-hot.
    pub(crate) fn draw(&self, observation: &[f32]) -> Result<RgbImage> {
        canvas::draw(|canvas| (self.paint)(canvas, observation))
    }
}

/// Returns the first elements of an observation.
fn elements<const N: usize>(observation: &[f32]) -> Result<[f64; N]> {
    let elements = observation.first_chunk::<N>().context("the observation is too short")?;
    Ok(elements.map(f64::from))
}

/// Returns the index of the largest element: the number of a one-hot observation.
fn number(one_hot: &[f32]) -> usize {
    let numbered = one_hot.iter().enumerate();
    numbered.max_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(index, _)| index)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rl_env::{Action, BoxedEnv, Env as _, FlattenObservation, Space};

    use super::*;
    use crate::selection;

    fn start(id: &str) -> (FlattenObservation<BoxedEnv>, Vec<u8>) {
        let mut env = FlattenObservation::new(selection::registry().make(id).unwrap());
        let mut observation = vec![0; env.observation_space().byte_len()];
        env.reset(Some(1), &mut observation);
        (env, observation)
    }

    fn floats(observation: &[u8]) -> Vec<f32> {
        observation.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
    }

    /// Takes a step. Returns true if it ends the episode.
    fn step(env: &mut FlattenObservation<BoxedEnv>, observation: &mut [u8], choice: i32) -> bool {
        let action = match env.action_space() {
            Space::Discrete { .. } => Action::Discrete(std::slice::from_ref(&choice)),
            _ => Action::Continuous(&[1.0]),
        };
        env.step(action, observation).unwrap().ends_episode()
    }

    #[test]
    fn every_task_of_classic_control_and_toy_text_is_drawn_and_moves() {
        let families = [::classic_control::FAMILY, ::toy_text::FAMILY];
        let ids =
            selection::ids().filter(|id| selection::family(id).is_some_and(|own| families.contains(&own)));
        let ids: Vec<&str> = ids.collect();
        assert!(ids.len() >= 11, "{ids:?}");
        for id in ids {
            let drawing = of(id).unwrap_or_else(|| panic!("{id}"));
            let (mut env, mut observation) = start(id);
            let mut pictures = HashSet::new();
            let mut is_over = false;
            for index in 0..6 {
                let picture = drawing.draw(&floats(&observation)).unwrap();
                assert_eq!((picture.width, picture.height), canvas::SIZE);
                let colours: HashSet<&[u8; 3]> = picture.pixels.as_chunks().0.iter().collect();
                assert!(colours.len() >= 3, "{id} has {} colours", colours.len());
                pictures.insert(picture.pixels);
                if is_over {
                    break;
                }
                // A card is drawn; other tasks move.
                let choice = if id.starts_with("Blackjack") { 1 } else { index % 2 };
                is_over = step(&mut env, &mut observation, choice);
            }
            assert!(pictures.len() >= 2, "{id} does not move");
        }
        assert!(of("Hopper-v5").is_none() && of("pong").is_none());
        assert!(of("CartPole-v1").unwrap().draw(&[]).is_err());
    }
}
