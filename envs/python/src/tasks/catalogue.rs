//! Environments by their ids, with Gymnasium's arguments.

use std::sync::LazyLock;

use classic_control::{CartPole, Control, Dynamics, MountainCar, MountainCarContinuous, Pendulum};
use mujoco::{Installation, MujocoEnv};
use pyo3::prelude::*;
use rl_env::{Env, Registry};
use toy_text::{
    Blackjack, BlackjackRules, FrozenLakeOptions, MAP_4X4, MAP_8X8, Tabular, Taxi, TaxiOptions,
    cliff_walking, frozen_lake,
};

use super::begins::Begins;
use super::details::Reported;
use super::fields::{Field, Kind};
use super::given::Given;
use super::installation;
use super::task_env::{Ends, TaskEnv};

/// Makes environments of one kind.
pub(crate) struct Recipe {
    /// Makes an environment with these rules for the ends of its episodes.
    pub(crate) make: Box<dyn Fn(Ends) -> TaskEnv + Send>,
    /// The entries of its info dictionary.
    pub(crate) fields: Vec<Field>,
    /// The names of the bounds of its first states.
    pub(crate) bounds: &'static [&'static str],
    /// True if Gymnasium rewards only the first of the steps that terminate an episode.
    pub(crate) pays_once: bool,
}

impl Recipe {
    fn new<E: Env<Info: Reported> + Begins + 'static>(
        make: impl Fn() -> E + Send + 'static,
        fields: Vec<Field>,
    ) -> Self {
        Self {
            make: Box::new(move |ends| TaskEnv::new(make(), ends)),
            fields,
            bounds: E::BOUNDS,
            pays_once: false,
        }
    }
}

/// Ids, step limits and reward thresholds.
static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::new();
    let distinct = "all ids are distinct";
    classic_control::register(&mut registry).expect(distinct);
    toy_text::register(&mut registry).expect(distinct);
    // Only ids and limits are read.
    mujoco::register(&mut registry, &Installation::new("")).expect(distinct);
    registry
});

/// Returns the id, the step limit and the reward threshold of each environment.
pub(crate) fn environments() -> Vec<(String, Option<u32>, Option<f64>)> {
    let described = |id: &str| {
        let spec = REGISTRY.spec(id).ok()?;
        Some((id.to_owned(), spec.max_episode_steps, spec.reward_threshold))
    };
    REGISTRY.ids().filter_map(described).collect()
}

/// Returns the step limit of an environment.
pub(crate) fn limit(id: &str) -> Option<u32> {
    REGISTRY.spec(id).ok().and_then(|spec| spec.max_episode_steps)
}

/// Returns the recipe of an environment. MuJoCo is downloaded with the pip of `python` if it is missing.
pub(crate) fn recipe(id: &str, given: &Given, python: &str) -> PyResult<Recipe> {
    if let Some(task) = classic_control::Task::of_id(id) {
        return classic(given, task);
    }
    if let Some(task) = toy_text::Task::of_id(id) {
        return toy(given, task);
    }
    mujoco_task(id, given, python)
}

/// Returns the recipe of a classic control task, whose parameters are the defaults.
fn classic(given: &Given, task: classic_control::Task) -> PyResult<Recipe> {
    use classic_control::Task;

    match task {
        Task::CartPole(CartPole { sutton_barto_reward }) => {
            let sutton_barto_reward = given.flag("sutton_barto_reward", sutton_barto_reward)?;
            let recipe = control(given, &["sutton_barto_reward"], CartPole { sutton_barto_reward })?;
            Ok(Recipe { pays_once: !sutton_barto_reward, ..recipe })
        }
        Task::Acrobot(dynamics) => control(given, &[], dynamics),
        Task::MountainCar(MountainCar { goal_velocity }) => {
            let goal_velocity = given.number("goal_velocity", goal_velocity)?;
            control(given, &["goal_velocity"], MountainCar { goal_velocity })
        }
        Task::MountainCarContinuous(MountainCarContinuous { goal_velocity }) => {
            let goal_velocity = given.number("goal_velocity", goal_velocity.into())? as f32;
            control(given, &["goal_velocity"], MountainCarContinuous { goal_velocity })
        }
        Task::Pendulum(Pendulum { gravity }) => {
            control(given, &["g"], Pendulum { gravity: given.number("g", gravity)? })
        }
    }
}

/// Returns the recipe of a toy text environment, whose options are the defaults.
fn toy(given: &Given, task: toy_text::Task) -> PyResult<Recipe> {
    use toy_text::Task;

    match task {
        Task::Blackjack(rules) => blackjack(given, rules),
        Task::CliffWalking { is_slippery } => cliff(given, is_slippery),
        Task::FrozenLake(options) => lake(given, options),
        Task::Taxi(options) => taxi(given, options),
    }
}

fn control(given: &Given, arguments: &[&str], dynamics: impl Dynamics + Copy) -> PyResult<Recipe> {
    given.require_names(arguments)?;
    Ok(Recipe::new(move || Control::new(dynamics), Vec::new()))
}

fn lake(given: &Given, defaults: FrozenLakeOptions<'static>) -> PyResult<Recipe> {
    given.require_names(&["desc", "map_name", "is_slippery", "success_rate", "reward_schedule"])?;
    let named = match given.text("map_name")? {
        None => defaults.desc,
        Some("4x4") => &MAP_4X4,
        Some("8x8") => &MAP_8X8,
        Some(other) => return Err(given.invalid(&format!("map_name is {other:?}, but must be 4x4 or 8x8"))),
    };
    let desc: Option<Vec<&str>> = given.texts("desc")?.map(|rows| rows.iter().map(String::as_str).collect());
    if desc.is_none() && given.is_none("map_name") {
        // A random map in Gymnasium.
        return Err(given.invalid("map_name is None, but without desc it must be 4x4 or 8x8"));
    }
    let options = FrozenLakeOptions {
        desc: desc.as_deref().unwrap_or(named),
        is_slippery: given.flag("is_slippery", defaults.is_slippery)?,
        success_rate: given.probability("success_rate", defaults.success_rate)?,
        reward_schedule: given.triple("reward_schedule", defaults.reward_schedule)?,
    };
    Ok(tabular(frozen_lake(&options).map_err(|error| given.invalid(&error.to_string()))?))
}

fn cliff(given: &Given, is_slippery: bool) -> PyResult<Recipe> {
    given.require_names(&["is_slippery"])?;
    Ok(tabular(cliff_walking(given.flag("is_slippery", is_slippery)?)))
}

fn tabular(env: Tabular) -> Recipe {
    // Copies share the table.
    Recipe::new(move || env.clone(), Field::of_names(&["prob"], |_| Kind::F64ExceptReset))
}

/// The values that Taxi reports.
const TAXI: [&str; 7] = [
    "prob",
    "action_mask_0",
    "action_mask_1",
    "action_mask_2",
    "action_mask_3",
    "action_mask_4",
    "action_mask_5",
];

fn taxi(given: &Given, defaults: TaxiOptions) -> PyResult<Recipe> {
    given.require_names(&["is_rainy", "rainy_probability", "fickle_passenger", "fickle_probability"])?;
    let options = TaxiOptions {
        is_rainy: given.flag("is_rainy", defaults.is_rainy)?,
        rainy_probability: given.probability("rainy_probability", defaults.rainy_probability)?,
        fickle_passenger: given.flag("fickle_passenger", defaults.fickle_passenger)?,
        fickle_probability: given.probability("fickle_probability", defaults.fickle_probability)?,
    };
    let kind = |name: &str| if name == "prob" { Kind::F64 } else { Kind::I8 };
    let env = Taxi::new(options);
    Ok(Recipe::new(move || env.clone(), Field::of_names(&TAXI, kind)))
}

fn blackjack(given: &Given, default: BlackjackRules) -> PyResult<Recipe> {
    given.require_names(&["natural", "sab"])?;
    let follows_book = given.flag("sab", default == BlackjackRules::SuttonBarto)?;
    let rules = match (follows_book, given.flag("natural", default == BlackjackRules::Natural)?) {
        (true, _) => BlackjackRules::SuttonBarto,
        (false, true) => BlackjackRules::Natural,
        (false, false) => BlackjackRules::Plain,
    };
    Ok(Recipe::new(move || Blackjack::new(rules), Vec::new()))
}

fn mujoco_task(id: &str, given: &Given, python: &str) -> PyResult<Recipe> {
    let task = installation::load(id, given, python)?;
    // Gymnasium computes this cost from the action, in single precision, except where it reads the controls of MuJoCo.
    let pays_contacts = id == "Ant-v4" && given.flag("use_contact_forces", false)?;
    let fields = Field::of_names(task.info_names(), |name| match name {
        "reward_survive" if id == "InvertedPendulum-v5" => Kind::I64,
        "reward_ctrl" if id != "Humanoid-v5" && !pays_contacts => Kind::F32,
        _ => Kind::F64,
    });
    Ok(Recipe::new(move || MujocoEnv::new(&task), fields))
}
