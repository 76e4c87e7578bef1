//! Random environments for the learners' tests.

use std::ops::Range;

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rl_env::{Actions, AutoresetMode, Batch, Space};

pub(crate) use crate::check_learner::RandomEnvs;
use crate::{ContinuousActions, JointActions, Learner, Task, VectorSpec};

impl RandomEnvs {
    /// Makes `steps` steps in which the environments of a task rest, with the updates that become due.
    pub(crate) fn step_while_resting<L: Learner>(
        &mut self,
        learner: &mut L,
        task: usize,
        steps: usize,
        update: impl Fn(&mut L),
    ) {
        for _ in 0..steps {
            learner.act(&self.batch).unwrap();
            self.step();
            self.rest(task);
            learner.observe(&self.batch).unwrap();
            if learner.is_ready() {
                update(learner);
            }
        }
    }

    /// Turns the last step of the environments of a task into a row that is no transition, as environments that have
    /// used up their steps return.
    fn rest(&mut self, task: usize) {
        for env in (0..self.batch.len()).filter(|&env| self.spec.task_ids[env] == task) {
            self.batch.autoreset[env] = true;
            (self.batch.terminated[env], self.batch.truncated[env]) = (false, false);
            self.batch.rewards[env] = 0.0;
        }
    }

    /// Acts and observes until an update is due, with rewards multiplied by `reward_factor`.
    pub(crate) fn act_until_ready(&mut self, learner: &mut impl Learner, reward_factor: f32) {
        while !learner.is_ready() {
            learner.act(&self.batch).unwrap();
            self.step();
            for reward in &mut self.batch.rewards {
                *reward *= reward_factor;
            }
            learner.observe(&self.batch).unwrap();
        }
    }
}

/// Returns the index of the largest value, the first one if several are equal.
pub(crate) fn argmax(values: &[f32]) -> usize {
    (1..values.len()).fold(0, |best, index| if values[index] > values[best] { index } else { best })
}

/// Returns the gradient of every parameter, in the order of [`weights`](crate::networks::weights).
pub(crate) fn parameter_gradients(network: &impl Module, gradients: &GradientsParams) -> Vec<Vec<f32>> {
    struct Visitor<'a>(&'a GradientsParams, Vec<Vec<f32>>);
    impl ModuleVisitor for Visitor<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let gradient = self.0.get::<D>(param.id).expect("every parameter has a gradient");
            self.1.push(gradient.try_into_vec_as().unwrap());
        }
    }
    let mut visitor = Visitor(gradients, Vec::new());
    network.visit(&mut visitor);
    visitor.1
}

/// Returns the rows of some environments.
pub(crate) fn rows_of(batch: &Batch, envs: Range<usize>) -> Batch {
    let part = Batch::new(envs.len(), batch.observations.row_bytes(), batch.final_observations.rows() > 0);
    let mask_bytes = batch.action_masks.row_bytes();
    let mut part = if batch.has_action_masks() { part.with_action_masks(mask_bytes) } else { part };
    for (row, env) in envs.enumerate() {
        part.env_ids[row] = env;
        part.observations.row_mut(row).copy_from_slice(batch.observations.row(env));
        if part.final_observations.rows() > 0 {
            part.final_observations.row_mut(row).copy_from_slice(batch.final_observations.row(env));
        }
        for (to, from) in [
            (&mut part.action_masks, &batch.action_masks),
            (&mut part.final_action_masks, &batch.final_action_masks),
        ] {
            if to.rows() > 0 {
                to.row_mut(row).copy_from_slice(from.row(env));
            }
        }
        part.rewards[row] = batch.rewards[env];
        part.terminated[row] = batch.terminated[env];
        part.truncated[row] = batch.truncated[env];
        part.autoreset[row] = batch.autoreset[env];
    }
    part
}

/// Returns four environments of two tasks with 2 and 5 actions.
pub(crate) fn spec(observation_space: Space, autoreset_mode: AutoresetMode) -> VectorSpec {
    let mut two = Task::new("two", 2);
    two.shared = vec![6, 3];
    VectorSpec {
        observation_space,
        tasks: vec![two, Task::new("five", 5)],
        task_ids: vec![0, 1, 1, 0],
        shared_outputs: 7,
        autoreset_mode,
    }
}

/// Returns up to eleven environments of up to five tasks, each with some of 18 actions in random order.
pub(crate) fn random_spec(rng: &mut ChaCha8Rng) -> VectorSpec {
    let tasks: Vec<Task> = (0..rng.random_range(1..6))
        .map(|index: usize| {
            let mut actions: Vec<usize> = (0..18).collect();
            actions.shuffle(rng);
            actions.truncate(rng.random_range(1..=18));
            Task { shared: actions.clone(), ..Task::new(index.to_string(), actions.len()) }
        })
        .collect();
    VectorSpec {
        observation_space: Space::floats(3, -1.0, 1.0),
        task_ids: (0..rng.random_range(1..12)).map(|_| rng.random_range(0..tasks.len())).collect(),
        tasks,
        shared_outputs: 18,
        autoreset_mode: AutoresetMode::NextStep,
    }
}

/// Like [`spec`], with several choices: factored actions that do not form a product, and all combinations of 3 and 4
/// options.
pub(crate) fn spec_of_choices(observation_space: Space, autoreset_mode: AutoresetMode) -> VectorSpec {
    let factors = [[1, 0, 2], [0, 0, 0], [0, 1, 1], [0, 1, 2], [1, 0, 0]].map(Vec::from);
    let factored = JointActions::factored(&[2, 2, 3], factors.to_vec()).unwrap();
    assert!(!factored.is_product());
    let mut factored = Task::of_actions("factored", factored);
    factored.shared = vec![6, 3, 0, 7, 1, 5, 2];
    let product = Task::of_actions("product", JointActions::product(&[3, 4]).unwrap());
    let spec = spec(observation_space, autoreset_mode);
    VectorSpec {
        tasks: vec![factored, product, Task::new("five", 5)],
        task_ids: vec![0, 1, 2, 0],
        shared_outputs: 8,
        ..spec
    }
}

/// Like [`spec`], with a mask for each observation, for a task with one choice and a task with two.
pub(crate) fn spec_of_masks(observation_space: Space, autoreset_mode: AutoresetMode) -> VectorSpec {
    let spec = spec(observation_space, autoreset_mode);
    let mut five = Task::new("five", 5);
    five.shared = vec![6, 3, 0, 5, 1];
    let product = Task::of_actions("product", JointActions::product(&[3, 4]).unwrap());
    let masked = |task: Task| Task { actions: task.actions.masked(), ..task };
    VectorSpec { tasks: [five, product].map(masked).into(), task_ids: vec![0, 1, 1, 0], ..spec }
}

/// Returns the space of two small images and a vector.
pub(crate) fn images_and_floats() -> Space {
    Space::tuple([Space::bytes([1, 5, 5]), Space::bytes([2, 4, 6]), Space::floats(3, -1.0, 1.0)])
}

/// Returns up to four choices of up to four options. All combinations are legal, or some actions are factored.
pub(crate) fn random_actions(rng: &mut ChaCha8Rng) -> JointActions {
    let sizes: Vec<usize> = (0..rng.random_range(1..5)).map(|_| rng.random_range(1..5)).collect();
    let product = JointActions::product(&sizes).unwrap();
    if rng.random() {
        return product;
    }
    let mut factors = all_actions(&product);
    factors.shuffle(rng);
    factors.truncate(rng.random_range(1..=factors.len()));
    let factors = factors.iter().map(|options| options.iter().map(|&option| option as usize).collect());
    JointActions::factored(&sizes, factors.collect()).unwrap()
}

/// Returns all legal actions in ascending order.
pub(crate) fn all_actions(actions: &JointActions) -> Vec<Vec<i32>> {
    let mut combinations: Vec<Vec<i32>> = vec![Vec::new()];
    for &size in actions.sizes() {
        let longer = |beginning: &Vec<i32>| {
            let beginning = beginning.clone();
            (0..size as i32).map(move |option| [&beginning[..], &[option]].concat())
        };
        combinations = combinations.iter().flat_map(longer).collect();
    }
    combinations.retain(|options| actions.is_legal(options));
    combinations
}

/// Like [`spec`], with continuous actions of one and of three numbers.
pub(crate) fn spec_of_numbers(observation_space: Space, autoreset_mode: AutoresetMode) -> VectorSpec {
    let task = |name: &str, space: Space| {
        Task::of_actions(name, ContinuousActions::of_space(&space).expect("a space of floats"))
    };
    let spec = spec(observation_space, autoreset_mode);
    let three = Space::float_ranges(&[(-1.0, 1.0), (-0.4, 2.0), (f32::NEG_INFINITY, f32::INFINITY)]);
    VectorSpec {
        tasks: vec![task("one", Space::floats(1, -2.0, 2.0)), task("three", three)],
        task_ids: vec![0, 1, 1, 0],
        shared_outputs: 3,
        ..spec
    }
}

/// Asserts that actions consist of the elements of a legal action for each environment.
pub(crate) fn assert_legal(spec: &VectorSpec, actions: Actions<'_>) {
    let actions = match actions {
        Actions::Discrete(actions) => actions,
        Actions::Continuous(mut rest) => {
            for env in 0..spec.num_envs() {
                let own;
                (own, rest) = rest.split_at(spec.actions(env).num_components());
                let bytes: Vec<u8> = own.iter().flat_map(|number| number.to_ne_bytes()).collect();
                assert!(spec.actions(env).space().contains(&bytes), "{own:?}");
            }
            assert!(rest.is_empty());
            return;
        }
    };
    let mut rest = actions;
    for env in 0..spec.num_envs() {
        let mut legal = all_actions(spec.joint_actions(env)).into_iter().map(|options| {
            let mut elements = Vec::new();
            spec.joint_actions(env).write(&options, &mut elements);
            elements
        });
        let own = legal.find(|elements| rest.starts_with(elements)).expect("a legal action");
        rest = &rest[own.len()..];
    }
    assert!(rest.is_empty());
}
