//! The pool is equivalent to stepping environments one by one with a reference implementation of each autoreset mode.

use crate::stub::{OBSERVATION_BYTES, Stub, StubInfo};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{Action, Actions, AutoresetMode, Batch, Env, EpisodeStats, ResetSeeds, Step, VectorEnv};
use vector::{PoolOptions, PoolVectorEnv};

const NUM_ENVS: usize = 11;

/// One row of a batch.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    observation: Vec<u8>,
    final_observation: Option<Vec<u8>>,
    step: Step,
    autoreset: bool,
    episode: Option<EpisodeStats>,
    info: StubInfo,
}

/// Returns the rows of a batch, without `continues`.
fn rows(batch: &Batch, infos: &[StubInfo]) -> Vec<Row> {
    let rows = (0..NUM_ENVS).map(|index| Row {
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
        info: infos[index].clone(),
    });
    assert_eq!(batch.env_ids, (0..NUM_ENVS).collect::<Vec<_>>());
    rows.collect()
}

/// A reference implementation of each autoreset mode for a single environment.
struct Alone {
    env: Stub,
    mode: AutoresetMode,
    over: bool,
    episode: EpisodeStats,
}

impl Alone {
    fn reset(&mut self, seed: Option<u64>) -> Row {
        let mut observation = vec![0; OBSERVATION_BYTES];
        self.env.reset(seed, &mut observation);
        self.over = false;
        self.episode = EpisodeStats::default();
        Row {
            final_observation: (self.mode == AutoresetMode::SameStep).then(|| observation.clone()),
            observation,
            step: Step::default(),
            autoreset: false,
            episode: None,
            info: self.env.info(),
        }
    }

    fn step(&mut self, action: i32) -> Row {
        if self.over && self.mode == AutoresetMode::NextStep {
            return Row { autoreset: true, ..self.reset(None) };
        }
        let mut observation = vec![0; OBSERVATION_BYTES];
        let step = self.env.step(Action::Discrete(&[action]), &mut observation).unwrap();
        self.episode.total_reward += f64::from(step.raw_reward);
        self.episode.length += 1;
        self.over = step.truncated || step.terminated && !step.continues;
        let row = Row {
            final_observation: (self.mode == AutoresetMode::SameStep).then(|| observation.clone()),
            observation,
            step: Step { continues: false, ..step },
            autoreset: false,
            episode: self.over.then_some(self.episode),
            info: self.env.info(),
        };
        if self.over && self.mode == AutoresetMode::SameStep {
            let begun = self.reset(None);
            return Row { observation: begun.observation, info: begun.info, ..row };
        }
        row
    }
}

/// Returns stubs with different numbers of actions, two for each task.
fn stubs() -> Vec<(String, Stub)> {
    (0..NUM_ENVS).map(|index| (format!("task {}", index / 2), Stub::new(2 + index / 2))).collect()
}

fn pooled(num_threads: usize, autoreset_mode: AutoresetMode) -> PoolVectorEnv<Stub> {
    let options = PoolOptions { num_threads, autoreset_mode, ..PoolOptions::default() };
    PoolVectorEnv::new(stubs(), options).unwrap()
}

fn alone(mode: AutoresetMode) -> Vec<Alone> {
    let alone = |(_, env)| Alone { env, mode, over: false, episode: EpisodeStats::default() };
    stubs().into_iter().map(alone).collect()
}

fn random_actions(rng: &mut ChaCha8Rng) -> Vec<i32> {
    (0..NUM_ENVS).map(|index| rng.random_range(0..2 + index as i32 / 2)).collect()
}

#[test]
fn the_pool_equals_stepping_one_by_one() {
    let seed = rand::random();
    println!("seed {seed}");
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep, AutoresetMode::Disabled] {
        for num_threads in [1, 2, 5] {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut env = pooled(num_threads, mode);
            let mut reference = alone(mode);
            env.reset(ResetSeeds::From(seed)).unwrap();
            let expected: Vec<Row> =
                (0..).zip(&mut reference).map(|(i, env)| env.reset(Some(seed.wrapping_add(i)))).collect();
            assert_eq!(rows(env.batch(), env.infos()), expected);
            let mut ends = 0;
            for step in 0..500 {
                if mode == AutoresetMode::Disabled {
                    let mask: Vec<bool> = reference.iter().map(|env| env.over).collect();
                    env.reset_masked(&mask, ResetSeeds::Continue).unwrap();
                    for alone in reference.iter_mut().filter(|alone| alone.over) {
                        alone.reset(None);
                    }
                }
                let actions = random_actions(&mut rng);
                env.step(Actions::Discrete(&actions)).unwrap();
                let expected: Vec<Row> =
                    reference.iter_mut().zip(&actions).map(|(env, &action)| env.step(action)).collect();
                assert_eq!(
                    rows(env.batch(), env.infos()),
                    expected,
                    "{mode:?}, {num_threads} threads, step {step}"
                );
                ends += expected.iter().filter(|row| row.episode.is_some()).count();
            }
            assert!(ends > 100, "too few episodes ended: {ends}");
        }
    }
}

#[test]
fn a_masked_reset_keeps_the_other_environments() {
    let mut env = pooled(2, AutoresetMode::NextStep);
    let mut reference = alone(AutoresetMode::NextStep);
    env.reset(ResetSeeds::From(1)).unwrap();
    (1..).zip(&mut reference).for_each(|(seed, env)| {
        env.reset(Some(seed));
    });
    let mut last = Vec::new();
    for _ in 0..5 {
        env.step(Actions::Discrete(&[1; NUM_ENVS])).unwrap();
        last = reference.iter_mut().map(|env| env.step(1)).collect();
    }
    let mask: Vec<bool> = (0..NUM_ENVS).map(|index| index % 3 == 0).collect();
    env.reset_masked(&mask, ResetSeeds::From(100)).unwrap();
    let mut seeds = 100..;
    let expected: Vec<Row> = reference
        .iter_mut()
        .zip(last)
        .enumerate()
        .map(|(index, (env, last))| {
            if mask[index] {
                return env.reset(seeds.next());
            }
            Row { step: Step::default(), episode: None, autoreset: false, ..last }
        })
        .collect();
    assert_eq!(rows(env.batch(), env.infos()), expected);
    env.step(Actions::Discrete(&[0; NUM_ENVS])).unwrap();
    let expected: Vec<Row> = reference.iter_mut().map(|env| env.step(0)).collect();
    assert_eq!(rows(env.batch(), env.infos()), expected, "a pending autoreset stays pending");
}

/// Steps with each of the actions. Returns the rows of each batch.
fn play(env: &mut PoolVectorEnv<Stub>, actions: &[Vec<i32>]) -> Vec<Vec<Row>> {
    let batches = actions.iter().map(|actions| {
        env.step(Actions::Discrete(actions)).unwrap();
        rows(env.batch(), env.infos())
    });
    batches.collect()
}

#[test]
fn restored_snapshots_continue_equally() {
    let seed = rand::random();
    println!("seed {seed}");
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut env = pooled(2, mode);
        env.reset(ResetSeeds::From(seed)).unwrap();
        for _ in 0..20 {
            env.step(Actions::Discrete(&random_actions(&mut rng))).unwrap();
        }
        let here = rows(env.batch(), env.infos());
        let snapshot = env.snapshot().unwrap();
        let actions: Vec<Vec<i32>> = (0..30).map(|_| random_actions(&mut rng)).collect();
        let there = play(&mut env, &actions);

        env.restore(&snapshot).unwrap();
        assert_eq!(rows(env.batch(), env.infos()), here, "restore reports the batch of the snapshot");
        assert_eq!(play(&mut env, &actions), there);

        let mut other = pooled(5, mode);
        other.restore(&snapshot).unwrap();
        assert_eq!(rows(other.batch(), other.infos()), here, "a new vector environment reports it, too");
        assert_eq!(play(&mut other, &actions), there);
    }
}

#[test]
fn invalid_snapshots_change_nothing() {
    let mut env = pooled(1, AutoresetMode::NextStep);
    let mut twin = pooled(1, AutoresetMode::NextStep);
    for env in [&mut env, &mut twin] {
        env.reset(ResetSeeds::From(3)).unwrap();
    }
    let snapshot = env.snapshot().unwrap();
    let mut longer = snapshot.clone();
    longer.push(0);
    // The state of the last environment lacks a byte: the others have been restored when this is detected.
    let mut later = pooled(1, AutoresetMode::NextStep);
    later.reset(ResetSeeds::From(77)).unwrap();
    let mut damaged = later.snapshot().unwrap();
    let state_bytes = Stub::new(2).snapshot().len();
    let prefix = damaged.iter().rposition(|&byte| usize::from(byte) == state_bytes).unwrap();
    damaged[prefix] -= 1;
    damaged.remove(prefix + 1);
    let other_mode = {
        let mut other = pooled(1, AutoresetMode::SameStep);
        other.reset(ResetSeeds::Continue).unwrap();
        other.snapshot().unwrap()
    };
    for bad in [&snapshot[..snapshot.len() - 1], &longer, &damaged, &other_mode, &[]] {
        let error = env.restore(bad).unwrap_err();
        assert!(error.to_string().contains("cannot restore the snapshot"), "{error}");
        assert!(env.is_usable());
    }
    for _ in 0..20 {
        for env in [&mut env, &mut twin] {
            env.step(Actions::Discrete(&[0; NUM_ENVS])).unwrap();
        }
        assert_eq!(rows(env.batch(), env.infos()), rows(twin.batch(), twin.infos()));
    }
}

#[test]
fn tasks_and_action_spaces_follow_the_environments() {
    let env = pooled(3, AutoresetMode::NextStep);
    assert_eq!((env.num_envs(), env.batch_size(), env.num_threads()), (NUM_ENVS, NUM_ENVS, 3));
    assert_eq!(env.tasks(), ["task 0", "task 1", "task 2", "task 3", "task 4", "task 5"]);
    assert_eq!(env.task_ids(), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]);
    assert_eq!(env.action_spaces()[10].to_string(), "Discrete(7)");
    assert_eq!(pooled(99, AutoresetMode::NextStep).num_threads(), NUM_ENVS);
}
