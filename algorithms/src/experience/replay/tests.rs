//! Compares the replay buffer with a naive one, which stores the whole stacks of every step.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{ObservationBuffer, Space};

use super::sampling::PRIORITY_EPSILON;
use super::*;
use crate::networks::layout_of;
use crate::{ContinuousActions, JointActions, Task};

const SIDE: usize = 36;

/// Environments with stacked frames, random rewards and random ends, as an autoreset mode reports them.
struct StackedEnvs {
    spec: VectorSpec,
    stack: usize,
    rng: ChaCha8Rng,
    batch: Batch,
    /// Probability that a step ends the episode.
    end: f64,
}

impl StackedEnvs {
    fn new(spec: VectorSpec, stack: usize, end: f64, rng: ChaCha8Rng) -> Self {
        let with_final = spec.autoreset_mode == AutoresetMode::SameStep;
        let batch = Batch::new(spec.num_envs(), spec.observation_space.byte_len(), with_final);
        let mut envs = Self { spec, stack, rng, batch, end };
        for env in 0..envs.batch.len() {
            envs.reset(env);
        }
        envs
    }

    /// Returns a frame of one colour. There are few colours, so that frames are often equal.
    fn colour(&mut self) -> u8 {
        self.rng.random_range(0..3)
    }

    /// Starts a new episode: a first frame, preceded by black frames or by copies of it, as in real environments.
    fn reset(&mut self, env: usize) {
        let colour = self.colour();
        let before = if self.rng.random() { colour } else { 9 };
        let (stack, row) = (self.stack, self.batch.observations.row_mut(env));
        let frame = row.len() / stack;
        row.fill(before);
        row[(stack - 1) * frame..].fill(colour);
    }

    fn push(&mut self, env: usize) {
        let colour = self.colour();
        let (stack, row) = (self.stack, self.batch.observations.row_mut(env));
        let frame = row.len() / stack;
        row.copy_within(frame.., 0);
        row[(stack - 1) * frame..].fill(colour);
    }

    fn step(&mut self) {
        for env in 0..self.batch.len() {
            let over =
                (self.batch.terminated[env] && !self.batch.continues[env]) || self.batch.truncated[env];
            let resets = over && self.spec.autoreset_mode == AutoresetMode::NextStep;
            let fate: f64 = self.rng.random();
            self.batch.autoreset[env] = resets;
            self.batch.terminated[env] = !resets && fate < self.end;
            self.batch.truncated[env] = !resets && fate > 1.0 - self.end;
            self.batch.continues[env] = self.batch.terminated[env] && self.rng.random();
            self.batch.rewards[env] = if resets { 0.0 } else { self.rng.random_range(-1.0..1.0) };
            if resets {
                self.reset(env);
                continue;
            }
            self.push(env);
            if self.spec.autoreset_mode == AutoresetMode::SameStep {
                let last = self.batch.observations.row(env).to_vec();
                self.batch.final_observations.row_mut(env).copy_from_slice(&last);
                if (self.batch.terminated[env] && !self.batch.continues[env]) || self.batch.truncated[env] {
                    self.reset(env);
                }
            }
        }
    }

    /// Returns the observation after the step of an environment.
    fn successor(&self, env: usize) -> &[u8] {
        match self.spec.autoreset_mode {
            AutoresetMode::SameStep => self.batch.final_observations.row(env),
            _ => self.batch.observations.row(env),
        }
    }
}

/// A step with its whole observations.
struct NaiveStep {
    observation: Vec<u8>,
    options: [i32; 2],
    reward: f32,
    terminated: bool,
    truncated: bool,
    successor: Vec<u8>,
}

/// Returns the return of step `t`, its discount and the observation to bootstrap from; `None` while it is
/// incomplete.
fn naive_return(steps: &[NaiveStep], t: usize, n: usize, gamma: f32) -> Option<(f32, f32, &[u8])> {
    let (mut rewards, mut discount) = (0.0, 1.0);
    for step in steps[t..].iter().take(n) {
        rewards += discount * step.reward;
        if step.terminated {
            return Some((rewards, 0.0, &step.successor));
        }
        discount *= gamma;
        if step.truncated {
            return Some((rewards, discount, &step.successor));
        }
    }
    (t + n <= steps.len()).then(|| (rewards, discount, &steps[t + n - 1].successor[..]))
}

fn spec(space: Space, tasks: &[usize], mode: AutoresetMode) -> VectorSpec {
    let count = tasks.iter().max().unwrap() + 1;
    let actions = || JointActions::product(&[4, 3]).unwrap();
    let task = |index: usize| Task::of_actions(index.to_string(), actions());
    VectorSpec {
        observation_space: space,
        tasks: (0..count).map(task).collect(),
        task_ids: tasks.to_vec(),
        shared_outputs: 7,
        autoreset_mode: mode,
    }
}

fn replay(spec: &VectorSpec, options: ReplayOptions) -> ReplayBuffer<i32> {
    let layout = layout_of(&spec.observation_space).unwrap();
    ReplayBuffer::new(
        spec,
        layout,
        options,
        &Cluster::default(),
        ReplayStorage::Memory { available: 1 << 30 },
    )
    .unwrap()
}

/// Runs the environments, and stores every step in the replay buffer and the naive lists.
fn play(replay: &mut ReplayBuffer<i32>, envs: &mut StackedEnvs, naive: &mut [Vec<NaiveStep>], steps: usize) {
    for _ in 0..steps {
        let action = |env: usize, option: i32| [option, (option + env as i32) % 3];
        let actions: Vec<[i32; 2]> =
            (0..naive.len()).map(|env| action(env, envs.rng.random_range(0..4))).collect();
        replay.begin_step(&envs.batch, actions.as_flattened());
        let seen: Vec<Vec<u8>> =
            (0..naive.len()).map(|env| envs.batch.observations.row(env).to_vec()).collect();
        envs.step();
        let written = replay.end_step(&envs.batch, &Cluster::default()).unwrap();
        assert_eq!(written, envs.batch.autoreset.iter().filter(|&&reset| !reset).count() as u64);
        for (env, (observation, options)) in seen.into_iter().zip(actions).enumerate() {
            if !envs.batch.autoreset[env] {
                naive[env].push(NaiveStep {
                    observation,
                    options,
                    reward: envs.batch.rewards[env],
                    terminated: envs.batch.terminated[env],
                    truncated: envs.batch.truncated[env],
                    successor: envs.successor(env).to_vec(),
                });
            }
        }
    }
}

/// Returns every step that can be drawn.
fn all_draws(replay: &ReplayBuffer<i32>) -> Vec<Draw> {
    let of_env = |env| (0..replay.ready_steps_of(env)).map(move |index| replay.draw_of(env, index));
    (0..replay.histories.len()).flat_map(of_env).collect()
}

fn assert_agrees(replay: &ReplayBuffer<i32>, naive: &[Vec<NaiveStep>]) {
    let ReplayOptions { n_step, gamma, .. } = replay.options;
    let draws = all_draws(replay);
    let (observations, successors) = (replay.observations(&draws), replay.successors(&draws));
    let row_bytes = replay.stack.row_bytes();
    for (index, draw) in draws.iter().enumerate() {
        let steps = &naive[draw.env];
        let expected = &steps[draw.step_id as usize];
        let (rewards, discount, successor) =
            naive_return(steps, draw.step_id as usize, n_step, gamma).expect("a complete return");
        let row = index * row_bytes..(index + 1) * row_bytes;
        assert!(observations[row.clone()] == expected.observation, "{draw:?}");
        assert_eq!(replay.action(draw), expected.options);
        let result = replay.n_step_return(draw);
        assert!((result.rewards - rewards).abs() < 1e-6 && (result.discount - discount).abs() < 1e-6);
        // A terminated step has no successor.
        assert!(discount == 0.0 || successors[row] == *successor, "{draw:?}");
    }
}

/// Returns a state with its frames.
fn bytes<E: ActionElement>(replay: &ReplayBuffer<E>) -> Vec<u8> {
    let mut bytes = postcard::to_stdvec(&replay.state()).unwrap();
    replay.write_frames(&Cluster::default(), &mut bytes).unwrap();
    bytes
}

fn restore<E: ActionElement>(
    replay: &mut ReplayBuffer<E>,
    spec: &VectorSpec,
    bytes: &[u8],
) -> Result<(), &'static str> {
    let (state, frames) = postcard::take_from_bytes(bytes).unwrap();
    let (frames, rest) = decode_frames(frames).unwrap();
    assert!(rest.is_empty());
    replay.restore(spec, state, &frames)
}

#[test]
fn equals_a_naive_replay_buffer_of_whole_stacks() {
    for seed in 0..40 {
        println!("seed {seed}");
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mode = if rng.random() { AutoresetMode::NextStep } else { AutoresetMode::SameStep };
        let stack = rng.random_range(1..=4);
        let tasks = [&[0][..], &[0, 1, 1], &[0, 0, 1, 2]][rng.random_range(0..3)];
        let space = if rng.random_bool(0.2) { Space::bytes([8]) } else { Space::bytes([stack, SIDE, SIDE]) };
        let spec = spec(space.clone(), tasks, mode);
        let options = ReplayOptions {
            buffer_size: rng.random_range(100..400),
            n_step: rng.random_range(1..=5),
            gamma: 0.9,
            alpha: rng.random_bool(0.5).then_some(0.6),
        };
        let mut replay = replay(&spec, options);
        let end = [0.005, 0.05, 0.4][rng.random_range(0..3)];
        let cut = if space == Space::bytes([8]) { 1 } else { stack };
        let mut envs = StackedEnvs::new(spec, cut, end, rng);
        let mut naive: Vec<_> = tasks.iter().map(|_| Vec::new()).collect();
        for _ in 0..10 {
            play(&mut replay, &mut envs, &mut naive, 30);
            assert_agrees(&replay, &naive);
            for (history, steps) in replay.histories.iter().zip(&naive) {
                let unknown = (0..steps.len())
                    .filter(|&t| naive_return(steps, t, options.n_step, options.gamma).is_none())
                    .count();
                let kept = steps.len().min(history.capacity());
                let ready = history.ready_steps() + unknown;
                // The buffer is full, unless episodes are very short.
                assert!(ready == kept || (end > 0.02 && cut > 1 && ready < kept), "{ready} of {kept}");
            }
        }
        let draws = replay.draw(16, 0.5, &mut envs.rng);
        assert_eq!(draws.len(), 16);
        assert!(draws.iter().all(|draw| replay.histories[draw.env].is_ready(draw.step_id)));
    }
}

/// Fills masks with random zeros and ones.
fn fill(masks: &mut ObservationBuffer, rng: &mut ChaCha8Rng) {
    masks.rows_mut().flatten().for_each(|allowed| *allowed = rng.random_range(0..2));
}

#[test]
fn masks_of_successors_belong_to_their_observations_even_if_frames_are_equal() {
    for (mode, space) in [
        (AutoresetMode::SameStep, Space::bytes([3, SIDE, SIDE])),
        (AutoresetMode::NextStep, Space::bytes([3, SIDE, SIDE])),
        (AutoresetMode::SameStep, Space::bytes([8])),
    ] {
        let stack = if space == Space::bytes([8]) { 1 } else { 3 };
        let mut spec = spec(space, &[0, 0], mode);
        spec.tasks.iter_mut().for_each(|task| task.actions = task.actions.clone().masked());
        let options = ReplayOptions { buffer_size: 150, n_step: 1, gamma: 0.9, alpha: None };
        let mut envs = StackedEnvs::new(spec.clone(), stack, 0.1, ChaCha8Rng::seed_from_u64(3));
        envs.batch = envs.batch.clone().with_action_masks(7);
        let mut buffer = replay(&spec, options);
        // The masks after each step, by environment.
        let mut expected: [Vec<Vec<u8>>; 2] = Default::default();
        for _ in 0..100 {
            buffer.begin_step(&envs.batch, &[0; 4]);
            envs.step();
            fill(&mut envs.batch.action_masks, &mut envs.rng);
            fill(&mut envs.batch.final_action_masks, &mut envs.rng);
            buffer.end_step(&envs.batch, &Cluster::default()).unwrap();
            let Batch { action_masks, final_action_masks, autoreset, .. } = &envs.batch;
            let masks = if mode == AutoresetMode::SameStep { final_action_masks } else { action_masks };
            for env in (0..2).filter(|&env| !autoreset[env]) {
                expected[env].push(masks.row(env).to_vec());
            }
        }
        let mut restored = replay(&spec, options);
        restore(&mut restored, &spec, &bytes(&buffer)).unwrap();
        for buffer in [buffer, restored] {
            let draws = all_draws(&buffer);
            assert!(draws.len() >= 40, "{}", draws.len());
            for (draw, mask) in draws.iter().zip(buffer.successor_masks(&draws)) {
                if buffer.n_step_return(draw).discount > 0.0 {
                    assert_eq!(mask, expected[draw.env][draw.step_id as usize], "{draw:?}");
                }
            }
        }
    }
}

/// Returns a replay buffer of vectors with two tasks, one in three environments, after `steps` steps.
fn filled(alpha: Option<f32>, steps: usize) -> (ReplayBuffer<i32>, StackedEnvs) {
    let spec = spec(Space::bytes([8]), &[0, 1, 1, 1], AutoresetMode::NextStep);
    let options = ReplayOptions { buffer_size: 240, n_step: 2, gamma: 0.9, alpha };
    let mut replay = replay(&spec, options);
    let mut envs = StackedEnvs::new(spec, 1, 0.05, ChaCha8Rng::seed_from_u64(1));
    let mut naive: Vec<_> = (0..4).map(|_| Vec::new()).collect();
    play(&mut replay, &mut envs, &mut naive, steps);
    (replay, envs)
}

#[test]
fn tasks_have_equal_shares_of_steps_and_batches() {
    for alpha in [None, Some(0.5)] {
        let (replay, _) = filled(alpha, 300);
        let kept = |task: usize| -> usize {
            replay.envs_of[task].iter().map(|&env| replay.histories[env].capacity()).sum()
        };
        assert_eq!([kept(0), kept(1)], [120, 120]);
        assert!(
            replay.ready_steps(0) >= 119 && replay.ready_steps(1) >= 117,
            "one step of each environment is incomplete"
        );
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut ones = 0;
        for _ in 0..100 {
            let draws = replay.draw(9, 1.0, &mut rng);
            let of_task_1 = draws.iter().filter(|draw| draw.env > 0).count();
            assert!([4, 5].contains(&of_task_1));
            ones += of_task_1;
        }
        // The extra row goes to either task: 450 +- 5 standard deviations of 5.
        assert!((425..475).contains(&ones), "{ones}");
    }
}

#[test]
fn uniform_draws_are_uniform_within_a_task() {
    let (replay, _) = filled(None, 300);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut counts = std::collections::BTreeMap::new();
    for draw in (0..1170).flat_map(|_| replay.draw(200, 1.0, &mut rng)) {
        assert_eq!(draw.weight, 1.0);
        *counts.entry((draw.env, draw.step_id)).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), replay.len());
    for ((env, _), count) in counts {
        // 117,000 draws of each task: five standard deviations are 158.
        let expected = 117_000 / replay.ready_steps(usize::from(env > 0)) as i32;
        assert!(i32::abs(count - expected) < 158, "{count}");
    }
}

#[test]
fn steps_are_drawn_by_priority_and_weighted_inversely() {
    let (mut replay, _) = filled(Some(0.5), 300);
    // Only steps of the first task; priority 4 for one step and 1 for all others, whose roots are 2 and 1.
    let draws: Vec<Draw> = all_draws(&replay).into_iter().filter(|draw| draw.env == 0).collect();
    let mut errors = vec![1.0 - PRIORITY_EPSILON as f32; draws.len()];
    errors[7] = 4.0;
    replay.set_errors(&draws, &errors);
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let (mut often, mut rows) = (0, 0);
    for _ in 0..2000 {
        let batch = replay.draw(32, 1.0, &mut rng);
        let of_task: Vec<_> = batch.iter().filter(|draw| draw.env == 0).collect();
        rows += of_task.len();
        for draw in of_task {
            if draw.step_id == draws[7].step_id {
                often += 1;
                // Twice as probable as the others: half the largest weight.
                assert!((draw.weight - 0.5).abs() < 1e-3, "{draw:?}");
            } else {
                assert!(draw.weight > 0.95, "{draw:?}");
            }
        }
    }
    // 2 / 120 of 32,000 rows: 533, standard deviation 23.
    assert_eq!(rows, 32_000);
    assert!((420..650).contains(&often), "{often}");
}

#[test]
fn weights_by_hand() {
    let (mut replay, _) = filled(Some(1.0), 300);
    let draws: Vec<Draw> = all_draws(&replay).into_iter().filter(|draw| draw.env == 0).collect();
    let mut errors = vec![1.0 - PRIORITY_EPSILON as f32; draws.len()];
    errors[0] = 82.0 - PRIORITY_EPSILON as f32;
    replay.set_errors(&draws, &errors);
    // 119 steps with priorities 82 and 118 times 1, sum 200: probabilities 0.41 and 0.005. With beta 0.5 the
    // weights are (119 * 0.41)^-0.5 = 0.1432 and (119 * 0.005)^-0.5 = 1.2964, to be divided by the largest.
    let mut found = Vec::new();
    replay.draw_by_priority(0, 50, 0.5, &mut ChaCha8Rng::seed_from_u64(5), &mut found);
    for draw in found {
        let expected = if draw.step_id == draws[0].step_id { 0.1432 } else { 1.2964 };
        assert!((draw.weight - expected).abs() < 1e-3, "{draw:?}");
        // Probabilities are 119 * 0.41 = 48.79 and 119 * 0.005 = 0.595 times those without priorities.
        let expected = if draw.step_id == draws[0].step_id { 1.0 / 48.79 } else { 1.0 / 0.595 };
        assert!((draw.correction - expected).abs() < 1e-3, "{draw:?}");
    }
}

#[test]
fn new_steps_have_the_highest_priority_of_their_task() {
    let (mut replay, mut envs) = filled(Some(1.0), 60);
    let draws = all_draws(&replay);
    let error = |draw: &Draw| if draw.env == 0 { 7.0 } else { 50.0 };
    replay.set_errors(&draws, &draws.iter().map(error).collect::<Vec<_>>());
    let before: Vec<_> = draws.iter().map(|draw| (draw.env, draw.step_id)).collect();
    let mut naive: Vec<_> = (0..4).map(|_| Vec::new()).collect();
    play(&mut replay, &mut envs, &mut naive, 5);
    let new = all_draws(&replay);
    let new: Vec<_> = new.iter().filter(|draw| !before.contains(&(draw.env, draw.step_id))).collect();
    assert!([0, 1].iter().all(|task| new.iter().any(|draw| replay.task_positions[draw.env].0 == *task)));
    for draw in new {
        let priority = replay.priority(draw);
        assert!((priority - f64::from(error(draw))).abs() < 1e-5, "{draw:?} {priority}");
    }
}

#[test]
fn evicted_steps_have_no_priority() {
    let (mut replay, mut envs) = filled(Some(0.5), 60);
    let draws = all_draws(&replay);
    let mut naive: Vec<_> = (0..4).map(|_| Vec::new()).collect();
    play(&mut replay, &mut envs, &mut naive, 300);
    let before = replay.priorities.clone();
    replay.set_errors(&draws, &vec![100.0; draws.len()]);
    assert_eq!(before, replay.priorities);
    for (task, tree) in replay.priorities.iter().enumerate() {
        let new = all_draws(&replay);
        let entries = new.iter().filter(|draw| replay.task_positions[draw.env].0 == task);
        let sum: f64 = entries.map(|draw| tree.priority(replay.entry(draw.env, draw.step_id))).sum();
        assert!((tree.total() - sum).abs() < 1e-9);
    }
}

#[test]
fn a_restored_replay_buffer_continues_identically() {
    for (alpha, steps) in [(None, 20), (Some(0.5), 20), (Some(0.5), 300)] {
        let (mut replay, mut envs) = filled(alpha, steps);
        let bytes = bytes(&replay);
        let (mut other, _) = filled(alpha, 0);
        restore(&mut other, &envs.spec, &bytes).unwrap();
        for _ in 0..50 {
            envs.step();
            for replay in [&mut replay, &mut other] {
                replay.begin_step(&envs.batch, &[0; 8]);
                replay.end_step(&envs.batch, &Cluster::default()).unwrap();
            }
        }
        let mut rngs = [6, 6].map(ChaCha8Rng::seed_from_u64);
        let draws = replay.draw(32, 0.4, &mut rngs[0]);
        assert_eq!(draws, other.draw(32, 0.4, &mut rngs[1]));
        assert_eq!(replay.observations(&draws), other.observations(&draws));
        assert_eq!(replay.successors(&draws), other.successors(&draws));
        assert!(self::bytes(&replay) == self::bytes(&other));
    }
}

#[test]
fn states_of_other_replay_buffers_are_errors() {
    let (replay, envs) = filled(None, 20);
    let (mut prioritized, _) = filled(Some(0.5), 0);
    assert!(restore(&mut prioritized, &envs.spec, &bytes(&replay)).unwrap_err().contains("the priorities"));
    let options = ReplayOptions { buffer_size: 480, ..replay.options };
    let mut larger = self::replay(&envs.spec, options);
    assert!(restore(&mut larger, &envs.spec, &bytes(&replay)).unwrap_err().contains("the shape"));
}

#[test]
fn states_with_illegal_actions_are_errors() {
    let (mut replay, mut envs) = filled(None, 20);
    let refusal = |replay: &ReplayBuffer<i32>, envs: &StackedEnvs| {
        let (mut other, _) = filled(None, 0);
        restore(&mut other, &envs.spec, &bytes(replay)).err()
    };
    assert_eq!(refusal(&replay, &envs), None);
    // The second choice of environment 2 has three options.
    let mut actions = [0; 8];
    actions[5] = 3;
    while envs.batch.autoreset[2] {
        envs.step();
    }
    replay.begin_step(&envs.batch, &actions);
    assert!(refusal(&replay, &envs).unwrap().contains("illegal action"));
    envs.step();
    replay.end_step(&envs.batch, &Cluster::default()).unwrap();
    assert!(refusal(&replay, &envs).unwrap().contains("illegal action"));
}

#[test]
fn sizes_are_known_before_allocation() {
    let pong = spec(Space::bytes([4, 84, 84]), &[0; 8], AutoresetMode::SameStep);
    let options = ReplayOptions { buffer_size: 1_000_000, n_step: 1, gamma: 0.99, alpha: None };
    let layout = layout_of(&pong.observation_space).unwrap();
    let size = replay_size::<i32>(&pong, layout, &options, &Cluster::default()).unwrap();
    assert_eq!(size.steps, 1_000_000);
    // About 7 KB per step, plus one sixteenth.
    assert_eq!(size.storage_bytes, 8 * (125_000 + 1953 * 4 + 10) * 7056);
    let refused = ReplayBuffer::<i32>::new(
        &pong,
        layout,
        options,
        &Cluster::default(),
        ReplayStorage::Memory { available: 1 << 30 },
    );
    assert!(matches!(refused.err(), Some(ReplayError::TooLarge { steps: 1_000_000, .. })));
    let small = ReplayOptions { buffer_size: 15, n_step: 1, ..options };
    let refused = replay_size::<i32>(&pong, layout, &small, &Cluster::default()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "buffer_size = 15 leaves each environment of 0 a share of 1; at least 2 steps are needed"
    );
}

#[test]
fn continuous_actions_are_stored_and_checked() {
    let space = Space::floats(2, -3.0, 3.0);
    let actions = || ContinuousActions::of_space(&space).unwrap();
    let mut spec = spec(Space::floats(1, -1.0, 1.0), &[0, 0], AutoresetMode::NextStep);
    spec.tasks = vec![Task::of_actions("box", actions())];
    spec.shared_outputs = 2;
    let layout = layout_of(&spec.observation_space).unwrap();
    let options = ReplayOptions { buffer_size: 20, n_step: 1, gamma: 0.9, alpha: None };
    let empty = || {
        ReplayBuffer::<f32>::new(&spec, layout, options, &Cluster::default(), ReplayStorage::UNLIMITED)
            .unwrap()
    };
    let mut replay = empty();
    let batch = Batch::new(2, 4, false);
    for step in 0..15 {
        let value = step as f32 / 20.0;
        replay.begin_step(&batch, &[value, -value, value, 1.0]);
        replay.end_step(&batch, &Cluster::default()).unwrap();
    }
    // Ten steps of each environment are left: numbers 5 to 14.
    assert_eq!(replay.action(&replay.draw_of(0, 0)), [0.25, -0.25]);
    assert_eq!(replay.action(&replay.draw_of(1, 9)), [0.7, 1.0]);
    let mut other = empty();
    restore(&mut other, &spec, &bytes(&replay)).unwrap();
    assert_eq!(other.action(&other.draw_of(1, 9)), [0.7, 1.0]);
    for illegal in [1.5, f32::NAN] {
        let mut replay = empty();
        replay.begin_step(&batch, &[0.0, illegal, 0.0, 0.0]);
        assert!(restore(&mut empty(), &spec, &bytes(&replay)).unwrap_err().contains("illegal action"));
    }
    // Each step has room for two numbers.
    let size = replay_size::<f32>(&spec, layout, &options, &Cluster::default()).unwrap();
    assert_eq!(size.index_bytes, 20 * (size_of::<history::Step>() as u64 + 8));
}
