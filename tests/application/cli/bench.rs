//! `ale-train bench`.

use std::process::Output;

use super::{error, output};

#[test]
fn invalid_benchmarks_are_rejected_at_once() {
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
    ] {
        let error = error(&[&["bench"], arguments].concat());
        assert!(error.starts_with("error: ") && error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
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
