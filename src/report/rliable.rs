//! Estimates of rliable (Agarwal et al. 2021), which ours must equal.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::LazyLock;

use serde::Deserialize;

use super::aggregate::RESAMPLES;
use crate::skip::skip;

/// Scores `[game][run]` and the estimates of rliable.
#[derive(Debug, Deserialize)]
pub(super) struct Case {
    pub(super) scores: Vec<Vec<f64>>,
    pub(super) estimates: BTreeMap<String, Estimate>,
    pub(super) improvement: RecordedImprovement,
}

/// The probability of improvement of the scores in the first games over others.
#[derive(Debug, Deserialize)]
pub(super) struct RecordedImprovement {
    pub(super) over: Vec<Vec<f64>>,
    pub(super) estimate: Estimate,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Estimate {
    value: f64,
    low: f64,
    high: f64,
    /// The number of bootstrap resamples.
    repetitions: f64,
}

impl Estimate {
    /// Asserts that a statistic and the quantiles of its bootstrap are those of rliable.
    ///
    /// A share of 0.025 of the resamples lies beyond each end of an interval. With n resamples, that share has a
    /// standard error of `sqrt(0.025 * 0.975 / n)`. So the ends of rliable lie between our quantiles at five times the
    /// combined standard error to either side, however coarse the values of few runs are.
    pub(super) fn assert_equal(&self, value: f64, quantile: impl Fn(f64) -> f64) {
        assert!((value - self.value).abs() < 1e-12, "{value}, not {self:?}");
        let error = (0.025 * 0.975 * (1.0 / RESAMPLES as f64 + 1.0 / self.repetitions)).sqrt();
        for (end, share) in [(self.low, 0.025), (self.high, 0.975)] {
            let [lower, upper] =
                [share - 5.0 * error, share + 5.0 * error].map(|share| quantile(share.clamp(0.0, 1.0)));
            assert!((lower - 1e-12..=upper + 1e-12).contains(&end), "{self:?} is not in {lower}..={upper}");
        }
    }
}

/// Calls an assertion for each recorded case, and for those of an installed rliable.
pub(super) fn assert_equal_in_recording_and_library(mut assert_equal: impl FnMut(&Case)) {
    let recorded = include_str!("../../tests/data/rliable.json");
    for text in std::iter::once(recorded).chain(LIBRARY.as_deref()) {
        let cases: Vec<Case> = serde_json::from_str(text).expect("the output of record_rliable.py");
        assert_eq!(cases.len(), 6);
        cases.iter().for_each(&mut assert_equal);
    }
}

static LIBRARY: LazyLock<Option<String>> = LazyLock::new(of_library);

/// Returns the estimates of the rliable of `$ALE_TRAIN_TEST_PYTHON`, or else python3. [Skipped](skip) if that cannot
/// import it.
fn of_library() -> Option<String> {
    let python = std::env::var("ALE_TRAIN_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_rliable = Command::new(&python).args(["-c", "import rliable.library"]).output();
    if !has_rliable.is_ok_and(|output| output.status.success()) {
        skip(&format!("{python} cannot import rliable"));
        return None;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/record_rliable.py");
    let output = Command::new(&python).args([script, "10000"]).output().expect("Python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("text"))
}
