//! The command line: its error messages, and the output of its smaller commands.

mod program;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use program::{ALE_TRAIN, ale_train, fail};

fn output(arguments: &[&str]) -> Output {
    ale_train().args(arguments).output().expect("the program starts")
}

/// Returns the error message. Asserts exit code 2 and an empty standard output.
fn error(arguments: &[&str]) -> String {
    fail(ale_train().args(arguments), 2)
}

#[test]
fn errors_are_one_line_with_the_allowed_values() {
    let temp = TempDir::new().expect("a directory");
    let directory = temp.path().join("run");
    let run_dir = directory.to_str().expect("a name");
    let empty = temp.path().join("roms");
    let roms = empty.to_str().expect("a name");
    for (arguments, expected) in [
        (&["ppo", "--games", "pogn"][..], "did you mean pong?"),
        (&["ppo", "--set", "ppo.lerning_rate=1"], "did you mean 'ppo.learning_rate'?"),
        (&["ppo", "--set", "ppo.gamma=1.5"], "it must be in 0..=1"),
        (&["ppo", "--num-envs", "0"], "--num-envs 0 is not possible: it must be 1 or more"),
        (&["ppo", "--total-frames", "10"], "one update takes"),
        (
            &["ppo", "--set", "environments.game.harvest.total_frames=31"],
            "it must be 32 or more (8 environments, 4 frames a step)",
        ),
        (&["ppo", "--device", "abacus"], "unknown device 'abacus'"),
        (
            &["ppo", "--set", "policy.precision=bf16"],
            "precision bf16 is not possible on the cpu: it must be f32",
        ),
        (
            &["ppo", "--set", "policy.precision=f8"],
            "policy.precision = \"f8\" is not possible: it must be f32, bf16 or f16",
        ),
        (&["bench", "learner", "--precision", "f16"], "precision f16 is not possible on the cpu"),
        (&["ppo", "--device", "wpgu"], "did you mean 'wgpu'?"),
        (&["ppo", "--config", "nowhere.toml"], "cannot read nowhere.toml"),
        (&["ppo", "--games", "pong", "--offline", "--rom-dir", roms], "pong"),
        (&["ppo", "--games", "CartPole-v1,pong"], "cannot be trained together"),
        (&["ppo", "--games", "pong,-qbert"], "'-qbert' excludes none"),
        (&["ppo", "--games", "Pendulum-v1"], "learners need Discrete(n)"),
        (&["ppo", "--games", "Pong-ram-v4"], "observes the RAM"),
        (&["ppo", "--games", "ALE/Pnog-v5"], "did you mean pong?"),
        (&["ppo", "--seed", "-1"], "--seed -1 is not possible: it must be 0 or more"),
        (&["ppo", "--set", "dqn.gamma=0.5"], "ppo does not use the section [dqn]; did you mean ppo.gamma?"),
        (&["sweep", "--vary", "ppo.gamma=0.9", "--run-dir", run_dir, "--seeds", "1,1"], "1 is repeated"),
        (
            &["sweep", "--vary", "ppo.gamma=0.9,0.90", "--run-dir", run_dir],
            "--vary ppo.gamma=0.90 repeats ppo.gamma=0.9",
        ),
        (
            &["trace", "nope", "--seed", "1", "--random-actions", "1", "--steps", "1"],
            "unknown game or set 'nope'",
        ),
        (&["resume", "nowhere"], "there is no nowhere"),
        (&["eval", "Cargo.toml"], "neither a checkpoint nor a run with checkpoints"),
        (
            &["trace", "breakot", "--seed", "1", "--random-actions", "1", "--steps", "1"],
            "did you mean breakout?",
        ),
        (
            &["trace", "harvest", "--seed", "1", "--random-actions", "1", "--steps", "1", "--mode", "7"],
            "modes are [0]",
        ),
        (
            &[
                "trace",
                "harvest",
                "--seed",
                "1",
                "--random-actions",
                "1",
                "--steps",
                "1",
                "--difficulty",
                "2",
            ],
            "difficulties are [0]",
        ),
        (
            &[
                "trace",
                "harvest",
                "--seed",
                "1",
                "--random-actions",
                "1",
                "--steps",
                "1",
                "--frame-skip",
                "0",
            ],
            "--frame-skip 0 is not possible: it must be 1 or more",
        ),
    ] {
        let mut arguments = arguments.to_vec();
        if arguments[0] == "ppo" {
            arguments.extend(["--quiet", "--run-dir", run_dir]);
        }
        let error = error(&arguments);
        assert!(error.starts_with("error: ") && error.contains(expected), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(!directory.exists(), "{arguments:?} wrote something");
    }
}

#[test]
fn invalid_benchmarks_are_rejected_at_once() {
    let temp = TempDir::new().expect("a directory");
    let [jpeg, nowhere] = ["sweep.jpg", "nowhere/sweep.svg"].map(|name| temp.path().join(name));
    let [jpeg, nowhere] = [&jpeg, &nowhere].map(|path| path.to_str().expect("a name"));
    for (arguments, expected) in [
        (&["emulator", "--games", "breakot"][..], "did you mean breakout?"),
        (
            &["emulator", "--num-envs", "8"],
            "measures one environment on one thread; `bench env` takes several",
        ),
        (&["emulator", "--num-threads", "2"], "--num-threads 2 is not possible"),
        (&["emulator", "--seconds", "0"], "--seconds 0 is not possible: it must be a number above 0"),
        (&["env", "--seconds", "-1"], "it must be a number above 0"),
        (&["learner", "--seconds", "nan"], "it must be a number above 0"),
        (&["env", "--num-envs", "0"], "--num-envs 0 is not possible: it must be 1 or more"),
        (&["learner", "--num-threads", "-1"], "--num-threads -1 is not possible: it must be in 0..=1024"),
        (&["env", "--batch-size", "0"], "--batch-size 0 is not possible: it must be 1 or more"),
        (&["env", "--num-envs", "2", "--batch-size", "3"], "3"),
        (&["env", "--sweep", "1..2", "--runs", "1"], "a confidence interval takes 2 or more"),
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

/// Returns the warnings of a command that prints an experiment.
fn warnings(arguments: &[&str]) -> Vec<String> {
    let Output { status, stderr, .. } = output(arguments);
    let stderr = String::from_utf8(stderr).expect("text");
    assert!(status.success(), "{stderr}");
    stderr.lines().map(|line| line.strip_prefix("warning: ").expect("a warning").to_owned()).collect()
}

#[test]
fn experiments_that_are_hardly_meant_cause_a_warning_of_one_line() {
    let temp = TempDir::new().expect("a directory");
    let file = temp.path().join("both.toml");
    fs::write(&file, "[ppo]\ngamma = 0.9\n[dqn]\ngamma = 0.9\n[replay]\n").expect("a file");
    let file = file.to_str().expect("a name");
    let unclipped = ["environments.reward_clipping=false", "policy.value_scale=none"];
    for (arguments, expected) in [
        (
            &["--config", file][..],
            &["ppo does not use the section [dqn]", "ppo does not use the section [replay]"][..],
        ),
        (
            &["--set", "experiment.algorithm=dqn", "--games", "breakout", "--total-frames", "320k"],
            &["dqn.learning_starts"],
        ),
        (&["--set", "experiment.algorithm=dqn", "--games", "breakout", "--total-frames", "320004"], &[]),
        (&["--num-threads", "1024"], &["1024 threads are more than the "]),
        (&["--games", "pong", "--set", unclipped[0], "--set", unclipped[1]], &["ppo.clip_vloss = true"]),
        (&["--games", "pong", "--set", unclipped[0], "--set", "ppo.clip_vloss=false"], &[]),
        (&["--games", "pong", "--set", unclipped[0], "--set", "policy.value_scale=h"], &[]),
        (&["--games", "ALE/Pong-v5,Breakout"], &["ALE/Pong-v5 selects the game pong; its settings"]),
        (&[], &[]),
    ] {
        let warnings = warnings(&[&["config"], arguments].concat());
        assert_eq!(warnings.len(), expected.len(), "{arguments:?}: {warnings:?}");
        for (warning, expected) in warnings.iter().zip(expected) {
            assert!(warning.contains(expected), "{warning}");
        }
    }
}

#[test]
fn other_spellings_of_games_are_written_as_ids() {
    let overrides = "environments.game.'ALE/Qbert-v5'.num_envs=3";
    let arguments = ["config", "--games", "PongNoFrameskip-v4,Qbert,-breakout", "--set", overrides];
    let error = error(&arguments);
    assert!(error.contains("'-breakout' excludes none"), "{error}");
    let arguments = ["config", "--games", "PongNoFrameskip-v4,Qbert,Breakout,-breakout", "--set", overrides];
    let text = String::from_utf8(output(&arguments).stdout).expect("text");
    assert!(text.contains(r#"games = ["pong", "qbert", "breakout", "-breakout"]"#), "{text}");
    assert!(text.contains("[environments.game.qbert]\nnum_envs = 3\n"), "{text}");
}

#[cfg(unix)]
#[test]
fn errors_name_a_run_directory_that_cannot_be_written() {
    let error = error(&["ppo", "--run-dir", "/proc/run"]);
    assert!(error.contains("cannot write the run directory /proc/run"), "{error}");
}

#[test]
fn json_output_equals_metrics_jsonl_and_quiet_keeps_the_summary() {
    let temp = TempDir::new().expect("a directory");
    let train = |name: &str, flags: &[&str]| {
        let run = temp.path().join(name);
        let fixed = ["ppo", "--games", "CartPole-v1", "--total-frames", "4096", "--run-dir"];
        let evaluation = ["--set", "evaluation.interval_frames=2048", "--set", "evaluation.episodes=2"];
        let run_dir = [run.to_str().expect("a name")];
        let Output { status, stdout, stderr } = output(&[&fixed[..], &run_dir, &evaluation, flags].concat());
        let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).expect("text"));
        assert!(status.success(), "{stderr}");
        (stdout, stderr, fs::read_to_string(run.join("metrics.jsonl")).expect("curves"))
    };
    let (stdout, stderr, file) = train("json", &["--json"]);
    assert_eq!(stdout, file);
    assert_eq!(stdout.matches("\"evaluation/return\"").count(), 2, "{stdout}");
    assert!(stderr.contains("possible"), "the summary goes to standard error: {stderr}");

    let (stdout, stderr, file) = train("both", &["--json", "--quiet"]);
    assert_eq!((stdout, stderr.as_str()), (file, ""));

    let (stdout, stderr, _) = train("quiet", &["--quiet"]);
    // The headings take two lines.
    let first_words: Vec<&str> = stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(first_words, ["std", "game", "CartPole-v1"], "{stdout}");
    assert_eq!(stderr, "");

    // Resuming a complete run prints only the summary.
    let run = temp.path().join("json");
    let Output { status, stdout, .. } =
        output(&["resume", run.to_str().expect("a name"), "--json", "--quiet"]);
    assert!(status.success() && stdout.is_empty());
    // It can be evaluated only on games that it was trained on.
    let error = error(&["eval", run.to_str().expect("a name"), "--games", "pong"]);
    assert!(error.contains("the agent was not trained on 'pong'; it plays CartPole-v1"), "{error}");
}

#[test]
fn single_games_have_overrides() {
    let temp = TempDir::new().expect("a directory");
    let train = |name: &str, arguments: &[&str]| {
        let run = temp.path().join(name);
        let fixed = ["--run-dir", run.to_str().expect("a name"), "--set", "evaluation.episodes=0"];
        let Output { status, stderr, .. } = output(&[arguments, &fixed].concat());
        let stderr = String::from_utf8(stderr).expect("text");
        assert!(status.success(), "{stderr}");
        (stderr, fs::read_to_string(run.join("metrics.jsonl")).expect("curves"))
    };
    let games = ["dqn", "--games", "CartPole-v1,Acrobot-v1", "--num-envs", "1", "--total-frames", "4000"];
    let more = ["--set", "environments.game.CartPole-v1.num_envs=3", "--set", "dqn.learning_starts=400"];
    let (said, _) = train("counts", &[&games[..], &more].concat());
    assert!(said.contains("environments  4,"), "{said}");

    let game = ["ppo", "--total-frames", "8192", "--set", "ppo.num_steps=32", "--num-envs", "2"];
    let short = ["--set", "environments.game.harvest.max_num_frames_per_episode=400"];
    let (_, curves) = train("short", &[&game[..], &short].concat());
    assert!(curves.contains("\"charts/episodic_length\":100.0"), "{curves}");
}

#[test]
fn a_game_rests_after_its_budget_of_frames() {
    let temp = TempDir::new().expect("a directory");
    let games = ["--games", "CartPole-v1,Acrobot-v1", "--num-envs", "2", "--total-frames", "4096"];
    let pole = ["--set", "environments.game.CartPole-v1.total_frames=1001"];
    let robot = ["--set", "environments.game.Acrobot-v1.total_frames=1500"];
    // The pole is stepped in 501 rounds; games without a budget are stepped for whole rollouts of 128.
    for (name, algorithm, budgets, expected) in [
        ("all", "ppo", [&pole[..], &robot].concat(), [1001_u64, 1500]),
        ("one", "ppo", pole.to_vec(), [1001, 2 * 12 * 128]),
        ("pqn", "pqn", [&pole[..], &robot].concat(), [1001, 1500]),
        ("dqn", "dqn", [&pole[..], &robot, &["--set", "dqn.learning_starts=100"]].concat(), [1001, 1500]),
    ] {
        let run = temp.path().join(name);
        let fixed = ["--run-dir", run.to_str().expect("a name"), "--set", "evaluation.episodes=0"];
        let rollout = ["--set", &format!("{algorithm}.num_steps=128")];
        let rollout = if algorithm == "dqn" { &[][..] } else { &rollout };
        let Output { status, stderr, .. } =
            output(&[&[algorithm], &games[..], &fixed, rollout, &budgets[..]].concat());
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        let curves = fs::read_to_string(run.join("metrics.jsonl")).expect("curves");
        let last = curves.lines().rfind(|line| line.contains("\"charts/frames\"")).expect("an update");
        let last: serde_json::Value = serde_json::from_str(last).expect("JSON");
        let [pole, robot] =
            ["CartPole-v1", "Acrobot-v1"].map(|game| last[format!("charts/frames/{game}")].as_f64());
        assert_eq!(pole, Some(expected[0] as f64), "{name}: {last}");
        // DQN does not report after every update.
        assert!(algorithm == "dqn" || robot == Some(expected[1] as f64), "{name}: {last}");
        let checkpoints = fs::read_dir(run.join("checkpoints")).expect("checkpoints");
        let newest = checkpoints.map(|entry| entry.expect("an entry").path()).max().expect("a checkpoint");
        let progress = fs::read(newest.join("progress.json")).expect("progress");
        let progress: serde_json::Value = serde_json::from_slice(&progress).expect("JSON");
        assert_eq!(progress["moment"]["frames"], expected.iter().sum::<u64>(), "{name}");
    }
}

#[test]
fn games_and_roms_are_listed_as_text_and_json() {
    let text = |arguments: &[&str]| String::from_utf8(output(arguments).stdout).expect("text");
    assert!(text(&["games"]).contains("ms_pacman"));
    let games: serde_json::Value =
        serde_json::from_str(&text(&["games", "--games", "atari57", "--json"])).expect("JSON");
    assert_eq!(games.as_array().map(Vec::len), Some(57));
    let tasks: serde_json::Value =
        serde_json::from_str(&text(&["games", "--games", "classic,pong,Pendulum-v1", "--json"]))
            .expect("JSON");
    let list = tasks.as_array().expect("a list");
    let rows: Vec<_> =
        list.iter().map(|row| (row["id"].as_str().unwrap(), row["trainable"].as_bool())).collect();
    let expected = [
        ("pong", true),
        ("CartPole-v1", true),
        ("MountainCar-v0", true),
        ("Acrobot-v1", true),
        ("Pendulum-v1", false),
    ];
    assert_eq!(rows, expected.map(|(id, trainable)| (id, Some(trainable))));
    let classic = text(&["games", "--games", "classic"]);
    assert!(classic.lines().any(|line| line.starts_with("CartPole-v1 ")), "{classic}");
    let footer = text(&["games"]);
    assert!(footer.contains(
        "not trainable, because their actions are continuous: MountainCarContinuous-v0, Pendulum-v1"
    ));
    let empty = TempDir::new().expect("a directory");
    let directory = empty.path().to_str().expect("a name");
    let roms: serde_json::Value =
        serde_json::from_str(&text(&["roms", "list", "--json", "--rom-dir", directory])).expect("JSON");
    assert_eq!(roms["roms"].as_array().map(Vec::len), Some(108));
    assert!(text(&["roms", "list", "--rom-dir", directory]).contains("0 there, 108 missing, 0 damaged"));
}

#[cfg(unix)]
#[test]
fn closed_pipes_are_not_errors() {
    for command in ["completions bash", "config --reference", "games --json", "help ppo"] {
        // The pipe is closed before the program writes.
        let line = format!("(sleep 0.2; exec {ALE_TRAIN} {command}) | true; exit ${{PIPESTATUS[0]}}");
        let Output { status, stderr, .. } =
            Command::new("bash").args(["-c", &line]).output().expect("bash starts");
        assert_eq!((status.code(), String::from_utf8_lossy(&stderr).as_ref()), (Some(0), ""), "{command}");
    }
}

/// Returns the candidates of bash for the last word of a command line.
#[cfg(unix)]
fn completed(directory: &Path, words: &[&str]) -> Vec<String> {
    let script = r#"
        eval "$(ale-train completions bash)"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
        _clap_complete_ale_train ale-train "${COMP_WORDS[COMP_CWORD]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let program = Path::new(ALE_TRAIN).parent().expect("a directory").to_str().expect("a name");
    let path = format!("{program}:{}", std::env::var("PATH").expect("a path"));
    let mut bash = Command::new("bash");
    bash.args(["-c", script, "bash", "ale-train"]).args(words).env("PATH", path).current_dir(directory);
    let Output { status, stdout, stderr } = bash.output().expect("bash starts");
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("text").lines().map(str::to_owned).collect()
}

#[cfg(unix)]
#[test]
fn bash_completes_games_keys_presets_devices_and_runs() {
    let temp = TempDir::new().expect("a directory");
    for run in ["pong__ppo__1__5", "qbert__ppo__1__6"] {
        fs::create_dir_all(temp.path().join("checkpoints").join(run)).expect("a directory");
    }
    let all = |words: &[&str]| completed(temp.path(), words);
    assert_eq!(all(&["ppo", "--games", "atari5"]), ["atari57", "atari5"]);
    assert_eq!(all(&["ppo", "--games", "pong,brea"]), ["pong,breakout"]);
    assert_eq!(all(&["ppo", "--games", "atari57,-skii"]), ["atari57,-skiing"]);
    assert_eq!(all(&["eval", "RUN", "--games", "CartPole-v"]), ["CartPole-v0", "CartPole-v1"]);
    assert_eq!(all(&["play", "qb"]), ["qbert"]);
    assert_eq!(all(&["ppo", "--set", "ppo.clip_"]), ["ppo.clip_coef=", "ppo.clip_vloss="]);
    assert_eq!(all(&["sweep", "--vary", "dqn.buf"]), ["dqn.buffer_size="]);
    assert_eq!(all(&["ppo", "--preset", "rainb"]), ["rainbow-dqn"]);
    assert_eq!(all(&["resume", "RUN", "--device", "cu"]), ["cuda"]);
    assert_eq!(all(&["resume", "checkpoints/q"]), ["checkpoints/qbert__ppo__1__6"]);
    assert_eq!(
        all(&["report", "checkpoints/"]),
        ["checkpoints/pong__ppo__1__5", "checkpoints/qbert__ppo__1__6"]
    );
    assert_eq!(all(&["comple"]), ["completions"]);
}

#[test]
fn every_shell_has_a_completion_script() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let Output { status, stdout, .. } = output(&["completions", shell]);
        let script = String::from_utf8(stdout).expect("text");
        assert!(status.success() && script.contains("ALE_TRAIN_COMPLETE"), "{shell}: {script}");
    }
}

#[test]
fn a_trace_without_actions_names_both_ways_to_give_them() {
    let error = error(&["trace", "harvest", "--seed", "1", "--steps", "1"]);
    assert!(error.contains("--actions") && error.contains("--random-actions"), "{error}");
}

#[test]
fn a_trace_is_not_sticky_unless_asked_to_be() {
    let trace = |sticky: &[&str]| {
        let fixed = ["trace", "ALE/Harvest-v5", "--seed", "3", "--random-actions", "5", "--steps", "60"];
        output(&[&fixed[..], sticky].concat()).stdout
    };
    assert_eq!(trace(&[]), trace(&["--repeat-action-probability", "0"]));
    assert_ne!(trace(&[]), trace(&["--repeat-action-probability", "0.25"]));
}

#[test]
fn a_trace_has_one_object_per_act() {
    let arguments =
        ["trace", "harvest", "--seed", "3", "--random-actions", "5", "--steps", "40", "--frame-skip", "4"];
    let Output { status, stdout, .. } = output(&arguments);
    assert!(status.success());
    let lines: Vec<serde_json::Value> = stdout
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 40);
    assert_eq!(lines[39]["frame"], 160);
    assert!(lines.iter().all(|line| line["ram"].as_str().map(str::len) == Some(256)));
    assert_eq!(stdout, output(&arguments).stdout, "the same seed gives the same trace");
}

/// Returns the arguments of a short trace of a file, with an empty ROM directory.
fn trace<'a>(file: &'a Path, directory: &'a Path) -> Vec<&'a str> {
    let [file, directory] = [file, directory].map(|path| path.to_str().expect("a name"));
    vec![
        "trace",
        file,
        "--seed",
        "1",
        "--random-actions",
        "1",
        "--steps",
        "30",
        "--rom-dir",
        directory,
        "--offline",
    ]
}

#[test]
fn errors_about_invalid_roms_list_the_known_sizes() {
    let temp = TempDir::new().expect("a directory");
    let file = temp.path().join("pong.bin");
    for (size, expected) in [
        (0, "the ROM image is empty"),
        (1000, "no cartridge has 1000 bytes; known sizes are 2048, 4096,"),
        (4095, "no cartridge has 4095 bytes"),
        (3 << 20, "no cartridge has 1048576 bytes"),
    ] {
        fs::write(&file, vec![0; size]).expect("a file");
        for flags in [&[][..], &["--allow-unknown-rom"]] {
            let error = error(&[trace(&file, temp.path()), flags.to_vec()].concat());
            assert!(error.contains(expected), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}

#[test]
fn unknown_roms_run_only_with_a_flag_and_without_rewards() {
    let temp = TempDir::new().expect("a directory");
    let file = temp.path().join("breakot.bin");
    let mut image = include_bytes!("../roms/open/harvest.bin").to_vec();
    image[100] ^= 1;
    fs::write(&file, &image).expect("a file");
    let arguments = trace(&file, temp.path());
    let refused = error(&arguments);
    assert!(refused.contains(&format!("its MD5 is {}", ale::roms::Md5Sum::of(&image))), "{refused}");
    assert!(
        refused.contains("similar known ROMs: breakout") && refused.contains("--allow-unknown-rom"),
        "{refused}"
    );
    assert_eq!(refused.lines().count(), 1, "{refused}");

    let Output { status, stdout, stderr } = output(&[arguments, vec!["--allow-unknown-rom"]].concat());
    let stderr = String::from_utf8(stderr).expect("text");
    assert!(status.success(), "{stderr}");
    assert!(stderr.contains("is not a known ROM") && stderr.contains("without rewards"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    let stdout = String::from_utf8(stdout).expect("text");
    assert_eq!(stdout.lines().count(), 30);
    assert!(
        stdout.lines().all(|line| line.contains("\"reward\":0,\"lives\":0,\"terminal\":false")),
        "{stdout}"
    );
}

#[test]
fn errors_name_the_line_of_an_invalid_action() {
    let temp = TempDir::new().expect("a directory");
    let file = temp.path().join("actions.txt");
    let name = file.to_str().expect("a name");
    for (text, place) in
        [("0\n3\n18\n", "line 3: '18'"), ("0\n\nfire\n", "line 3: 'fire'"), ("-1", "line 1: '-1'")]
    {
        fs::write(&file, text).expect("a file");
        let error = error(&["trace", "harvest", "--seed", "1", "--actions", name]);
        assert!(error.contains(place) && error.contains("a code from 0 to 17"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    fs::write(&file, "0\n\n 3 \n").expect("a file");
    let Output { stdout, .. } = output(&["trace", "harvest", "--seed", "1", "--actions", name]);
    assert_eq!(String::from_utf8(stdout).expect("text").lines().count(), 2);
    // The file is not UTF-8.
    fs::write(&file, [0xFF, 0xFE]).expect("a file");
    assert!(error(&["trace", "harvest", "--seed", "1", "--actions", name]).contains("cannot read"));
}

/// `/dev/full` behaves like a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_the_output_fails_but_the_run_completes() {
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
    let Output { status, stderr, .. } =
        ale_train().arg("games").stdout(full()).output().expect("the program starts");
    let stderr = String::from_utf8(stderr).expect("text");
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("error: cannot write to standard output: No space left"), "{stderr}");

    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let mut command = ale_train();
    command.args(["ppo", "--games", "CartPole-v1", "--total-frames", "4096", "--run-dir"]).arg(&run);
    let status = command.stdout(full()).stderr(full()).status().expect("the program starts");
    assert_eq!(status.code(), Some(1), "the final scores cannot be printed");
    let checkpoints = fs::read_dir(run.join("checkpoints")).expect("a directory");
    assert_eq!(checkpoints.count(), 1, "the run is complete");
}
