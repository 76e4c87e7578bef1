use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Dtype, EnvError, Space};

/// Whether the actions of a space are integers or floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// Integers: [`Action::Discrete`].
    Discrete,
    /// Floats: [`Action::Continuous`].
    Continuous,
}

impl ActionKind {
    /// The kind of the actions of `space`, or none for a space that mixes integers and floats, whose values are no
    /// [`Action`]s.
    pub fn of(space: &Space) -> Option<Self> {
        match space.dtype() {
            Some(Dtype::F32) => Some(Self::Continuous),
            Some(Dtype::U8 | Dtype::I8 | Dtype::I64) => Some(Self::Discrete),
            None => {
                let mut kinds = space.parts().map(Self::of);
                let first = kinds.next()??;
                kinds.all(|kind| kind == Some(first)).then_some(first)
            }
        }
    }
}

/// What an agent does in one environment for one step: the elements of a value of its action space, leaf after leaf
/// (see [`Space::leaves`]), outermost axis first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action<'a> {
    /// Integers: a single one for [`Space::Discrete`], one for each choice of [`Space::MultiDiscrete`], zeros and ones
    /// for [`Space::MultiBinary`].
    Discrete(&'a [i32]),
    /// Floats: the elements of a [`Space::Box`].
    Continuous(&'a [f32]),
}

impl Action<'_> {
    /// Whether the action lies in `space`.
    pub fn is_in(&self, space: &Space) -> bool {
        let kind = ActionKind::of(space);
        match self {
            Self::Discrete(values) => {
                kind == Some(ActionKind::Discrete)
                    && values.len() == space.num_elements()
                    && takes(space, &mut values.iter().copied().map(f64::from))
            }
            Self::Continuous(values) => {
                kind == Some(ActionKind::Continuous)
                    && values.len() == space.num_elements()
                    && takes(space, &mut values.iter().copied().map(f64::from))
            }
        }
    }

    /// Whether an environment whose action space is `space` performs the action.
    ///
    /// Integers must lie in the space. The bounds of floats say what makes sense; as in Gymnasium an environment takes
    /// what lies outside as it is, or clips it. Only what is no finite number is refused.
    pub fn fits(&self, space: &Space) -> bool {
        match self {
            Self::Discrete(_) => self.is_in(space),
            Self::Continuous(values) => {
                ActionKind::of(space) == Some(ActionKind::Continuous)
                    && values.len() == space.num_elements()
                    && values.iter().all(|value| value.is_finite())
            }
        }
    }

    /// Returns the single integer of this action after checking that it fits `space`.
    pub fn to_index(self, space: &Space) -> Result<i32, EnvError> {
        match self {
            Self::Discrete(&[index]) if self.fits(space) => Ok(index),
            _ => Err(self.invalid(space)),
        }
    }

    /// Returns the floats of this action after checking that they fit `space`.
    pub fn to_floats<const N: usize>(self, space: &Space) -> Result<[f32; N], EnvError> {
        match self {
            Self::Continuous(values) if self.fits(space) => {
                values.try_into().map_err(|_| self.invalid(space))
            }
            _ => Err(self.invalid(space)),
        }
    }

    fn invalid(self, space: &Space) -> EnvError {
        EnvError::InvalidAction { action: self.to_string(), space: space.to_string() }
    }
}

/// The bare numbers: a single one alone, several in brackets.
impl fmt::Display for Action<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Discrete([value]) => write!(f, "{value}"),
            Self::Discrete(values) => write!(f, "{values:?}"),
            Self::Continuous(values) => write!(f, "{values:?}"),
        }
    }
}

/// Whether the next `values` are the elements of a value of `space`.
fn takes(space: &Space, values: &mut dyn Iterator<Item = f64>) -> bool {
    if space.dtype().is_none() {
        return space.parts().all(|part| takes(part, values));
    }
    (0..space.num_elements()).all(|index| {
        let (low, high) = space.range(index);
        values.next().is_some_and(|value| (low..=high).contains(&value))
    })
}

/// What one step of one environment yields beside the observation.
///
/// There is no bare `done`: an episode that ended by the task's own rules (`terminated`) has no future value, one
/// that was cut off (`truncated`) has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The reward the learner sees, after any clipping.
    pub reward: f32,
    /// The reward as the task gave it. Equal to `reward` where nothing is clipped.
    pub raw_reward: f32,
    /// The task itself ended.
    pub terminated: bool,
    /// A limit from outside the task cut the episode off. Never together with `terminated`.
    pub truncated: bool,
    /// `terminated` is meant for the learner alone and the episode continues without a reset: a lost life that is
    /// reported as an end of the return. Only together with `terminated`.
    pub continues: bool,
}

impl Step {
    /// A step without clipping that ends nothing.
    pub fn reward(reward: f32) -> Self {
        Self { reward, raw_reward: reward, ..Self::default() }
    }

    /// Whether the episode is over for either reason, so that a reset has to follow.
    pub fn ends_episode(&self) -> bool {
        (self.terminated || self.truncated) && !self.continues
    }
}

/// One environment: a task with its own state, random numbers and episodes.
///
/// Observations are written by the environment straight into the row that the caller owns, as the bytes that
/// [`observation_space`](Env::observation_space) describes (native byte order; rows are aligned for their type).
pub trait Env: Send {
    /// What the environment reports beside observation and [`Step`]; kept small, copied for every step.
    type Info: Clone + Default + Send + 'static;

    /// The space that every observation lies in.
    fn observation_space(&self) -> &Space;

    /// The space that every action must lie in.
    fn action_space(&self) -> &Space;

    /// Starts a new episode and writes its first observation. With a seed the episode, and all that follow, depend
    /// on the seed alone; without one the random numbers continue.
    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]);

    /// Performs one action and writes the observation that follows it. Before the first `reset`, or after the
    /// episode's end, the result is unspecified (but memory-safe and without panic).
    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError>;

    /// Performs one action as [`step`](Env::step) does, but need not write the observation: whoever wants it calls
    /// [`observe`](Env::observe) afterwards, once it is known where it goes. `scratch` has room for one, with any contents.
    ///
    /// Worth implementing where observations are large.
    fn advance(&mut self, action: Action<'_>, scratch: &mut [u8]) -> Result<Step, EnvError> {
        self.step(action, scratch)
    }

    /// Facts about the state reached by the last `reset` or `step`.
    fn info(&self) -> Self::Info;

    /// Writes the observation of the present state again, as the last `reset` or `step` did.
    fn observe(&self, observation: &mut [u8]);

    /// The complete state as bytes: continuing from a restored snapshot equals never having left it.
    fn snapshot(&self) -> Vec<u8>;

    /// Puts a state from [`snapshot`](Env::snapshot) back. On an error the environment is as before.
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError>;
}
