//! Runs some sessions of the fuzz target in `../fuzz`.

mod session;

use std::time::{Duration, Instant, SystemTime};
use std::{env, panic};

use vcs::Mt19937;

/// Time in which sessions are started, in seconds. `FUZZ_SECONDS` overrides it.
const SECONDS: u64 = 4;
/// Time limit of a session, which emulates at most a few hundred frames.
const LONGEST: Duration = Duration::from_mins(1);

/// `FUZZ_SEED` sets the seed of the first session, to repeat a failure.
#[test]
fn random_roms_actions_and_snapshots_neither_panic_nor_hang() {
    let variable = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock");
    let first = variable("FUZZ_SEED").map_or(clock.as_micros() as u32, |seed| seed as u32);
    let end = Instant::now() + Duration::from_secs(variable("FUZZ_SECONDS").unwrap_or(SECONDS));
    let mut seed = first;
    while Instant::now() < end {
        let mut random = Mt19937::new(seed);
        let length = random.next_u32() % 600;
        let data: Vec<u8> = (0..length).map(|_| random.next_u32() as u8).collect();
        let start = Instant::now();
        let outcome = panic::catch_unwind(|| session::run(&data));
        assert!(outcome.is_ok(), "the session of seed {seed} panicked");
        assert!(start.elapsed() < LONGEST, "the session of seed {seed} took {:?}", start.elapsed());
        seed = seed.wrapping_add(1);
    }
    println!("{} sessions, first seed {first}", seed.wrapping_sub(first));
}
