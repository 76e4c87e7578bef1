//! Checks the paths that the code of every crate names. Neither files nor the top-level modules of a crate use each
//! other in a circle, and the parts of the larger crates use each other only downwards.

mod graph;
mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use graph::{Arrows, arrows, circles, described};

use crate::architecture::workspace_packages;

/// The layers of crates, lowest first. The top-level modules of a layer may use each other and those of the layers
/// before it.
const LAYERS: [(&str, &[&str]); 2] = [
    (
        "algorithms",
        &[
            "tasks named_weights cluster",
            "error state_bytes",
            "networks",
            "experience",
            "engine action_values choice_policies",
            "check_learner ppo pqn dqn sac",
        ],
    ),
    (
        "ale-train",
        &[
            // Tools that know no experiment.
            "allocator cluster device drawing durable enclosure failure file_format files font game_mode global interrupt interval \
             memory mujoco_tasks output page plot program quantity recent_returns rom_sources selection signal statistics \
             table telemetry tensors terminal threads version zoo_agents",
            // The experiment.
            "config learner",
            // The flags.
            "cli",
            // Runs and agents.
            "agent checkpoint environments onnx provenance runs scores show",
            // The commands.
            "bench card commands contest evaluation initial_weights play record report sweep tracking train watch",
            // The program inside another process.
            "embedding",
        ],
    ),
];

/// A library of the workspace.
struct Crate {
    name: String,
    /// The directory of its root file.
    directory: PathBuf,
    arrows: Arrows,
}

impl Crate {
    /// Returns the top-level module of a file, or `None` for the root.
    fn module<'a>(&self, file: &'a Path) -> Option<&'a str> {
        let first = file.strip_prefix(&self.directory).ok()?.components().next()?.as_os_str().to_str()?;
        let module = first.strip_suffix(".rs").unwrap_or(first);
        (module != "lib").then_some(module)
    }

    /// Returns the arrows from one top-level module to another, with a line for each.
    fn between_modules(&self) -> BTreeMap<&str, BTreeMap<&str, Vec<String>>> {
        let mut modules: BTreeMap<&str, BTreeMap<&str, Vec<String>>> = BTreeMap::new();
        for (from, targets) in &self.arrows {
            let Some(module) = self.module(from) else { continue };
            let used = modules.entry(module).or_default();
            for (to, name) in targets {
                if let Some(other) = self.module(to).filter(|other| *other != module) {
                    let line = format!("  {} -> {}: {name}", from.display(), to.display());
                    used.entry(other).or_default().push(line);
                }
            }
        }
        modules
    }
}

fn crates() -> Vec<Crate> {
    let packages = workspace_packages();
    let libraries = packages.into_iter().filter_map(|package| {
        let is_library = |kind: &String| ["lib", "cdylib", "rlib"].contains(&kind.as_str());
        let library = package.targets.iter().find(|target| target.kind.iter().any(is_library))?;
        Some(Crate {
            directory: library.src_path.parent()?.to_owned(),
            arrows: arrows(&modules::read(&library.src_path)),
            name: package.name,
        })
    });
    libraries.collect()
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut lines = Vec::new();
    for library in crates() {
        assert!(!library.arrows.is_empty(), "{}", library.name);
        let targets = |targets: &BTreeMap<PathBuf, String>| targets.keys().cloned().collect();
        let files: BTreeMap<PathBuf, BTreeSet<PathBuf>> =
            library.arrows.iter().map(|(from, used)| (from.clone(), targets(used))).collect();
        lines.extend(circles(&files).iter().map(|files| described(&library.arrows, files)));
    }
    assert!(lines.is_empty(), "{} circles:\n{}", lines.len(), lines.join("\n\n"));
}

#[test]
fn no_modules_use_each_other_in_a_circle() {
    for library in crates() {
        let arrows = library.between_modules();
        let modules = arrows.iter().map(|(from, used)| (*from, used.keys().copied().collect()));
        let circles = circles(&modules.collect());
        assert!(circles.is_empty(), "{}: {circles:?}", library.name);
    }
}

/// Returns the index of the layer with a module.
fn layer_of(module: &str, layers: &[&str], library: &str) -> usize {
    let layer = layers.iter().position(|modules| modules.split(' ').any(|other| other == module));
    layer.unwrap_or_else(|| panic!("{library}: the module {module} belongs to no layer"))
}

#[test]
fn the_layers_of_a_crate_use_each_other_downwards() {
    let crates = crates();
    for (name, layers) in LAYERS {
        let library = crates.iter().find(|library| library.name == name).expect("a crate of the workspace");
        let layer = |module: &str| layer_of(module, layers, name);
        for (module, used) in library.between_modules() {
            for (other, lines) in used {
                assert!(layer(other) <= layer(module), "{name}: upwards\n{}", lines.join("\n"));
            }
        }
    }
}

/// Writes the files of a crate, and returns the arrows between them by the names of the files.
fn arrows_of(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    for (name, text) in files {
        let file = directory.path().join(name);
        std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        std::fs::write(file, text).expect("a file");
    }
    let arrows = arrows(&modules::read(&directory.path().join("lib.rs")));
    let name = |file: &PathBuf| file.strip_prefix(directory.path()).expect("a file").display().to_string();
    let pairs = arrows.iter().flat_map(|(from, used)| used.keys().map(|to| (name(from), name(to))));
    pairs.collect()
}

#[test]
fn arrows_follow_names_to_the_files_that_define_them() {
    let arrows = arrows_of(&[
        (
            "lib.rs",
            "mod a;\nmod b;\nmod c;\npub use b::Passed;\n#[cfg(test)]\nmod tests { use crate::c::C; }",
        ),
        // By an import, by a name that the root passes on, by a path, within a macro, and not by a visibility.
        (
            "a.rs",
            "use crate::b::B;\npub(in crate::c) fn a(_: crate::Passed) { print!(\"{}\", b::inner::deep()) }\nuse crate::b;",
        ),
        ("b/mod.rs", "pub(crate) mod inner;\npub struct B;\npub struct Passed;\nuse inner::deep;"),
        // Modules below a file are a part of it.
        ("b/inner.rs", "use super::B;\npub fn deep() -> B { B }\n#[cfg(test)] use crate::c::C;"),
        (
            "c.rs",
            "use std::fmt::Debug;\n/// [`a`](crate::a)\npub struct C;\n#[test]\nfn test() { crate::a::a() }",
        ),
    ]);
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(
        arrows,
        [pair("a.rs", "b/inner.rs"), pair("a.rs", "b/mod.rs"), pair("b/mod.rs", "b/inner.rs")]
    );
}

/// Returns arrows from each node to others, each named by a letter.
fn arrows_between(arrows: &[(char, &str)]) -> BTreeMap<char, BTreeSet<char>> {
    arrows.iter().map(|(from, to)| (*from, to.chars().collect())).collect()
}

#[test]
fn circles_are_found() {
    assert_eq!(circles(&arrows_between(&[('a', "bc"), ('b', "c"), ('c', "")])), Vec::<Vec<char>>::new());
    let two = arrows_between(&[('a', "b"), ('b', "ca"), ('c', "d"), ('d', "e"), ('e', "c"), ('f', "a")]);
    assert_eq!(circles(&two), [vec!['a', 'b'], vec!['c', 'd', 'e']]);
}
