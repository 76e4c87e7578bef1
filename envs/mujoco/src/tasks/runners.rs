//! The locomotion tasks: Ant, HalfCheetah, Hopper, Humanoid, Swimmer, Walker2d.

use crate::arguments::Arguments;
use crate::arithmetic::{action_cost, norm, sum, sum_of_squares};
use crate::error::MujocoError;
use crate::model::{Model, Sizes};
use crate::rules::{Map, Part, RewardRule, Rules, Start, StepOutcome};
use crate::simulation::{Field, Simulation};

/// Rewards the speed of a body along x and its health; penalizes its controls and contact forces.
pub(super) struct Runner {
    pub(super) is_v4: bool,
    pub(super) names: &'static [&'static str],
    /// The number of names that are also reported after a reset.
    pub(super) reset_names: usize,
    pub(super) point: Point,
    /// Seconds per step.
    pub(super) dt: f64,
    /// The second position of the initial state.
    pub(super) start_height: f64,
    pub(super) forward_weight: f64,
    pub(super) control_weight: f64,
    /// True to add the squares of the controls in double precision.
    pub(super) exact_controls: bool,
    pub(super) contact: Option<Contact>,
    pub(super) health: Option<Health>,
}

/// The point whose speed is rewarded.
pub(super) enum Point {
    /// The first two positions.
    Root,
    /// The origin of a body.
    Body(usize),
    /// The centre of mass.
    MassCenter,
}

/// The cost of contact forces, with the limits of single forces and of the cost.
pub(super) struct Contact {
    pub(super) weight: f64,
    pub(super) forces: Option<(f64, f64)>,
    pub(super) cost: Option<(f64, f64)>,
}

/// The conditions under which a body is healthy, and the reward for it.
pub(super) struct Health {
    pub(super) reward: f64,
    pub(super) terminates: bool,
    /// True if the step that terminates the episode is rewarded too.
    pub(super) rewards_end: bool,
    /// The conditions, all of which must hold.
    pub(super) conditions: Vec<Condition>,
}

/// A condition of health.
pub(super) enum Condition {
    /// All positions and velocities are finite.
    Finite,
    /// A position lies between limits, inclusive.
    Within(usize, (f64, f64)),
    /// A position lies between limits, exclusive.
    Between(usize, (f64, f64)),
    /// The velocities, and the positions from the third on, lie between limits, exclusive.
    StateBetween((f64, f64)),
}

impl Condition {
    fn holds(&self, positions: &[f64], velocities: &[f64]) -> bool {
        let between = |value: f64, (low, high): (f64, f64)| low < value && value < high;
        match *self {
            Self::Finite => positions.iter().chain(velocities).all(|value| value.is_finite()),
            Self::Within(index, (low, high)) => (low..=high).contains(&positions[index]),
            Self::Between(index, range) => between(positions[index], range),
            Self::StateBetween(range) => {
                positions[2..].iter().chain(velocities).all(|&value| between(value, range))
            }
        }
    }
}

impl Health {
    /// Returns the health of a task with these conditions.
    pub(super) fn new(arguments: &Arguments, conditions: Vec<Condition>) -> Self {
        let terminates = arguments.flag("terminate_when_unhealthy");
        Self {
            reward: arguments.number("healthy_reward"),
            terminates,
            rewards_end: terminates && arguments.spec().is_v4(),
            conditions,
        }
    }
}

/// The parts of a step's reward, and the velocities.
struct Terms {
    x_velocity: f64,
    y_velocity: f64,
    forward: f64,
    control: f64,
    contact: f64,
    survival: f64,
}

impl Runner {
    /// Creates a runner without contact cost and health, whose point is its root. It has one of two lists of names:
    /// that of version 5 with the number of those that are also reported after a reset, and that of version 4.
    pub(super) fn new(
        arguments: &Arguments,
        model: &Model,
        names_v5: (&'static [&'static str], usize),
        names_v4: &'static [&'static str],
    ) -> Self {
        let is_v4 = arguments.spec().is_v4();
        let (names, reset_names) = if is_v4 { (names_v4, 0) } else { names_v5 };
        Self {
            is_v4,
            names,
            reset_names,
            point: Point::Root,
            dt: model.timestep() * arguments.number("frame_skip"),
            start_height: model.initial_positions().get(1).copied().unwrap_or_default(),
            forward_weight: arguments.number("forward_reward_weight"),
            control_weight: arguments.number("ctrl_cost_weight"),
            exact_controls: false,
            contact: None,
            health: None,
        }
    }

    fn control_cost(&self, simulation: &Simulation, action: &[f32]) -> f64 {
        if self.exact_controls {
            self.control_weight * sum_of_squares(simulation.values(Field::Controls))
        } else {
            f64::from(self.control_weight as f32 * action_cost(action))
        }
    }

    /// Returns the value of a name that is reported after a step.
    fn value(&self, name: &str, terms: &Terms, simulation: &Simulation) -> f64 {
        match name {
            "x_velocity" => terms.x_velocity,
            "y_velocity" => terms.y_velocity,
            "reward_forward" | "reward_run" | "reward_fwd" | "reward_linvel" | "forward_reward" => {
                terms.forward
            }
            // Ant-v4 reports the contact cost under the name of the control cost.
            "reward_ctrl" if self.is_v4 && self.contact.is_some() => -terms.contact,
            "reward_ctrl" | "reward_quadctrl" => -terms.control,
            "reward_contact" => -terms.contact,
            "reward_survive" | "reward_alive" => terms.survival,
            name => self.reset_value(name, simulation),
        }
    }

    /// Returns the value of a name that is also reported after a reset: a position or a property of a tendon. In
    /// version 4 positions are those of the rewarded point, else those of the root.
    fn reset_value(&self, name: &str, simulation: &Simulation) -> f64 {
        let point;
        let positions = if self.is_v4 {
            point = self.tracked_values(simulation);
            &point
        } else {
            simulation.values(Field::Positions)
        };
        let element = |field, index: usize| simulation.values(field).get(index).copied().unwrap_or(f64::NAN);
        match name {
            "x_position" => positions[0],
            "y_position" => positions[1],
            "z_distance_from_origin" => positions[1] - self.start_height,
            "distance_from_origin" => norm(&positions[..2]),
            "tendon_length_0" => element(Field::TendonLengths, 0),
            "tendon_length_1" => element(Field::TendonLengths, 1),
            "tendon_velocity_0" => element(Field::TendonVelocities, 0),
            "tendon_velocity_1" => element(Field::TendonVelocities, 1),
            _ => f64::NAN,
        }
    }
}

impl Contact {
    fn cost(&self, simulation: &Simulation) -> f64 {
        let forces = simulation.values(Field::ContactForces);
        let squares = match self.forces {
            None => sum_of_squares(forces),
            Some((low, high)) => {
                sum_of_squares(&forces.iter().map(|force| force.clamp(low, high)).collect::<Vec<_>>())
            }
        };
        let cost = self.weight * squares;
        self.cost.map_or(cost, |(low, high)| cost.clamp(low, high))
    }
}

impl RewardRule for Runner {
    fn names(&self) -> &'static [&'static str] {
        self.names
    }

    fn reset_values(&self, simulation: &Simulation) -> Vec<f64> {
        self.names[..self.reset_names].iter().map(|name| self.reset_value(name, simulation)).collect()
    }

    fn tracked_values(&self, simulation: &Simulation) -> [f64; 2] {
        match self.point {
            Point::Root => {
                let positions = simulation.values(Field::Positions);
                [positions[0], positions[1]]
            }
            Point::Body(body) => {
                let [x, y, _] = simulation.body_position(body);
                [x, y]
            }
            Point::MassCenter => mass_center(simulation),
        }
    }

    fn evaluate(&self, simulation: &Simulation, before: [f64; 2], action: &[f32]) -> StepOutcome {
        let after = self.tracked_values(simulation);
        let [x_velocity, y_velocity] = [0, 1].map(|axis| (after[axis] - before[axis]) / self.dt);
        let forward = self.forward_weight * x_velocity;
        let control = self.control_cost(simulation, action);
        let (mut earned, mut cost, mut terminated) = (forward, control, false);
        let (mut survival, mut contact) = (0.0, 0.0);
        if let Some(health) = &self.health {
            let (positions, velocities) =
                (simulation.values(Field::Positions), simulation.values(Field::Velocities));
            let healthy = health.conditions.iter().all(|condition| condition.holds(positions, velocities));
            survival = f64::from(u8::from(healthy || health.rewards_end)) * health.reward;
            earned += survival;
            terminated = !healthy && health.terminates;
        }
        if let Some(rule) = &self.contact {
            contact = rule.cost(simulation);
            cost += contact;
        }
        let terms = Terms { x_velocity, y_velocity, forward, control, contact, survival };
        let values = self.names.iter().map(|name| self.value(name, &terms, simulation)).collect();
        StepOutcome { reward: earned - cost, terminated, values }
    }
}

/// Returns x and y of the centre of mass.
fn mass_center(simulation: &Simulation) -> [f64; 2] {
    let masses = simulation.model().body_masses();
    let centers = simulation.values(Field::MassCenters).as_chunks::<3>().0;
    let total = sum(masses);
    [0, 1].map(|axis| {
        let moments = masses.iter().zip(centers).map(|(mass, center)| mass * center[axis]);
        moments.fold(0.0, |sum, moment| sum + moment) / total
    })
}

/// Returns the positions, of which the first `hidden` may be left out, and the velocities.
pub(super) fn joints(arguments: &Arguments, hidden: usize, velocities: Map) -> Vec<Part> {
    let hides = arguments.flag("exclude_current_positions_from_observation");
    vec![
        Part::rest(Field::Positions, if hides { hidden } else { 0 }),
        Part::rest(Field::Velocities, 0).mapped(velocities),
    ]
}

/// Returns the sizes of a model with these numbers of positions and velocities.
fn sizes(positions: usize, velocities: usize) -> Sizes {
    Sizes { positions, velocities, ..Sizes::default() }
}

/// Gymnasium clips the velocities of Hopper and Walker2d.
const CLIPPED: Map = Map::Clip(-10.0, 10.0);

pub(crate) fn ant(arguments: &Arguments, model: &Model) -> Result<Rules, MujocoError> {
    const NAMES: &[&str] = &[
        "x_position",
        "y_position",
        "distance_from_origin",
        "x_velocity",
        "y_velocity",
        "reward_forward",
        "reward_ctrl",
        "reward_contact",
        "reward_survive",
    ];
    const NAMES_V4: &[&str] = &[
        "reward_forward",
        "reward_ctrl",
        "reward_survive",
        "x_position",
        "y_position",
        "distance_from_origin",
        "x_velocity",
        "y_velocity",
        "forward_reward",
    ];
    let is_v4 = arguments.spec().is_v4();
    let body = match arguments.text("main_body") {
        Some(name) => arguments.body(model, name)?,
        None => arguments.number("main_body") as usize,
    };
    arguments.require(model, Sizes { bodies: body.saturating_add(1), ..sizes(3, 0) })?;
    let forces = arguments.range("contact_force_range");
    let mut observation = joints(arguments, 2, Map::Same);
    let (observed, first) =
        if is_v4 { ("use_contact_forces", 0) } else { ("include_cfrc_ext_in_observation", 6) };
    if arguments.flag(observed) {
        observation.push(Part::rest(Field::ContactForces, first).mapped(Map::Clip(forces.0, forces.1)));
    }
    let conditions = vec![Condition::Finite, Condition::Within(2, arguments.range("healthy_z_range"))];
    let weight = arguments.number("contact_cost_weight");
    let pays_contacts = !is_v4 || arguments.flag("use_contact_forces");
    let runner = Runner {
        point: Point::Body(body),
        contact: pays_contacts.then_some(Contact { weight, forces: Some(forces), cost: None }),
        health: Some(Health::new(arguments, conditions)),
        ..Runner::new(arguments, model, (NAMES, 3), NAMES_V4)
    };
    Ok(Rules { start: Start::normal(arguments), observation, reward_rule: Box::new(runner) })
}

pub(crate) fn half_cheetah(arguments: &Arguments, model: &Model) -> Result<Rules, MujocoError> {
    const NAMES: &[&str] = &["x_position", "x_velocity", "reward_forward", "reward_ctrl"];
    const NAMES_V4: &[&str] = &["x_position", "x_velocity", "reward_run", "reward_ctrl"];
    arguments.require(model, sizes(2, 0))?;
    Ok(Rules {
        start: Start::normal(arguments),
        observation: joints(arguments, 1, Map::Same),
        reward_rule: Box::new(Runner::new(arguments, model, (NAMES, 1), NAMES_V4)),
    })
}

/// The names of Hopper and Walker2d.
const WALKER_NAMES: &[&str] = &[
    "x_position",
    "z_distance_from_origin",
    "x_velocity",
    "reward_forward",
    "reward_ctrl",
    "reward_survive",
];
const WALKER_NAMES_V4: &[&str] = &["x_position", "x_velocity"];

pub(crate) fn hopper(arguments: &Arguments, model: &Model) -> Result<Rules, MujocoError> {
    let conditions = vec![
        Condition::StateBetween(arguments.range("healthy_state_range")),
        Condition::Between(1, arguments.range("healthy_z_range")),
        Condition::Between(2, arguments.range("healthy_angle_range")),
    ];
    walker(arguments, model, conditions)
}

pub(crate) fn walker2d(arguments: &Arguments, model: &Model) -> Result<Rules, MujocoError> {
    let conditions = vec![
        Condition::Between(1, arguments.range("healthy_z_range")),
        Condition::Between(2, arguments.range("healthy_angle_range")),
    ];
    walker(arguments, model, conditions)
}

fn walker(arguments: &Arguments, model: &Model, conditions: Vec<Condition>) -> Result<Rules, MujocoError> {
    arguments.require(model, sizes(3, 0))?;
    let health = Some(Health::new(arguments, conditions));
    let runner = Runner::new(arguments, model, (WALKER_NAMES, 2), WALKER_NAMES_V4);
    Ok(Rules {
        start: Start::uniform(arguments),
        observation: joints(arguments, 1, CLIPPED),
        reward_rule: Box::new(Runner { health, ..runner }),
    })
}

pub(crate) fn swimmer(arguments: &Arguments, model: &Model) -> Result<Rules, MujocoError> {
    const NAMES: &[&str] = &[
        "x_position",
        "y_position",
        "distance_from_origin",
        "x_velocity",
        "y_velocity",
        "reward_forward",
        "reward_ctrl",
    ];
    const NAMES_V4: &[&str] = &[
        "reward_fwd",
        "reward_ctrl",
        "x_position",
        "y_position",
        "distance_from_origin",
        "x_velocity",
        "y_velocity",
        "forward_reward",
    ];
    arguments.require(model, sizes(2, 0))?;
    Ok(Rules {
        start: Start::uniform(arguments),
        observation: joints(arguments, 2, Map::Same),
        reward_rule: Box::new(Runner::new(arguments, model, (NAMES, 3), NAMES_V4)),
    })
}
