//! The repository contains no commercial ROMs, and its tables of games, ROMs and licences agree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ale::roms::{Manifest, built_in};
use vcs::Cartridge;

pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// ROMs that ale-py ships for two-player games, for which this repository has no game rules.
const WITHOUT_RULES: [&str; 4] = ["combat", "joust", "maze_craze", "warlords"];

#[test]
fn no_commercial_rom_is_tracked() {
    let manifest = Manifest::shipped();
    for path in tracked_files() {
        // A deleted file is listed until the deletion is committed.
        let Ok(bytes) = fs::read(&path) else { continue };
        let rom = manifest.identify(&bytes);
        assert_eq!(
            rom,
            None,
            "{} is a commercial ROM; remove it from git, including its history",
            path.display()
        );
    }
}

/// Catches ROMs that the manifest does not list, by their extensions.
#[test]
fn binaries_and_archives_are_tracked_only_beside_the_open_game() {
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
fn every_rom_size_fits_its_cartridge_type() {
    for (id, entry) in Manifest::shipped().iter().filter(|(id, _)| !WITHOUT_RULES.contains(id)) {
        let scheme = ale::game(id).expect("a game for every ROM").bankswitch;
        let blank = Cartridge::new(vec![0; entry.size].into(), scheme);
        assert!(blank.is_ok(), "{id}: {} bytes as {scheme}", entry.size);
    }
}

/// Returns the files that git tracks, or none outside a git checkout.
pub(crate) fn tracked_files() -> Vec<PathBuf> {
    if !Path::new(ROOT).join(".git").exists() {
        eprintln!("skipped: {ROOT} is not a git checkout");
        return Vec::new();
    }
    // The checkout may belong to another user, for example in a container.
    let list = ["-c", "safe.directory=*", "ls-files", "-z"];
    let listed = Command::new("git").args(list).current_dir(ROOT).output().expect("git");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr).trim());
    let names = String::from_utf8(listed.stdout).expect("file names are UTF-8");
    assert!(!names.is_empty(), "git tracks no files");
    names.split_terminator('\0').map(|name| Path::new(ROOT).join(name)).collect()
}

fn read_table(path: &str) -> toml::Table {
    let text = fs::read_to_string(Path::new(ROOT).join(path)).expect("a readable file");
    text.parse().expect("TOML")
}

/// Returns the strings of a list.
fn names(list: &toml::Value) -> BTreeSet<String> {
    let names = list.as_array().expect("a list").iter();
    names.map(|name| name.as_str().expect("a name").to_owned()).collect()
}

#[test]
fn the_licences_of_releases_are_those_that_dependencies_may_have() {
    let deny = read_table("deny.toml");
    let mut allowed = names(&deny["licenses"]["allow"]);
    for exception in deny["licenses"]["exceptions"].as_array().expect("a list") {
        allowed.extend(names(&exception["allow"]));
    }
    assert_eq!(names(&read_table(".ci/licenses.toml")["accepted"]), allowed);
}
