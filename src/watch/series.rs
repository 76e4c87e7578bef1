use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::telemetry::Moment;

/// The most points of a series; more are merged in pairs.
const POINTS: usize = 1024;
/// The beginnings of the tags that the page shows.
const SHOWN: [&str; 3] = ["charts/", "losses/", "evaluation/"];

/// The values of each metric over the frames of training, by tag.
#[derive(Debug, Default)]
pub(super) struct Series {
    by_tag: BTreeMap<String, Vec<[f64; 2]>>,
    /// The end of the records.
    end: Option<Moment>,
}

impl Series {
    pub(super) fn add(&mut self, record: &Map<String, Value>) {
        let Some(moment) = Moment::of_line(record) else { return };
        self.end = Some(self.end.map_or(moment, |end| end.later(moment)));
        for (tag, value) in record {
            let Some(value) = value.as_f64().filter(|_| SHOWN.iter().any(|shown| tag.starts_with(shown)))
            else {
                continue;
            };
            let points = self.by_tag.entry(tag.clone()).or_default();
            points.push([moment.frames as f64, value]);
            if points.len() == 2 * POINTS {
                merge_pairs(points);
            }
        }
    }

    /// Returns the series in JSON: by tag, the frames and the values. `is_restart` is true if they replace earlier
    /// ones.
    pub(super) fn json(&self, is_restart: bool) -> Value {
        let series = self.by_tag.iter().map(|(tag, points)| {
            let column = |index: usize| points.iter().map(|point| point[index]).collect::<Vec<f64>>();
            (tag.clone(), json!([column(0), column(1)]))
        });
        let end = self.end.map(|end| json!({ "frames": end.frames, "seconds": end.seconds }));
        json!({ "restart": is_restart, "end": end, "series": series.collect::<Map<_, _>>() })
    }
}

/// Replaces each two points by their mean.
fn merge_pairs(points: &mut Vec<[f64; 2]>) {
    let mean = |pair: &[[f64; 2]; 2]| {
        let [[x0, y0], [x1, y1]] = *pair;
        [f64::midpoint(x0, x1), f64::midpoint(y0, y1)]
    };
    *points = points.as_chunks().0.iter().map(mean).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(frames: u64, value: f64) -> Map<String, Value> {
        let record =
            json!({ "frames": frames, "seconds": 1.5, "charts/recent_return": value, "health/alpha": 0 });
        record.as_object().unwrap().clone()
    }

    #[test]
    fn long_series_keep_their_mean_and_their_range() {
        let mut series = Series::default();
        (0..5000).for_each(|frames| series.add(&record(frames, frames as f64)));
        let json = series.json(true);
        assert_eq!(json["end"], json!({ "frames": 4999, "seconds": 1.5 }));
        assert_eq!(json["series"].as_object().unwrap().len(), 1);
        let columns: [Vec<f64>; 2] =
            serde_json::from_value(json["series"]["charts/recent_return"].clone()).unwrap();
        assert!((POINTS..2 * POINTS).contains(&columns[0].len()));
        assert_eq!(columns[0], columns[1]);
        assert!(columns[0].is_sorted());
        assert!(columns[0][0] < 4.0 && *columns[0].last().unwrap() == 4999.0);
    }

    #[test]
    fn short_series_are_complete() {
        let mut series = Series::default();
        series.add(&record(3, 1.0));
        series.add(&record(4, 2.0));
        assert_eq!(series.json(false)["series"]["charts/recent_return"], json!([[3.0, 4.0], [1.0, 2.0]]));
        assert_eq!(Series::default().json(false)["end"], Value::Null);
    }
}
