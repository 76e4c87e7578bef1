//! The tables of tasks in the book have the ids and properties of the registry.

use std::fs;
use std::path::Path;

use mujoco::Installation;
use rl_env::{ActionKind, EnvSpec, Registry};

const PAGE: &str = "docs/src/reference/environments.md";
/// Everything that names versions of MuJoCo.
const NAMING: [&str; 6] = [
    PAGE,
    "README.md",
    "docs/src/explanation/exactness.md",
    "docs/src/python/environments.md",
    "docs/src/python/index.md",
    ".ci/run",
];
const HEADING: &str = "| task | actions | steps | solved at | best return |";

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("a document")
}

/// Returns the rows of the tables of tasks.
fn written() -> Vec<String> {
    let page = read(PAGE);
    let tables = page.split(HEADING).skip(1);
    // The first line is the end of the heading, the second is the separator.
    let rows = tables.flat_map(|table| table.lines().skip(2).take_while(|line| line.starts_with('|')));
    rows.map(str::to_owned).collect()
}

fn row(id: &str, spec: &EnvSpec) -> String {
    let actions = match spec.action_kind {
        ActionKind::Discrete => "discrete",
        ActionKind::Continuous => "continuous",
    };
    let steps = spec.max_episode_steps.map_or_else(|| "-".to_owned(), |steps| steps.to_string());
    let [threshold, best] = [spec.reward_threshold, spec.best_return].map(shown);
    format!("| `{id}` | {actions} | {steps} | {threshold} | {best} |")
}

/// Returns a value with at most three decimals.
fn shown(value: Option<f64>) -> String {
    let Some(value) = value else { return "-".to_owned() };
    format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[test]
fn the_book_lists_every_task_with_its_properties() {
    let mut registry = Registry::new();
    classic_control::register(&mut registry).expect("distinct ids");
    toy_text::register(&mut registry).expect("distinct ids");
    // Only the properties are read.
    mujoco::register(&mut registry, &Installation::new("")).expect("distinct ids");
    let (written, expected) = (written(), registry.specs().map(|(id, spec)| row(id, &spec)));
    let missing: Vec<String> = expected.filter(|row| !written.contains(row)).collect();
    assert!(missing.is_empty(), "{PAGE} lacks these rows:\n{}", missing.join("\n"));
    assert_eq!(written.len(), registry.ids().count(), "{PAGE} has rows of other tasks");
}

#[test]
fn every_supported_version_of_mujoco_is_named() {
    for file in NAMING {
        let text = read(file);
        for version in mujoco::supported_versions() {
            assert!(text.contains(&version), "{file} does not name MuJoCo {version}");
        }
    }
}
