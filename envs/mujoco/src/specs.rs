//! The table of the tasks: Gymnasium's ids, limits, arguments and default values.

use std::borrow::Cow;

use rl_env::nearest;

use crate::error::MujocoError;
use crate::value::Value;

/// A row of the table.
#[derive(Debug)]
pub(crate) struct TaskSpec {
    pub(crate) id: &'static str,
    pub(crate) max_episode_steps: u32,
    pub(crate) reward_threshold: Option<f64>,
    /// The arguments with their default values.
    pub(crate) arguments: &'static [(&'static str, Value)],
    /// The values of arguments that other versions of the task have, but not this one.
    pub(crate) constants: &'static [(&'static str, Value)],
}

const fn number(value: f64) -> Value {
    Value::Number(value)
}

const fn range(low: f64, high: f64) -> Value {
    Value::Range(low, high)
}

const fn text(value: &'static str) -> Value {
    Value::Text(Cow::Borrowed(value))
}

const YES: Value = Value::Flag(true);
const NO: Value = Value::Flag(false);
const INFINITY: f64 = f64::INFINITY;

pub(crate) static TASKS: [TaskSpec; 21] = [
    TaskSpec {
        id: "Ant-v4",
        max_episode_steps: 1000,
        reward_threshold: Some(6000.0),
        arguments: &[
            ("xml_file", text("ant.xml")),
            ("ctrl_cost_weight", number(0.5)),
            ("use_contact_forces", NO),
            ("contact_cost_weight", number(5e-4)),
            ("healthy_reward", number(1.0)),
            ("terminate_when_unhealthy", YES),
            ("healthy_z_range", range(0.2, 1.0)),
            ("contact_force_range", range(-1.0, 1.0)),
            ("reset_noise_scale", number(0.1)),
            ("exclude_current_positions_from_observation", YES),
        ],
        constants: &[
            ("frame_skip", number(5.0)),
            ("forward_reward_weight", number(1.0)),
            ("main_body", text("torso")),
        ],
    },
    TaskSpec {
        id: "Ant-v5",
        max_episode_steps: 1000,
        reward_threshold: Some(6000.0),
        arguments: &[
            ("xml_file", text("ant.xml")),
            ("frame_skip", number(5.0)),
            ("forward_reward_weight", number(1.0)),
            ("ctrl_cost_weight", number(0.5)),
            ("contact_cost_weight", number(5e-4)),
            ("healthy_reward", number(1.0)),
            ("main_body", number(1.0)),
            ("terminate_when_unhealthy", YES),
            ("healthy_z_range", range(0.2, 1.0)),
            ("contact_force_range", range(-1.0, 1.0)),
            ("reset_noise_scale", number(0.1)),
            ("exclude_current_positions_from_observation", YES),
            ("include_cfrc_ext_in_observation", YES),
        ],
        constants: &[],
    },
    TaskSpec {
        id: "HalfCheetah-v4",
        max_episode_steps: 1000,
        reward_threshold: Some(4800.0),
        arguments: &[
            ("forward_reward_weight", number(1.0)),
            ("ctrl_cost_weight", number(0.1)),
            ("reset_noise_scale", number(0.1)),
            ("exclude_current_positions_from_observation", YES),
        ],
        constants: &[("xml_file", text("half_cheetah.xml")), ("frame_skip", number(5.0))],
    },
    TaskSpec {
        id: "HalfCheetah-v5",
        max_episode_steps: 1000,
        reward_threshold: Some(4800.0),
        arguments: &[
            ("xml_file", text("half_cheetah.xml")),
            ("frame_skip", number(5.0)),
            ("forward_reward_weight", number(1.0)),
            ("ctrl_cost_weight", number(0.1)),
            ("reset_noise_scale", number(0.1)),
            ("exclude_current_positions_from_observation", YES),
        ],
        constants: &[],
    },
    TaskSpec {
        id: "Hopper-v4",
        max_episode_steps: 1000,
        reward_threshold: Some(3800.0),
        arguments: &[
            ("forward_reward_weight", number(1.0)),
            ("ctrl_cost_weight", number(1e-3)),
            ("healthy_reward", number(1.0)),
            ("terminate_when_unhealthy", YES),
            ("healthy_state_range", range(-100.0, 100.0)),
            ("healthy_z_range", range(0.7, INFINITY)),
            ("healthy_angle_range", range(-0.2, 0.2)),
            ("reset_noise_scale", number(5e-3)),
            ("exclude_current_positions_from_observation", YES),
        ],
        constants: &[("xml_file", text("hopper.xml")), ("frame_skip", number(4.0))],
    },
    TaskSpec {
        id: "Hopper-v5",
        max_episode_steps: 1000,
        reward_threshold: Some(3800.0),
        arguments: &[
            ("xml_file", text("hopper.xml")),
            ("frame_skip", number(4.0)),
            ("forward_reward_weight", number(1.0)),
            ("ctrl_cost_weight", number(1e-3)),
            ("healthy_reward", number(1.0)),
            ("terminate_when_unhealthy", YES),
            ("healthy_state_range", range(-100.0, 100.0)),
            ("healthy_z_range", range(0.7, INFINITY)),
            ("healthy_angle_range", range(-0.2, 0.2)),
            ("reset_noise_scale", number(5e-3)),
            ("exclude_current_positions_from_observation", YES),
        ],
        constants: &[],
    },
    TaskSpec {
        id: "Humanoid-v4",
        max_episode_steps: 1000,
        reward_threshold: None,
        arguments: &[
            ("forward_reward_weight", number(1.25)),
            ("ctrl_cost_weight", number(0.1)),
            ("healthy_reward", number(5.0)),
            ("terminate_when_unhealthy", YES),
            ("healthy_z_range", range(1.0, 2.0)),
            ("reset_noise_scale", number(1e-2)),
            ("exclude_current_positions_from_observation", YES),
        ],
        constants: &[("xml_file", text("humanoid.xml")), ("frame_skip", number(5.0))],
    },
    TaskSpec {
        id: "Humanoid-v5",
        max_episode_steps: 1000,
        reward_threshold: None,
        arguments: &[
            ("xml_file", text("humanoid.xml")),
            ("frame_skip", number(5.0)),
            ("forward_reward_weight", number(1.25)),
            ("ctrl_cost_weight", number(0.1)),
            ("contact_cost_weight", number(5e-7)),
            ("contact_cost_range", range(-INFINITY, 10.0)),
            ("healthy_reward", number(5.0)),
            ("terminate_when_unhealthy", YES),
            ("healthy_z_range", range(1.0, 2.0)),
            ("reset_noise_scale", number(1e-2)),
            ("exclude_current_positions_from_observation", YES),
            ("include_cinert_in_observation", YES),
            ("include_cvel_in_observation", YES),
            ("include_qfrc_actuator_in_observation", YES),
            ("include_cfrc_ext_in_observation", YES),
        ],
        constants: &[],
    },
    TaskSpec {
        id: "HumanoidStandup-v4",
        max_episode_steps: 1000,
        reward_threshold: None,
        arguments: &[],
        constants: &[
            ("xml_file", text("humanoidstandup.xml")),
            ("frame_skip", number(5.0)),
            ("ctrl_cost_weight", number(0.1)),
            ("impact_cost_weight", number(5e-7)),
            ("impact_cost_range", range(-INFINITY, 10.0)),
            ("reset_noise_scale", number(1e-2)),
            ("exclude_current_positions_from_observation", YES),
        ],
    },
    TaskSpec {
        id: "HumanoidStandup-v5",
        max_episode_steps: 1000,
        reward_threshold: None,
        arguments: &[
            ("xml_file", text("humanoidstandup.xml")),
            ("frame_skip", number(5.0)),
            // Gymnasium ignores it too.
            ("uph_cost_weight", number(1.0)),
            ("ctrl_cost_weight", number(0.1)),
            ("impact_cost_weight", number(5e-7)),
            ("impact_cost_range", range(-INFINITY, 10.0)),
            ("reset_noise_scale", number(1e-2)),
            ("exclude_current_positions_from_observation", YES),
            ("include_cinert_in_observation", YES),
            ("include_cvel_in_observation", YES),
            ("include_qfrc_actuator_in_observation", YES),
            ("include_cfrc_ext_in_observation", YES),
        ],
        constants: &[],
    },
    TaskSpec {
        id: "InvertedDoublePendulum-v4",
        max_episode_steps: 1000,
        reward_threshold: Some(9100.0),
        arguments: &[],
        constants: &[
            ("xml_file", text("inverted_double_pendulum.xml")),
            ("frame_skip", number(5.0)),
            ("healthy_reward", number(10.0)),
            ("reset_noise_scale", number(0.1)),
        ],
    },
    TaskSpec {
        id: "InvertedDoublePendulum-v5",
        max_episode_steps: 1000,
        reward_threshold: Some(9100.0),
        arguments: &[
            ("xml_file", text("inverted_double_pendulum.xml")),
            ("frame_skip", number(5.0)),
            ("healthy_reward", number(10.0)),
            ("reset_noise_scale", number(0.1)),
        ],
        constants: &[],
    },
    TaskSpec {
        id: "InvertedPendulum-v4",
        max_episode_steps: 1000,
        reward_threshold: Some(950.0),
        arguments: &[],
        constants: &[
            ("xml_file", text("inverted_pendulum.xml")),
            ("frame_skip", number(2.0)),
            ("reset_noise_scale", number(0.01)),
        ],
    },
    TaskSpec {
        id: "InvertedPendulum-v5",
        max_episode_steps: 1000,
        reward_threshold: Some(950.0),
        arguments: &[
            ("xml_file", text("inverted_pendulum.xml")),
            ("frame_skip", number(2.0)),
            ("reset_noise_scale", number(0.01)),
        ],
        constants: &[],
    },
    TaskSpec {
        id: "Pusher-v5",
        max_episode_steps: 100,
        reward_threshold: Some(0.0),
        arguments: &[
            ("xml_file", text("pusher_v5.xml")),
            ("frame_skip", number(5.0)),
            ("reward_near_weight", number(0.5)),
            ("reward_dist_weight", number(1.0)),
            ("reward_control_weight", number(0.1)),
        ],
        constants: &[],
    },
    TaskSpec {
        id: "Reacher-v4",
        max_episode_steps: 50,
        reward_threshold: Some(-3.75),
        arguments: &[],
        constants: &[
            ("xml_file", text("reacher.xml")),
            ("frame_skip", number(2.0)),
            ("reward_dist_weight", number(1.0)),
            ("reward_control_weight", number(1.0)),
        ],
    },
    TaskSpec {
        id: "Reacher-v5",
        max_episode_steps: 50,
        reward_threshold: Some(-3.75),
        arguments: &[
            ("xml_file", text("reacher.xml")),
            ("frame_skip", number(2.0)),
            ("reward_dist_weight", number(1.0)),
            ("reward_control_weight", number(1.0)),
        ],
        constants: &[],
    },
    TaskSpec {
        id: "Swimmer-v4",
        max_episode_steps: 1000,
        reward_threshold: Some(360.0),
        arguments: &[
            ("forward_reward_weight", number(1.0)),
            ("ctrl_cost_weight", number(1e-4)),
            ("reset_noise_scale", number(0.1)),
            ("exclude_current_positions_from_observation", YES),
        ],
        constants: &[("xml_file", text("swimmer.xml")), ("frame_skip", number(4.0))],
    },
    TaskSpec {
        id: "Swimmer-v5",
        max_episode_steps: 1000,
        reward_threshold: Some(360.0),
        arguments: &[
            ("xml_file", text("swimmer.xml")),
            ("frame_skip", number(4.0)),
            ("forward_reward_weight", number(1.0)),
            ("ctrl_cost_weight", number(1e-4)),
            ("reset_noise_scale", number(0.1)),
            ("exclude_current_positions_from_observation", YES),
        ],
        constants: &[],
    },
    TaskSpec {
        id: "Walker2d-v4",
        max_episode_steps: 1000,
        reward_threshold: None,
        arguments: &[
            ("forward_reward_weight", number(1.0)),
            ("ctrl_cost_weight", number(1e-3)),
            ("healthy_reward", number(1.0)),
            ("terminate_when_unhealthy", YES),
            ("healthy_z_range", range(0.8, 2.0)),
            ("healthy_angle_range", range(-1.0, 1.0)),
            ("reset_noise_scale", number(5e-3)),
            ("exclude_current_positions_from_observation", YES),
        ],
        constants: &[("xml_file", text("walker2d.xml")), ("frame_skip", number(4.0))],
    },
    TaskSpec {
        id: "Walker2d-v5",
        max_episode_steps: 1000,
        reward_threshold: None,
        arguments: &[
            ("xml_file", text("walker2d_v5.xml")),
            ("frame_skip", number(4.0)),
            ("forward_reward_weight", number(1.0)),
            ("ctrl_cost_weight", number(1e-3)),
            ("healthy_reward", number(1.0)),
            ("terminate_when_unhealthy", YES),
            ("healthy_z_range", range(0.8, 2.0)),
            ("healthy_angle_range", range(-1.0, 1.0)),
            ("reset_noise_scale", number(5e-3)),
            ("exclude_current_positions_from_observation", YES),
        ],
        constants: &[],
    },
];

impl TaskSpec {
    /// Returns true for the rules of version 4, which has other observations, rewards and infos.
    pub(crate) fn is_v4(&self) -> bool {
        self.id.ends_with("-v4")
    }

    /// Returns the row of a task.
    pub(crate) fn find(id: &str) -> Result<&'static Self, MujocoError> {
        TASKS.iter().find(|spec| spec.id == id).ok_or_else(|| {
            let ids = TASKS.iter().map(|spec| spec.id);
            MujocoError::UnknownTask { id: id.to_owned(), nearest: nearest(id, ids).first().copied() }
        })
    }
}
