//! If TensorBoard is installed, it reads the same values from the event file of a run as those in the JSON Lines file.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::program::{run, stdout};
use crate::python::python_with;

/// Prints the media in an event file, read in the same way as by TensorBoard's pages.
const READ_MEDIA: &str = "
import io, json, sys
import numpy as np
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
from tensorboard.util import tensor_util
events = EventAccumulator(sys.argv[1])
events.Reload()
tags = {plugin: sorted(events.PluginTagToContent(plugin)) for plugin in ('text', 'histograms', 'images')}
def newest(tag):
    return tensor_util.make_ndarray(events.Tensors(tag)[-1].tensor_proto)
print(json.dumps({
    'tags': tags,
    'text': newest('hyperparameters')[0].decode(),
    'steps': [event.step for event in events.Tensors('evaluation/episode')],
    # Width, height, and the first bytes of the file.
    'image': [int(newest('evaluation/episode')[0]), int(newest('evaluation/episode')[1]),
                list(newest('evaluation/episode')[2][:4])],
    # Left and right ends of the buckets, and counts.
    'returns': newest('evaluation/returns').tolist(),
    'actions': newest('evaluation/actions').tolist(),
}))
";

/// Maps a tag to its (step, value) pairs in order. TensorBoard stores values as 32-bit floats.
type Curves = BTreeMap<String, Vec<(i64, f32)>>;

/// Prints the scalars in an event file.
const READ_SCALARS: &str = "
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={'scalars': 0})
events.Reload()
print(json.dumps({tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()['scalars']}))
";

/// Runs a Python program on a run and parses the JSON that it prints.
fn by_tensorboard<T: DeserializeOwned>(python: &str, program: &str, run: &str) -> T {
    serde_json::from_str(&stdout(Command::new(python).args(["-c", program, run]))).expect("JSON")
}

/// Prints the HPARAMS tab of a directory of runs: its columns, results, and the value of a key for each run.
const READ_HPARAMS: &str = "
import json, sys
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups
multiplexer = plugin_event_multiplexer.EventMultiplexer().AddRunsFromDirectory(sys.argv[1])
multiplexer.Reload()
provider = data_provider.MultiplexerDataProvider(multiplexer, sys.argv[1])
context = backend_context.Context(base_plugin.TBContext(logdir=sys.argv[1], data_provider=provider))
request, id = RequestContext(), ''
def experiment():
    return context.experiment_from_metadata(request, id, True, context.hparams_metadata(request, id), [])
columns = api_pb2.ListSessionGroupsRequest(
    start_index=0, slice_size=100,
    allowed_statuses=[api_pb2.STATUS_SUCCESS],
    col_params=[api_pb2.ColParams(metric=metric.name) for metric in experiment().metric_infos])
groups = list_session_groups.Handler(request, context, id, columns).run().session_groups
print(json.dumps({
    'columns': [info.name for info in experiment().hparam_infos],
    'metrics': [info.name.tag for info in experiment().metric_infos],
    'gammas': sorted(group.hparams['ppo.gamma'].number_value for group in groups),
    'games': sorted(group.hparams['environments.games'].string_value for group in groups),
    'results': [sorted(value.name.tag for value in group.metric_values) for group in groups],
}))
";

#[test]
fn tensorboard_fills_the_tab_of_hyperparameters() {
    let Some(python) = python_with("tensorboard") else { return };
    let temp = TempDir::new().expect("a temporary directory");
    for gamma in ["0.5", "0.75"] {
        let line = run("ppo --games CartPole-v1 --total-frames 2048 --quiet --run-dir").arg(gamma);
        line.set("ppo.gamma", gamma).set("evaluation.episodes", 1).within(temp.path()).succeed();
    }
    let shown: Value = by_tensorboard(&python, READ_HPARAMS, temp.path().to_str().expect("UTF-8"));
    let results = json!(["charts/SPS", "charts/recent_return", "evaluation/return"]);
    assert_eq!(shown["gammas"], json!([0.5, 0.75]), "{shown}");
    assert_eq!(shown["games"], json!(["CartPole-v1", "CartPole-v1"]));
    assert_eq!(shown["results"], json!([results, results]));
    // TensorBoard ticks the first five.
    let first = ["environments.games", "experiment.algorithm", "experiment.seed", "experiment.total_frames"];
    assert_eq!(shown["columns"].as_array().expect("columns")[..4], first);
    assert_eq!(shown["columns"][4], "ppo.learning_rate");
    assert!(shown["columns"].as_array().expect("columns").contains(&json!("dqn.buffer_size")), "{shown}");
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
fn tensorboard_reads_the_values_of_the_json_lines() {
    let Some(python) = python_with("tensorboard") else { return };
    let temp = TempDir::new().expect("a temporary directory");
    let line = run("ppo --games CartPole-v1 --total-frames 4096 --quiet --run-dir run");
    line.within(temp.path()).succeed();

    let run = temp.path().join("run");
    let run_dir = run.to_str().expect("UTF-8");
    let ours = by_json_lines(&fs::read_to_string(run.join("metrics.jsonl")).expect("metrics"));
    assert!(ours.contains_key("charts/episodic_return") && ours.contains_key("losses/policy_loss"));
    assert_eq!(by_tensorboard::<Curves>(&python, READ_SCALARS, run_dir), ours);
}

#[test]
fn tensorboard_reads_hyperparameters_histograms_and_images() {
    let Some(python) = python_with("tensorboard") else { return };
    let temp = TempDir::new().expect("a temporary directory");
    let settings = [
        "evaluation.interval_frames=2048",
        "evaluation.episodes=3",
        "environments.game.harvest.max_num_frames_per_episode=400",
        "ppo.num_steps=32",
    ];
    let line = run("ppo --total-frames 4096 --seed 3 --quiet --run-dir run").settings(&settings);
    line.within(temp.path()).succeed();

    let run = temp.path().join("run");
    let run_dir = run.to_str().expect("UTF-8");
    let shown: Value = by_tensorboard(&python, READ_MEDIA, run_dir);
    assert_eq!(shown["tags"]["text"], json!(["hyperparameters"]));
    assert_eq!(shown["tags"]["images"], json!(["evaluation/episode"]));
    let histograms: Vec<String> = serde_json::from_value(shown["tags"]["histograms"].clone()).expect("tags");
    for tag in ["evaluation/actions", "evaluation/returns", "weights/network.0.weight"] {
        assert!(histograms.iter().any(|found| found == tag), "no {tag} in {histograms:?}");
    }
    let text = shown["text"].as_str().expect("text");
    assert!(text.contains("|ppo.num_steps|32|\n") && text.contains("|experiment.seed|3|\n"), "{text}");

    // Two evaluations. Each image is a strip of screens of 160 x 210 pixels, seven for an episode of 100 steps.
    assert_eq!(shown["steps"], json!([512, 1024]));
    assert_eq!(shown["image"], json!([7 * 160, 210, [0x89, 0x50, 0x4E, 0x47]]));
    let buckets =
        |name: &str| -> Vec<[f64; 3]> { serde_json::from_value(shown[name].clone()).expect("buckets") };
    let count = |name: &str| buckets(name).iter().map(|[_, _, count]| count).sum::<f64>();
    assert_eq!((count("returns"), count("actions")), (3.0, 300.0));
    let mean =
        by_json_lines(&fs::read_to_string(run.join("metrics.jsonl")).expect("metrics"))["evaluation/return"]
            [1]
        .1;
    let returns = buckets("returns");
    let ends = returns[0][0]..=returns[returns.len() - 1][1];
    assert!(ends.contains(&f64::from(mean)), "{shown}");
}
