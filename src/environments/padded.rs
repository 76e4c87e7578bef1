use ale::RgbImage;
use anyhow::Result;
use rl_env::{Action, BoxedEnv, Env, EnvError, Space, Step};

use crate::drawing::Drawing;

/// An environment with zero-padded observations, so that tasks with observations of different lengths share a network.
pub(super) struct Padded {
    env: BoxedEnv,
    space: Space,
    /// The size of an observation of `env` in bytes.
    row_bytes: usize,
    picture: Option<PictureSource>,
}

/// The way in which pictures of a task are made.
pub(super) enum PictureSource {
    /// It is drawn from observations.
    Drawn {
        drawing: Drawing,
        /// For each element, the bounds that were rescaled to -1..=1, or `None` if it was not. Empty if nothing was
        /// rescaled.
        ranges: Vec<Option<(f64, f64)>>,
    },
    /// The environment renders it.
    Rendered { frames_per_second: f64 },
}

/// Returns an observation in the units of its task. `ranges` is that of [`PictureSource::Drawn`].
fn in_task_units(row: &[u8], ranges: &[Option<(f64, f64)>]) -> Vec<f32> {
    let mut observation: Vec<f32> =
        row.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
    for (value, range) in observation.iter_mut().zip(ranges) {
        if let Some((low, high)) = range {
            // The fraction of the way from the lower to the upper bound.
            let fraction = f64::midpoint(f64::from(*value), 1.0);
            *value = (low + fraction * (high - low)) as f32;
        }
    }
    observation
}

impl Padded {
    /// Pads the observations of `env` to `length` floats. Returns nothing if they are not vectors of floats or are
    /// longer.
    pub(super) fn new(env: BoxedEnv, length: usize) -> Option<Self> {
        let space = unbounded(length);
        let row_bytes = env.observation_space().byte_len();
        (length_of(env.observation_space())? <= length).then_some(Self {
            env,
            space,
            row_bytes,
            picture: None,
        })
    }

    /// Sets the source of pictures; without one, [`draw`](Self::draw) returns none.
    pub(super) fn with_picture(self, picture: Option<PictureSource>) -> Self {
        Self { picture, ..self }
    }

    /// Returns the number of pictures in a second at the usual speed, if there are pictures.
    pub(super) fn frames_per_second(&self) -> Option<f64> {
        Some(match self.picture.as_ref()? {
            PictureSource::Drawn { drawing, .. } => drawing.frames_per_second,
            PictureSource::Rendered { frames_per_second } => *frames_per_second,
        })
    }

    /// Draws the current state, if there are pictures.
    pub(super) fn draw(&self) -> Result<Option<RgbImage>> {
        match &self.picture {
            None => Ok(None),
            Some(PictureSource::Rendered { .. }) => Ok(self.env.render()?),
            Some(PictureSource::Drawn { drawing, ranges }) => {
                let mut row = vec![0; self.row_bytes];
                self.env.observe(&mut row);
                drawing.draw(&in_task_units(&row, ranges)).map(Some)
            }
        }
    }

    fn pad<'a>(&self, observation: &'a mut [u8]) -> &'a mut [u8] {
        let (unpadded, padding) = observation.split_at_mut(self.row_bytes);
        padding.fill(0);
        unpadded
    }
}

/// Returns the length of observations, if they are vectors of floats.
pub(super) fn length_of(observations: &Space) -> Option<usize> {
    match observations {
        Space::Box { shape, dtype: rl_env::Dtype::F32, .. } if shape.len() == 1 => Some(shape[0]),
        _ => None,
    }
}

/// Returns the length of padded observations; `None` for all others.
pub(super) fn padded_length(observations: &Space) -> Option<usize> {
    length_of(observations).filter(|&length| *observations == unbounded(length))
}

/// Returns the space of padded observations of this length. Those of all tasks must be equal, so it has no bounds.
fn unbounded(length: usize) -> Space {
    Space::floats(length, f32::NEG_INFINITY, f32::INFINITY)
}

impl Env for Padded {
    type Info = ();

    rl_env::forward!(env: action_space, snapshot, restore);

    fn observation_space(&self) -> &Space {
        &self.space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]) {
        let unpadded = self.pad(observation);
        self.env.reset(seed, unpadded);
    }

    fn autoreset(&mut self, observation: &mut [u8]) {
        let unpadded = self.pad(observation);
        self.env.autoreset(unpadded);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let unpadded = self.pad(observation);
        self.env.step(action, unpadded)
    }

    fn info(&self) {}

    fn observe(&self, observation: &mut [u8]) {
        self.env.observe(self.pad(observation));
    }
}

#[cfg(test)]
mod tests {
    use classic_control::{Control, MountainCar};

    use super::*;

    fn mountain_car() -> BoxedEnv {
        BoxedEnv::new(Control::new(MountainCar::default()))
    }

    #[test]
    fn observations_are_followed_by_zeros() {
        let (mut plain, mut padded) = (mountain_car(), Padded::new(mountain_car(), 4).unwrap());
        let (mut short, mut long) = ([0xAA; 8], [0xAA; 16]);
        assert_eq!(padded.observation_space().byte_len(), long.len());
        plain.reset(Some(3), &mut short);
        padded.reset(Some(3), &mut long);
        for action in [0, 1, 2, 2] {
            assert_eq!((&long[..8], &long[8..]), (&short[..], &[0; 8][..]));
            long.fill(0xAA);
            padded.observe(&mut long);
            assert_eq!((&long[..8], &long[8..]), (&short[..], &[0; 8][..]));
            let action = Action::Discrete(std::slice::from_ref(&action));
            assert_eq!(padded.step(action, &mut long).unwrap(), plain.step(action, &mut short).unwrap());
        }
    }

    #[test]
    fn observations_are_never_truncated() {
        assert!(Padded::new(mountain_car(), 1).is_none());
        assert!(Padded::new(mountain_car(), 2).is_some());
    }
}
