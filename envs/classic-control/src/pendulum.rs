use std::f64::consts::PI;
use std::hint::black_box;

use rl_env::{Action, EnvError, Pcg64, Space};
use serde::{Deserialize, Serialize};

use crate::arithmetic::square;
use crate::control::{Dynamics, Judgement, write_floats};
use crate::start::Start;

const MAX_SPEED: f64 = 8.0;
const MAX_TORQUE: f32 = 2.0;
/// Seconds per step.
const DT: f64 = 0.05;

/// A pendulum to be swung up and balanced with a torque at its joint: Gymnasium's `Pendulum-v1`. Mass and length are 1.
///
/// Observation: cosine and sine of the angle (0 is upright) and the angular velocity. Action: the torque, clipped to -2
/// to 2. A step costs the squares of the angle, the angular velocity (times 0.1) and the torque (times 0.001). Episodes
/// never terminate.
#[derive(Clone, Copy, Debug)]
pub struct Pendulum {
    /// Gravitational acceleration, in metres per second squared; 10 in Gymnasium.
    pub gravity: f64,
}

impl Default for Pendulum {
    fn default() -> Self {
        Self { gravity: 10.0 }
    }
}

/// Angle and angular velocity, in radians and radians per second.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct PendulumState {
    angle: f64,
    angular_velocity: f64,
}

/// Wraps an angle to `-pi..pi`.
fn normalized(angle: f64) -> f64 {
    (angle + PI).rem_euclid(2.0 * PI) - PI
}

impl Dynamics for Pendulum {
    type State = PendulumState;

    const START: Start = Start::within(PI, 1.0);

    fn observation_space(&self) -> Space {
        Space::float_ranges(&[(-1.0, 1.0), (-1.0, 1.0), (-MAX_SPEED as f32, MAX_SPEED as f32)])
    }

    fn action_space(&self) -> Space {
        Space::floats(1, -MAX_TORQUE, MAX_TORQUE)
    }

    fn start(&self, ranges: [(f64, f64); 2], generator: &mut Pcg64) -> PendulumState {
        let [angle, angular_velocity] = ranges.map(|(low, high)| generator.uniform(low, high));
        PendulumState { angle, angular_velocity }
    }

    fn step(
        &self,
        state: &mut PendulumState,
        action: Action<'_>,
        action_space: &Space,
    ) -> Result<Judgement, EnvError> {
        let [torque] = action.to_floats(action_space)?;
        let torque = torque.clamp(-MAX_TORQUE, MAX_TORQUE);
        let PendulumState { angle, angular_velocity } = *state;
        let deviation = normalized(angle);
        // As in Gymnasium, products with the torque and its square have single precision.
        let torque_cost = 0.001 * torque.powf(black_box(2.0));
        let cost = square(deviation) + 0.1 * square(angular_velocity) + f64::from(torque_cost);
        let acceleration = 3.0 * self.gravity / 2.0 * angle.sin() + f64::from(3.0 * torque);
        state.angular_velocity = (angular_velocity + acceleration * DT).clamp(-MAX_SPEED, MAX_SPEED);
        state.angle = angle + state.angular_velocity * DT;
        Ok(Judgement { reward: -cost, terminated: false })
    }

    fn observe(&self, state: &PendulumState, observation: &mut [u8]) {
        let values = [state.angle.cos(), state.angle.sin(), state.angular_velocity];
        write_floats(&values.map(|value| value as f32), observation);
    }
}
