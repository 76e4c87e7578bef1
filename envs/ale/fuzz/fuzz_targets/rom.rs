//! Runs an arbitrary file as a cartridge, interpreted and translated. Both must behave alike and never panic or hang.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vcs::{Cartridge, Console, ConsoleOptions, Execution};

const FRAMES: usize = 4;

fuzz_target!(|data: &[u8]| {
    let Ok(cartridge) = Cartridge::detect(data.into()) else { return };
    let [mut interpreted, mut translated] = [Execution::Interpreted, Execution::Eager].map(|execution| {
        Console::new(cartridge.clone(), &ConsoleOptions { execution, ..ConsoleOptions::default() })
    });
    for _ in 0..FRAMES {
        interpreted.run_frame();
        translated.run_frame();
        assert!(interpreted.ram() == translated.ram(), "RAM differs");
        assert!(interpreted.screen() == translated.screen(), "the screens differ");
    }
});
