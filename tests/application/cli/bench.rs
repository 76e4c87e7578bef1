//! `ale-train bench`.

use std::fs;
use std::process::Output;

use tempfile::TempDir;

use super::{error, output};

#[test]
fn invalid_benchmarks_are_rejected_at_once() {
    let temp = TempDir::new().expect("a directory");
    let [jpeg, nowhere] = ["sweep.jpg", "nowhere/sweep.svg"].map(|name| temp.path().join(name));
    let [jpeg, nowhere] = [&jpeg, &nowhere].map(|path| path.to_str().expect("a name"));
    for (arguments, expected) in [
        (&["emulator", "--games", "breakot"][..], "did you mean breakout?"),
        (
            &["emulator", "--num-envs", "8"],
            "measures one environment on one thread; use `bench env` for several",
        ),
        (&["emulator", "--num-threads", "2"], "--num-threads 2 is not possible"),
        (&["emulator", "--seconds", "0"], "--seconds 0 is invalid: it must be a number above 0"),
        (&["env", "--seconds", "-1"], "it must be a number above 0"),
        (&["learner", "--seconds", "nan"], "it must be a number above 0"),
        (&["env", "--num-envs", "0"], "--num-envs 0 is invalid: it must be in 1..=65536"),
        (&["learner", "--num-threads", "-1"], "--num-threads -1 is invalid: it must be in 0..=1024"),
        (
            &["learner", "--set", "environments.num_envs=4"],
            "--set environments.num_envs has no effect here; use --num-envs",
        ),
        (
            &["learner", "--set", "environments.games=['pong']"],
            "--set environments.games has no effect here; use --games",
        ),
        (&["learner", "--set", "experiment.num_threads = 2"], "use --num-threads"),
        (&["learner", "--set", "experiment.device=wgpu"], "use --device"),
        (&["env", "--batch-size", "0"], "--batch-size 0 is invalid: it must be 1 or more"),
        (
            &["env", "--num-envs", "2", "--batch-size", "3"],
            "--batch-size 3 is not possible: it must be in 1..=2",
        ),
        (&["env", "--sweep", "1..2", "--runs", "1"], "a confidence interval needs 2 or more"),
        (&["env", "--sweep", "1..2", "--plot", jpeg], "the file name must end in .svg or .png"),
        (&["env", "--sweep", "1..2", "--plot", nowhere], "cannot write"),
    ] {
        let error = error(&[&["bench"], arguments].concat());
        assert!(error.starts_with("error: ") && error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    for (arguments, expected) in [
        (&["env", "--sweep", "5"][..], "two numbers of ROMs, such as 1..256"),
        (&["env", "--sweep", "0..4"], "a range that starts at 1 or more"),
        (&["env", "--plot", "sweep.svg"], "--sweep"),
        (&["env", "--sweep", "1..2", "--num-envs", "4"], "cannot be used with"),
    ] {
        let error = error(&[&["bench"], arguments].concat());
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(fs::read_dir(temp.path()).expect("a directory").count(), 0, "something was written");
}

/// Returns the JSON output of a short benchmark.
fn bench(arguments: &[&str]) -> serde_json::Value {
    let Output { status, stdout, stderr } =
        output(&[&["bench"], arguments, &["--seconds", "0.02", "--json"]].concat());
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    serde_json::from_slice(&stdout).expect("JSON")
}

fn is_positive(value: &serde_json::Value) -> bool {
    value.as_f64().is_some_and(|value| value > 0.0)
}

#[test]
fn the_emulator_benchmark_reports_both_rates_of_each_game() {
    let report = bench(&["emulator", "--num-envs", "1", "--num-threads", "1"]);
    assert_eq!(report["games"], serde_json::json!(["harvest"]));
    for rates in [&report, &report["per_game"][0]] {
        assert!(is_positive(&rates["frames_per_second"]), "{report}");
        assert!(is_positive(&rates["frames_per_second_skip_4"]), "{report}");
    }
    assert_eq!(report["per_game"][0]["game"], "harvest");
}

#[test]
fn the_environment_benchmark_reports_rates_and_latencies() {
    for (batch_size, flags) in [(3, &[][..]), (2, &["--batch-size", "2"])] {
        let report = bench(&[&["env", "--num-envs", "3", "--num-threads", "1"], flags].concat());
        assert_eq!(report["games"], serde_json::json!(["harvest"]));
        assert_eq!((&report["num_envs"], &report["num_threads"]), (&3.into(), &1.into()));
        assert_eq!(report["batch_size"], batch_size);
        assert_eq!(report["per_game"][0]["game"], "harvest");
        for row in [&report, &report["per_game"][0]] {
            let number = |value: &serde_json::Value| value.as_f64().expect("a number");
            let [steps, frames] = ["steps_per_second", "frames_per_second"].map(|key| number(&row[key]));
            // Parsing a decimal may differ in the last bit.
            assert!(steps > 0.0 && (frames / steps - 4.0).abs() < 1e-12, "{report}");
            let latency = ["p50", "p95", "p99"].map(|key| number(&row["latency_us"][key]));
            assert!(latency[0] > 0.0 && latency.is_sorted(), "{report}");
        }
    }
}

#[test]
fn the_learner_benchmark_reports_both_rates() {
    let report = bench(&["learner", "--num-envs", "1"]);
    assert_eq!((&report["network"], &report["minibatch_size"]), (&"nature".into(), &32.into()));
    for rate in ["act_samples_per_second", "update_samples_per_second"] {
        assert!(is_positive(&report[rate]), "{report}");
    }
}

#[test]
fn the_learner_benchmark_takes_the_algorithm_from_a_preset() {
    let small = ["--set", "dqn.learning_starts=40", "--set", "dqn.buffer_size=400"];
    let report = bench(&[&["learner", "--preset", "atari100k-dqn"], &small[..]].concat());
    assert_eq!((&report["algorithm"], &report["network"]), (&"dqn".into(), &"data_efficient".into()));
    assert_eq!(report["minibatch_size"], 32);
    for rate in ["act_samples_per_second", "update_samples_per_second", "steps_per_second"] {
        assert!(is_positive(&report[rate]), "{report}");
    }
}

#[test]
fn the_learner_benchmark_changes_settings_of_the_preset() {
    let rows = |minibatches: &str| {
        let set = format!("ppo.num_minibatches={minibatches}");
        bench(&["learner", "--num-envs", "1", "--set", &set])["minibatch_size"].clone()
    };
    assert_eq!(["2", "8"].map(rows), [64, 16]);
}

#[test]
fn a_benchmark_sweep_has_a_point_for_each_number_of_roms_and_a_plot() {
    let temp = TempDir::new().expect("a directory");
    let file = temp.path().join("sweep.svg");
    let plot = ["--runs", "2", "--plot", file.to_str().expect("a name")];
    let report = bench(&[&["env", "--sweep", "1..3", "--quiet"], &plot[..]].concat());
    let points = report["points"].as_array().expect("a list");
    let counts: Vec<_> = points.iter().map(|point| point["num_roms"].as_u64()).collect();
    assert_eq!(counts, [Some(1), Some(2), Some(3)]);
    for point in points {
        assert_eq!(point["unique_games"], 1);
        for estimate in [&point["frames_per_second"], &point["latency_us"]] {
            let [low, mean, high] = ["low", "mean", "high"].map(|key| estimate[key].as_f64());
            assert!(low <= mean && mean <= high && is_positive(&estimate["mean"]), "{report}");
        }
    }
    let chart = fs::read_to_string(&file).expect("a chart");
    assert!(chart.starts_with("<svg") && chart.trim_end().ends_with("</svg>"));
    for text in ["latency of a batch [ms]", "throughput [1000 frames/s]", "ROMs", "2 runs"] {
        assert!(chart.contains(text), "no '{text}' in the chart");
    }
}

#[test]
fn a_benchmark_sweep_can_be_plotted_as_png() {
    let temp = TempDir::new().expect("a directory");
    let file = temp.path().join("sweep.png");
    bench(&["env", "--sweep", "1..2", "--runs", "2", "--quiet", "--plot", file.to_str().expect("a name")]);
    let chart = fs::read(&file).expect("a chart");
    // The signature, and width and height in the first chunk.
    assert_eq!(chart[..8], *b"\x89PNG\r\n\x1a\n");
    assert_eq!(chart[16..24], [2400u32.to_be_bytes(), 920u32.to_be_bytes()].concat());
    assert!(chart.len() > 20_000, "{} bytes", chart.len());
}
