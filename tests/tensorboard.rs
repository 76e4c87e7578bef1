//! The event file of a run, read by TensorBoard itself where it is installed: the same numbers as in the JSON Lines.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::{Map, Value};
use tempfile::TempDir;

/// Tag to its (step, value) pairs in order; 32-bit floats, as TensorBoard has them.
type Curves = BTreeMap<String, Vec<(i64, f32)>>;

/// `$ALE_TRAIN_TEST_PYTHON`, or else python3.
fn python() -> String {
    std::env::var("ALE_TRAIN_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

const READ: &str = "
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={'scalars': 0})
events.Reload()
print(json.dumps({tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()['scalars']}))
";

fn by_tensorboard(run: &str) -> Curves {
    let output = Command::new(python()).args(["-c", READ, run]).output().expect("Python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn by_json_lines(text: &str) -> Curves {
    let mut curves = Curves::new();
    for line in text.lines() {
        let record: Map<String, Value> = serde_json::from_str(line).expect("a record");
        let step = record["steps"].as_i64().expect("steps");
        for (tag, value) in record.iter().filter(|(tag, _)| tag.contains('/')) {
            let value = value.as_f64().map_or(f32::NAN, |value| value as f32);
            curves.entry(tag.clone()).or_default().push((step, value));
        }
    }
    curves
}

#[test]
fn tensorboard_reads_what_the_json_lines_say() {
    let has_tensorboard = Command::new(python()).args(["-c", "import tensorboard"]).output();
    if !has_tensorboard.is_ok_and(|output| output.status.success()) {
        eprintln!("not read by TensorBoard: {} cannot import it", python());
        return;
    }
    let temp = TempDir::new().expect("a folder");
    let run = temp.path().join("run");
    let run_dir = run.to_str().expect("a name");
    let arguments =
        ["ppo", "--games", "CartPole-v1", "--total-frames", "4096", "--quiet", "--run-dir", run_dir];
    let output = Command::new(env!("CARGO_BIN_EXE_ale-train")).args(arguments).output().expect("a run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let ours = by_json_lines(&fs::read_to_string(run.join("metrics.jsonl")).expect("curves"));
    assert!(ours.contains_key("charts/episodic_return") && ours.contains_key("losses/policy_loss"));
    assert_eq!(by_tensorboard(run_dir), ours);
}
