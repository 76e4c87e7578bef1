use std::collections::BTreeMap;
use std::io;

use serde_json::{Map, Value, json};

use crate::runs::{GrowingCurves, NewRecords};
use crate::telemetry::Moment;

/// The most points of a series; more are merged in pairs.
const POINTS: usize = 1024;
/// The beginnings of the tags that the page shows.
const SHOWN: [&str; 3] = ["charts/", "losses/", "evaluation/"];

/// The values of each metric over the frames of training, by tag.
#[derive(Debug, Default)]
pub(super) struct Series {
    by_tag: BTreeMap<String, Vec<(f64, f64)>>,
    /// The end of the records.
    end: Option<Moment>,
}

/// The records that a run has written since the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// They follow the earlier ones.
    Continuation,
    /// They replace the earlier ones.
    Restart,
}

impl Series {
    /// Adds the records that a run has written since the last call, if there are any.
    pub(super) fn read_on(&mut self, curves: &mut GrowingCurves) -> io::Result<Option<News>> {
        let mut news = None;
        loop {
            let NewRecords { is_restart, records, has_more } = curves.read()?;
            if is_restart {
                *self = Self::default();
                news = Some(News::Restart);
            } else if !records.is_empty() {
                news = news.or(Some(News::Continuation));
            }
            for record in &records {
                self.add(record);
            }
            if !has_more {
                return Ok(news);
            }
        }
    }

    /// Returns the tags and the points of all series.
    pub(super) fn curves(&self) -> impl Iterator<Item = (&str, &[(f64, f64)])> {
        self.by_tag.iter().map(|(tag, points)| (tag.as_str(), points.as_slice()))
    }

    fn add(&mut self, record: &Map<String, Value>) {
        let Some(moment) = Moment::of_line(record) else { return };
        self.end = Some(self.end.map_or(moment, |end| end.later(moment)));
        for (tag, value) in record {
            let Some(value) = value.as_f64().filter(|_| SHOWN.iter().any(|shown| tag.starts_with(shown)))
            else {
                continue;
            };
            let points = self.by_tag.entry(tag.clone()).or_default();
            points.push((moment.frames as f64, value));
            if points.len() == 2 * POINTS {
                merge_pairs(points);
            }
        }
    }

    /// Returns the series of a run in JSON: by tag, the frames and the values. `is_restart` is true if they replace
    /// earlier ones.
    pub(super) fn json(&self, run: &str, is_restart: bool) -> Value {
        let series = self.curves().map(|(tag, points)| {
            let (frames, values): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
            (tag.to_owned(), json!([frames, values]))
        });
        let end = self.end.map(|end| json!({ "frames": end.frames, "seconds": end.seconds }));
        json!({ "run": run, "restart": is_restart, "end": end, "series": series.collect::<Map<_, _>>() })
    }
}

/// Replaces each two points by their mean.
fn merge_pairs(points: &mut Vec<(f64, f64)>) {
    let mean = |&[(x0, y0), (x1, y1)]: &[(f64, f64); 2]| (f64::midpoint(x0, x1), f64::midpoint(y0, y1));
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
        let json = series.json("one", true);
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
        assert_eq!(
            series.json("one", false)["series"]["charts/recent_return"],
            json!([[3.0, 4.0], [1.0, 2.0]])
        );
        assert_eq!(Series::default().json("one", false)["end"], Value::Null);
    }
}
