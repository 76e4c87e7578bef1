use rl_env::{Action, EnvError, Pcg64, Space};
use serde::{Deserialize, Serialize};

use crate::control::{Dynamics, Judgement, write_floats};
use crate::start::Start;

const MIN_POSITION: f64 = -1.2;
const MAX_POSITION: f64 = 0.6;
const MAX_SPEED: f64 = 0.07;
const GOAL_POSITION: f64 = 0.5;
const FORCE: f64 = 0.001;
const GRAVITY: f64 = 0.0025;

/// An underpowered car in a valley that has to gain momentum to climb the hill on the right: Gymnasium's
/// `MountainCar-v0`.
///
/// Observation: position, velocity. Actions: accelerate left (0), not (1), or right (2). Every step costs 1. The
/// episode terminates on the hill, at position 0.5 with at least the goal velocity. Moore (1990), "Efficient
/// memory-based learning for robot control".
#[derive(Clone, Copy, Debug, Default)]
pub struct MountainCar {
    /// The minimal velocity on the hill; 0 in Gymnasium.
    pub goal_velocity: f64,
}

/// Cars start at rest, at random positions.
pub(crate) const START: Start = Start::between(-0.6, -0.4);

/// Position and velocity of the car.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct MountainCarState {
    position: f64,
    velocity: f64,
}

pub(crate) fn observation_space() -> Space {
    let [lowest, highest, fastest] = [MIN_POSITION, MAX_POSITION, MAX_SPEED].map(|bound| bound as f32);
    Space::float_ranges(&[(lowest, highest), (-fastest, fastest)])
}

impl Dynamics for MountainCar {
    type State = MountainCarState;

    const START: Start = START;

    fn observation_space(&self) -> Space {
        observation_space()
    }

    fn action_space(&self) -> Space {
        Space::discrete(3)
    }

    fn start(&self, [(low, high), _]: [(f64, f64); 2], generator: &mut Pcg64) -> MountainCarState {
        MountainCarState { position: generator.uniform(low, high), velocity: 0.0 }
    }

    fn step(
        &self,
        state: &mut MountainCarState,
        action: Action<'_>,
        action_space: &Space,
    ) -> Result<Judgement, EnvError> {
        let push = f64::from(action.to_index(action_space)? - 1) * FORCE;
        let velocity = state.velocity + (push + (3.0 * state.position).cos() * -GRAVITY);
        state.velocity = velocity.clamp(-MAX_SPEED, MAX_SPEED);
        state.position = (state.position + state.velocity).clamp(MIN_POSITION, MAX_POSITION);
        if state.position == MIN_POSITION && state.velocity < 0.0 {
            state.velocity = 0.0;
        }
        let terminated = state.position >= GOAL_POSITION && state.velocity >= self.goal_velocity;
        Ok(Judgement { reward: -1.0, terminated })
    }

    fn observe(&self, state: &MountainCarState, observation: &mut [u8]) {
        write_floats(&[state.position as f32, state.velocity as f32], observation);
    }
}
