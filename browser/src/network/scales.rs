//! The scales in which agents learn values.

use serde::Deserialize;

/// The linear part of the scale `h` (Pohlen et al. 2018).
const H_EPSILON: f64 = 1e-2;
const LARGEST_DEVIATION: f64 = 1e6;

/// The scales of the values of all tasks, as the metadata of a file describes them.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct TaskScales {
    kind: Kind,
    /// The least standard deviation by which returns were divided.
    #[serde(default = "least_deviation")]
    floor: f64,
    /// One for each task with `popart`, else empty.
    statistics: Vec<Statistics>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    None,
    PopArt,
    H,
    Symlog,
}

/// Statistics of a task's returns.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Statistics {
    mean: f64,
    second_moment: f64,
}

fn least_deviation() -> f64 {
    1e-4
}

impl TaskScales {
    /// Converts an output of the network to a return of a task.
    pub(super) fn expand(&self, task: usize, scaled: f32) -> f32 {
        let x = f64::from(scaled);
        match (self.kind, self.statistics.get(task)) {
            (_, Some(of_task)) => (x * of_task.deviation(self.floor) + of_task.mean) as f32,
            (Kind::None | Kind::PopArt, None) => scaled,
            (Kind::H, None) => {
                let root = (1.0 + 4.0 * H_EPSILON * (x.abs() + 1.0 + H_EPSILON)).sqrt();
                (x.signum() * (((root - 1.0) / (2.0 * H_EPSILON)).powi(2) - 1.0)) as f32
            }
            (Kind::Symlog, None) => (x.signum() * x.abs().exp_m1()) as f32,
        }
    }
}

impl Statistics {
    fn deviation(self, floor: f64) -> f64 {
        let variance = self.second_moment - self.mean * self.mean;
        variance.max(0.0).sqrt().max(floor).min(LARGEST_DEVIATION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_become_returns() {
        for (json, scaled, expected) in [
            (r#"{"kind": "none", "statistics": []}"#, -3.5, -3.5),
            // 2 = sqrt(9) - 1, and a hundredth of 8.
            (r#"{"kind": "h", "statistics": []}"#, 2.08, 8.0),
            (r#"{"kind": "symlog", "statistics": []}"#, -(4_f32.ln()), -3.0),
            (
                r#"{"kind": "popart", "statistics": [{"mean": 2.0, "second_moment": 13.0, "samples": 5.0}]}"#,
                2.0,
                8.0,
            ),
            (
                r#"{"kind": "popart", "floor": 1.0, "statistics": [{"mean": 2.0, "second_moment": 4.0, "samples": 5.0}]}"#,
                2.0,
                4.0,
            ),
        ] {
            let scales: TaskScales = serde_json::from_str(json).expect("scales");
            let expanded = scales.expand(0, scaled);
            assert!((expanded - expected).abs() < 1e-4, "{json}: {expanded}");
        }
    }
}
