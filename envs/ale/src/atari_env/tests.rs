use std::f32::consts::PI;
use std::sync::Arc;

use rl_env::{Action as EnvAction, Env, interrupt};

use super::*;
use crate::limits::{MAX_FRAME_SKIP, MAX_NOOP_MAX};
use crate::{game, roms};

/// Returns the built-in game, whose episodes end with the third life or after 1953 frames.
fn harvest(options: AtariOptions) -> AtariEnv {
    let rom: Arc<[u8]> = roms::built_in("harvest").expect("the open game is built in").into();
    let powered = PoweredGame::new(game("harvest").unwrap(), rom).unwrap();
    AtariEnv::new(&powered, options, 0).unwrap()
}

/// Steps with one action until a step satisfies a condition. Returns the count of steps and the last step.
fn play_until(env: &mut AtariEnv, condition: impl Fn(&Step) -> bool) -> (u32, Step) {
    let mut observation = vec![0; env.observation_space().byte_len()];
    for steps in 1..=1000 {
        let step = env.step(EnvAction::Discrete(&[0]), &mut observation).unwrap();
        if condition(&step) {
            return (steps, step);
        }
    }
    panic!("no step satisfies the condition");
}

fn reset(env: &mut AtariEnv, seed: Option<u64>) -> Vec<u8> {
    let mut observation = vec![9; env.observation_space().byte_len()];
    env.reset(seed, &mut observation);
    observation
}

#[test]
fn spaces_match_the_options() {
    let env = harvest(AtariOptions::default());
    assert_eq!(env.observation_space().shape(), Some(vec![4, 84, 84]));
    assert_eq!(env.action_codes(), env.game().minimal_actions);
    let options = AtariOptions {
        grayscale: false,
        img_height: 210,
        img_width: 160,
        stack_num: 1,
        full_action_space: true,
        ..AtariOptions::default()
    };
    let env = harvest(options);
    assert_eq!(env.observation_space().shape(), Some(vec![1, 210, 160, 3]));
    assert_eq!(env.action_space(), &Space::discrete(18));
}

#[test]
fn observes_ram_instead_of_the_screen() {
    let options = AtariOptions { ram: true, stack_num: 2, ..AtariOptions::default() };
    let mut env = harvest(options.clone());
    assert_eq!(env.observation_space(), &Space::bytes([2, 128]));
    let first = reset(&mut env, Some(1));
    assert_eq!(first[..128], [0; 128]);
    assert_eq!(first[128..], *env.ale().ram());
    let mut second = vec![0; 256];
    env.step(EnvAction::Discrete(&[1]), &mut second).unwrap();
    assert_eq!(second[..128], first[128..]);
    assert_eq!(second[128..], *env.ale().ram());
    let mut other = harvest(options);
    other.restore(&env.snapshot()).unwrap();
    let mut observation = vec![0; 256];
    other.observe(&mut observation);
    assert_eq!(observation, second);
    assert!(env.restore(&harvest(AtariOptions::default()).snapshot()).is_err());
}

#[test]
fn shown_steps_equal_others_and_show_every_frame() {
    let options =
        AtariOptions { full_action_space: true, fire_after_lost_life: true, ..AtariOptions::default() };
    let (mut env, mut shown) = (harvest(options.clone()), harvest(options));
    let mut observation = reset(&mut env, Some(5));
    let mut shown_observation = reset(&mut shown, Some(5));
    let mut most = 0;
    for index in 0..1000 {
        let action = [index / 9 % 18];
        let step = env.step(EnvAction::Discrete(&action), &mut observation).unwrap();
        let (mut frames, mut last) = (0, Vec::new());
        let shown_step = shown.step_and_show(EnvAction::Discrete(&action), &mut shown_observation, |ale| {
            frames += 1;
            last = ale.screen_rgb();
        });
        assert_eq!(shown_step.unwrap(), step);
        assert!(shown_observation == observation && shown.ale().ram() == env.ale().ram(), "step {index}");
        assert!(last == env.render().pixels, "step {index}");
        most = most.max(frames);
        if step.ends_episode() {
            (observation, shown_observation) = (reset(&mut env, None), reset(&mut shown, None));
        }
    }
    assert_eq!(most, 16, "a step that loses a life has three others behind it");
}

#[test]
fn fills_the_first_stack_with_the_first_frame() {
    let black = reset(&mut harvest(AtariOptions::default()), Some(1));
    let mut env = harvest(AtariOptions { fill_stack: true, ..AtariOptions::default() });
    let filled = reset(&mut env, Some(1));
    let frames: Vec<&[u8]> = filled.chunks(84 * 84).collect();
    assert_eq!(frames, [&black[3 * 84 * 84..]; 4]);
    let mut after = vec![0; filled.len()];
    env.step(EnvAction::Discrete(&[1]), &mut after).unwrap();
    assert_eq!(after[..3 * 84 * 84], filled[84 * 84..]);
}

#[test]
fn an_analogue_stick_reaches_every_action() {
    let options = AtariOptions { continuous: true, ram: true, stack_num: 1, ..AtariOptions::default() };
    let mut sticks = harvest(options.clone());
    let mut indices = harvest(AtariOptions { continuous: false, full_action_space: true, ..options });
    assert_eq!(sticks.action_codes().len(), 18);
    assert_eq!(sticks.action_space(), &Space::float_ranges(&[(0.0, 1.0), (-PI, PI), (0.0, 1.0)]));
    assert_eq!(reset(&mut sticks, Some(4)), reset(&mut indices, Some(4)));
    let (mut by_stick, mut by_index) = ([0; 128], [0; 128]);
    for code in (0..18).cycle().take(360) {
        let stick = Action::new(code).unwrap().joystick();
        let axis = |more: bool, less: bool| f32::from(i8::from(more) - i8::from(less));
        let (x, y) = (axis(stick.right, stick.left), axis(stick.up, stick.down));
        let values = [x.hypot(y).min(1.0), y.atan2(x), f32::from(u8::from(stick.fire))];
        let step = sticks.step(EnvAction::Continuous(&values), &mut by_stick).unwrap();
        assert_eq!(step, indices.step(EnvAction::Discrete(&[i32::from(code)]), &mut by_index).unwrap());
        assert_eq!(by_stick, by_index);
        if step.ends_episode() {
            reset(&mut sticks, None);
            reset(&mut indices, None);
        }
    }
    for bad in
        [EnvAction::Discrete(&[0]), EnvAction::Continuous(&[0.0; 2]), EnvAction::Continuous(&[f32::NAN; 3])]
    {
        assert!(matches!(sticks.step(bad, &mut by_stick), Err(EnvError::InvalidAction { .. })));
    }
}

/// Begins 40 episodes. Returns the mode, the difficulty and the first observation of each.
fn begin_episodes(
    powered: &PoweredGame,
    modes: &[u32],
    difficulties: &[u32],
    seed: u64,
) -> Vec<(u32, u32, Vec<u8>)> {
    let options = AtariOptions {
        modes: modes.to_vec(),
        difficulties: difficulties.to_vec(),
        noop_max: 0,
        use_fire_reset: false,
        ..AtariOptions::default()
    };
    let mut env = AtariEnv::new(powered, options, 0).unwrap();
    let mut episodes = Vec::new();
    for episode in 0..40 {
        let observation = reset(&mut env, (episode == 0).then_some(seed));
        episodes.push((env.info().mode, env.info().difficulty, observation));
    }
    episodes
}

#[test]
fn each_episode_draws_its_mode_and_difficulty() {
    let Some(rom) = roms::for_tests("pong") else {
        return;
    };
    let powered = PoweredGame::new(game("pong").unwrap(), rom).unwrap();
    let (modes, difficulties) = (powered.game().modes.to_vec(), powered.game().difficulties.to_vec());
    let drawn = begin_episodes(&powered, &modes, &difficulties, 1);
    for &mode in &modes {
        for &difficulty in &difficulties {
            let episode = drawn.iter().find(|(m, d, _)| (*m, *d) == (mode, difficulty));
            let (.., observation) = episode.expect("40 episodes draw all eight combinations");
            assert_eq!(*observation, begin_episodes(&powered, &[mode], &[difficulty], 1)[0].2);
        }
    }
    assert!(begin_episodes(&powered, &modes, &difficulties, 1) == drawn);
    assert!(begin_episodes(&powered, &modes, &difficulties, 2) != drawn);
}

#[test]
fn renders_the_screen_in_rgb() {
    let mut env = harvest(AtariOptions { grayscale: false, stack_num: 1, ..AtariOptions::default() });
    let options = AtariOptions { img_height: 210, img_width: 160, maxpool: false, ..env.options().clone() };
    env = harvest(options);
    let observation = reset(&mut env, Some(1));
    let image = env.render();
    assert_eq!((image.height, image.width), (210, 160));
    assert_eq!(image.pixels, observation);
    assert_eq!(Env::render(&env), Ok(Some(image)));
}

#[test]
fn game_over_terminates_the_episode() {
    let mut env = harvest(AtariOptions::default());
    reset(&mut env, Some(1));
    let (_, step) = play_until(&mut env, |step| step.terminated || step.truncated);
    assert!(step.terminated && !step.truncated && !step.continues);
}

#[test]
fn the_frame_limit_truncates_within_a_step() {
    let mut env = harvest(AtariOptions { max_num_frames_per_episode: 37, ..AtariOptions::default() });
    for seed in [Some(3), None] {
        reset(&mut env, seed);
        let before = env.info().episode_frame_number;
        let (steps, step) = play_until(&mut env, |step| step.terminated || step.truncated);
        assert!(step.truncated && !step.terminated);
        assert_eq!((steps, env.info().episode_frame_number - before), (10, 37));
    }
}

#[test]
fn a_lost_life_ends_the_episode_only_if_episodic_life_is_set() {
    let (first, ends, lives) = play_until_termination(false, true);
    assert!(!ends && lives == 2);
    assert_eq!(play_until_termination(true, false), (first, true, 2));
    assert_eq!(play_until_termination(true, true), (first, true, 2));
    let (later, ends, lives) = play_until_termination(false, false);
    assert!(later > first && ends && lives < 2, "{later} {ends} {lives}");
}

/// Plays Harvest until a step terminates. Returns the count of steps, whether the episode has ended, and the lives.
fn play_until_termination(episodic_life: bool, life_loss_info: bool) -> (u32, bool, i32) {
    let mut env = harvest(AtariOptions { episodic_life, life_loss_info, ..AtariOptions::default() });
    reset(&mut env, Some(1));
    let (steps, step) = play_until(&mut env, |step| step.terminated);
    (steps, step.ends_episode(), env.info().lives)
}

/// Steps with NOOP until a life is lost. Returns the number of steps.
fn lose_a_life(env: &mut AtariEnv, observation: &mut [u8]) -> usize {
    let lives = env.info().lives;
    (1..=1000)
        .find(|_| {
            env.step(EnvAction::Discrete(&[0]), observation).unwrap();
            env.info().lives < lives
        })
        .expect("a life is lost")
}

#[test]
fn fire_after_a_lost_life_equals_three_further_steps() {
    // All actions, because Harvest itself needs no FIRE. The third one is UP.
    let options = AtariOptions { full_action_space: true, life_loss_info: true, ..AtariOptions::default() };
    let mut plain = harvest(options.clone());
    let mut firing = harvest(AtariOptions { fire_after_lost_life: true, ..options.clone() });
    let (mut expected, mut observation) = (reset(&mut plain, Some(1)), reset(&mut firing, Some(1)));
    let steps = lose_a_life(&mut plain, &mut expected);
    let mut raw_reward = 0.0;
    for action in [0, 1, 2] {
        let step = plain.step(EnvAction::Discrete(&[action]), &mut expected).unwrap();
        assert!(!step.ends_episode());
        raw_reward += step.raw_reward;
    }
    assert_eq!(lose_a_life(&mut firing, &mut observation), steps);
    assert!(observation == expected && firing.info() == plain.info());
    assert_eq!(firing.ale().snapshot(), plain.ale().snapshot());
    // The next lost life too. The step that loses it is a termination, after which the episode continues.
    plain = harvest(AtariOptions { fire_after_lost_life: true, ..options });
    reset(&mut plain, Some(1));
    let (_, step) = play_until(&mut plain, |step| step.terminated);
    assert!(step.continues && !step.truncated && step.raw_reward >= raw_reward);
    // Without FIRE among the actions nothing changes.
    let minimal = AtariOptions { fire_after_lost_life: true, ..AtariOptions::default() };
    let (mut minimal, mut other) = (harvest(minimal), harvest(AtariOptions::default()));
    let (mut first, mut second) = (reset(&mut minimal, Some(1)), reset(&mut other, Some(1)));
    assert_eq!(lose_a_life(&mut minimal, &mut first), lose_a_life(&mut other, &mut second));
    assert!(minimal.info() == other.info() && first == second);
}

#[test]
fn an_episode_may_be_truncated_while_fire_is_pressed() {
    let options =
        AtariOptions { full_action_space: true, fire_after_lost_life: true, ..AtariOptions::default() };
    let mut env = harvest(options.clone());
    let mut observation = reset(&mut env, Some(1));
    let steps = lose_a_life(&mut env, &mut observation) as u32;
    for (life_loss_info, extra) in [(false, 2), (false, 9), (true, 2), (true, 9)] {
        // The limit is reached in the first or the third of the steps after the one that loses the life.
        let max_num_frames_per_episode = 4 * steps + extra;
        let mut env = harvest(AtariOptions { life_loss_info, max_num_frames_per_episode, ..options.clone() });
        reset(&mut env, Some(1));
        let (played, step) = play_until(&mut env, |step| step.terminated || step.truncated);
        assert!(played == steps && step.ends_episode(), "{step:?}");
        assert_eq!((step.terminated, step.truncated), (life_loss_info, !life_loss_info));
    }
}

#[test]
fn breakout_serves_the_next_ball_after_a_lost_life() {
    let Some(rom) = roms::for_tests("breakout") else {
        return;
    };
    let powered = PoweredGame::new(game("breakout").unwrap(), rom).unwrap();
    assert_eq!(lives_after_a_lost_life(&powered, false), 4);
    assert!(lives_after_a_lost_life(&powered, true) < 4);
}

/// Returns the lives 200 steps of NOOP after a life has been lost.
fn lives_after_a_lost_life(powered: &PoweredGame, fire_after_lost_life: bool) -> i32 {
    let options = AtariOptions { fire_after_lost_life, ..AtariOptions::default() };
    let mut env = AtariEnv::new(powered, options, 0).unwrap();
    let mut observation = reset(&mut env, Some(1));
    lose_a_life(&mut env, &mut observation);
    for _ in 0..200 {
        env.step(EnvAction::Discrete(&[0]), &mut observation).unwrap();
    }
    env.info().lives
}

#[test]
fn a_seeded_reset_restarts_the_generators_and_an_unseeded_one_continues_them() {
    let mut env = harvest(AtariOptions { use_fire_reset: false, ..AtariOptions::default() });
    reset(&mut env, Some(1));
    // 12 and 13 are the first draws of seeds 1 and 2.
    assert_eq!(env.info().frame_number, 12);
    reset(&mut env, None);
    let second = env.info();
    assert_eq!(second.frame_number, 12 + second.episode_frame_number);
    reset(&mut env, Some(2));
    assert_eq!(env.info().frame_number, 13);
    let first = reset(&mut env, Some(1));
    reset(&mut env, None);
    assert_eq!(env.info(), second);
    assert_eq!(reset(&mut env, Some(1)), first);
    assert!(first[..3 * 84 * 84].iter().all(|&pixel| pixel == 0), "an episode begins with black frames");
}

#[test]
fn rewards_are_clipped_and_the_raw_reward_is_kept() {
    for reward_clipping in [true, false] {
        // Long steps, in which Harvest gives several rewards of 1.
        let mut env = harvest(AtariOptions { reward_clipping, frameskip: 400, ..AtariOptions::default() });
        let mut observation = reset(&mut env, Some(1));
        let mut largest: f32 = 0.0;
        for action in [0, 1, 2].repeat(20) {
            let step = env.step(EnvAction::Discrete(&[action]), &mut observation).unwrap();
            let expected = if reward_clipping { step.raw_reward.clamp(-1.0, 1.0) } else { step.raw_reward };
            assert_eq!(step.reward, expected);
            largest = largest.max(step.raw_reward);
            if step.ends_episode() {
                env.reset(None, &mut observation);
            }
        }
        assert!(largest > 1.0, "no step had a reward to clip");
    }
}

#[test]
fn a_restored_snapshot_continues_exactly() {
    let options = AtariOptions { repeat_action_probability: 0.25, ..AtariOptions::default() };
    let mut env = harvest(options.clone());
    reset(&mut env, Some(5));
    for _ in 0..20 {
        play_until(&mut env, |_| true);
    }
    let snapshot = env.snapshot();
    let mut other = harvest(options);
    other.restore(&snapshot).unwrap();
    let (mut observation, mut others) = (vec![0; 4 * 84 * 84], vec![1; 4 * 84 * 84]);
    other.observe(&mut others);
    env.observe(&mut observation);
    assert_eq!(observation, others);
    for index in 0..600 {
        let action = [index % 3];
        let step = env.step(EnvAction::Discrete(&action), &mut observation).unwrap();
        assert_eq!(other.step(EnvAction::Discrete(&action), &mut others).unwrap(), step);
        if step.ends_episode() {
            env.reset(None, &mut observation);
            other.reset(None, &mut others);
        }
        assert_eq!((&observation, env.info()), (&others, other.info()), "step {index}");
    }
}

#[test]
fn a_rejected_snapshot_changes_nothing() {
    let mut env = harvest(AtariOptions::default());
    let mut smaller = harvest(AtariOptions { img_width: 80, ..AtariOptions::default() });
    let observation = reset(&mut env, Some(1));
    reset(&mut smaller, Some(2));
    let good = env.snapshot();
    for bad in [&smaller.snapshot(), &good[1..], &good[..good.len() - 1], &[&good[..], &[0]].concat()] {
        assert!(matches!(env.restore(bad), Err(EnvError::BadSnapshot(_))));
        let mut now = vec![0; observation.len()];
        env.observe(&mut now);
        assert_eq!((now, env.snapshot()), (observation.clone(), good.clone()));
    }
}

#[test]
fn rejects_bad_options_and_actions() {
    let rom: Arc<[u8]> = roms::built_in("harvest").expect("the open game is built in").into();
    let powered = PoweredGame::new(game("harvest").unwrap(), rom).unwrap();
    let defaults = AtariOptions::default;
    for (options, sentence) in [
        (AtariOptions { img_height: 0, ..defaults() }, "img_height is 0, but must be between 1 and 4096"),
        (AtariOptions { img_width: 5000, ..defaults() }, "img_width is 5000, but must be between 1 and 4096"),
        (AtariOptions { stack_num: 0, ..defaults() }, "stack_num is 0, but must be between 1 and 64"),
        (AtariOptions { frameskip: 0, ..defaults() }, "frameskip is 0, but must be between 1 and 2147483647"),
        (
            AtariOptions { frameskip: 1 << 31, ..defaults() },
            "frameskip is 2147483648, but must be between 1 and 2147483647",
        ),
        (
            AtariOptions { noop_max: 108_001, ..defaults() },
            "noop_max is 108001, but must be between 0 and 108000",
        ),
        (
            AtariOptions { max_num_frames_per_episode: 0, ..defaults() },
            "max_num_frames_per_episode is 0, but must be at least 1",
        ),
        (
            AtariOptions { repeat_action_probability: 1.5, ..defaults() },
            "repeat_action_probability is 1.5, but must be between 0 and 1",
        ),
        (AtariOptions { modes: vec![0, 7], ..defaults() }, "harvest has no mode 7; its modes are [0]"),
    ] {
        assert_eq!(AtariEnv::new(&powered, options, 0).err().unwrap().to_string(), sentence);
    }
    let mut env = harvest(defaults());
    let mut observation = reset(&mut env, None);
    for bad in [EnvAction::Discrete(&[3]), EnvAction::Discrete(&[-1]), EnvAction::Continuous(&[0.0])] {
        assert!(matches!(env.step(bad, &mut observation), Err(EnvError::InvalidAction { .. })));
    }
}

#[test]
fn an_interruption_ends_a_long_reset_and_a_long_step() {
    let options = AtariOptions {
        noop_max: MAX_NOOP_MAX,
        frameskip: MAX_FRAME_SKIP,
        max_num_frames_per_episode: u32::MAX,
        ..AtariOptions::default()
    };
    let mut env = harvest(options.clone());
    // No no-ops, so that the episode does not end during the step.
    let mut fresh = harvest(AtariOptions { noop_max: 0, ..options });
    let mut observation = vec![0; env.observation_space().byte_len()];
    interrupt::with_check(
        || true,
        || {
            // From now on, every poll reports the request.
            std::thread::sleep(interrupt::CHECK_INTERVAL);
            env.reset(Some(1), &mut observation);
            assert!(env.info().frame_number < 3000, "{:?}", env.info());
            fresh.reset(Some(1), &mut observation);
            fresh.step(EnvAction::Discrete(&[0]), &mut observation).unwrap();
            assert_eq!(fresh.info().elapsed_frames, 1024);
        },
    );
}

/// Starts the next episode as the pool does.
fn autoreset(env: &mut AtariEnv) -> Vec<u8> {
    let mut observation = vec![0; env.observation_space().byte_len()];
    env.autoreset(&mut observation);
    observation
}

fn by_envpool(options: AtariOptions) -> AtariEnv {
    harvest(AtariOptions { rules: EpisodeRules::EnvPool, stack_num: 2, ..options })
}

#[test]
fn envpool_plays_one_noop_more_or_fire_at_the_end() {
    // 12 is the first draw of seed 1. Harvest has FIRE only among all actions.
    let mut env = by_envpool(AtariOptions::default());
    reset(&mut env, Some(1));
    assert_eq!(env.info().episode_frame_number, 13);
    let options = AtariOptions { full_action_space: true, ..AtariOptions::default() };
    let mut env = by_envpool(options.clone());
    reset(&mut env, Some(1));
    let mut expected = by_envpool(AtariOptions { use_fire_reset: false, noop_max: 0, ..options });
    reset(&mut expected, Some(1));
    // One NOOP is among the frames of this reset.
    for _ in 0..11 {
        expected.ale.act(Action::NOOP, 1.0);
    }
    expected.ale.act(Action::FIRE, 1.0);
    assert_eq!(env.info().episode_frame_number, 13);
    assert_eq!(env.ale().ram(), expected.ale().ram());
}

#[test]
fn envpool_continues_the_game_after_a_lost_life() {
    let options = AtariOptions { episodic_life: true, noop_max: 1, ..AtariOptions::default() };
    let mut env = by_envpool(options);
    reset(&mut env, Some(1));
    let (_, step) = play_until(&mut env, |step| step.terminated);
    assert!(step.ends_episode());
    let (before, stack) = (env.info(), {
        let mut observation = vec![0; env.observation_space().byte_len()];
        env.observe(&mut observation);
        observation
    });
    assert!(!before.game_over);
    let next = autoreset(&mut env);
    assert_eq!(env.info().lives, before.lives);
    assert_eq!(env.info().elapsed_frames, before.elapsed_frames);
    assert_eq!(env.info().frame_number, before.frame_number + 1, "one NOOP");
    let frame = 84 * 84;
    assert_eq!(next[..frame], stack[frame..], "the stack continues");
    // A seed starts a new game, and so does the end of the game: the third lost life.
    reset(&mut env, Some(1));
    assert_eq!((env.info().lives, env.info().elapsed_frames), (3, 0));
    for lives in [2, 1] {
        play_until(&mut env, Step::ends_episode);
        assert_eq!((env.info().lives, env.info().game_over), (lives, false));
        autoreset(&mut env);
    }
    play_until(&mut env, Step::ends_episode);
    assert!(env.info().game_over);
    autoreset(&mut env);
    assert_eq!((env.info().lives, env.info().elapsed_frames), (3, 0));
    // An explicit reset starts a new game, too.
    play_until(&mut env, Step::ends_episode);
    assert_eq!(env.info().lives, 2);
    reset(&mut env, None);
    assert_eq!((env.info().lives, env.info().elapsed_frames), (3, 0));
}

#[test]
fn envpool_shows_the_last_frame_of_an_episode() {
    let [mut env, mut endless] = [40, 108_000].map(|max_num_frames_per_episode| {
        by_envpool(AtariOptions { max_num_frames_per_episode, fill_stack: true, ..AtariOptions::default() })
    });
    let (mut shown, mut expected) = (reset(&mut env, Some(1)), reset(&mut endless, Some(1)));
    for index in 1..=10 {
        let step = env.step(EnvAction::Discrete(&[1]), &mut shown).unwrap();
        endless.step(EnvAction::Discrete(&[1]), &mut expected).unwrap();
        assert_eq!(step.truncated, index == 10);
        assert!(shown == expected);
    }
}
