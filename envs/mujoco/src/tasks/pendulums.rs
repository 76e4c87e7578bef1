//! InvertedPendulum and InvertedDoublePendulum.

use crate::arguments::Arguments;
use crate::arithmetic::square;
use crate::error::MujocoError;
use crate::model::{Model, Sizes};
use crate::rules::{Map, Part, RewardRule, Rules, Start, StepOutcome};
use crate::simulation::{Field, Simulation};

/// Rewards each step with 1 until the pole falls.
struct Pendulum {
    /// True if the step in which the pole falls is rewarded too, and nothing is reported.
    is_v4: bool,
}

pub(crate) fn inverted_pendulum(arguments: &Arguments, model: &Model) -> Result<Rules, MujocoError> {
    arguments.require(model, Sizes { positions: 2, ..Sizes::default() })?;
    Ok(Rules {
        start: Start::uniform(arguments),
        observation: vec![Part::rest(Field::Positions, 0), Part::rest(Field::Velocities, 0)],
        reward_rule: Box::new(Pendulum { is_v4: arguments.spec().is_v4() }),
    })
}

impl RewardRule for Pendulum {
    fn names(&self) -> &'static [&'static str] {
        if self.is_v4 { &[] } else { &["reward_survive"] }
    }

    fn evaluate(&self, simulation: &Simulation, _before: [f64; 2], _action: &[f32]) -> StepOutcome {
        let (positions, velocities) =
            (simulation.values(Field::Positions), simulation.values(Field::Velocities));
        let finite = positions.iter().chain(velocities).all(|value| value.is_finite());
        let terminated = !finite || positions[1].abs() > 0.2;
        let reward = f64::from(u8::from(self.is_v4 || !terminated));
        StepOutcome { reward, terminated, values: if self.is_v4 { Vec::new() } else { vec![reward] } }
    }
}

/// Rewards standing; penalizes speed and the distance of the tip from its upright position.
struct DoublePendulum {
    healthy_reward: f64,
    /// True if the step in which the poles fall is rewarded too, and nothing is reported.
    is_v4: bool,
}

pub(crate) fn inverted_double_pendulum(arguments: &Arguments, model: &Model) -> Result<Rules, MujocoError> {
    const LIMITS: Map = Map::Clip(-10.0, 10.0);
    arguments.require(model, Sizes { positions: 1, velocities: 3, sites: 1, ..Sizes::default() })?;
    let is_v4 = arguments.spec().is_v4();
    let forces = if is_v4 { usize::MAX } else { 1 };
    Ok(Rules {
        start: Start::normal(arguments),
        observation: vec![
            Part::start(Field::Positions, 1),
            Part::rest(Field::Positions, 1).mapped(Map::Sine),
            Part::rest(Field::Positions, 1).mapped(Map::Cosine),
            Part::rest(Field::Velocities, 0).mapped(LIMITS),
            Part::start(Field::ConstraintForces, forces).mapped(LIMITS),
        ],
        reward_rule: Box::new(DoublePendulum { healthy_reward: arguments.number("healthy_reward"), is_v4 }),
    })
}

impl RewardRule for DoublePendulum {
    fn names(&self) -> &'static [&'static str] {
        if self.is_v4 { &[] } else { &["reward_survive", "distance_penalty", "velocity_penalty"] }
    }

    fn evaluate(&self, simulation: &Simulation, _before: [f64; 2], _action: &[f32]) -> StepOutcome {
        let [x, _, height]: [f64; 3] = simulation.values(Field::SitePositions).as_chunks().0[0];
        let velocities = simulation.values(Field::Velocities);
        let terminated = height <= 1.0;
        let survival = self.healthy_reward * f64::from(u8::from(self.is_v4 || !terminated));
        let distance = 0.01 * square(x) + square(height - 2.0);
        let speed = 0.001 * square(velocities[1]) + 0.005 * square(velocities[2]);
        StepOutcome {
            reward: survival - distance - speed,
            terminated,
            values: if self.is_v4 { Vec::new() } else { vec![survival, -distance, -speed] },
        }
    }
}
