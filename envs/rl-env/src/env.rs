use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Dtype, EnvError, RgbImage, Space};

/// The element type of the actions of a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// Integers: [`Action::Discrete`].
    Discrete,
    /// Floats: [`Action::Continuous`].
    Continuous,
}

impl ActionKind {
    /// Returns the name of the kind, an adjective.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discrete => "discrete",
            Self::Continuous => "continuous",
        }
    }

    /// Returns the kind of the actions of `space`, or `None` if it mixes integers and floats, which no [`Action`] can
    /// hold.
    pub fn of(space: &Space) -> Option<Self> {
        match space.dtype() {
            Some(Dtype::F32 | Dtype::F64) => Some(Self::Continuous),
            Some(Dtype::U8 | Dtype::I8 | Dtype::I64) => Some(Self::Discrete),
            None => {
                let mut kinds = space.parts().map(Self::of);
                let first = kinds.next()??;
                kinds.all(|kind| kind == Some(first)).then_some(first)
            }
        }
    }
}

/// An action for one step of one environment: the elements of a value of its action space, in the order of
/// [`Space::leaves`], outermost axis first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action<'a> {
    /// Integers: one for [`Space::Discrete`], one for each choice of [`Space::MultiDiscrete`], zeros and ones for
    /// [`Space::MultiBinary`].
    Discrete(&'a [i32]),
    /// Floats: the elements of a [`Space::Box`].
    Continuous(&'a [f32]),
}

impl<'a> Action<'a> {
    /// Returns true if the action lies in `space`.
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

    /// Returns true if an environment with this action space accepts the action.
    ///
    /// Integers must lie in the space. Floats must be finite but may exceed the bounds: as in Gymnasium, environments
    /// clip them or use them unchanged.
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

    /// Returns the integers of this action after checking that it fits `space`.
    pub fn to_indices(self, space: &Space) -> Result<&'a [i32], EnvError> {
        match self {
            Self::Discrete(indices) if self.fits(space) => Ok(indices),
            _ => Err(self.invalid(space)),
        }
    }

    /// Returns the floats of this action after checking that they fit `space`.
    pub fn to_float_slice(self, space: &Space) -> Result<&'a [f32], EnvError> {
        match self {
            Self::Continuous(values) if self.fits(space) => Ok(values),
            _ => Err(self.invalid(space)),
        }
    }

    /// Returns the `N` floats of this action after checking that they fit `space`.
    pub fn to_floats<const N: usize>(self, space: &Space) -> Result<[f32; N], EnvError> {
        self.to_float_slice(space)?.try_into().map_err(|_| self.invalid(space))
    }

    fn invalid(self, space: &Space) -> EnvError {
        EnvError::InvalidAction { action: self.to_string(), space: space.to_string() }
    }
}

/// Formats a single value alone and several in brackets.
impl fmt::Display for Action<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Discrete([value]) => write!(f, "{value}"),
            Self::Discrete(values) => write!(f, "{values:?}"),
            Self::Continuous(values) => write!(f, "{values:?}"),
        }
    }
}

/// Returns true if the next `values` are the elements of a value of `space`.
fn takes(space: &Space, values: &mut dyn Iterator<Item = f64>) -> bool {
    if space.dtype().is_none() {
        return space.parts().all(|part| takes(part, values));
    }
    (0..space.num_elements()).all(|index| {
        let (low, high) = space.range(index);
        values.next().is_some_and(|value| (low..=high).contains(&value))
    })
}

/// The result of one step of one environment, without the observation.
///
/// There is no single `done` flag: a terminated episode has no future value, but a truncated one does, so learners
/// bootstrap from its last observation.
///
/// ```
/// use rl_env::Step;
///
/// let step = Step { truncated: true, ..Step::reward(1.0) };
/// assert!(step.ends_episode());
/// // A lost life that is reported as a termination, while the episode continues.
/// let life_lost = Step { terminated: true, continues: true, ..Step::reward(0.0) };
/// assert!(!life_lost.ends_episode());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The reward for the learner, after any clipping.
    pub reward: f32,
    /// The reward before clipping.
    pub raw_reward: f32,
    /// True if the task ended the episode.
    pub terminated: bool,
    /// True if a limit outside the task ended the episode. Never together with `terminated`.
    pub truncated: bool,
    /// True if `terminated` concerns the learner only and the episode continues without a reset, as for a lost life
    /// that ends the return. Only together with `terminated`.
    pub continues: bool,
}

impl Step {
    /// Creates a step with an unclipped reward that does not end the episode.
    pub fn reward(reward: f32) -> Self {
        Self { reward, raw_reward: reward, ..Self::default() }
    }

    /// Returns true if the episode is over and a reset has to follow.
    pub fn ends_episode(&self) -> bool {
        (self.terminated || self.truncated) && !self.continues
    }
}

/// A single environment: a task with its state, random number generator and episodes.
///
/// An environment writes observations directly into a row that the caller owns, as the bytes that
/// [`observation_space`](Env::observation_space) describes (native byte order; rows are aligned for their type).
/// [`check_env`](crate::check_env) tests that an implementation follows the rules stated here.
///
/// ```
/// use rl_env::{Action, Env, EnvError, Space, Step, check_env, snapshot};
///
/// /// Counts down from 3; action 1 skips a number.
/// struct Countdown {
///     observation_space: Space,
///     action_space: Space,
///     left: i64,
/// }
///
/// impl Env for Countdown {
///     type Info = ();
///
///     fn observation_space(&self) -> &Space {
///         &self.observation_space
///     }
///     fn action_space(&self) -> &Space {
///         &self.action_space
///     }
///     fn reset(&mut self, _seed: Option<u64>, observation: &mut [u8]) {
///         self.left = 3;
///         self.observe(observation);
///     }
///     fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
///         let skip = action.to_index(&self.action_space)?;
///         self.left = (self.left - 1 - i64::from(skip)).max(0);
///         self.observe(observation);
///         Ok(Step { terminated: self.left == 0, ..Step::reward(1.0) })
///     }
///     fn info(&self) {}
///     fn observe(&self, observation: &mut [u8]) {
///         observation.copy_from_slice(&self.left.to_ne_bytes());
///     }
///     fn snapshot(&self) -> Vec<u8> {
///         snapshot::encode(&self.left)
///     }
///     fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
///         self.left = snapshot::decode(snapshot)?;
///         Ok(())
///     }
/// }
///
/// let mut env =
///     Countdown { observation_space: Space::discrete(4), action_space: Space::discrete(2), left: 0 };
/// let mut observation = [0; 8];
/// env.reset(None, &mut observation);
/// assert!(!env.step(Action::Discrete(&[1]), &mut observation)?.terminated);
/// assert_eq!(i64::from_ne_bytes(observation), 1);
/// check_env(&mut env)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Env: Send {
    /// Additional data about a state. Copied at every step, so it should be small.
    type Info: Clone + Default + Send + 'static;

    /// Returns the space of observations.
    fn observation_space(&self) -> &Space;

    /// Returns the space of actions.
    fn action_space(&self) -> &Space;

    /// Starts a new episode and writes its first observation. With a seed, this and all later episodes depend only on
    /// the seed and the actions; without one, the random number generator continues.
    fn reset(&mut self, seed: Option<u64>, observation: &mut [u8]);

    /// Starts the next episode after one has ended, as vector environments do automatically. Like [`reset`](Env::reset)
    /// without a seed, except in environments whose next episode may continue the same game.
    fn autoreset(&mut self, observation: &mut [u8]) {
        self.reset(None, observation);
    }

    /// Performs one action and writes the observation after it. An action that does not [fit](Action::fits) the action
    /// space is [`EnvError::InvalidAction`] and changes nothing. Before the first `reset` and after the end of an
    /// episode the result is unspecified, but the call does not panic.
    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError>;

    /// Performs one action as [`step`](Env::step) does, but need not write the observation: the caller gets it from
    /// [`observe`](Env::observe) once its destination is known. `scratch` has the length of a row and arbitrary
    /// contents.
    ///
    /// Worth implementing where observations are large.
    fn advance(&mut self, action: Action<'_>, scratch: &mut [u8]) -> Result<Step, EnvError> {
        self.step(action, scratch)
    }

    /// Returns additional data about the current state.
    fn info(&self) -> Self::Info;

    /// Writes the observation of the current state, the same as the last `reset` or `step` wrote.
    fn observe(&self, observation: &mut [u8]);

    /// Returns a picture of the current state; `None` if the environment has none.
    fn render(&self) -> Result<Option<RgbImage>, EnvError> {
        Ok(None)
    }

    /// Returns the complete state, including the random number generator. After it is restored, the environment
    /// continues exactly as before.
    fn snapshot(&self) -> Vec<u8>;

    /// Restores a state from [`snapshot`](Env::snapshot). A damaged snapshot is [`EnvError::BadSnapshot`] and changes
    /// nothing.
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError>;
}
