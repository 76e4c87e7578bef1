//! Games of several players, each of whom is a row.

use ale::{AtariInfo, AtariOptions, AtariPlayersEnv, PoweredGame, multiplayer_game, roms};
use rl_env::{Actions, AutoresetMode, Batch, EpisodeStats, ResetSeeds, Step, VectorEnv, VectorError};
use vector::{AtariGroup, AtariPlayersVectorEnv, AtariVectorEnv, BatchOrder, BuildError, PoolOptions};

const SHARED: usize = 4;
const SEED: u64 = 7;

/// Short episodes of small observations, whose length is not a multiple of eight.
fn options() -> AtariOptions {
    AtariOptions {
        img_height: 21,
        img_width: 15,
        stack_num: 1,
        noop_max: 5,
        max_num_frames_per_episode: 120,
        repeat_action_probability: 0.25,
        ..AtariOptions::default()
    }
}

fn group(id: &str, options: AtariOptions) -> Option<AtariGroup> {
    let (game, rom) = (multiplayer_game(id).expect("a game"), roms::for_tests(id)?);
    Some(AtariGroup { task: id.to_owned(), game, rom, num_envs: SHARED, options })
}

fn build(id: &str, players: usize, pool: PoolOptions) -> Option<AtariPlayersVectorEnv> {
    let group = group(id, options())?;
    Some(AtariPlayersVectorEnv::of_groups([group], players, pool).expect("valid options"))
}

/// The results of a row.
type Row = (Vec<u8>, Vec<u8>, Step, bool, Option<EpisodeStats>, AtariInfo, AtariInfo);

fn rows(env: &AtariPlayersVectorEnv) -> Vec<(usize, Row)> {
    let batch = env.batch();
    let row = |row: usize| {
        let step = Step {
            reward: batch.rewards[row],
            raw_reward: batch.raw_rewards[row],
            terminated: batch.terminated[row],
            truncated: batch.truncated[row],
            continues: batch.continues[row],
        };
        let has_final = batch.final_observations.rows() > 0;
        let last = if has_final { batch.final_observations.row(row).to_vec() } else { Vec::new() };
        let (info, final_info) = (env.infos()[row], env.final_infos()[row]);
        let observation = batch.observations.row(row).to_vec();
        (
            batch.env_ids[row],
            (observation, last, step, batch.autoreset[row], batch.episodes[row], info, final_info),
        )
    };
    (0..batch.len()).map(row).collect()
}

/// The action of a player in a step. All games of the tests have at least six actions.
fn action(env: usize, step: usize) -> i32 {
    ((step / 3 + 1) * (2 * env + 1) % 6) as i32
}

/// Returns the rows of each player in a reset and `steps` steps. Every batch is sent to as soon as it is received.
fn traces(env: &mut AtariPlayersVectorEnv, steps: usize) -> Vec<Vec<Row>> {
    let mut traces = vec![Vec::new(); env.num_envs()];
    env.reset(ResetSeeds::From(SEED)).expect("a reset");
    while traces.iter().any(|trace| trace.len() <= steps) {
        let received = rows(env);
        let together = received.chunks(env.players());
        assert!(
            together.into_iter().all(|rows| rows.iter().enumerate().all(|(p, row)| row.0 == rows[0].0 + p))
        );
        let actions: Vec<i32> = received.iter().map(|(env, _)| action(*env, traces[*env].len())).collect();
        for (env, row) in received {
            traces[env].push(row);
        }
        env.step(Actions::Discrete(&actions)).expect("valid actions");
    }
    for trace in &mut traces {
        trace.truncate(steps + 1);
    }
    traces
}

/// Returns the rows of the players of one environment, stepped without a pool.
fn alone(id: &str, players: usize, shared: usize, steps: usize, mode: AutoresetMode) -> Vec<Vec<Row>> {
    let group = group(id, options()).expect("ROMs");
    let powered = PoweredGame::new(group.game, group.rom).expect("a ROM");
    let mut env = AtariPlayersEnv::new(&powered, players, group.options, 0).expect("valid options");
    let row_len = env.observation_space().byte_len();
    let mut observations = vec![0; players * row_len];
    env.reset(Some(SEED + shared as u64), &mut observations);
    let mut traces: Vec<Vec<Row>> = vec![Vec::new(); players];
    let (mut ended, mut length, mut totals) = (false, 0, vec![0.0; players]);
    for count in 0..=steps {
        let mut played = [Step::default(); 4];
        let autoreset = ended && mode == AutoresetMode::NextStep;
        let mut last = None;
        if count > 0 && autoreset {
            env.reset(None, &mut observations);
            (ended, length) = (false, 0);
            totals.fill(0.0);
        } else if count > 0 {
            let actions: Vec<i32> = (0..players).map(|p| action(shared * players + p, count - 1)).collect();
            played = env.step(&actions, &mut observations).expect("valid actions");
            ended = played[0].ends_episode();
            length += 1;
        }
        for (total, step) in totals.iter_mut().zip(&played) {
            *total += f64::from(step.raw_reward);
        }
        let final_infos: Vec<AtariInfo> = (0..players).map(|p| env.info(p).expect("a player")).collect();
        let episodes: Vec<_> = totals
            .iter()
            .map(|&total_reward| ended.then_some(EpisodeStats { total_reward, length }))
            .collect();
        if mode == AutoresetMode::SameStep {
            last = Some(observations.clone());
            if ended {
                env.reset(None, &mut observations);
                (ended, length) = (false, 0);
                totals.fill(0.0);
            }
        }
        for player in 0..players {
            let row = |rows: &Vec<u8>| rows[player * row_len..][..row_len].to_vec();
            traces[player].push((
                row(&observations),
                last.as_ref().map(row).unwrap_or_default(),
                played[player],
                autoreset && count > 0,
                episodes[player],
                env.info(player).expect("a player"),
                final_infos[player],
            ));
        }
    }
    traces
}

#[test]
fn every_order_of_batches_gives_the_results_of_single_environments() {
    const STEPS: usize = 75;
    for (id, players) in [("pong", 4), ("joust", 2)] {
        for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
            let mut expected: Option<Vec<Vec<Row>>> = None;
            for (batch_size, batch_order) in
                [(0, BatchOrder::FirstCome), (2, BatchOrder::FirstCome), (2, BatchOrder::InTurn)]
            {
                let batch_size = batch_size * players;
                let pool = PoolOptions {
                    batch_size,
                    batch_order,
                    num_threads: 2,
                    autoreset_mode: mode,
                    ..PoolOptions::default()
                };
                let Some(mut env) = build(id, players, pool) else { return };
                let expected = expected.get_or_insert_with(|| {
                    (0..SHARED).flat_map(|shared| alone(id, players, shared, STEPS, mode)).collect()
                });
                let found = traces(&mut env, STEPS);
                for (env, (found, expected)) in found.iter().zip(expected).enumerate() {
                    for (step, (found, expected)) in found.iter().zip(expected).enumerate() {
                        assert!(found == expected, "{id} {mode:?} {batch_order:?} {env} {step}");
                    }
                }
            }
            let episodes = expected.iter().flatten().flatten().filter(|row| row.4.is_some()).count();
            assert!(episodes >= SHARED * players, "{id}: the steps contain ends of episodes");
        }
    }
}

#[test]
fn a_single_player_is_played_as_without_players() {
    let Some(group) = group("pong", options()) else { return };
    let mut players =
        AtariPlayersVectorEnv::of_groups([group.clone()], 1, PoolOptions::default()).expect("one player");
    let mut single = AtariVectorEnv::of_groups([group], PoolOptions::default()).expect("one player");
    players.reset(ResetSeeds::From(1)).expect("a reset");
    single.reset(ResetSeeds::From(1)).expect("a reset");
    for step in 0..80 {
        let actions: Vec<i32> = (0..SHARED).map(|env| action(env, step)).collect();
        let (found, expected) = (
            players.step(Actions::Discrete(&actions)).expect("valid actions"),
            single.step(Actions::Discrete(&actions)).expect("valid actions"),
        );
        let values = |batch: &Batch| {
            let Batch { observations, raw_rewards, terminated, truncated, episodes, steps, .. } =
                batch.clone();
            (observations, raw_rewards, terminated, truncated, episodes, steps)
        };
        assert!(values(found) == values(expected), "step {step}");
        assert_eq!(players.infos(), single.infos());
    }
}

#[test]
fn rows_name_the_shared_environment_and_the_player() {
    let Some(mut env) = build("warlords", 4, PoolOptions::default()) else { return };
    assert_eq!((env.num_envs(), env.batch_size(), env.num_shared(), env.players()), (16, 16, 4, 4));
    assert_eq!(env.tasks(), ["warlords"]);
    assert_eq!((env.task_ids(), env.action_spaces().len()), (&[0; 16][..], 16));
    assert_eq!(env.action_mask(15), Ok(&[true; 6][..]));
    assert_eq!(env.action_mask(16), Err(VectorError::UnknownEnv { env: 16, num_envs: 16 }));
    let batch = env.reset(ResetSeeds::From(1)).expect("a reset");
    assert!(batch.env_ids.iter().copied().eq(0..16));
    assert_eq!(env.shared_and_player(13), (3, 1));
    assert_eq!(env.render(3).map(|image| image.width), Ok(160));
}

#[test]
fn bad_actions_are_errors_and_nothing_is_stepped() {
    let Some(mut env) = build("pong", 2, PoolOptions::default()) else { return };
    env.reset(ResetSeeds::From(1)).expect("a reset");
    let before = env.snapshot().expect("a state");
    let error = env.send(Actions::Discrete(&[0; 7])).expect_err("an action is missing");
    assert_eq!(error, VectorError::WrongLength { what: "action values", got: 7, expected: 8 });
    let error = env.send(Actions::Discrete(&[0, 0, 0, 6, 0, 0, 0, 0])).expect_err("pong has six actions");
    assert!(error.to_string().starts_with("environment 1: "), "{error}");
    let mut refused = |envs: &[usize]| env.send_to(Actions::Discrete(&vec![0; envs.len()]), envs);
    assert_eq!(refused(&[0, 1, 4]), Err(VectorError::MissingPlayer { env: 2, player: 1 }));
    assert_eq!(refused(&[0, 1, 8]), Err(VectorError::UnknownEnv { env: 8, num_envs: 8 }));
    assert_eq!(refused(&[0, 1, 0]), Err(VectorError::Duplicate { env: 0 }));
    assert!(env.send_to(Actions::Continuous(&[0.0; 2]), &[0, 1]).is_err());
    assert!(!env.in_flight().contains(&true));
    assert!(env.snapshot().expect("a state") == before);
}

#[test]
fn players_can_be_named_in_any_order() {
    let Some(mut env) = build("pong", 2, PoolOptions::default()) else { return };
    let mut other = build("pong", 2, PoolOptions::default()).expect("ROMs");
    for env in [&mut env, &mut other] {
        env.reset(ResetSeeds::From(1)).expect("a reset");
    }
    for step in 0..20 {
        let actions: Vec<i32> = (0..8).map(|env| action(env, step)).collect();
        let backwards: Vec<i32> = actions.iter().rev().copied().collect();
        env.send_to(Actions::Discrete(&backwards), &[7, 6, 5, 4, 3, 2, 1, 0]).expect("valid actions");
        env.recv().expect("a batch");
        other.step(Actions::Discrete(&actions)).expect("valid actions");
        assert!(rows(&env) == rows(&other));
    }
}

#[test]
fn other_numbers_of_players_and_their_modes_are_refused() {
    let Some(mut group) = group("tennis", options()) else { return };
    let error = |group: &AtariGroup, players, pool| {
        AtariPlayersVectorEnv::of_groups([group.clone()], players, pool).err().expect("an error").to_string()
    };
    let pool = PoolOptions::default();
    for players in [0, 3] {
        let expected = format!(
            "tennis: tennis cannot be played by {players} players; the numbers of its players are [1, 2]"
        );
        assert_eq!(error(&group, players, pool), expected);
    }
    let divided = PoolOptions { batch_size: 3, ..pool };
    let expected = BuildError::DividedPlayers { batch_size: 3, players: 2 }.to_string();
    assert_eq!(error(&group, 2, divided), expected);
    group.options.modes = vec![0];
    assert_eq!(error(&group, 2, pool), "tennis: tennis has no mode 0; its modes are [2, 4]");
    let none = AtariPlayersVectorEnv::of_groups([], 2, pool).err().expect("an error");
    assert!(matches!(none, BuildError::NoEnvironments));
}

#[test]
fn snapshots_hold_all_players() {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let pool = PoolOptions { autoreset_mode: mode, ..PoolOptions::default() };
        let Some(mut env) = build("joust", 2, pool) else { return };
        env.reset(ResetSeeds::From(1)).expect("a reset");
        let play = |env: &mut AtariPlayersVectorEnv, steps: std::ops::Range<usize>| {
            let mut results = Vec::new();
            for step in steps {
                let actions: Vec<i32> = (0..8).map(|env| action(env, step)).collect();
                env.step(Actions::Discrete(&actions)).expect("valid actions");
                results.extend(rows(env));
            }
            results
        };
        // Episodes have 30 steps, so that the restored batch is that of their ends.
        play(&mut env, 0..30);
        let (snapshot, at_end) = (env.snapshot().expect("a state"), rows(&env));
        assert!(at_end.iter().all(|(_, row)| row.4.is_some()), "the episodes are over");
        let expected = play(&mut env, 30..70);
        let mut other = build("joust", 2, pool).expect("ROMs");
        for env in [&mut env, &mut other] {
            env.restore(&snapshot).expect("a snapshot of these environments");
            let without_final_infos = |rows: Vec<(usize, Row)>| {
                rows.into_iter().map(|(env, row)| (env, (row.0, row.1, row.2, row.3, row.4, row.5))).collect()
            };
            let (found, saved): (Vec<_>, Vec<_>) =
                (without_final_infos(rows(env)), without_final_infos(at_end.clone()));
            assert!(found == saved, "{mode:?}: another batch is restored");
            assert!(play(env, 30..70) == expected, "{mode:?}: a restored game continues differently");
        }
    }
}

#[test]
fn observations_can_be_moved_out() {
    let Some(mut env) = build("pong", 2, PoolOptions::default()) else { return };
    env.reset(ResetSeeds::From(1)).expect("a reset");
    let expected = env.batch().observations.clone();
    let spare = rl_env::ObservationBuffer::new(8, 21 * 15);
    assert!(env.take_observations(spare).expect("a spare of the same shape") == expected);
    assert!(env.take_observations(rl_env::ObservationBuffer::new(7, 21 * 15)).is_err());
    env.step(Actions::Discrete(&[0; 8])).expect("valid actions");
}
