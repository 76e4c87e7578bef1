//! Several games in one vector environment.

use std::sync::Arc;

use ale::{AtariEnv, AtariOptions, PoweredGame, game, roms};
use rl_env::{Action, Actions, Env, ResetSeeds, Space, VectorEnv, VectorError};
use vector::{AtariGroup, AtariVectorEnv, BuildError, PoolOptions};

fn of_games(games: &[(&str, Arc<[u8]>)], num_envs: usize, options: &AtariOptions) -> AtariVectorEnv {
    let games = games.iter().map(|(id, rom)| (game(id).unwrap(), Arc::clone(rom)));
    let pool = PoolOptions { num_threads: 2, ..PoolOptions::default() };
    AtariVectorEnv::of_games(games, num_envs, options, pool).unwrap()
}

#[test]
fn each_game_behaves_as_it_does_alone() {
    // Seaquest has 210 scanlines and 18 actions, Carnival 214 and 6, Air Raid (PAL) 250 and 6.
    let ids = ["seaquest", "carnival", "air_raid"];
    let roms: Option<Vec<_>> = ids.iter().map(|id| Some((*id, roms::for_tests(id)?))).collect();
    let Some(games) = roms else {
        return;
    };
    let options = AtariOptions { max_num_frames_per_episode: 200, ..AtariOptions::default() };
    let mut together = of_games(&games, 2, &options);
    assert_eq!(together.tasks(), ids);
    assert_eq!(together.task_ids(), [0, 0, 1, 1, 2, 2]);
    let counts = [18, 18, 6, 6, 6, 6].map(Space::discrete);
    assert_eq!(together.action_spaces(), counts);
    let mut alone: Vec<_> = games.into_iter().map(|game| of_games(&[game], 2, &options)).collect();
    let seeds: Vec<_> = (40..46).map(Some).collect();
    together.reset(ResetSeeds::Each(&seeds)).unwrap();
    for (env, seeds) in alone.iter_mut().zip(seeds.chunks(2)) {
        env.reset(ResetSeeds::Each(seeds)).unwrap();
    }
    for step in 0..150 {
        let actions: Vec<i32> = (0..6).map(|env| (step * 7 + env) % if env < 2 { 18 } else { 6 }).collect();
        together.step(Actions::Discrete(&actions)).unwrap();
        for (index, (env, actions)) in alone.iter_mut().zip(actions.chunks(2)).enumerate() {
            env.step(Actions::Discrete(actions)).unwrap();
            for row in 0..2 {
                let there = 2 * index + row;
                assert_eq!(env.batch().observations.row(row), together.batch().observations.row(there));
                assert_eq!(env.batch().raw_rewards[row], together.batch().raw_rewards[there]);
                assert_eq!(env.batch().episodes[row], together.batch().episodes[there]);
                assert_eq!(env.infos()[row], together.infos()[there]);
            }
        }
    }
}

#[test]
fn the_full_action_space_has_eighteen_actions() {
    let rom: Arc<[u8]> = roms::built_in("harvest").unwrap().into();
    let options = AtariOptions { full_action_space: true, ..AtariOptions::default() };
    let mut env = of_games(&[("harvest", rom)], 3, &options);
    assert_eq!(env.action_spaces(), [Space::discrete(18), Space::discrete(18), Space::discrete(18)]);
    env.reset(ResetSeeds::Continue).unwrap();
    let first = |row| env.batch().observations.row(row);
    assert!(first(0) != first(1) || first(1) != first(2), "environments start with different seeds");
    env.step(Actions::Discrete(&[17; 3])).unwrap();
}

#[test]
fn environments_can_have_different_modes_and_difficulties() {
    let Some(rom) = roms::for_tests("pong") else {
        return;
    };
    let pong = game("pong").unwrap();
    let variants = [(0, 0), (1, 3), (0, 2)].map(|(mode, difficulty)| AtariOptions {
        modes: vec![mode],
        difficulties: vec![difficulty],
        ..AtariOptions::default()
    });
    let groups = variants.clone().map(|options| AtariGroup {
        task: "pong".to_owned(),
        game: pong,
        rom: Arc::clone(&rom),
        num_envs: 1,
        options,
    });
    let mut together = AtariVectorEnv::of_groups(groups, PoolOptions::default()).unwrap();
    assert_eq!((together.tasks(), together.task_ids()), (&["pong".to_owned()][..], &[0, 0, 0][..]));
    let powered = PoweredGame::new(pong, Arc::clone(&rom)).unwrap();
    let mut alone = variants.map(|options| AtariEnv::new(&powered, options, 0).unwrap());
    let mut observation = vec![0; 4 * 84 * 84];
    together.reset(ResetSeeds::From(3)).unwrap();
    for (seed, env) in (3..).zip(&mut alone) {
        env.reset(Some(seed), &mut observation);
    }
    for step in 0..50 {
        let actions = [step % 6, step * 5 % 6, step * 7 % 6];
        together.step(Actions::Discrete(&actions)).unwrap();
        for (row, env) in alone.iter_mut().enumerate() {
            env.step(Action::Discrete(&actions[row..=row]), &mut observation).unwrap();
            assert_eq!(together.batch().observations.row(row), observation);
            assert_eq!(together.infos()[row], env.info());
        }
    }
    let variants: Vec<_> = together.infos().iter().map(|info| (info.mode, info.difficulty)).collect();
    assert_eq!(variants, [(0, 0), (1, 3), (0, 2)]);
}

#[test]
fn renders_any_environment() {
    let rom: Arc<[u8]> = roms::built_in("harvest").unwrap().into();
    let options = AtariOptions { ram: true, ..AtariOptions::default() };
    let mut env = of_games(&[("harvest", rom)], 3, &options);
    env.reset(ResetSeeds::From(1)).unwrap();
    let image = env.render(2).unwrap();
    assert_eq!((image.height, image.width, image.pixels.len()), (210, 160, 210 * 160 * 3));
    assert!(image.pixels.iter().any(|&byte| byte > 0));
    env.send(Actions::Discrete(&[0; 3])).unwrap();
    assert_eq!(env.render(2), Err(VectorError::InFlight { env: 2 }));
    assert_eq!(env.render(3), Err(VectorError::UnknownEnv { env: 3, num_envs: 3 }));
}

fn build_error(num_envs: usize, options: &AtariOptions, rom: &Arc<[u8]>) -> BuildError {
    let games = [(game("harvest").unwrap(), Arc::clone(rom))];
    AtariVectorEnv::of_games(games, num_envs, options, PoolOptions::default()).err().unwrap()
}

#[test]
fn build_errors_state_the_cause() {
    let rom: Arc<[u8]> = roms::built_in("harvest").unwrap().into();
    assert!(matches!(build_error(0, &AtariOptions::default(), &rom), BuildError::NoEnvironments));
    let error = build_error(1, &AtariOptions { frameskip: 0, ..AtariOptions::default() }, &rom);
    assert_eq!(error.to_string(), "harvest: frameskip is 0, but must be between 1 and 2147483647");
    let error = build_error(1, &AtariOptions::default(), &rom[..100].into());
    assert!(error.to_string().starts_with("harvest: "), "{error}");
}
