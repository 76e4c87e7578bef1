use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::metric::Metric;

/// A point in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Moment {
    /// The number of updates of the learner.
    pub(crate) updates: u64,
    /// Steps (agent decisions) over all environments.
    pub(crate) steps: u64,
    /// Emulated frames over all environments.
    pub(crate) frames: u64,
    /// Seconds of training, including those before a resume.
    pub(crate) seconds: f64,
}

impl Moment {
    /// Returns the point of a line of `metrics.jsonl`.
    pub(crate) fn of_line(line: &Map<String, Value>) -> Option<Self> {
        let count = |key: &str| line.get(key).and_then(Value::as_u64);
        Some(Self {
            frames: count("frames")?,
            updates: count("updates").unwrap_or(0),
            steps: count("steps").unwrap_or(0),
            seconds: line.get("seconds").and_then(Value::as_f64).unwrap_or(0.0),
        })
    }

    /// Returns the later one of two points of a run.
    pub(crate) fn later(self, other: Self) -> Self {
        if (other.frames, other.updates) > (self.frames, self.updates) { other } else { self }
    }
}

/// The value of a metric, for one task or for all tasks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) metric: Metric,
    pub(crate) task: Option<String>,
    pub(crate) value: f64,
}

impl Sample {
    pub(crate) fn new(metric: Metric, value: f64) -> Self {
        Self { metric, task: None, value }
    }

    pub(crate) fn of_task(metric: Metric, task: &str, value: f64) -> Self {
        Self { metric, task: Some(task.to_owned()), value }
    }

    pub(crate) fn tag(&self) -> String {
        self.metric.tag(self.task.as_deref())
    }
}

/// The samples of one moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) moment: Moment,
    pub(crate) samples: Vec<Sample>,
}
