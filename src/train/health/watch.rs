use crate::learner::Algorithm;

use super::conditions::{BEYOND_LIMIT, Bad, Condition, EXPLOSION, LARGE_LOSS, OVERESTIMATION};

/// Weight of a report in the usual value of a metric.
const WEIGHT: f64 = 0.02;

/// Bounds of metrics that depend on the experiment. `None` if there are none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    /// The largest return that is possible.
    pub(super) largest_return: Option<f64>,
    /// The norm to which gradients are clipped.
    pub(super) max_grad_norm: Option<f64>,
}

/// A condition, and its state in a run.
pub(super) struct Watch {
    pub(super) condition: &'static Condition,
    /// The game whose metric is watched, if it has its own.
    pub(super) game: Option<String>,
    bounds: Bounds,
    /// The logarithm of the usual value of the metric.
    usual: Option<f64>,
    streak: Streak,
}

/// Consecutive reports with a symptom.
#[derive(Default)]
pub(super) struct Streak {
    reports: u32,
    /// The update of the first of them.
    since: u64,
}

impl Streak {
    /// Counts a report. Returns true if the symptom lasts for `patience` reports or more.
    pub(super) fn count(&mut self, is_seen: bool, updates: u64, patience: u32) -> bool {
        if !is_seen {
            self.reports = 0;
            return false;
        }
        if self.reports == 0 {
            self.since = updates;
        }
        self.reports = self.reports.saturating_add(1);
        self.reports >= patience
    }

    /// Returns true for the report with which the symptom begins to count, once until it disappears.
    pub(super) fn begins(&self, patience: u32) -> bool {
        self.reports == patience
    }

    pub(super) fn since(&self) -> u64 {
        self.since
    }
}

impl Watch {
    pub(super) fn new(condition: &'static Condition, game: Option<String>, bounds: Bounds) -> Self {
        Self { condition, game, bounds, usual: None, streak: Streak::default() }
    }

    /// Counts a value of the metric. Returns true while the condition holds.
    pub(super) fn observe(&mut self, value: f64, updates: u64) -> bool {
        let is_bad = self.is_bad(value);
        if !is_bad && value > 0.0 {
            let usual = self.usual.get_or_insert(value.ln());
            *usual += WEIGHT * (value.ln() - *usual);
        }
        self.streak.count(is_bad, updates, self.condition.patience)
    }

    fn is_bad(&self, value: f64) -> bool {
        match self.condition.bad {
            Bad::Below(bound) => value < bound,
            Bad::Above(bound) => value > bound,
            Bad::Exploded => {
                value > LARGE_LOSS && self.usual.is_some_and(|usual| value > EXPLOSION * usual.exp())
            }
            Bad::BeyondReturns => {
                self.bounds.largest_return.is_some_and(|largest| value.abs() > OVERESTIMATION * largest)
            }
            Bad::BeyondLimit => self.bounds.max_grad_norm.is_some_and(|limit| value > BEYOND_LIMIT * limit),
        }
    }

    /// Returns the warning, if the condition has begun to hold with this value.
    pub(super) fn warning(&self, value: f64, algorithm: Algorithm) -> Option<String> {
        let Condition { name, suspect, remedy, patience, .. } = self.condition;
        self.streak.begins(*patience).then(|| {
            let since = self.streak.since();
            let rate = format!("{algorithm}.{}", algorithm.descriptor().learning_rate);
            let of_game = self.game.as_ref().map_or(String::new(), |game| format!(" of {game}"));
            let advice = format!("{suspect}; {remedy}");
            let advice = advice.replace("ALGORITHM", algorithm.name()).replace("RATE", &rate);
            format!("{name}{of_game} is {}, a problem since update {since}: {advice}", short(value))
        })
    }
}

/// Formats a value with three digits.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if (1e-3..1e4).contains(&size) => format!("{value:.3}"),
        _ => format!("{value:.1e}"),
    }
}
