use std::f64::consts::PI;

use rl_env::{Action, EnvError, Pcg64, Space};
use serde::{Deserialize, Serialize};

use crate::arithmetic::square;
use crate::control::{Dynamics, Judgement, write_floats};
use crate::start::Start;

// Both links have a length of 1 m, a mass of 1 kg, the centre of mass in the middle and a moment of inertia of 1 kg
// m^2.
const TO_CENTRE: f64 = 0.5;
const INERTIA: f64 = 1.0;
const GRAVITY: f64 = 9.8;
/// Seconds per step.
const DT: f64 = 0.2;
const MAX_VELOCITIES: [f64; 2] = [4.0 * PI, 9.0 * PI];

/// Two links that hang from a joint and are driven at the joint between them, to swing the tip up: Gymnasium's
/// `Acrobot-v1`.
///
/// Observation: cosine and sine of the first angle (0 hangs down) and of the second (relative to the first link), and
/// both angular velocities. Actions: a torque of -1, 0 or 1 N m. Every step costs 1, except the one that raises the tip
/// one link length above the joint, which terminates the episode.
///
/// Sutton (1996), "Generalization in reinforcement learning: successful examples using sparse coarse coding". The
/// equations are those of Sutton and Barto's book, integrated with the classical Runge-Kutta method.
///
/// Gymnasium computes the sines and cosines of an episode's first observation in single precision. In about two in a
/// thousand episodes the last bit of one of them therefore differs from the correctly rounded value used here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acrobot;

/// Angles and angular velocities, in radians and radians per second.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct AcrobotState {
    angles: [f64; 2],
    velocities: [f64; 2],
}

/// Both angles, then both angular velocities.
type Vector = [f64; 4];

/// Returns the time derivative with a torque between the links.
fn derivative(&[angle_1, angle_2, velocity_1, velocity_2]: &Vector, torque: f64) -> Vector {
    let (sin_2, cos_2) = angle_2.sin_cos();
    // This product is exact. Other squares are powers, because the motion is chaotic: a different last bit changes
    // observations after some hundred steps.
    let centre_squared = TO_CENTRE * TO_CENTRE;
    let d1 = centre_squared + (1.0 + centre_squared + 2.0 * TO_CENTRE * cos_2) + INERTIA + INERTIA;
    let d2 = (centre_squared + TO_CENTRE * cos_2) + INERTIA;
    let phi2 = TO_CENTRE * GRAVITY * (angle_1 + angle_2 - PI / 2.0).cos();
    let phi1 = -TO_CENTRE * square(velocity_2) * sin_2 - 2.0 * TO_CENTRE * velocity_2 * velocity_1 * sin_2
        + (TO_CENTRE + 1.0) * GRAVITY * (angle_1 - PI / 2.0).cos()
        + phi2;
    let acceleration_2 = (torque + d2 / d1 * phi1 - TO_CENTRE * square(velocity_1) * sin_2 - phi2)
        / (centre_squared + INERTIA - square(d2) / d1);
    let acceleration_1 = -(d2 * acceleration_2 + phi1) / d1;
    [velocity_1, velocity_2, acceleration_1, acceleration_2]
}

/// Performs one step of the classical Runge-Kutta method.
fn integrate(start: &Vector, torque: f64) -> Vector {
    let ahead = |time: f64, slope: &Vector| std::array::from_fn(|i| start[i] + time * slope[i]);
    let k1 = derivative(start, torque);
    let k2 = derivative(&ahead(DT / 2.0, &k1), torque);
    let k3 = derivative(&ahead(DT / 2.0, &k2), torque);
    let k4 = derivative(&ahead(DT, &k3), torque);
    std::array::from_fn(|i| start[i] + DT / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]))
}

/// Wraps an angle to `-pi..=pi`.
fn wrap(mut angle: f64) -> f64 {
    while angle > PI {
        angle -= 2.0 * PI;
    }
    while angle < -PI {
        angle += 2.0 * PI;
    }
    angle
}

impl AcrobotState {
    fn is_tip_up(&self) -> bool {
        let [first, second] = self.angles;
        -first.cos() - (second + first).cos() > 1.0
    }
}

impl Dynamics for Acrobot {
    type State = AcrobotState;

    /// No first state is faster than the first link may be.
    const START: Start = Start::between(-0.1, 0.1).limited(MAX_VELOCITIES[0]);

    /// Wrapping a huge angle would take for ever.
    fn accepts(&self, state: &AcrobotState) -> bool {
        state.angles.iter().all(|angle| angle.abs() <= MAX_VELOCITIES[0])
            && state.velocities.iter().zip(MAX_VELOCITIES).all(|(velocity, max)| velocity.abs() <= max)
    }

    fn observation_space(&self) -> Space {
        let [first, second] = MAX_VELOCITIES.map(|fastest| (-fastest as f32, fastest as f32));
        let unit = (-1.0, 1.0);
        Space::float_ranges(&[unit, unit, unit, unit, first, second])
    }

    fn action_space(&self) -> Space {
        Space::discrete(3)
    }

    fn start(&self, [(low, high), _]: [(f64, f64); 2], generator: &mut Pcg64) -> AcrobotState {
        let mut draw = || f64::from(generator.uniform(low, high) as f32);
        AcrobotState { angles: [draw(), draw()], velocities: [draw(), draw()] }
    }

    fn step(
        &self,
        state: &mut AcrobotState,
        action: Action<'_>,
        action_space: &Space,
    ) -> Result<Judgement, EnvError> {
        let torque = f64::from(action.to_index(action_space)? - 1);
        let ([angle_1, angle_2], [velocity_1, velocity_2]) = (state.angles, state.velocities);
        let moved = integrate(&[angle_1, angle_2, velocity_1, velocity_2], torque);
        let [fastest_1, fastest_2] = MAX_VELOCITIES;
        *state = AcrobotState {
            angles: [wrap(moved[0]), wrap(moved[1])],
            velocities: [moved[2].clamp(-fastest_1, fastest_1), moved[3].clamp(-fastest_2, fastest_2)],
        };
        let terminated = state.is_tip_up();
        Ok(Judgement { reward: if terminated { 0.0 } else { -1.0 }, terminated })
    }

    fn observe(&self, state: &AcrobotState, observation: &mut [u8]) {
        let ([first, second], [velocity_1, velocity_2]) = (state.angles, state.velocities);
        let values = [first.cos(), first.sin(), second.cos(), second.sin(), velocity_1, velocity_2];
        write_floats(&values.map(|value| value as f32), observation);
    }
}
