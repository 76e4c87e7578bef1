//! The rules of a task: starts of episodes, observations and rewards.

use rl_env::Pcg64;

use crate::arguments::Arguments;
use crate::arithmetic::norm;
use crate::model::Model;
use crate::simulation::{Field, Simulation};

/// The rules of one task with its arguments.
pub(crate) struct Rules {
    pub(crate) start: Start,
    pub(crate) observation: Vec<Part>,
    pub(crate) reward_rule: Box<dyn RewardRule>,
}

/// The distribution of initial states.
pub(crate) enum Start {
    /// The initial state with uniform noise in all positions and velocities.
    Uniform { scale: f64 },
    /// The initial state with uniform noise in the positions and normal noise in the velocities.
    Normal { scale: f64 },
    /// A random arm, and a target at rest within reach.
    Target,
    /// A random cylinder at rest away from the goal, which is at the origin.
    Cylinder,
}

/// The largest velocity at the start of Reacher and Pusher.
const ARM_SPEED: f64 = 0.005;

impl Start {
    /// Returns the distribution with uniform noise, scaled by the argument `reset_noise_scale`.
    pub(crate) fn uniform(arguments: &Arguments) -> Self {
        Self::Uniform { scale: arguments.number("reset_noise_scale") }
    }

    /// Like [`uniform`](Self::uniform), but with normal noise in the velocities.
    pub(crate) fn normal(arguments: &Arguments) -> Self {
        Self::Normal { scale: arguments.number("reset_noise_scale") }
    }

    /// Draws positions and velocities in Gymnasium's order.
    pub(crate) fn draw(&self, model: &Model, generator: &mut Pcg64) -> (Vec<f64>, Vec<f64>) {
        let velocities = model.sizes.velocities;
        match *self {
            Self::Uniform { scale } => {
                let positions = around(model, scale, generator);
                (positions, uniform(velocities, scale, generator))
            }
            Self::Normal { scale } => {
                let positions = around(model, scale, generator);
                (positions, (0..velocities).map(|_| scale * generator.standard_normal()).collect())
            }
            Self::Target => {
                let mut positions = around(model, 0.1, generator);
                replace_end(&mut positions, &target(generator));
                let mut speeds = uniform(velocities, ARM_SPEED, generator);
                replace_end(&mut speeds, &[0.0; 2]);
                (positions, speeds)
            }
            Self::Cylinder => {
                let mut positions = model.initial_positions().to_vec();
                let [x, y] = cylinder(generator);
                replace_end(&mut positions, &[x, y, 0.0, 0.0]);
                let mut speeds = uniform(velocities, ARM_SPEED, generator);
                replace_end(&mut speeds, &[0.0; 4]);
                (positions, speeds)
            }
        }
    }
}

fn uniform(count: usize, scale: f64, generator: &mut Pcg64) -> Vec<f64> {
    (0..count).map(|_| generator.uniform(-scale, scale)).collect()
}

/// Returns the initial positions with uniform noise.
fn around(model: &Model, scale: f64, generator: &mut Pcg64) -> Vec<f64> {
    model.initial_positions().iter().map(|position| position + generator.uniform(-scale, scale)).collect()
}

fn replace_end(values: &mut [f64], end: &[f64]) {
    let start = values.len() - end.len();
    values[start..].copy_from_slice(end);
}

/// Draws a target of Reacher in a circle.
fn target(generator: &mut Pcg64) -> [f64; 2] {
    loop {
        let target = [(); 2].map(|()| generator.uniform(-0.2, 0.2));
        if norm(&target) < 0.2 {
            return target;
        }
    }
}

/// Draws the position of Pusher's cylinder outside a circle around the goal.
fn cylinder(generator: &mut Pcg64) -> [f64; 2] {
    loop {
        let position = [generator.uniform(-0.3, 0.0), generator.uniform(-0.2, 0.2)];
        if norm(&position) > 0.17 {
            return position;
        }
    }
}

/// A part of an observation.
pub(crate) enum Part {
    /// The elements of an array from `first` on, at most `count`.
    Slice { field: Field, first: usize, count: usize, map: Map },
    /// The first coordinates of the vector from one body to another, two or three.
    Way { from: usize, to: usize, axes: usize },
}

/// An elementwise function.
#[derive(Clone, Copy)]
pub(crate) enum Map {
    Same,
    Clip(f64, f64),
    Sine,
    Cosine,
}

impl Part {
    /// Returns all elements of an array from `first` on.
    pub(crate) const fn rest(field: Field, first: usize) -> Self {
        Self::Slice { field, first, count: usize::MAX, map: Map::Same }
    }

    /// Returns the first `count` elements of an array.
    pub(crate) const fn start(field: Field, count: usize) -> Self {
        Self::Slice { field, first: 0, count, map: Map::Same }
    }

    /// Returns the coordinates of a body.
    pub(crate) const fn body(body: usize) -> Self {
        Self::Slice { field: Field::BodyPositions, first: 3 * body, count: 3, map: Map::Same }
    }

    /// Returns this slice with `map` applied to its elements.
    pub(crate) fn mapped(self, map: Map) -> Self {
        match self {
            Self::Slice { field, first, count, .. } => Self::Slice { field, first, count, map },
            way @ Self::Way { .. } => way,
        }
    }

    /// Returns the number of elements.
    pub(crate) fn len(&self, model: &Model) -> usize {
        match *self {
            Self::Slice { field, first, count, .. } => count.min(field.len(model).saturating_sub(first)),
            Self::Way { axes, .. } => axes,
        }
    }

    /// Calls `to` with each element.
    pub(crate) fn write(&self, simulation: &Simulation, mut to: impl FnMut(f64)) {
        match *self {
            Self::Slice { field, first, count, map } => {
                let values = simulation.values(field).iter().skip(first).take(count);
                values.map(|&value| map.apply(value)).for_each(to);
            }
            Self::Way { from, to: end, axes } => {
                way(simulation, from, end)[..axes].iter().for_each(|&distance| to(distance));
            }
        }
    }
}

impl Map {
    fn apply(self, value: f64) -> f64 {
        match self {
            Self::Same => value,
            Self::Clip(low, high) => value.clamp(low, high),
            Self::Sine => value.sin(),
            Self::Cosine => value.cos(),
        }
    }
}

/// Returns the vector from one body to another.
pub(crate) fn way(simulation: &Simulation, from: usize, to: usize) -> [f64; 3] {
    let (start, end) = (simulation.body_position(from), simulation.body_position(to));
    std::array::from_fn(|axis| end[axis] - start[axis])
}

/// The rules of a task for rewards and terminations.
pub(crate) trait RewardRule: Send + Sync {
    /// Returns Gymnasium's names of the values that are reported after a step, with those that are also reported after
    /// a reset first.
    fn names(&self) -> &'static [&'static str];

    /// Returns the values that are reported after a reset.
    fn reset_values(&self, _simulation: &Simulation) -> Vec<f64> {
        Vec::new()
    }

    /// Returns the values of the current state that the rule needs again after the next step, such as a point whose
    /// displacement is rewarded.
    fn tracked_values(&self, _simulation: &Simulation) -> [f64; 2] {
        [0.0; 2]
    }

    /// Returns the outcome of the step that led to the current state. `before` are the
    /// [`tracked_values`](Self::tracked_values) of the state before it.
    fn evaluate(&self, simulation: &Simulation, before: [f64; 2], action: &[f32]) -> StepOutcome;
}

/// The outcome of a step.
pub(crate) struct StepOutcome {
    pub(crate) reward: f64,
    pub(crate) terminated: bool,
    pub(crate) values: Vec<f64>,
}
