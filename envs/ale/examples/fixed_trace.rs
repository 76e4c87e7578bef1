//! A fixed workload for `benches/instructions`, which counts its instructions: the same steps of the same game each
//! time.
//!
//! `cargo run -p ale --example fixed_trace -- GAME [STEPS]`
//!
//! One environment with the standard preprocessing plays fixed actions. The first steps, during which hot code is
//! translated to native code, are not counted. With `STEPS` the program prints a line before the counted steps and
//! waits for a line of input. After the steps it aborts, so that `benches/single_step.py` notices the end.

use std::error::Error;
use std::{io, process};

use ale::{AtariEnv, AtariOptions, PoweredGame, game, roms};
use rl_env::{Action, Env, Space};

/// Steps before counting starts.
const WARM_UP: usize = 2_000;
/// Counted steps of four frames each, unless the number is given.
const STEPS: usize = 250;

fn main() -> Result<(), Box<dyn Error>> {
    let id = std::env::args().nth(1).ok_or("usage: fixed_trace GAME [STEPS]")?;
    let steps = std::env::args().nth(2).map(|steps| steps.parse()).transpose()?;
    let Some(rom) = roms::for_tests(&id) else { return Ok(()) };
    let powered = PoweredGame::new(game(&id)?, rom)?;
    let mut env = AtariEnv::new(&powered, AtariOptions::default(), 1)?;
    let mut observation = vec![0; env.observation_space().byte_len()];
    env.reset(Some(1), &mut observation);
    play(&mut env, 0..WARM_UP, &mut observation)?;
    let Some(steps) = steps else { return counted(&mut env, STEPS, &mut observation) };
    println!("ready");
    io::stdin().read_line(&mut String::new())?;
    counted(&mut env, steps, &mut observation)?;
    process::abort();
}

/// The counter recognises this function by its name.
#[inline(never)]
fn counted(env: &mut AtariEnv, steps: usize, observation: &mut [u8]) -> Result<(), Box<dyn Error>> {
    play(env, WARM_UP..WARM_UP + steps, observation)
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
