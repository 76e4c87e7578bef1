//! Atari environments follow the rules of [`rl_env::Env`], shown with the open game.

use ale::{AtariEnv, AtariOptions, PoweredGame, game, roms};
use rl_env::{TimeLimit, check_env};
use vcs::ConsoleOptions;

#[test]
fn screens_without_rows_are_rejected() {
    let harvest = game("harvest").unwrap();
    let rom = roms::built_in("harvest").unwrap();
    let options = ConsoleOptions { height: 0, ..harvest.console_options() };
    let error = PoweredGame::with_options(harvest, rom.into(), &options).unwrap_err();
    assert_eq!(error.to_string(), "height is 0, but must be at least 1");
}

#[test]
fn atari_environments_follow_the_rules() {
    let rom = roms::built_in("harvest").unwrap();
    let powered = PoweredGame::new(game("harvest").unwrap(), rom.into()).unwrap();
    let defaults = AtariOptions::default;
    for options in [
        defaults(),
        AtariOptions { max_num_frames_per_episode: 60, ..defaults() },
        AtariOptions { life_loss_info: true, frameskip: 10, ..defaults() },
        AtariOptions { episodic_life: true, frameskip: 10, ..defaults() },
        AtariOptions { ram: true, repeat_action_probability: 0.25, ..defaults() },
        AtariOptions { grayscale: false, fill_stack: true, img_height: 50, img_width: 33, ..defaults() },
        AtariOptions { continuous: true, ..defaults() },
        AtariOptions { full_action_space: true, reward_clipping: false, ..defaults() },
    ] {
        let mut env = AtariEnv::new(&powered, options.clone(), 0).unwrap();
        assert_eq!(check_env(&mut env), Ok(()), "{options:?}");
    }
    let env = AtariEnv::new(&powered, defaults(), 0).unwrap();
    assert_eq!(check_env(&mut TimeLimit::new(env, 5)), Ok(()));
}
