//! Games with several players: what is refused, snapshots, and the players' controllers.

use ale::{
    Action, Ale, AleError, AleSettings, AtariEnv, AtariOptions, AtariPlayersEnv, PoweredGame, game,
    multiplayer_game, roms,
};
use rl_env::{Action as EnvAction, Env, Step};

/// Returns a game in a mode for several players right after a reset, or `None` without ROMs.
fn start(id: &str, players: usize, mode: u32) -> Option<Ale> {
    let rom = roms::for_tests(id)?;
    let powered = PoweredGame::new(multiplayer_game(id).expect("a game"), rom).expect("its ROM");
    let settings =
        AleSettings { repeat_action_probability: 0.25, players, mode: Some(mode), ..AleSettings::default() };
    let mut ale = Ale::new(&powered, settings, 1).expect("a mode of the game");
    ale.reset_game();
    Some(ale)
}

fn action(code: u32) -> Action {
    Action::new((code % 18) as u8).expect("a code below 18")
}

/// Plays the actions that follow from `seed`. Returns everything observable after each act.
fn play(ale: &mut Ale, seed: u32, acts: u32) -> Vec<impl PartialEq + use<>> {
    let players = ale.players() as u32;
    let mut observe = |act: u32| {
        let actions: Vec<Action> =
            (0..players).map(|player| action((seed + act / 3) * (2 * player + 1))).collect();
        let rewards = ale.act_players(&actions).expect("an action for each player");
        let lives: Vec<_> = (0..5).map(|player| ale.lives_of(player)).collect();
        (rewards.to_vec(), lives, ale.ram().to_vec(), crc32fast::hash(ale.screen()))
    };
    (0..acts).map(&mut observe).collect()
}

#[test]
fn a_missing_or_surplus_action_is_refused_and_nothing_is_stepped() {
    for (players, mode) in [(2, 3), (4, 5)] {
        let Some(mut ale) = start("pong", players, mode) else { return };
        let before = ale.snapshot();
        for given in [0, 1, players - 1, players + 1] {
            let error = ale.act_players(&vec![Action::FIRE; given]).expect_err("a wrong number of actions");
            assert_eq!(error, AleError::Actions { game: "pong", players, given });
        }
        assert!(ale.snapshot() == before);
    }
}

#[test]
fn games_refuse_other_numbers_of_players_and_their_modes() {
    let Some(rom) = roms::for_tests("tennis") else { return };
    let powered = PoweredGame::new(game("tennis").unwrap(), rom).unwrap();
    let error = |players, mode| {
        let settings = AleSettings { players, mode, ..AleSettings::default() };
        Ale::new(&powered, settings, 1).expect_err("no such mode").to_string()
    };
    let players = "tennis cannot be played by 3 players; the numbers of its players are [1, 2]";
    assert_eq!(error(3, None), players);
    assert_eq!(error(0, None), players.replace('3', "0"));
    assert_eq!(error(2, Some(0)), "tennis has no mode 0; its modes are [2, 4]");
    assert_eq!(error(1, Some(4)), "tennis has no mode 4; its modes are [0, 2]");
}

#[test]
fn a_game_for_several_players_only_is_refused_to_one() {
    let combat = multiplayer_game("combat").unwrap();
    assert!(game("combat").is_err());
    assert_eq!(combat.players(), [2]);
    assert!(ale::games().iter().all(|game| game.id != "combat"));
    let Some(rom) = roms::for_tests("combat") else { return };
    let powered = PoweredGame::new(combat, rom).unwrap();
    let expected = AleError::Players { game: "combat", players: 1, allowed: vec![2] };
    assert_eq!(Ale::new(&powered, AleSettings::default(), 1).expect_err("two players"), expected);
    assert_eq!(AtariEnv::new(&powered, AtariOptions::default(), 1).expect_err("two players"), expected);
}

#[test]
fn the_default_mode_is_the_first_one_for_the_number_of_players() {
    let Some(rom) = roms::for_tests("pong") else { return };
    let powered = PoweredGame::new(game("pong").unwrap(), rom).unwrap();
    for (players, mode) in [(1, 0), (2, 3), (4, 5)] {
        let settings = AleSettings { players, ..AleSettings::default() };
        let mut ale = Ale::new(&powered, settings, 1).unwrap();
        assert_eq!((ale.players(), ale.mode()), (players, mode));
        ale.reset_game();
        assert_eq!(ale.ram()[0x16], if players == 1 { 0 } else { mode as u8 - 1 }, "the game's variation");
        assert_eq!(ale.lives_of(players), None);
    }
}

#[test]
fn two_games_have_other_actions_for_several_players() {
    let differing = ale::multiplayer_games()
        .filter(|game| game.minimal_actions_for(2) != game.minimal_actions_for(1))
        .map(|game| (game.id, game.minimal_actions_for(2).to_vec()));
    let expected = [
        ("flag_capture", vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("wizard_of_wor", vec![1, 2, 3, 4, 5, 10, 11, 12, 13]),
    ];
    assert!(differing.eq(expected.clone()));
    let options = AtariOptions { full_action_space: true, ..AtariOptions::default() };
    let Some(env) = environment("wizard_of_wor", 2, options) else { return };
    assert_eq!(env.action_codes().len(), 18);
    let env = environment("wizard_of_wor", 2, AtariOptions::default()).expect("ROMs");
    assert_eq!(env.action_codes(), expected[1].1);
}

#[test]
fn snapshots_hold_all_players() {
    for (id, players, mode) in
        [("pong", 4, 5), ("warlords", 2, 3), ("joust", 2, 1), ("video_checkers", 2, 10)]
    {
        let Some(mut ale) = start(id, players, mode) else { return };
        play(&mut ale, 1, 90);
        let (snapshot, saved) = (ale.snapshot(), ale.save_state(true));
        let expected = play(&mut ale, 2, 60);
        let after = ale.snapshot();
        let mut other = start(id, players, mode).expect("ROMs");
        play(&mut other, 5, 30);
        for returning in [&mut ale, &mut other] {
            returning.restore(&snapshot).unwrap();
            assert!(returning.snapshot() == snapshot, "{id}");
            assert!(play(returning, 2, 60) == expected, "{id}: a restored game continues differently");
            assert!(returning.snapshot() == after, "{id}");
            let read = ale::SavedState::from_bytes(&saved.to_bytes()).unwrap();
            returning.restore_state(&read).unwrap();
            assert_eq!(returning.save_state(true).to_bytes(), saved.to_bytes(), "{id}");
        }
    }
}

/// Pong's scores and paddles have the same variables for two and for four players.
#[test]
fn snapshots_of_other_numbers_of_players_are_refused() {
    let Some(mut two) = start("pong", 2, 3) else { return };
    let mut four = start("pong", 4, 5).expect("ROMs");
    let rom = roms::for_tests("pong").expect("ROMs");
    let powered = PoweredGame::new(game("pong").unwrap(), rom).unwrap();
    let mut one = Ale::new(&powered, AleSettings::default(), 1).unwrap();
    let snapshots = [one.snapshot(), two.snapshot(), four.snapshot()];
    for (number, ale) in [&mut one, &mut two, &mut four].into_iter().enumerate() {
        for (other, snapshot) in snapshots.iter().enumerate() {
            assert_eq!(ale.restore(snapshot).is_ok(), number == other, "{number} from {other}");
        }
        assert!(ale.snapshot() == snapshots[number]);
    }
}

#[test]
fn each_of_four_players_moves_another_paddle() {
    let Some(ale) = start("pong", 4, 5) else { return };
    let right = Action::new(3).expect("RIGHT");
    let ram_after = |actions: [Action; 4]| {
        let mut ale = ale.clone();
        for _ in 0..30 {
            ale.act_players(&actions).expect("an action for each player");
        }
        *ale.ram()
    };
    let still = ram_after([Action::NOOP; 4]);
    let mut moved: Vec<Vec<usize>> = Vec::new();
    for player in 0..4 {
        let mut actions = [Action::NOOP; 4];
        actions[player] = right;
        let ram = ram_after(actions);
        moved.push((0..ram.len()).filter(|&byte| ram[byte] != still[byte]).collect());
    }
    for (player, bytes) in moved.iter().enumerate() {
        assert!(!bytes.is_empty(), "player {player} moves nothing");
        assert!(
            !moved[..player].contains(bytes),
            "player {player} moves the paddle of another one: {bytes:?}"
        );
    }
}

/// Returns an environment of a game with several players, or `None` without ROMs.
fn environment(id: &str, players: usize, options: AtariOptions) -> Option<AtariPlayersEnv> {
    let powered =
        PoweredGame::new(multiplayer_game(id).expect("a game"), roms::for_tests(id)?).expect("its ROM");
    Some(AtariPlayersEnv::new(&powered, players, options, 1).expect("valid options"))
}

/// Plays until the game is over. Returns the number of steps, the sums of the rewards and the last steps.
fn play_episode(env: &mut AtariPlayersEnv, rows: &mut [u8]) -> (u32, [f32; 4], [Step; 4]) {
    let actions = env.action_codes().len() as i32;
    let mut sums = [0.0; 4];
    for count in 1.. {
        let chosen: Vec<i32> =
            (1..=env.players() as i32).map(|player| count / 4 * player % actions).collect();
        let steps = env.step(&chosen, rows).expect("an action for each player");
        for (sum, step) in sums.iter_mut().zip(&steps) {
            *sum += step.raw_reward;
        }
        if steps[0].ends_episode() {
            return (count as u32, sums, steps);
        }
    }
    unreachable!("a game has an end")
}

/// The winner of a game of pong has 21 points, and the rewards are the difference of the points apart from late serves.
#[test]
fn every_player_is_a_row_with_a_reward_and_an_end() {
    let options = AtariOptions { reward_clipping: false, ..AtariOptions::default() };
    let Some(mut env) = environment("pong", 4, options) else { return };
    let mut rows = vec![0; 4 * env.observation_space().byte_len()];
    env.reset(Some(1), &mut rows);
    let (_, sums, last) = play_episode(&mut env, &mut rows);
    let points = [0x0D, 0x0E].map(|byte| env.ale().ram()[byte]);
    assert_eq!(*points.iter().max().expect("two sides"), 21);
    let difference = f32::from(points[1]) - f32::from(points[0]);
    assert!(sums[0] <= difference && sums[1] <= -difference, "{sums:?}, {points:?}");
    assert_eq!((sums[0], sums[1]), (sums[2], sums[3]));
    assert!(last.iter().all(|step| step.terminated && !step.continues && !step.truncated));
    let row = rows.len() / 4;
    assert!(rows.chunks(row).all(|other| other == &rows[..row]) && rows.iter().any(|&byte| byte != 0));
    assert_eq!(env.info(3).map(|info| (info.lives, info.mode)), Some((0, 5)));
    assert!(env.info(4).is_none());
}

#[test]
fn a_player_who_loses_the_last_life_leaves_while_the_others_play_on() {
    let Some(mut env) = environment("joust", 2, AtariOptions::default()) else { return };
    let mut rows = vec![0; 2 * env.observation_space().byte_len()];
    env.reset(Some(1), &mut rows);
    let mut left = [0; 2];
    loop {
        let steps = env.step(&[1, 2], &mut rows).expect("two actions");
        for player in 0..2 {
            left[player] += u32::from(steps[player].terminated && steps[player].continues);
            assert_eq!(steps[player].ends_episode(), env.ale().game_over());
        }
        if env.ale().game_over() {
            break;
        }
    }
    assert_eq!(left.iter().sum::<u32>(), 1, "one of the two is out first");
    assert_eq!([0, 1].map(|player| env.info(player).map(|info| info.lives)), [Some(-1); 2]);
}

#[test]
fn the_limit_truncates_all_rows() {
    let options = AtariOptions { max_num_frames_per_episode: 40, noop_max: 0, ..AtariOptions::default() };
    let Some(mut env) = environment("boxing", 2, options) else { return };
    let mut rows = vec![0; 2 * env.observation_space().byte_len()];
    env.reset(Some(1), &mut rows);
    let (steps, _, last) = play_episode(&mut env, &mut rows);
    assert_eq!(steps, 10);
    assert!(last[..2].iter().all(|step| step.truncated && !step.terminated));
}

#[test]
fn environments_restore_and_refuse() {
    let sticky = AtariOptions { repeat_action_probability: 0.25, ..AtariOptions::default() };
    let Some(mut env) = environment("warlords", 4, sticky) else { return };
    let mut rows = vec![0; 4 * env.observation_space().byte_len()];
    env.reset(Some(1), &mut rows);
    let snapshot = env.snapshot();
    let error = env.step(&[0, 1, 2], &mut rows).expect_err("three actions").to_string();
    assert!(error.ends_with("of each of 4 players"), "{error}");
    assert!(env.step(&[0, 1, 2, 6], &mut rows).is_err(), "warlords has six actions");
    assert!(env.snapshot() == snapshot);
    let expected = play_episode(&mut env, &mut rows);
    let mut other = env.clone();
    other.restore(&snapshot).expect("a snapshot of the same game");
    assert_eq!(play_episode(&mut other, &mut rows), expected);
    assert!(other.snapshot() == env.snapshot());

    let powered =
        PoweredGame::new(env.ale().game(), roms::for_tests("warlords").expect("ROMs")).expect("a ROM");
    let lives = AtariOptions { episodic_life: true, ..AtariOptions::default() };
    let error =
        AtariPlayersEnv::new(&powered, 2, lives, 1).expect_err("lives of several players").to_string();
    assert_eq!(error, "episodic_life is true, but must be false with several players");
}

#[test]
fn an_environment_with_one_player_equals_that_for_one() {
    let sticky = AtariOptions { repeat_action_probability: 0.25, ..AtariOptions::default() };
    let Some(mut env) = environment("pong", 1, sticky.clone()) else { return };
    let powered = PoweredGame::new(env.ale().game(), roms::for_tests("pong").expect("ROMs")).expect("a ROM");
    let mut one = AtariEnv::new(&powered, sticky, 1).expect("valid options");
    let mut rows = vec![0; env.observation_space().byte_len()];
    let mut row = rows.clone();
    env.reset(Some(7), &mut rows);
    one.reset(Some(7), &mut row);
    for count in 0..200 {
        let action = [count / 5 % 6];
        let steps = env.step(&action, &mut rows).expect("an action");
        assert_eq!(steps[0], one.step(EnvAction::Discrete(&action), &mut row).expect("an action"));
        assert!(rows == row && env.snapshot() == one.snapshot());
    }
}
