//! Reads back the files that the sinks write.

use std::fs;
use std::path::Path;

use protobuf::Message;
use tempfile::TempDir;
use tensorboard_proto::event::Event;
use tensorboard_rs::masked_crc32c::masked_crc32c;

use super::tensorboard::TensorBoard;
use super::*;

fn telemetry(run_dir: &Path, positions: &FilePositions) -> Telemetry {
    let games = [("pong", "pong@1"), ("boxing", "boxing")].map(|(id, label)| TrackedGame {
        id: id.to_owned(),
        label: label.to_owned(),
        published: ale::game(id).ok().filter(|_| id == label),
    });
    Telemetry::open(run_dir, positions, &games, ProgressLine::of_activity(Printer::Quiet), false).unwrap()
}

fn record(steps: u64, value: f64) -> Record {
    let moment = Moment { updates: steps, steps, frames: 4 * steps, seconds: 0.5 };
    let samples =
        vec![Sample::new(Metric::ValueLoss, value), Sample::of_task(Metric::EpisodicReturn, "pong", -21.0)];
    Record { moment, samples }
}

/// Parses a TensorBoard file: each event is a length with a checksum, followed by data with a checksum.
fn events(run_dir: &Path) -> Vec<Event> {
    let mut rest: &[u8] = &fs::read(run_dir.join(TensorBoard::FILE)).unwrap();
    let mut events = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<8>() {
        let (checksum, after) = after.split_first_chunk::<4>().unwrap();
        assert_eq!(u32::from_le_bytes(*checksum), masked_crc32c(length));
        let (data, after) = after.split_at(u64::from_le_bytes(*length) as usize);
        let (checksum, after) = after.split_first_chunk::<4>().unwrap();
        assert_eq!(u32::from_le_bytes(*checksum), masked_crc32c(data));
        events.push(Event::parse_from_bytes(data).unwrap());
        rest = after;
    }
    events
}

fn scalars(run_dir: &Path) -> Vec<(String, i64, f32)> {
    let events = events(run_dir);
    assert_eq!(events[0].get_file_version(), "brain.Event:2");
    let scalars = events[1..].iter().map(|event| {
        let value = &event.get_summary().value[0];
        (value.tag.clone(), event.step, value.get_simple_value())
    });
    scalars.collect()
}

/// Returns the tag and the description of an event.
fn description(event: &Event) -> (String, String) {
    let value = &event.get_summary().value[0];
    (value.tag.clone(), value.get_metadata().get_summary_description().to_owned())
}

#[test]
fn descriptions_name_the_mode_of_a_game_and_the_games_of_an_aggregate() {
    let run = TempDir::new().unwrap();
    let mut telemetry = telemetry(run.path(), &FilePositions::default());
    let samples = vec![
        Sample::of_task(Metric::EpisodicReturn, "pong", -21.0),
        Sample::of_task(Metric::EpisodicReturn, "boxing", 1.0),
        Sample::new(Metric::EvaluationMedian, 0.5),
        Sample::new(Metric::ValueLoss, 0.5),
    ];
    telemetry.record(&Record { moment: Moment::default(), samples });
    telemetry.flush();
    let descriptions: Vec<_> = events(run.path())[1..].iter().map(description).collect();
    let expected = [
        ("charts/episodic_return/pong", "pong@1"),
        ("charts/episodic_return/boxing", ""),
        ("evaluation/human_normalised_median", "1 of 2 games"),
        ("losses/value_loss", ""),
    ];
    assert_eq!(descriptions, expected.map(|(tag, text)| (tag.to_owned(), text.to_owned())));
}

#[test]
fn both_files_hold_every_sample() {
    let run = TempDir::new().unwrap();
    let mut telemetry = telemetry(run.path(), &FilePositions::default());
    telemetry.record(&record(10, 0.25));
    telemetry.flush();
    let expected =
        [("losses/value_loss".to_owned(), 10, 0.25), ("charts/episodic_return/pong".to_owned(), 10, -21.0)];
    assert_eq!(scalars(run.path()), expected);
    let text = fs::read_to_string(run.path().join(JsonLines::FILE)).unwrap();
    let line: serde_json::Value = serde_json::from_str(&text).unwrap();
    let expected = serde_json::json!({
        "updates": 10, "steps": 10, "frames": 40, "seconds": 0.5,
        "losses/value_loss": 0.25, "charts/episodic_return/pong": -21.0,
    });
    assert_eq!(line, expected);
}

#[test]
fn media_are_only_in_the_tensorboard_file() {
    let run = TempDir::new().unwrap();
    let mut telemetry = telemetry(run.path(), &FilePositions::default());
    let histogram = |values: &[f64]| Media::Histogram { tag: "values".to_owned(), values: values.to_vec() };
    let moment = Moment { steps: 7, ..Moment::default() };
    telemetry.show(&moment, &histogram(&[0.0, 1.0, 30.0, f64::NAN]));
    telemetry.show(&moment, &histogram(&[5.0, 5.0]));
    telemetry.show(&moment, &histogram(&[]));
    telemetry.show(&moment, &Media::Text { tag: "words".to_owned(), markdown: "*so*".to_owned() });
    telemetry.flush();
    let events = events(run.path());
    assert_eq!(events.len(), 1 + 3, "an empty histogram is not written");
    assert!(events[1..].iter().all(|event| event.step == 7));

    let [spread, single_value] = [1, 2].map(|index| events[index].get_summary().value[0].get_histo().clone());
    assert_eq!(
        (spread.min, spread.max, spread.num, spread.sum, spread.sum_squares),
        (0.0, 30.0, 3.0, 31.0, 901.0)
    );
    // Thirty buckets of width 1: 0 is in the first, 1 in the second, 30 in the last.
    let filled: Vec<_> = (0..).zip(&spread.bucket).filter(|&(_, &count)| count > 0.0).collect();
    assert_eq!(filled, [(0, &1.0), (1, &1.0), (29, &1.0)]);
    assert_eq!((spread.bucket_limit[0], spread.bucket_limit[29]), (1.0, 30.0));
    assert_eq!((single_value.bucket, single_value.bucket_limit), (vec![2.0], vec![5.0]));

    let value = &events[3].get_summary().value[0];
    assert_eq!(value.get_metadata().get_plugin_data().plugin_name, "text");
    assert_eq!(value.get_tensor().string_val[0], b"*so*");
    assert_eq!(fs::read_to_string(run.path().join(JsonLines::FILE)).unwrap(), "");
}

#[test]
fn a_resumed_run_has_its_hyperparameters_once() {
    let run = TempDir::new().unwrap();
    let mut first = telemetry(run.path(), &FilePositions::default());
    let session = Session {
        columns: vec![("ppo.gamma".to_owned(), Hyperparameter::Number(0.0))],
        first: vec!["ppo.gamma".to_owned()],
        metrics: vec!["charts/SPS".to_owned()],
        values: vec![("ppo.gamma".to_owned(), Hyperparameter::Number(0.25))],
    };
    first.show(&Moment::default(), &Media::SessionStart(session));
    let positions = first.positions();
    first.show(&Moment::default(), &Media::SessionEnd);
    drop(first);
    let mut resumed = telemetry(run.path(), &positions);
    resumed.show(&Moment::default(), &Media::SessionEnd);
    drop(resumed);
    let events = events(run.path());
    let value = |index: usize| events[index].get_summary().value[0].clone();
    let tags: Vec<String> = (1..events.len()).map(|index| value(index).tag).collect();
    assert_eq!(
        tags,
        ["experiment", "session_start_info", "session_end_info"].map(|tag| format!("_hparams_/{tag}"))
    );
    let plugin = value(2).get_metadata().get_plugin_data().clone();
    assert_eq!(plugin.plugin_name, "hparams");
    // Field 3 holds the session, whose field 1 is an entry of a map: the key, and a value with a double in field 2.
    let gamma = 0.25f64.to_le_bytes();
    let entry = [&b"\x0a\x09ppo.gamma\x12\x09\x11"[..], &gamma].concat();
    let entry = [&[0x0a, entry.len() as u8][..], &entry].concat();
    assert!(
        plugin.content.starts_with(&[0x1a]) && plugin.content[2..].starts_with(&entry),
        "{:x?}",
        plugin.content
    );
}

#[test]
fn episodes_that_end_in_the_same_step_get_separate_lines() {
    let run = TempDir::new().unwrap();
    let mut telemetry = telemetry(run.path(), &FilePositions::default());
    let samples = [1.0, 2.0].map(|value| Sample::new(Metric::EpisodicReturn, value));
    telemetry.record(&Record { moment: Moment::default(), samples: samples.into() });
    telemetry.flush();
    let text = fs::read_to_string(run.path().join(JsonLines::FILE)).unwrap();
    let returns: Vec<serde_json::Value> = text
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["charts/episodic_return"].clone()
        })
        .collect();
    assert_eq!(returns, [1.0, 2.0]);
}

#[test]
fn resume_truncates_the_files_to_the_checkpoint() {
    let run = TempDir::new().unwrap();
    let mut first = telemetry(run.path(), &FilePositions::default());
    first.record(&record(1, 1.0));
    let positions = first.positions();
    first.record(&record(2, 2.0));
    drop(first);

    let mut resumed = telemetry(run.path(), &positions);
    resumed.record(&record(2, 3.0));
    drop(resumed);
    // Each record has two scalars; the first is the loss.
    let losses: Vec<f32> = scalars(run.path()).iter().step_by(2).map(|&(_, _, value)| value).collect();
    assert_eq!(losses, [1.0, 3.0]);
    let text = fs::read_to_string(run.path().join(JsonLines::FILE)).unwrap();
    assert_eq!(text.lines().count(), 2);
}

#[test]
fn a_failing_sink_pauses_until_a_checkpoint_and_the_others_continue() {
    /// Fails at the first record. Its position is the number of records that reached it.
    struct FailsOnce {
        calls: u32,
    }
    impl Sink for FailsOnce {
        fn name(&self) -> &'static str {
            "a full disk"
        }
        fn record(&mut self, _: &Record) -> io::Result<()> {
            self.calls += 1;
            if self.calls == 1 { Err(io::Error::other("no space left")) } else { Ok(()) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
        fn position(&self) -> Option<(&'static str, u64)> {
            Some(("records", self.calls.into()))
        }
    }
    let run = TempDir::new().unwrap();
    let mut telemetry = telemetry(run.path(), &FilePositions::default());
    telemetry.sinks.insert(0, Output { sink: Box::new(FailsOnce { calls: 0 }), pauses: false });
    for steps in 1..=2 {
        telemetry.record(&record(steps, 1.0));
    }
    // The second record is not passed on. `positions`, which is called for a checkpoint, ends the pause.
    assert_eq!(telemetry.positions().length("records"), 1);
    telemetry.record(&record(3, 1.0));
    assert_eq!(telemetry.positions().length("records"), 2);
    // The other sinks got all three records.
    assert_eq!(scalars(run.path()).len(), 3 * 2);
}
