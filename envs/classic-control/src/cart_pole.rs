use rl_env::{Action, EnvError, Pcg64, Space};
use serde::{Deserialize, Serialize};

use crate::control::{Dynamics, Judgement, write_floats};
use crate::start::Start;

// Lengths in metres, masses in kilograms, times in seconds, forces in newtons, angles in radians.
const GRAVITY: f64 = 9.8;
const MASS_CART: f64 = 1.0;
const MASS_POLE: f64 = 0.1;
const TOTAL_MASS: f64 = MASS_POLE + MASS_CART;
/// Distance from the joint to the centre of mass of the pole.
const HALF_LENGTH: f64 = 0.5;
const POLE_MOMENT: f64 = MASS_POLE * HALF_LENGTH;
const FORCE: f64 = 10.0;
const TAU: f64 = 0.02;
const MAX_POSITION: f64 = 2.4;
const MAX_ANGLE: f64 = 12.0 * 2.0 * std::f64::consts::PI / 360.0;

/// A pole on a cart that is pushed left (0) or right (1): Gymnasium's `CartPole-v1`.
///
/// Observation: position, velocity, angle, angular velocity. Every step earns 1. The episode terminates when the cart
/// leaves ±2.4 m or the pole ±12 degrees.
///
/// The dynamics are those of Barto, Sutton and Anderson (1983), "Neuronlike adaptive elements that can solve difficult
/// learning control problems", as corrected by Florian (2007). They are integrated with Euler's method in `f64` and in
/// Gymnasium's order of operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct CartPole {
    /// True if only the step that terminates the episode is rewarded, with -1, as in Sutton and Barto's book.
    pub sutton_barto_reward: bool,
}

/// Positions and velocities of cart and pole, in metres, radians and seconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct CartPoleState {
    pub(crate) position: f64,
    pub(crate) velocity: f64,
    pub(crate) angle: f64,
    pub(crate) angular_velocity: f64,
}

impl CartPole {
    /// The time limit of `CartPole-v1`, which is also the maximal return.
    pub const MAX_STEPS: u32 = 500;
}

impl CartPoleState {
    /// Performs one Euler step with `force`.
    fn integrate(&mut self, force: f64) {
        let (sin, cos) = self.angle.sin_cos();
        let push = (force + POLE_MOMENT * (self.angular_velocity * self.angular_velocity) * sin) / TOTAL_MASS;
        let angular_acceleration =
            (GRAVITY * sin - cos * push) / (HALF_LENGTH * (4.0 / 3.0 - MASS_POLE * (cos * cos) / TOTAL_MASS));
        let acceleration = push - POLE_MOMENT * angular_acceleration * cos / TOTAL_MASS;
        self.position += TAU * self.velocity;
        self.velocity += TAU * acceleration;
        self.angle += TAU * self.angular_velocity;
        self.angular_velocity += TAU * angular_acceleration;
    }

    fn has_failed(&self) -> bool {
        self.position.abs() > MAX_POSITION || self.angle.abs() > MAX_ANGLE
    }
}

impl Dynamics for CartPole {
    type State = CartPoleState;

    const START: Start = Start::between(-0.05, 0.05);

    fn observation_space(&self) -> Space {
        // Twice the limits of termination, so that the last observation lies inside.
        let [position, angle] = [MAX_POSITION, MAX_ANGLE].map(|bound| 2.0 * bound as f32);
        let any = (f32::NEG_INFINITY, f32::INFINITY);
        Space::float_ranges(&[(-position, position), any, (-angle, angle), any])
    }

    fn action_space(&self) -> Space {
        Space::discrete(2)
    }

    fn start(&self, [(low, high), _]: [(f64, f64); 2], generator: &mut Pcg64) -> CartPoleState {
        let mut draw = || generator.uniform(low, high);
        CartPoleState { position: draw(), velocity: draw(), angle: draw(), angular_velocity: draw() }
    }

    fn step(
        &self,
        state: &mut CartPoleState,
        action: Action<'_>,
        action_space: &Space,
    ) -> Result<Judgement, EnvError> {
        let push_right = action.to_index(action_space)? == 1;
        state.integrate(if push_right { FORCE } else { -FORCE });
        let terminated = state.has_failed();
        let reward = match (self.sutton_barto_reward, terminated) {
            (false, _) => 1.0,
            (true, false) => 0.0,
            (true, true) => -1.0,
        };
        Ok(Judgement { reward, terminated })
    }

    fn observe(&self, state: &CartPoleState, observation: &mut [u8]) {
        let values = [state.position, state.velocity, state.angle, state.angular_velocity];
        write_floats(&values.map(|value| value as f32), observation);
    }
}

#[cfg(test)]
mod tests {
    use rl_env::Env;

    use super::*;
    use crate::Control;

    /// Recorded from Gymnasium 1.4.0 with
    ///
    /// ```python
    /// import gymnasium, numpy
    /// cart_pole = gymnasium.make("CartPole-v1")
    /// for start in ([0.01, -0.02, 0.03, -0.04], [2.3, 1.0, 0.0, 0.0], [0.0, 0.0, -0.1, -1.5]):
    ///     cart_pole.reset()
    ///     cart_pole.unwrapped.state = observation = numpy.array(start)
    ///     print("start", *start, sep=",")
    ///     for t in range(120):
    ///         action = int(observation[2] + 0.3 * observation[3] > 0) if t % 5 else t % 2
    ///         observation, reward, terminated, _, _ = cart_pole.step(action)
    ///         print(action, *observation, reward, int(terminated), sep=",")
    ///         if terminated: break
    /// ```
    const TRACE: &str = include_str!("cart_pole_trace.csv");

    #[test]
    fn dynamics_equal_gymnasium() {
        let mut env = Control::new(CartPole::default());
        let mut bytes = [0; 16];
        let mut terminations = 0;
        for (line, text) in TRACE.lines().enumerate() {
            let (head, numbers) = text.split_once(',').unwrap();
            let numbers: Vec<f64> = numbers.split(',').map(|number| number.parse().unwrap()).collect();
            if head == "start" {
                env.reset(None, &mut bytes);
                let state = &mut env.state;
                (state.position, state.velocity) = (numbers[0], numbers[1]);
                (state.angle, state.angular_velocity) = (numbers[2], numbers[3]);
                continue;
            }
            let step = env.step(Action::Discrete(&[head.parse().unwrap()]), &mut bytes).unwrap();
            let observation = bytes.as_chunks().0.iter().map(|&chunk| f32::from_ne_bytes(chunk));
            let expected = numbers[..4].iter().map(|&number| number as f32);
            assert!(
                observation.clone().eq(expected),
                "line {}: {:?}",
                line + 1,
                observation.collect::<Vec<_>>()
            );
            assert_eq!(f64::from(step.reward), numbers[4], "line {}", line + 1);
            assert_eq!(step.terminated, numbers[5] == 1.0, "line {}", line + 1);
            assert!(!step.truncated);
            terminations += usize::from(step.terminated);
        }
        assert!(terminations >= 2, "the trace contains both kinds of failure");
    }

    #[test]
    fn in_the_book_only_the_fall_is_rewarded() {
        let mut env = Control::new(CartPole { sutton_barto_reward: true });
        let mut bytes = [0; 16];
        env.reset(Some(7), &mut bytes);
        let mut rewards: Vec<(f64, bool)> = Vec::new();
        while rewards.last().is_none_or(|&(_, terminated)| !terminated) {
            let step = env.step(Action::Discrete(&[1]), &mut bytes).unwrap();
            rewards.push((env.info().reward, step.terminated));
        }
        let (fall, before) = rewards.split_last().unwrap();
        assert_eq!(*fall, (-1.0, true));
        assert!(before.len() > 5 && before.iter().all(|step| *step == (0.0, false)));
    }

    #[test]
    fn seeds_determine_all_episodes() {
        let (mut left, mut right) = (Control::new(CartPole::default()), Control::new(CartPole::default()));
        let (mut left_row, mut right_row) = ([0; 16], [0; 16]);
        left.reset(Some(7), &mut left_row);
        right.reset(Some(1), &mut right_row);
        assert_ne!(left_row, right_row);
        right.reset(Some(7), &mut right_row);
        assert_eq!(left_row, right_row);
        left.reset(None, &mut left_row);
        assert_ne!(left_row, right_row);
        right.reset(None, &mut right_row);
        assert_eq!(left_row, right_row);
        for chunk in left_row.as_chunks().0 {
            assert!(f32::from_ne_bytes(*chunk).abs() <= 0.05);
        }
    }

    #[test]
    fn restored_snapshots_continue_equally() {
        let mut env = Control::new(CartPole::default());
        let mut bytes = [0; 16];
        env.reset(Some(5), &mut bytes);
        env.step(Action::Discrete(&[1]), &mut bytes).unwrap();
        let mut copy = Control::new(CartPole::default());
        copy.restore(&env.snapshot()).unwrap();
        let mut copied = [0; 16];
        copy.observe(&mut copied);
        assert_eq!(bytes, copied);
        for action in [0, 1, 1, 0] {
            env.step(Action::Discrete(&[action]), &mut bytes).unwrap();
            copy.step(Action::Discrete(&[action]), &mut copied).unwrap();
            assert_eq!(bytes, copied);
        }
        env.reset(None, &mut bytes);
        copy.reset(None, &mut copied);
        assert_eq!(bytes, copied, "the generator is restored, too");
    }

    #[test]
    fn rejects_damaged_snapshots_and_invalid_actions() {
        let mut env = Control::new(CartPole::default());
        let mut bytes = [0; 16];
        env.reset(Some(5), &mut bytes);
        let snapshot = env.snapshot();
        assert!(matches!(env.restore(&snapshot[..snapshot.len() - 1]), Err(EnvError::BadSnapshot(_))));
        assert!(matches!(env.restore(&[&snapshot[..], &[0]].concat()), Err(EnvError::BadSnapshot(_))));
        assert_eq!(env.snapshot(), snapshot, "a failed restore changes nothing");
        for action in [Action::Discrete(&[2]), Action::Discrete(&[-1]), Action::Continuous(&[0.5])] {
            assert!(matches!(env.step(action, &mut bytes), Err(EnvError::InvalidAction { .. })));
        }
    }
}
