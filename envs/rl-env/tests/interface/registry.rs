//! The registry, boxed environments and wrappers, tested with an environment that counts its steps.

use rl_env::{
    Action, ActionKind, BoxedEnv, Env, EnvError, EnvSpec, FlattenObservation, Registry, RescaleObservation,
    RgbImage, Space, Step, TimeLimit, snapshot,
};

/// Observes the number of its steps, which is also the red of its picture. Action 1 terminates; action 2 terminates for
/// the learner only.
struct Counter {
    observation_space: Space,
    action_space: Space,
    steps: u64,
}

impl Counter {
    fn new() -> Self {
        Self { observation_space: Space::discrete(100), action_space: Space::discrete(3), steps: 0 }
    }
}

impl Env for Counter {
    type Info = u64;

    fn observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_space(&self) -> &Space {
        &self.action_space
    }

    fn reset(&mut self, _seed: Option<u64>, observation: &mut [u8]) {
        self.steps = 0;
        self.observe(observation);
    }

    fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
        let action = action.to_index(&self.action_space)?;
        self.steps += 1;
        self.observe(observation);
        Ok(Step { terminated: action > 0, continues: action == 2, ..Step::reward(1.0) })
    }

    fn info(&self) -> u64 {
        self.steps
    }

    fn observe(&self, observation: &mut [u8]) {
        observation.copy_from_slice(&self.steps.to_ne_bytes());
    }

    fn render(&self) -> Result<Option<RgbImage>, EnvError> {
        Ok(Some(RgbImage { height: 1, width: 1, pixels: vec![self.steps as u8, 0, 0] }))
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&self.steps)
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
        self.steps = snapshot::decode(snapshot)?;
        Ok(())
    }
}

fn flags(env: &mut impl Env, action: i32) -> (bool, bool, bool) {
    let step = env.step(Action::Discrete(&[action]), &mut [0; 8]).unwrap();
    (step.terminated, step.truncated, step.continues)
}

#[test]
fn a_limit_truncates_episodes_that_have_not_terminated() {
    let mut env = TimeLimit::new(Counter::new(), 3);
    let nothing = (false, false, false);
    env.reset(None, &mut [0; 8]);
    assert_eq!([0; 3].map(|action| flags(&mut env, action)), [nothing, nothing, (false, true, false)]);
    env.reset(None, &mut [0; 8]);
    assert_eq!(
        [0, 0, 1].map(|action| flags(&mut env, action)),
        [nothing, nothing, (true, false, false)],
        "termination takes precedence over the limit"
    );
    env.reset(None, &mut [0; 8]);
    let lost_lives = [2; 3].map(|action| flags(&mut env, action));
    assert_eq!(lost_lives, [(true, false, true), (true, false, true), (false, true, false)]);
}

#[test]
fn a_limit_is_part_of_the_snapshot() {
    let mut env = TimeLimit::new(Counter::new(), 3);
    env.reset(None, &mut [0; 8]);
    flags(&mut env, 0);
    let mut copy = TimeLimit::new(Counter::new(), 3);
    copy.restore(&env.snapshot()).unwrap();
    assert_eq!(copy.info(), 1);
    assert_eq!([0, 0].map(|action| flags(&mut copy, action)), [(false, false, false), (false, true, false)]);
    let before = copy.snapshot();
    assert!(matches!(copy.restore(&before[1..]), Err(EnvError::BadSnapshot(_))));
    assert_eq!(copy.snapshot(), before);
}

#[test]
fn wrappers_show_the_picture_of_their_environment() {
    let flat = FlattenObservation::new(TimeLimit::new(Counter::new(), 3));
    let mut env = BoxedEnv::new(RescaleObservation::new(flat).unwrap());
    let mut observation = vec![0; env.observation_space().byte_len()];
    env.reset(None, &mut observation);
    for steps in 0..3 {
        assert_eq!(env.render().unwrap().unwrap().pixels, [steps, 0, 0]);
        env.step(Action::Discrete(&[0]), &mut observation).unwrap();
    }
}

const COUNTERS: EnvSpec = EnvSpec::new("counters", ActionKind::Discrete);

fn registry() -> Registry {
    let mut registry = Registry::new();
    let spec = EnvSpec { max_episode_steps: Some(3), ..COUNTERS };
    registry.register("Counter-v1", spec, move || Ok(spec.limit(Counter::new()))).unwrap();
    let fails = || Err("the counter is missing".into());
    registry.register("Broken-v0", COUNTERS, fails).unwrap();
    registry
}

#[test]
fn environments_are_built_by_their_ids() {
    let registry = registry();
    assert_eq!(registry.ids().collect::<Vec<_>>(), ["Broken-v0", "Counter-v1"]);
    let spec = registry.spec("Counter-v1").unwrap();
    assert_eq!((spec.family, spec.max_episode_steps, spec.best_return), ("counters", Some(3), None));
    let in_order_of_registration = registry.specs().map(|(id, spec)| (id, spec.max_episode_steps));
    assert!(in_order_of_registration.eq([("Counter-v1", Some(3)), ("Broken-v0", None)]));
    let mut env = registry.make("Counter-v1").unwrap();
    assert_eq!(env.observation_space(), &Space::discrete(100));
    env.reset(None, &mut [0; 8]);
    assert_eq!(
        [0; 3].map(|action| flags(&mut env, action)).map(|(_, truncated, _)| truncated),
        [false, false, true]
    );
}

#[test]
fn errors_name_the_environment() {
    let mut registry = registry();
    let error = |registry: &Registry, id| registry.make(id).err().unwrap().to_string();
    assert_eq!(
        error(&registry, "counter-v0"),
        "there is no environment \"counter-v0\"; the nearest is \"Counter-v1\""
    );
    assert_eq!(error(&registry, "Pong"), "there is no environment \"Pong\"");
    assert_eq!(
        error(&registry, "Broken-v0"),
        "environment \"Broken-v0\" cannot be built: the counter is missing"
    );
    let duplicate = registry.register("Counter-v1", COUNTERS, || Ok(BoxedEnv::new(Counter::new())));
    assert_eq!(duplicate.unwrap_err().to_string(), "an environment \"Counter-v1\" is already registered");
    assert_eq!(registry.specs().count(), 2);
}

#[test]
fn only_the_largest_version_of_a_name_is_the_newest() {
    let mut registry = Registry::new();
    for id in ["Counter-v9", "Counter-v10", "CounterWide-v11", "Counter", "Counter-vast"] {
        registry.register(id, COUNTERS, || Ok(BoxedEnv::new(Counter::new()))).unwrap();
    }
    let newest: Vec<&str> = registry.ids().filter(|id| registry.is_newest_version(id)).collect();
    assert_eq!(newest, ["Counter", "Counter-v10", "Counter-vast", "CounterWide-v11"]);
}
