//! `cargo +nightly fuzz run session` in `envs/ale` (needs `cargo install cargo-fuzz`).

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/behaviour/fuzz/session.rs"]
mod session;

fuzz_target!(|data: &[u8]| session::run(data));
