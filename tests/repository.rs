//! What the repository may hold, and that its two tables of games agree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ale::roms::{Manifest, built_in};
use vcs::Cartridge;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// Images that ale-py ships, of games for two players only, which have no rules.
const WITHOUT_RULES: [&str; 4] = ["combat", "joust", "maze_craze", "warlords"];

#[test]
fn no_commercial_rom_is_tracked() {
    let manifest = Manifest::shipped();
    for path in tracked_files() {
        // A file that was deleted but not committed yet is still listed.
        let Ok(bytes) = fs::read(&path) else { continue };
        let rom = manifest.identify(&bytes);
        assert_eq!(rom, None, "{} is a commercial ROM and must leave git, its history too", path.display());
    }
}

/// Images that the manifest does not know look like this.
#[test]
fn binaries_and_archives_are_tracked_in_the_open_games_folder_only() {
    let open = Path::new(ROOT).join("roms/open");
    for path in tracked_files() {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let suspicious = ["a26", "bin", "rom", "whl", "zip"].contains(&extension.to_lowercase().as_str());
        assert!(!suspicious || path.starts_with(&open), "{} must not be tracked", path.display());
    }
}

#[test]
fn every_game_has_a_rom_and_every_rom_has_a_game() {
    let (open, commercial): (BTreeSet<&str>, BTreeSet<&str>) =
        ale::games().iter().map(|game| game.id).partition(|id| built_in(id).is_some());
    let roms: BTreeSet<&str> = Manifest::shipped().iter().map(|(id, _)| id).collect();
    let without_rules: BTreeSet<&str> = roms.difference(&commercial).copied().collect();
    assert_eq!(commercial.difference(&roms).count(), 0, "{commercial:?} are not all in roms/manifest.toml");
    assert_eq!(without_rules, WITHOUT_RULES.into(), "in roms/manifest.toml, but not in games.toml");
    assert_eq!(open, ["harvest"].into());
}

#[test]
fn every_image_has_a_length_that_its_cartridge_takes() {
    for (id, entry) in Manifest::shipped().iter().filter(|(id, _)| !WITHOUT_RULES.contains(id)) {
        let scheme = ale::game(id).expect("a game for every image").bankswitch;
        let blank = Cartridge::new(vec![0; entry.size].into(), scheme);
        assert!(blank.is_ok(), "{id}: {} bytes as {scheme}", entry.size);
    }
}

/// The files that git tracks, or none where this is not a git checkout.
fn tracked_files() -> Vec<PathBuf> {
    let Ok(listed) = Command::new("git").args(["ls-files", "-z"]).current_dir(ROOT).output() else {
        eprintln!("skipped, because git is not there");
        return Vec::new();
    };
    if !listed.status.success() {
        eprintln!("skipped: {}", String::from_utf8_lossy(&listed.stderr).trim());
        return Vec::new();
    }
    let names = String::from_utf8(listed.stdout).expect("file names are UTF-8");
    names.split_terminator('\0').map(|name| Path::new(ROOT).join(name)).collect()
}
