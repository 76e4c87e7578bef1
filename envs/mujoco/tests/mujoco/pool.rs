//! In vector environments, tasks behave as they do alone, whatever the number of threads.

use std::fs;

use mujoco::{MujocoEnv, Task, Value};
use rl_env::{Action, Actions, Env, Pcg64, ResetSeeds, Space, TimeLimit, VectorEnv};
use tempfile::tempdir;
use vector::{PoolOptions, PoolVectorEnv};

use crate::installation;

const NUM_ENVS: usize = 6;
const NUM_STEPS: usize = 60;
const SEED: u64 = 5;

type Limited = TimeLimit<MujocoEnv>;

/// A step limit so low that episodes end within a test even if nothing falls.
const LIMIT: u32 = 25;

fn tasks() -> Vec<Task> {
    let ids = ["Ant-v5", "Hopper-v5", "Pusher-v5"];
    ids.map(|id| Task::load(&installation(), id, &[]).unwrap()).into()
}

fn pool(task: &Task, options: PoolOptions) -> PoolVectorEnv<Limited> {
    let env = |_| (task.id().to_owned(), TimeLimit::new(MujocoEnv::new(task), LIMIT));
    PoolVectorEnv::new((0..NUM_ENVS).map(env).collect(), options).unwrap()
}

/// Returns the action of an environment at a step.
fn action(space: &Space, env: usize, step: usize) -> Vec<f32> {
    let mut generator = Pcg64::new((env * NUM_STEPS + step) as u64);
    let mut row = vec![0; space.byte_len()];
    space.sample(&mut generator, &mut row);
    row.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
}

/// An observation with reward and end, and the values of `info`.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    observation: Vec<u8>,
    reward: f32,
    ended: bool,
    info: Vec<(&'static str, f64)>,
}

fn rows(pool: &PoolVectorEnv<Limited>) -> Vec<Row> {
    let batch = pool.batch();
    let rows = (0..batch.len()).map(|index| Row {
        observation: batch.observations.row(index).to_vec(),
        reward: batch.raw_rewards[index],
        ended: batch.terminated[index] || batch.truncated[index],
        info: pool.infos()[index].iter().collect(),
    });
    rows.collect()
}

/// Plays one environment, which is reset by the step after the end of an episode.
fn alone(task: &Task, env: usize) -> Vec<Row> {
    let mut single = TimeLimit::new(MujocoEnv::new(task), LIMIT);
    let mut observation = vec![0; single.observation_space().byte_len()];
    let mut rows: Vec<Row> = Vec::new();
    for step in 0..=NUM_STEPS {
        let (reward, ended) = if step == 0 || rows[step - 1].ended {
            single.reset((step == 0).then_some(SEED + env as u64), &mut observation);
            (0.0, false)
        } else {
            let action = action(single.action_space(), env, step);
            let step = single.step(Action::Continuous(&action), &mut observation).unwrap();
            (step.reward, step.ends_episode())
        };
        let info = single.info().iter().collect();
        rows.push(Row { observation: observation.clone(), reward, ended, info });
    }
    rows
}

#[test]
fn batches_in_order_equal_single_environments() {
    for task in tasks() {
        let expected: Vec<Vec<Row>> = (0..NUM_ENVS).map(|env| alone(&task, env)).collect();
        assert!(expected.iter().flatten().filter(|row| row.ended).count() >= NUM_ENVS);
        for num_threads in [1, 2, 5] {
            let mut pool = pool(&task, PoolOptions { num_threads, ..PoolOptions::default() });
            let space = pool.action_spaces()[0].clone();
            pool.reset(ResetSeeds::From(SEED)).unwrap();
            for step in 0..=NUM_STEPS {
                if step > 0 {
                    let actions: Vec<f32> = (0..NUM_ENVS).flat_map(|env| action(&space, env, step)).collect();
                    pool.step(Actions::Continuous(&actions)).unwrap();
                }
                let now: Vec<Row> = expected.iter().map(|rows| rows[step].clone()).collect();
                assert_eq!(rows(&pool), now, "{}, {num_threads} threads, step {step}", task.id());
            }
        }
    }
}

#[test]
fn first_come_batches_equal_single_environments() {
    for task in tasks() {
        let expected: Vec<Vec<Row>> = (0..NUM_ENVS).map(|env| alone(&task, env)).collect();
        let options = PoolOptions { batch_size: 2, num_threads: 3, ..PoolOptions::default() };
        let mut pool = pool(&task, options);
        let space = pool.action_spaces()[0].clone();
        let mut steps = [0; NUM_ENVS];
        pool.reset(ResetSeeds::From(SEED)).unwrap();
        while steps.iter().all(|&step| step < NUM_STEPS) {
            let env_ids = pool.batch().env_ids.clone();
            for (row, &env) in rows(&pool).into_iter().zip(&env_ids) {
                assert_eq!(row, expected[env][steps[env]], "{}, environment {env}", task.id());
                steps[env] += 1;
            }
            let actions: Vec<f32> = env_ids.iter().flat_map(|&env| action(&space, env, steps[env])).collect();
            pool.step(Actions::Continuous(&actions)).unwrap();
        }
    }
}

#[test]
fn restored_snapshots_continue_equally() {
    for task in tasks() {
        let [mut pool, mut other] =
            [1, 3].map(|num_threads| pool(&task, PoolOptions { num_threads, ..PoolOptions::default() }));
        let space = pool.action_spaces()[0].clone();
        let actions = |step| (0..NUM_ENVS).flat_map(|env| action(&space, env, step)).collect::<Vec<f32>>();
        pool.reset(ResetSeeds::From(SEED)).unwrap();
        for step in 0..33 {
            pool.step(Actions::Continuous(&actions(step))).unwrap();
        }
        other.restore(&pool.snapshot().unwrap()).unwrap();
        for step in 33..NUM_STEPS {
            pool.step(Actions::Continuous(&actions(step))).unwrap();
            other.step(Actions::Continuous(&actions(step))).unwrap();
            assert_eq!(rows(&pool), rows(&other), "{}, step {step}", task.id());
        }
    }
}

#[test]
fn an_error_within_mujoco_is_an_error_of_the_environments() {
    let ant =
        fs::read_to_string(installation().directory().join("gymnasium/envs/mujoco/assets/ant.xml")).unwrap();
    let without_memory = ant.replacen("<compiler", "<size memory=\"10K\"/>\n<compiler", 1);
    assert_ne!(without_memory, ant);
    let directory = tempdir().unwrap();
    let path = directory.path().join("ant.xml");
    fs::write(&path, without_memory).unwrap();
    let xml_file = [("xml_file", Value::from(path.to_str().unwrap()))];
    let task = Task::load(&installation(), "Ant-v5", &xml_file).unwrap();
    for num_threads in [1, 2] {
        let mut pool = pool(&task, PoolOptions { num_threads, ..PoolOptions::default() });
        let space = pool.action_spaces()[0].clone();
        pool.reset(ResetSeeds::From(SEED)).unwrap();
        // The ground is reached after some steps.
        let error = (0..NUM_STEPS).find_map(|step| {
            let actions: Vec<f32> = (0..NUM_ENVS).flat_map(|env| action(&space, env, step)).collect();
            pool.step(Actions::Continuous(&actions)).err()
        });
        let error = error.expect("an error").to_string();
        assert!(error.contains("MuJoCo: ") && error.contains("out of memory"), "{error}");
    }
}

#[test]
fn a_bad_action_is_an_error_after_which_the_pool_continues() {
    let task = Task::load(&installation(), "HalfCheetah-v5", &[]).unwrap();
    let mut pool = pool(&task, PoolOptions::default());
    let space = pool.action_spaces()[0].clone();
    let mut actions: Vec<f32> = (0..NUM_ENVS).flat_map(|env| action(&space, env, 1)).collect();
    let last = actions.len() - 1;
    pool.reset(ResetSeeds::From(SEED)).unwrap();
    let first = rows(&pool);
    let good = std::mem::replace(&mut actions[last], f32::NAN);
    let refused = pool.step(Actions::Continuous(&actions)).unwrap_err().to_string();
    assert!(refused.contains("NaN"), "{refused}");
    let short = pool.step(Actions::Continuous(&actions[..last])).unwrap_err().to_string();
    assert!(short.contains(&last.to_string()), "{short}");
    assert_eq!(rows(&pool), first);
    actions[last] = good;
    pool.step(Actions::Continuous(&actions)).unwrap();
    let expected: Vec<Row> = (0..NUM_ENVS).map(|env| alone(&task, env)[1].clone()).collect();
    assert_eq!(rows(&pool), expected);
}
