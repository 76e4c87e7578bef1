use rl_env::{Action, EnvError, Pcg64, Space, Step};
use serde::{Deserialize, Serialize};

use crate::control::{Dynamics, write_floats};
use crate::mountain_car;

const MIN_POSITION: f32 = -1.2;
const MAX_POSITION: f32 = 0.6;
const MAX_SPEED: f32 = 0.07;
const GOAL_POSITION: f32 = 0.45;
const POWER: f64 = 0.0015;

/// The car in the valley with a throttle: Gymnasium's `MountainCarContinuous-v0`.
///
/// Observation: position, velocity. Action: the force, from -1 to 1; more has no more effect, but its cost. Reaching
/// the hill, at position 0.45 and at least the goal's velocity, terminates the episode and earns 100; every step costs
/// a tenth of the action's square.
///
/// Gymnasium keeps the state in single precision, but for the first position, and so does this.
#[derive(Clone, Copy, Debug, Default)]
pub struct MountainCarContinuous {
    /// The velocity that the car must have on the hill; 0 in Gymnasium.
    pub goal_velocity: f32,
}

/// Where the car is and how fast.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct MountainCarContinuousState {
    position: f32,
    velocity: f32,
    /// The position at the beginning of the episode, until the first step, in the precision of the random numbers.
    first_position: Option<f64>,
}

impl MountainCarContinuousState {
    /// Three times the position: the argument of the slope.
    fn slope_angle(&self) -> f64 {
        self.first_position.map_or_else(|| f64::from(3.0 * self.position), |position| 3.0 * position)
    }

    fn advance(&mut self) {
        self.position = match self.first_position.take() {
            Some(position) => (position + f64::from(self.velocity)) as f32,
            None => self.position + self.velocity,
        };
    }
}

/// The engine's push less the pull of the slope.
fn acceleration(action: f32, slope_angle: f64) -> f32 {
    let pull = 0.0025 * slope_angle.cos();
    if action.abs() > 1.0 {
        // What is clipped becomes a Python float in Gymnasium, which is a double.
        return (f64::from(action.signum()) * POWER - pull) as f32;
    }
    action * POWER as f32 - pull as f32
}

impl Dynamics for MountainCarContinuous {
    type State = MountainCarContinuousState;

    fn observation_space(&self) -> Space {
        mountain_car::observation_space()
    }

    fn action_space(&self) -> Space {
        Space::floats(1, -1.0, 1.0)
    }

    fn start(&self, generator: &mut Pcg64) -> MountainCarContinuousState {
        let position = generator.uniform(-0.6, -0.4);
        MountainCarContinuousState {
            position: position as f32,
            velocity: 0.0,
            first_position: Some(position),
        }
    }

    fn step(
        &self,
        state: &mut MountainCarContinuousState,
        action: Action<'_>,
        action_space: &Space,
    ) -> Result<Step, EnvError> {
        let [action] = action.to_floats(action_space)?;
        state.velocity += acceleration(action, state.slope_angle());
        state.velocity = state.velocity.clamp(-MAX_SPEED, MAX_SPEED);
        state.advance();
        state.position = state.position.clamp(MIN_POSITION, MAX_POSITION);
        if state.position == MIN_POSITION && state.velocity < 0.0 {
            state.velocity = 0.0;
        }
        let terminated = state.position >= GOAL_POSITION && state.velocity >= self.goal_velocity;
        let prize = if terminated { 100.0 } else { 0.0 };
        let reward = prize - f64::from(action) * f64::from(action) * 0.1;
        Ok(Step { terminated, ..Step::reward(reward as f32) })
    }

    fn observe(&self, state: &MountainCarContinuousState, observation: &mut [u8]) {
        write_floats(&[state.position, state.velocity], observation);
    }
}
