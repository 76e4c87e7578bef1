use super::runs::RunHistory;
use crate::config;

/// Returns a run without curves whose experiment is written in TOML.
pub(super) fn run(name: &str, config: &str) -> RunHistory {
    let experiment = config::from_toml(config).unwrap().resolve().unwrap();
    RunHistory::new(name.to_owned(), experiment).unwrap()
}
