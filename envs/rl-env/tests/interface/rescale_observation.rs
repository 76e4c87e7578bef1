//! Rescaling of observations to -1..=1, tested with an environment with given observations.

use rl_env::{Action, Env, EnvError, RescaleObservation, Space, Step, snapshot};

/// Observes its values, which every step halves.
struct Shown {
    observation_space: Space,
    action_space: Space,
    numbers: Vec<f32>,
}

impl Shown {
    fn new(observation_space: Space, numbers: &[f32]) -> Self {
        Self { observation_space, action_space: Space::discrete(1), numbers: numbers.to_vec() }
    }
}

impl Env for Shown {
    type Info = ();

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, _seed: Option<u64>, observation: &mut [u8]) {
        self.observe(observation);
    }

    fn step(&mut self, _action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        self.numbers.iter_mut().for_each(|number| *number /= 2.0);
        self.observe(observation);
        Ok(Step::reward(1.0))
    }

    fn info(&self) {}

    fn observe(&self, observation: &mut [u8]) {
        for (bytes, number) in observation.as_chunks_mut().0.iter_mut().zip(&self.numbers) {
            *bytes = number.to_ne_bytes();
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&self.numbers)
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.numbers = snapshot::decode(snapshot)?;
        Ok(())
    }
}

/// Returns the floats that `write` writes to a row of this length.
fn row(length: usize, write: impl FnOnce(&mut [u8])) -> Vec<f32> {
    let mut bytes = vec![0xAA; 4 * length];
    write(&mut bytes);
    bytes.as_chunks().0.iter().map(|&bytes| f32::from_ne_bytes(bytes)).collect()
}

/// Returns the rescaled observation of values with these ranges.
fn seen(ranges: &[(f32, f32)], numbers: &[f32]) -> Vec<f32> {
    let env = Shown::new(Space::float_ranges(ranges), numbers);
    let mut env = RescaleObservation::new(env).expect("the space is a box of floats");
    row(numbers.len(), |bytes| env.reset(None, bytes))
}

#[test]
fn rescales_bounded_values_to_minus_one_to_one() {
    // Position and velocity of the mountain car, and an interval that starts at 0.
    let ranges = [(-1.2, 0.6), (-0.07, 0.07), (0.0, 8.0)];
    assert_eq!(seen(&ranges, &[-1.2, -0.07, 0.0]), [-1.0; 3]);
    assert_eq!(seen(&ranges, &[0.6, 0.07, 8.0]), [1.0; 3]);
    for (numbers, expected) in [([-0.3, 0.0, 4.0], [0.0; 3]), ([0.15, -0.035, 7.0], [0.5, -0.5, 0.75])] {
        for (got, expected) in seen(&ranges, &numbers).into_iter().zip(expected) {
            assert!((got - expected).abs() < 1e-6, "{numbers:?}: {got}, not {expected}");
        }
    }
}

#[test]
fn keeps_values_without_two_finite_bounds() {
    let infinite = f32::INFINITY;
    let ranges = [(-infinite, infinite), (0.0, infinite), (-infinite, 0.0), (3.0, 3.0), (-2.0, 2.0)];
    assert_eq!(seen(&ranges, &[123.0, 7.0, -7.0, 3.0, 1.0]), [123.0, 7.0, -7.0, 3.0, 0.5]);
    let env = RescaleObservation::new(Shown::new(Space::float_ranges(&ranges), &[]))
        .expect("the space is a box of floats");
    let ranges = [(-infinite, infinite), (0.0, infinite), (-infinite, 0.0), (3.0, 3.0), (-1.0, 1.0)];
    assert_eq!(*env.observation_space(), Space::float_ranges(&ranges));
    let env = RescaleObservation::new(Shown::new(Space::floats(2, 0.0, 8.0), &[]))
        .expect("the space is a box of floats");
    assert_eq!(*env.observation_space(), Space::floats(2, -1.0, 1.0));
}

#[test]
fn reset_step_and_observe_agree() {
    let [mut env, mut copy] = [(); 2].map(|()| {
        RescaleObservation::new(Shown::new(Space::floats(1, 0.0, 8.0), &[8.0]))
            .expect("the space is a box of floats")
    });
    assert_eq!(row(1, |bytes| env.reset(Some(3), bytes)), [1.0]);
    let step = |bytes: &mut [u8]| assert!(env.step(Action::Discrete(&[0]), bytes).is_ok());
    assert_eq!(row(1, step), [0.0]);
    assert_eq!(row(1, |bytes| env.observe(bytes)), [0.0]);
    copy.restore(&env.snapshot()).expect("the snapshot is valid");
    env.advance(Action::Discrete(&[0]), &mut [0; 4]).expect("the action is valid");
    assert_eq!(row(1, |bytes| env.observe(bytes)), [-0.5]);
    assert_eq!(row(1, |bytes| copy.observe(bytes)), [0.0]);
}

#[test]
fn rejects_observations_that_are_not_floats() {
    for space in [Space::bytes([4]), Space::discrete(3), Space::tuple([Space::floats(1, 0.0, 1.0)])] {
        assert!(RescaleObservation::new(Shown::new(space, &[])).is_none());
    }
}
