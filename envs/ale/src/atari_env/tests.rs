use std::sync::Arc;

use rl_env::{Action as EnvAction, Env};

use super::*;
use crate::{game, roms};

/// The built-in game, whose episodes end with the third life or after 1953 frames.
fn harvest(options: AtariOptions) -> AtariEnv {
    let rom: Arc<[u8]> = roms::built_in("harvest").expect("the open game is built in").into();
    let powered = PoweredGame::new(game("harvest").unwrap(), rom).unwrap();
    AtariEnv::new(&powered, options, 0).unwrap()
}

/// Steps with some action until a step satisfies a condition; the number of that step and the step.
fn play_until(env: &mut AtariEnv, condition: impl Fn(&Step) -> bool) -> (u32, Step) {
    let mut observation = vec![0; env.observation_space().byte_len()];
    for number in 1..=1000 {
        let step = env.step(EnvAction::Discrete(&[0]), &mut observation).unwrap();
        if condition(&step) {
            return (number, step);
        }
    }
    panic!("it never came");
}

fn reset(env: &mut AtariEnv, seed: Option<u64>) -> Vec<u8> {
    let mut observation = vec![9; env.observation_space().byte_len()];
    env.reset(seed, &mut observation);
    observation
}

#[test]
fn spaces_follow_the_options() {
    let env = harvest(AtariOptions::default());
    assert_eq!(env.observation_space().shape(), [4, 84, 84]);
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
    assert_eq!(env.observation_space().shape(), [1, 210, 160, 3]);
    assert_eq!(env.action_space(), &Space::Discrete { n: 18 });
}

#[test]
fn the_game_itself_ends_an_episode() {
    let mut env = harvest(AtariOptions::default());
    reset(&mut env, Some(1));
    let (_, step) = play_until(&mut env, |step| step.terminated || step.truncated);
    assert!(step.terminated && !step.truncated && !step.continues);
}

#[test]
fn a_frame_limit_truncates_within_the_skip() {
    let mut env = harvest(AtariOptions { max_num_frames_per_episode: 37, ..AtariOptions::default() });
    for seed in [Some(3), None] {
        reset(&mut env, seed);
        let before = env.info().episode_frame_number;
        let (number, step) = play_until(&mut env, |step| step.terminated || step.truncated);
        assert!(step.truncated && !step.terminated);
        assert_eq!((number, env.info().episode_frame_number - before), (10, 37));
    }
}

#[test]
fn a_lost_life_ends_the_episode_only_if_it_is_to() {
    let life_loss = |episodic_life, life_loss_info| {
        let mut env = harvest(AtariOptions { episodic_life, life_loss_info, ..AtariOptions::default() });
        reset(&mut env, Some(1));
        let (number, step) = play_until(&mut env, |step| step.terminated);
        (number, step.ends_episode(), env.info().lives)
    };
    let (number, ends, lives) = life_loss(false, true);
    assert!(!ends && lives == 2);
    assert_eq!(life_loss(true, false), (number, true, 2));
    assert_eq!(life_loss(true, true), (number, true, 2));
    let (later, ends, lives) = life_loss(false, false);
    assert!(later > number && ends && lives < 2, "{later} {ends} {lives}");
}

#[test]
fn seeds_begin_and_the_random_numbers_continue() {
    let mut env = harvest(AtariOptions { use_fire_reset: false, ..AtariOptions::default() });
    reset(&mut env, Some(1));
    // The first draws of seeds 1 and 2, and the one that follows the first of seed 1.
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
fn rewards_are_clipped_but_known() {
    let mut env = harvest(AtariOptions::default());
    reset(&mut env, Some(1));
    for action in [0, 1, 2].repeat(150) {
        let mut observation = vec![0; env.observation_space().byte_len()];
        let step = env.step(EnvAction::Discrete(&[action]), &mut observation).unwrap();
        assert_eq!(step.reward, step.raw_reward.clamp(-1.0, 1.0));
    }
}

#[test]
fn a_snapshot_continues_exactly() {
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
    for number in 0..600 {
        let action = [number % 3];
        let step = env.step(EnvAction::Discrete(&action), &mut observation).unwrap();
        assert_eq!(other.step(EnvAction::Discrete(&action), &mut others).unwrap(), step);
        if step.ends_episode() {
            env.reset(None, &mut observation);
            other.reset(None, &mut others);
        }
        assert_eq!((&observation, env.info()), (&others, other.info()), "step {number}");
    }
}

#[test]
fn bad_snapshots_change_nothing() {
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
fn bad_options_and_actions_are_errors() {
    let rom: Arc<[u8]> = roms::built_in("harvest").expect("the open game is built in").into();
    let powered = PoweredGame::new(game("harvest").unwrap(), rom).unwrap();
    let defaults = AtariOptions::default;
    for (options, sentence) in [
        (AtariOptions { img_height: 0, ..defaults() }, "img_height is 0, but must be between 1 and 4096"),
        (AtariOptions { img_width: 5000, ..defaults() }, "img_width is 5000, but must be between 1 and 4096"),
        (AtariOptions { stack_num: 0, ..defaults() }, "stack_num is 0, but must be between 1 and 64"),
        (AtariOptions { frameskip: 0, ..defaults() }, "frameskip is 0, but must be at least 1"),
        (
            AtariOptions { max_num_frames_per_episode: 0, ..defaults() },
            "max_num_frames_per_episode is 0, but must be at least 1",
        ),
        (
            AtariOptions { repeat_action_probability: 1.5, ..defaults() },
            "repeat_action_probability is 1.5, but must be between 0 and 1",
        ),
        (AtariOptions { mode: Some(7), ..defaults() }, "harvest has no mode 7; its modes are [0]"),
    ] {
        assert_eq!(AtariEnv::new(&powered, options, 0).err().unwrap().to_string(), sentence);
    }
    let mut env = harvest(defaults());
    let mut observation = reset(&mut env, None);
    for bad in [EnvAction::Discrete(&[3]), EnvAction::Discrete(&[-1]), EnvAction::Continuous(&[0.0])] {
        assert!(matches!(env.step(bad, &mut observation), Err(EnvError::InvalidAction { .. })));
    }
}
