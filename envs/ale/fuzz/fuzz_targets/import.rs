//! Imports an arbitrary file as a zip archive of ROMs. Only known ROMs may be written, and only to the ROM directory.

#![no_main]

use std::fs;

use ale::roms::{Manifest, RomStore};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

fuzz_target!(|data: &[u8]| {
    let temp = TempDir::new().expect("a directory");
    let archive = temp.path().join("roms.zip");
    fs::write(&archive, data).expect("a file");
    let directory = temp.path().join("roms");
    let store = RomStore::new(directory.clone(), Manifest::shipped().clone());
    let imported = store.import(&archive);
    let written = imported.map_or(0, |imported| imported.written.len());
    let count = fs::read_dir(&directory).map_or(0, Iterator::count);
    assert_eq!(
        (count, fs::read_dir(temp.path()).map_or(0, Iterator::count)),
        (written, 1 + usize::from(written > 0))
    );
});
