use rl_env::{Action, EnvError, Pcg64, Space};
use serde::{Deserialize, Serialize};

use crate::control::{Dynamics, Judgement, write_floats};
use crate::mountain_car;
use crate::start::Start;

const MIN_POSITION: f32 = -1.2;
const MAX_POSITION: f32 = 0.6;
const MAX_SPEED: f32 = 0.07;
const GOAL_POSITION: f32 = 0.45;
const POWER: f64 = 0.0015;

/// The mountain car with a continuous force: Gymnasium's `MountainCarContinuous-v0`.
///
/// Observation: position, velocity. Action: the force, which acts as if clipped to -1 to 1. Every step costs a tenth of
/// the square of the unclipped action. Reaching the hill, at position 0.45 with at least the goal velocity, earns 100
/// and terminates the episode.
///
/// As in Gymnasium the state has single precision, except before the first step, which is computed in double precision.
#[derive(Clone, Copy, Debug, Default)]
pub struct MountainCarContinuous {
    /// The minimal velocity on the hill; 0 in Gymnasium.
    pub goal_velocity: f32,
}

/// Position and velocity of the car.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct MountainCarContinuousState {
    position: f32,
    velocity: f32,
    /// The position in double precision, before the first step of an episode.
    first_position: Option<f64>,
}

impl MountainCarContinuousState {
    /// Returns three times the position, the argument of the slope.
    fn slope_angle(&self) -> f64 {
        self.first_position.map_or_else(|| f64::from(3.0 * self.position), |position| 3.0 * position)
    }

    /// Changes the velocity, then the position.
    fn advance(&mut self, action: f32) {
        let acceleration = acceleration(action, self.slope_angle());
        if let Some(position) = self.first_position.take() {
            // Gymnasium rounds the velocity only after adding it to the position.
            let max_speed = f64::from(MAX_SPEED);
            let velocity = (f64::from(self.velocity) + acceleration).clamp(-max_speed, max_speed);
            self.velocity = velocity as f32;
            self.position = (position + velocity) as f32;
        } else {
            self.velocity = (self.velocity + acceleration as f32).clamp(-MAX_SPEED, MAX_SPEED);
            self.position += self.velocity;
        }
    }
}

/// Returns the acceleration by the engine and the slope.
fn acceleration(action: f32, slope_angle: f64) -> f64 {
    let pull = 0.0025 * slope_angle.cos();
    if action.abs() > 1.0 {
        // In Gymnasium a clipped action becomes a Python float, which has double precision.
        return f64::from(action.signum()) * POWER - pull;
    }
    f64::from(action * POWER as f32 - pull as f32)
}

impl Dynamics for MountainCarContinuous {
    type State = MountainCarContinuousState;

    const START: Start = mountain_car::START;

    fn observation_space(&self) -> Space {
        mountain_car::observation_space()
    }

    fn action_space(&self) -> Space {
        Space::floats(1, -1.0, 1.0)
    }

    fn start(&self, [(low, high), _]: [(f64, f64); 2], generator: &mut Pcg64) -> MountainCarContinuousState {
        let position = generator.uniform(low, high);
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
    ) -> Result<Judgement, EnvError> {
        let [action] = action.to_floats(action_space)?;
        state.advance(action);
        state.position = state.position.clamp(MIN_POSITION, MAX_POSITION);
        if state.position == MIN_POSITION && state.velocity < 0.0 {
            state.velocity = 0.0;
        }
        let terminated = state.position >= GOAL_POSITION && state.velocity >= self.goal_velocity;
        let prize = if terminated { 100.0 } else { 0.0 };
        let reward = prize - f64::from(action) * f64::from(action) * 0.1;
        Ok(Judgement { reward, terminated })
    }

    fn observe(&self, state: &MountainCarContinuousState, observation: &mut [u8]) {
        write_floats(&[state.position, state.velocity], observation);
    }
}
