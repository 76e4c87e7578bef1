//! The end of the curves of a run.

use std::io;
use std::path::Path;

use serde_json::{Map, Value};

use crate::enclosure;
use crate::files;
use crate::telemetry::{METRICS_FILE, Metric, Moment};

/// The number of bytes that are read from the end of a file, which may be gigabytes long.
const TAIL: u64 = 1 << 20;

/// The newest records of a run.
#[derive(Default)]
pub(super) struct Curves(Vec<Map<String, Value>>);

impl Curves {
    /// Reads the records after at most `frames` frames; none if there is no file.
    pub(super) fn up_to(run_dir: &Path, frames: u64) -> io::Result<Self> {
        let text = match tail(run_dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text?,
        };
        // The first line may begin before the tail, and the last line of a running run may be incomplete.
        let records = text.lines().filter_map(|line| serde_json::from_str::<Map<String, Value>>(line).ok());
        let early =
            records.filter(|record| Moment::of_line(record).is_some_and(|moment| moment.frames <= frames));
        Ok(Self(early.collect()))
    }

    /// Returns the point of the run at the end.
    pub(super) fn end(&self) -> Option<Moment> {
        self.0.iter().filter_map(Moment::of_line).reduce(Moment::later)
    }

    /// Returns the newest value of a metric for each game, if all games have one.
    pub(super) fn newest(&self, metric: Metric, games: &[&str]) -> Option<Vec<f64>> {
        let values = games.iter().map(|game| {
            let tags = [metric.tag(Some(game)), metric.tag(None)];
            self.newest_value(if games.len() == 1 { &tags } else { &tags[..1] })
        });
        values.collect()
    }

    /// Returns the newest value with one of the tags.
    fn newest_value(&self, tags: &[String]) -> Option<f64> {
        let mut newest_first = self.0.iter().rev();
        newest_first.find_map(|record| tags.iter().find_map(|tag| record.get(tag)?.as_f64()))
    }
}

fn tail(run_dir: &Path) -> io::Result<String> {
    let path = run_dir.join(METRICS_FILE);
    enclosure::check(run_dir, &path)?;
    Ok(String::from_utf8_lossy(&files::read_end(&path, TAIL)?).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn the_newest_values_are_found_at_the_end_of_a_long_file() {
        let temp = TempDir::new().unwrap();
        let padding = "y".repeat(1000);
        let records = (0..2000).map(|frames| {
            format!("{{\"frames\":{frames},\"charts/recent_return/pong\":{frames}.0,\"x\":\"{padding}\"}}\n")
        });
        let mut text: String = records.collect();
        text += "{\"frames\":5000,\"charts/recent_return/qbert\":7.5}\n{\"frames\":5001,\"charts/rec";
        fs::write(temp.path().join(METRICS_FILE), text).unwrap();
        let curves = Curves::up_to(temp.path(), u64::MAX).unwrap();
        assert_eq!(curves.end().map(|end| end.frames), Some(5000));
        let newest = |games: &[&str]| curves.newest(Metric::RecentReturn, games);
        assert_eq!(newest(&["pong", "qbert"]), Some(vec![1999.0, 7.5]));
        assert_eq!(newest(&["pong", "boxing"]), None);
        let before = Curves::up_to(temp.path(), 1500).unwrap();
        assert_eq!(before.newest(Metric::RecentReturn, &["pong"]), Some(vec![1500.0]));
        assert_eq!(Curves::up_to(&temp.path().join("nowhere"), 9).unwrap().end(), None);
    }
}
