//! Reacher and Pusher: an arm in a plane with a target.

use crate::arguments::Arguments;
use crate::arithmetic::{action_cost, norm};
use crate::error::MujocoError;
use crate::model::{Model, Sizes};
use crate::rules::{Map, Part, RewardRule, Rules, Start, StepOutcome, way};
use crate::simulation::{Field, Simulation};

/// Penalizes distances between bodies, and the controls.
struct Arm {
    names: &'static [&'static str],
    /// The pairs of bodies whose distances are penalized, with their weights. The control cost is inserted after the
    /// first.
    ways: Vec<(Way, f64)>,
    control_weight: f64,
    /// True if the distances are those before the step.
    looks_back: bool,
}

#[derive(Clone, Copy)]
struct Way {
    from: usize,
    to: usize,
}

impl Arm {
    fn new(arguments: &Arguments, names: &'static [&'static str], ways: Vec<(Way, f64)>) -> Self {
        let control_weight = arguments.number("reward_control_weight");
        Self { names, ways, control_weight, looks_back: arguments.spec().is_v4() }
    }

    /// Returns the rewards of the distances, at most two.
    fn distances(&self, simulation: &Simulation) -> impl Iterator<Item = f64> {
        self.ways.iter().map(|&(Way { from, to }, weight)| -norm(&way(simulation, from, to)) * weight)
    }
}

pub(crate) fn reacher(arguments: &Arguments, model: &Model) -> Result<Rules, MujocoError> {
    arguments.require(model, Sizes { positions: 2, velocities: 2, ..Sizes::default() })?;
    let way = Way { from: arguments.body(model, "target")?, to: arguments.body(model, "fingertip")? };
    let angles = |map| Part::start(Field::Positions, 2).mapped(map);
    let ways = vec![(way, arguments.number("reward_dist_weight"))];
    Ok(Rules {
        start: Start::Target,
        observation: vec![
            angles(Map::Cosine),
            angles(Map::Sine),
            Part::rest(Field::Positions, 2),
            Part::start(Field::Velocities, 2),
            Part::Way { from: way.from, to: way.to, axes: if arguments.spec().is_v4() { 3 } else { 2 } },
        ],
        reward_rule: Box::new(Arm::new(arguments, &["reward_dist", "reward_ctrl"], ways)),
    })
}

pub(crate) fn pusher(arguments: &Arguments, model: &Model) -> Result<Rules, MujocoError> {
    arguments.require(model, Sizes { positions: 4, velocities: 4, ..Sizes::default() })?;
    let body = |name| arguments.body(model, name);
    let [tips, object, goal] = [body("tips_arm")?, body("object")?, body("goal")?];
    let ways = vec![
        (Way { from: goal, to: object }, arguments.number("reward_dist_weight")),
        (Way { from: tips, to: object }, arguments.number("reward_near_weight")),
    ];
    Ok(Rules {
        start: Start::Cylinder,
        observation: vec![
            Part::start(Field::Positions, 7),
            Part::start(Field::Velocities, 7),
            Part::body(tips),
            Part::body(object),
            Part::body(goal),
        ],
        reward_rule: Box::new(Arm::new(arguments, &["reward_dist", "reward_ctrl", "reward_near"], ways)),
    })
}

impl RewardRule for Arm {
    fn names(&self) -> &'static [&'static str] {
        self.names
    }

    fn tracked_values(&self, simulation: &Simulation) -> [f64; 2] {
        let mut distances = self.distances(simulation);
        [(); 2].map(|()| distances.next().unwrap_or_default())
    }

    fn evaluate(&self, simulation: &Simulation, before: [f64; 2], action: &[f32]) -> StepOutcome {
        let mut values: Vec<f64> = if self.looks_back {
            before[..self.ways.len()].to_vec()
        } else {
            self.distances(simulation).collect()
        };
        values.insert(1, f64::from(-action_cost(action) * self.control_weight as f32));
        StepOutcome { reward: values.iter().sum(), terminated: false, values }
    }
}
