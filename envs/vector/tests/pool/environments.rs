//! Every built-in environment behaves in a vector environment as it does alone, for all numbers of threads and
//! autoreset modes.

use rl_env::{
    Action, ActionKind, Actions, AutoresetMode, BoxedEnv, Env, EnvSpec, EpisodeStats, Pcg64, Registry,
    ResetSeeds, Space, Step, VectorEnv,
};
use vector::{BuildError, PoolOptions, PoolVectorEnv};

const NUM_STEPS: usize = 220;
const ENVS_PER_WORKER: usize = 3;

fn registry() -> Registry {
    let mut registry = Registry::new();
    classic_control::register(&mut registry).unwrap();
    toy_text::register(&mut registry).unwrap();
    registry
}

/// The actions of a batch.
#[derive(Clone, Debug)]
enum Drawn {
    Discrete(Vec<i32>),
    Continuous(Vec<f32>),
}

impl Drawn {
    /// Draws a random action for each of `count` environments with this action space.
    fn new(generator: &mut Pcg64, space: &Space, count: usize) -> Self {
        let mut row = vec![0; space.byte_len()];
        let leaves = space.leaves();
        let draws = (0..count).map(|_| {
            space.sample(generator, &mut row);
            leaves[0].element(&row, 0)
        });
        match ActionKind::of(space) {
            Some(ActionKind::Continuous) => Self::Continuous(draws.map(|draw| draw as f32).collect()),
            _ => Self::Discrete(draws.map(|draw| draw as i32).collect()),
        }
    }

    fn as_actions(&self) -> Actions<'_> {
        match self {
            Self::Discrete(values) => Actions::Discrete(values),
            Self::Continuous(values) => Actions::Continuous(values),
        }
    }

    fn action(&self, env: usize) -> Action<'_> {
        match self {
            Self::Discrete(values) => Action::Discrete(&values[env..=env]),
            Self::Continuous(values) => Action::Continuous(&values[env..=env]),
        }
    }
}

/// One row of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    observation: Vec<u8>,
    final_observation: Option<Vec<u8>>,
    step: Step,
    autoreset: bool,
    episode: Option<EpisodeStats>,
}

fn rows(env: &PoolVectorEnv<BoxedEnv>) -> Vec<Row> {
    let batch = env.batch();
    let rows = (0..batch.len()).map(|index| Row {
        observation: batch.observations.row(index).to_vec(),
        final_observation: (batch.final_observations.rows() > 0)
            .then(|| batch.final_observations.row(index).to_vec()),
        step: Step {
            reward: batch.rewards[index],
            raw_reward: batch.raw_rewards[index],
            terminated: batch.terminated[index],
            truncated: batch.truncated[index],
            continues: false,
        },
        autoreset: batch.autoreset[index],
        episode: batch.episodes[index],
    });
    rows.collect()
}

/// A reference implementation of each autoreset mode for a single environment.
struct Alone {
    env: BoxedEnv,
    mode: AutoresetMode,
    over: bool,
    episode: EpisodeStats,
}

impl Alone {
    fn reset(&mut self, seed: Option<u64>) -> Row {
        let mut observation = vec![0; self.env.observation_space().byte_len()];
        self.env.reset(seed, &mut observation);
        assert!(
            self.env.observation_space().contains(&observation),
            "the first observation is outside its space"
        );
        (self.over, self.episode) = (false, EpisodeStats::default());
        let final_observation = (self.mode == AutoresetMode::SameStep).then(|| observation.clone());
        Row { observation, final_observation, ..Row::default() }
    }

    fn step(&mut self, action: Action<'_>) -> Row {
        if self.over && self.mode == AutoresetMode::NextStep {
            return Row { autoreset: true, ..self.reset(None) };
        }
        let mut observation = vec![0; self.env.observation_space().byte_len()];
        let step = self.env.step(action, &mut observation).unwrap();
        assert!(self.env.observation_space().contains(&observation), "the observation is outside its space");
        self.episode.total_reward += f64::from(step.raw_reward);
        self.episode.length += 1;
        self.over = step.ends_episode();
        let episode = self.over.then_some(self.episode);
        let final_observation = (self.mode == AutoresetMode::SameStep).then(|| observation.clone());
        if self.over && self.mode == AutoresetMode::SameStep {
            observation = self.reset(None).observation;
        }
        Row { observation, final_observation, step, autoreset: false, episode }
    }
}

fn check(registry: &Registry, id: &str, num_workers: usize, mode: AutoresetMode, seed: u64) -> usize {
    let options = PoolOptions { autoreset_mode: mode, ..PoolOptions::default() };
    let mut env = PoolVectorEnv::make(registry, id, num_workers, ENVS_PER_WORKER, options).unwrap();
    let num_envs = num_workers * ENVS_PER_WORKER;
    assert_eq!((env.num_envs(), env.num_threads()), (num_envs, num_workers));
    let envs = (0..num_envs).map(|_| registry.make(id).unwrap());
    let mut reference: Vec<Alone> =
        envs.map(|env| Alone { env, mode, over: false, episode: EpisodeStats::default() }).collect();
    let space = env.action_spaces()[0].clone();
    let mut generator = Pcg64::new(seed);

    env.reset(ResetSeeds::From(seed)).unwrap();
    let first: Vec<Row> =
        (0..).zip(&mut reference).map(|(index, env)| env.reset(Some(seed.wrapping_add(index)))).collect();
    assert_eq!(rows(&env), first, "{id}, {mode:?}, {num_workers} workers");
    let mut ends = 0;
    for step in 0..NUM_STEPS {
        let actions = Drawn::new(&mut generator, &space, num_envs);
        env.step(actions.as_actions()).unwrap();
        let stepped = reference.iter_mut().enumerate().map(|(index, env)| env.step(actions.action(index)));
        let expected: Vec<Row> = stepped.collect();
        assert_eq!(rows(&env), expected, "{id}, {mode:?}, {num_workers} workers, step {step}");
        ends += expected.iter().filter(|row| row.episode.is_some()).count();
        let over: Vec<bool> = reference.iter().map(|env| env.over).collect();
        if mode == AutoresetMode::Disabled && over.contains(&true) {
            env.reset_masked(&over, ResetSeeds::Continue).unwrap();
            let again = rows(&env);
            for (index, env) in reference.iter_mut().enumerate().filter(|(index, _)| over[*index]) {
                assert_eq!(again[index].observation, env.reset(None).observation, "{id}, step {step}");
            }
        }
    }
    ends
}

#[test]
fn vectorized_environments_equal_serial_ones() {
    let seed = rand::random::<u32>().into();
    println!("seed {seed}");
    let registry = registry();
    for id in registry.ids() {
        let spec = registry.spec(id).unwrap();
        for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep, AutoresetMode::Disabled] {
            for num_workers in [1, 2, 5] {
                let ends = check(&registry, id, num_workers, mode, seed);
                let can_end = spec.max_episode_steps.is_some_and(|limit| (limit as usize) < NUM_STEPS);
                assert!(ends > 0 || !can_end, "{id}: no episode ends within {NUM_STEPS} steps");
            }
        }
    }
}

#[test]
fn restored_snapshots_continue_equally() {
    let registry = registry();
    for id in registry.ids() {
        let options = PoolOptions { autoreset_mode: AutoresetMode::SameStep, ..PoolOptions::default() };
        let build = |workers, each| PoolVectorEnv::make(&registry, id, workers, each, options).unwrap();
        let (mut env, mut other) = (build(2, 3), build(3, 2));
        let space = env.action_spaces()[0].clone();
        let mut generator = Pcg64::new(1);
        env.reset(ResetSeeds::From(9)).unwrap();
        for _ in 0..50 {
            env.step(Drawn::new(&mut generator, &space, 6).as_actions()).unwrap();
        }
        other.restore(&env.snapshot().unwrap()).unwrap();
        for step in 0..300 {
            let actions = Drawn::new(&mut generator, &space, 6);
            env.step(actions.as_actions()).unwrap();
            other.step(actions.as_actions()).unwrap();
            assert_eq!(rows(&env), rows(&other), "{id}, step {step}");
        }
    }
}

#[test]
fn a_failing_factory_names_the_environment() {
    let options = PoolOptions::default();
    let mut registry = registry();
    let message = |result: Result<PoolVectorEnv<BoxedEnv>, BuildError>| result.err().unwrap().to_string();
    let built = PoolVectorEnv::of_copies(
        "Acrobot-v1",
        2,
        3,
        |env| if env < 4 { registry.make("Acrobot-v1") } else { registry.make("Acrobat-v1") },
        options,
    );
    let unknown = "there is no environment \"Acrobat-v1\"; the nearest is \"Acrobot-v1\"";
    assert_eq!(message(built), format!("environment 4 (Acrobot-v1) cannot be built: {unknown}"));
    assert_eq!(message(PoolVectorEnv::make(&registry, "Acrobat-v1", 2, 3, options)), unknown);
    let mazes = EnvSpec::new("mazes", ActionKind::Discrete);
    registry.register("Broken-v0", mazes, || Err("there is no map".into())).unwrap();
    let broken = message(PoolVectorEnv::make(&registry, "Broken-v0", 2, 3, options));
    assert_eq!(broken, "environment \"Broken-v0\" cannot be built: there is no map");
    let none = PoolVectorEnv::make(&registry, "Acrobot-v1", 0, 3, options);
    assert!(matches!(none, Err(BuildError::NoEnvironments)));
}

/// The observation of Blackjack is a tuple of three 64-bit integers.
#[test]
fn tuples_are_laid_out_as_their_leaves_describe() {
    let mut env = PoolVectorEnv::make(&registry(), "Blackjack-v1", 1, 4, PoolOptions::default()).unwrap();
    env.reset(ResetSeeds::From(0)).unwrap();
    let space = env.single_observation_space().clone();
    let leaves = space.leaves();
    assert_eq!(leaves.iter().map(|leaf| leaf.offset).collect::<Vec<_>>(), [0, 8, 16]);
    // gymnasium.make("Blackjack-v1").reset(seed=0)
    let values: Vec<f64> =
        leaves.iter().map(|leaf| leaf.element(env.batch().observations.row(0), 0)).collect();
    let recorded = include_str!("../../../toy-text/tests/data/Blackjack-v1.trace").lines().next().unwrap();
    assert_eq!(recorded, format!("reset 0 | {} {} {}", values[0], values[1], values[2]));
    assert_eq!(
        space.batch(4).to_string(),
        "Tuple(MultiDiscrete([32, 32, 32, 32]), MultiDiscrete([11, 11, 11, 11]), MultiDiscrete([2, 2, 2, 2]))"
    );
}
