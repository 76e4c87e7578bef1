use super::runs::RunHistory;
use crate::config;
use crate::telemetry::Moment;

/// Returns a finished run with an experiment in TOML, and no curves.
pub(super) fn finished_run(name: &str, toml: &str) -> RunHistory {
    let experiment = config::from_toml(toml).unwrap().resolve().unwrap();
    let mut run = RunHistory::new(name.to_owned(), experiment).unwrap();
    run.reached = Moment { updates: u64::MAX, steps: u64::MAX, ..Moment::default() };
    run
}
