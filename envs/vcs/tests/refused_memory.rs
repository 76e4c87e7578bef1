//! A system that refuses executable memory, as some security policies do. The refusal applies to the whole process and
//! cannot be undone, so this file has a single test.

#![cfg(target_os = "linux")]

use vcs::{Cartridge, Console, ConsoleOptions, Execution, Inputs, Switches, TvFormat};

/// Makes the kernel refuse executable memory for the lifetime of the process. Returns false if it cannot, which is an
/// error in CI.
#[allow(unsafe_code)]
fn refuse_executable_memory() -> bool {
    // SAFETY: the call takes integers only.
    let result = unsafe { libc::prctl(libc::PR_SET_MDWE, libc::PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) };
    let error = std::io::Error::last_os_error();
    // Linux before 6.3, or a sandbox that filters system calls.
    let is_impossible = result != 0;
    let is_ci = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty());
    assert!(!(is_impossible && is_ci), "Linux 6.3 or newer is needed: {error}");
    if is_impossible {
        eprintln!("skipped: Linux 6.3 or newer is needed: {error}");
    }
    !is_impossible
}

fn harvest(execution: Execution) -> Console {
    let rom = include_bytes!("../../../roms/open/harvest.bin");
    let cartridge = Cartridge::detect(rom.as_slice().into()).expect("the image is valid");
    let options = ConsoleOptions { tv: Some(TvFormat::Ntsc), execution, ..ConsoleOptions::default() };
    Console::new(cartridge, &options)
}

/// Runs frames that hold the reset switch, which starts the game, and then frames of the game.
fn start_game(console: &mut Console) {
    for frame in 0..60 {
        let switches = Switches { reset: frame < 10, ..Switches::default() };
        console.set_inputs(Inputs { switches, ..Inputs::default() });
        console.run_frame();
    }
}

#[test]
fn interprets_what_was_not_translated_before_executable_memory_was_refused() {
    let mut allowed = harvest(Execution::Eager);
    allowed.run_frame();
    let mut refused_later = allowed.clone();
    let mut before = harvest(Execution::Eager);
    before.run_frame();
    let translated = before.compiled_regions();
    start_game(&mut allowed);
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        assert!(translated > 0);
        assert!(allowed.compiled_regions() > translated, "the game needs no new code");
    }

    if !refuse_executable_memory() {
        return;
    }
    let mut refused = harvest(Execution::Eager);
    refused.run_frame();
    for console in [&mut before, &mut refused_later, &mut refused] {
        start_game(console);
        assert_eq!(console.ram(), allowed.ram());
        assert_eq!(console.cpu(), allowed.cpu());
        assert!(console.screen() == allowed.screen());
    }
    assert_eq!(before.compiled_regions(), translated);
    assert_eq!(refused.compiled_regions(), 0);
}
