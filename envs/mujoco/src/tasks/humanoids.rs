//! Humanoid and HumanoidStandup.

use super::runners::{Condition, Contact, Health, Point, Runner, joints};
use crate::arguments::Arguments;
use crate::arithmetic::sum_of_squares;
use crate::error::MujocoError;
use crate::model::{Model, Sizes};
use crate::rules::{Map, Part, RewardRule, Rules, Start, StepOutcome};
use crate::simulation::{Field, Simulation};

const SIZES: Sizes =
    Sizes { positions: 3, velocities: 6, bodies: 1, controls: 1, geoms: 0, sites: 0, tendons: 0 };

/// The arrays that both tasks observe in addition to the joints: the argument that includes each, the array, and the
/// first element observed. The world body and the forces on the root, which has no actuator, are left out, except in
/// version 4, which includes all arrays completely.
const PARTS: [(&str, Field, usize); 4] = [
    ("include_cinert_in_observation", Field::Inertias, 10),
    ("include_cvel_in_observation", Field::BodyVelocities, 6),
    ("include_qfrc_actuator_in_observation", Field::ActuatorForces, 6),
    ("include_cfrc_ext_in_observation", Field::ContactForces, 6),
];

fn observation(arguments: &Arguments) -> Vec<Part> {
    let is_v4 = arguments.spec().is_v4();
    let included = PARTS.into_iter().filter(|(argument, ..)| is_v4 || arguments.flag(argument));
    let parts = included.map(|(_, field, first)| Part::rest(field, if is_v4 { 0 } else { first }));
    joints(arguments, 2, Map::Same).into_iter().chain(parts).collect()
}

pub(crate) fn humanoid(arguments: &Arguments, model: &Model) -> Result<Rules, MujocoError> {
    const NAMES: &[&str] = &[
        "x_position",
        "y_position",
        "tendon_length_0",
        "tendon_length_1",
        "tendon_velocity_0",
        "tendon_velocity_1",
        "distance_from_origin",
        "x_velocity",
        "y_velocity",
        "reward_survive",
        "reward_forward",
        "reward_ctrl",
        "reward_contact",
    ];
    const NAMES_V4: &[&str] = &[
        "reward_linvel",
        "reward_quadctrl",
        "reward_alive",
        "x_position",
        "y_position",
        "distance_from_origin",
        "x_velocity",
        "y_velocity",
        "forward_reward",
    ];
    arguments.require(model, SIZES)?;
    let is_v4 = arguments.spec().is_v4();
    let contact = if is_v4 {
        None
    } else {
        let cost = Some(arguments.range("contact_cost_range"));
        Some(Contact { weight: arguments.number("contact_cost_weight"), forces: None, cost })
    };
    let conditions = vec![Condition::Between(2, arguments.range("healthy_z_range"))];
    let runner = Runner {
        point: Point::MassCenter,
        exact_controls: true,
        contact,
        health: Some(Health::new(arguments, conditions)),
        ..Runner::new(arguments, model, (NAMES, 7), NAMES_V4)
    };
    let observation = observation(arguments);
    Ok(Rules { start: Start::uniform(arguments), observation, reward_rule: Box::new(runner) })
}

/// Rewards height; penalizes controls and impacts.
struct Standup {
    is_v4: bool,
    timestep: f64,
    start_height: f64,
    control_weight: f64,
    impact_weight: f64,
    impact_range: (f64, f64),
}

pub(crate) fn humanoid_standup(arguments: &Arguments, model: &Model) -> Result<Rules, MujocoError> {
    arguments.require(model, SIZES)?;
    let standup = Standup {
        is_v4: arguments.spec().is_v4(),
        timestep: model.timestep(),
        start_height: model.initial_positions()[2],
        control_weight: arguments.number("ctrl_cost_weight"),
        impact_weight: arguments.number("impact_cost_weight"),
        impact_range: arguments.range("impact_cost_range"),
    };
    let observation = observation(arguments);
    Ok(Rules { start: Start::uniform(arguments), observation, reward_rule: Box::new(standup) })
}

impl RewardRule for Standup {
    fn names(&self) -> &'static [&'static str] {
        if self.is_v4 {
            return &["reward_linup", "reward_quadctrl", "reward_impact"];
        }
        &[
            "x_position",
            "y_position",
            "z_distance_from_origin",
            "tendon_length_0",
            "tendon_length_1",
            "tendon_velocity_0",
            "tendon_velocity_1",
            "reward_linup",
            "reward_quadctrl",
            "reward_impact",
        ]
    }

    fn reset_values(&self, simulation: &Simulation) -> Vec<f64> {
        if self.is_v4 {
            return Vec::new();
        }
        let positions = simulation.values(Field::Positions);
        let tendon = |field, index: usize| simulation.values(field).get(index).copied().unwrap_or(f64::NAN);
        vec![
            positions[0],
            positions[1],
            positions[2] - self.start_height,
            tendon(Field::TendonLengths, 0),
            tendon(Field::TendonLengths, 1),
            tendon(Field::TendonVelocities, 0),
            tendon(Field::TendonVelocities, 1),
        ]
    }

    fn evaluate(&self, simulation: &Simulation, _before: [f64; 2], _action: &[f32]) -> StepOutcome {
        let height = simulation.values(Field::Positions)[2] / self.timestep;
        let control = self.control_weight * sum_of_squares(simulation.values(Field::Controls));
        let (lowest, highest) = self.impact_range;
        let impact = self.impact_weight * sum_of_squares(simulation.values(Field::ContactForces));
        let impact = impact.clamp(lowest, highest);
        let mut values = self.reset_values(simulation);
        values.extend([height, -control, -impact]);
        StepOutcome { reward: height - control - impact + 1.0, terminated: false, values }
    }
}
