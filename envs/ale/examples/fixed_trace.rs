//! A fixed workload for `benches/instructions`, which counts its instructions: the same steps of the same game each time.
//!
//! `cargo run -p ale --example fixed_trace -- GAME`
//!
//! One environment with the standard preprocessing plays fixed actions. The first steps, during which hot code is
//! translated to native code, are not counted.

use std::error::Error;

use ale::roms::RomStore;
use ale::{AtariEnv, AtariOptions, PoweredGame, game};
use rl_env::{Action, Env, Space};

/// Steps before counting starts.
const WARM_UP: usize = 2_000;
/// Counted steps of four frames each.
const STEPS: usize = 250;

fn main() -> Result<(), Box<dyn Error>> {
    let id = std::env::args().nth(1).ok_or("usage: fixed_trace GAME")?;
    let rom = RomStore::locate(None)?.read(&id)?;
    let powered = PoweredGame::new(game(&id)?, rom)?;
    let mut env = AtariEnv::new(&powered, AtariOptions::default(), 1)?;
    let mut observation = vec![0; env.observation_space().byte_len()];
    env.reset(Some(1), &mut observation);
    play(&mut env, 0..WARM_UP, &mut observation)?;
    counted(&mut env, &mut observation)
}

/// The counter recognises this function by its name.
#[inline(never)]
fn counted(env: &mut AtariEnv, observation: &mut [u8]) -> Result<(), Box<dyn Error>> {
    play(env, WARM_UP..WARM_UP + STEPS, observation)
}

/// Plays some steps, holding each action for eight of them.
fn play(
    env: &mut AtariEnv,
    steps: std::ops::Range<usize>,
    observation: &mut [u8],
) -> Result<(), Box<dyn Error>> {
    let &Space::Discrete { n, .. } = env.action_space() else {
        return Err("the game has no discrete actions".into());
    };
    for step in steps {
        let action = [(step / 8 % n) as i32];
        let outcome = env.step(Action::Discrete(&action), observation)?;
        if outcome.terminated || outcome.truncated {
            env.reset(None, observation);
        }
    }
    Ok(())
}
