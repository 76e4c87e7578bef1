//! Experiments of training commands, and the output of training.

use std::fs;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{error, output};

/// Returns the warnings of a command that prints an experiment.
fn warnings(arguments: &[&str]) -> Vec<String> {
    let Output { status, stderr, .. } = output(arguments);
    let stderr = String::from_utf8(stderr).expect("text");
    assert!(status.success(), "{stderr}");
    stderr.lines().map(|line| line.strip_prefix("warning: ").expect("a warning").to_owned()).collect()
}

#[test]
fn likely_mistakes_cause_a_warning_of_one_line() {
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
        (
            &["--games", "CartPole-v1", "--set", "environments.repeat_action_probability=0.25"],
            &["environments.repeat_action_probability has no effect: only Atari games"],
        ),
        (
            &["--games", "CartPole-v1", "--set", "evaluation.repeat_action_probability=0.25"],
            &["evaluation.repeat_action_probability has no effect"],
        ),
        (&["--games", "ALE/Pong-v5,Breakout"], &["ALE/Pong-v5 selects the game pong; settings"]),
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
fn sac_trains_by_default_on_the_built_in_game() {
    let shown = output(&["config", "--set", "experiment.algorithm=sac"]);
    let text = String::from_utf8(shown.stdout).expect("text");
    assert!(text.contains("games = [\"harvest\"]") && text.contains("\n[sac]\n"), "{text}");
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
    let first_words: Vec<&str> = stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(first_words, ["game", "CartPole-v1"], "{stdout}");
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
    // CartPole's environments step in 501 rounds; games without a budget step for whole rollouts of 128 rounds.
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

/// Each name took many microseconds, several times.
#[test]
fn a_file_with_very_many_games_is_refused_at_once() {
    let temp = TempDir::new().expect("a directory");
    let file = temp.path().join("games.toml");
    let name = file.to_str().expect("a name");
    let games = "\"harvest\",".repeat(300_000);
    let overrides: Vec<String> = (0..2_000).map(|index| format!("[environments.game.g{index}]\n")).collect();
    for text in [format!("[environments]\ngames = [{games}]\n"), overrides.concat()] {
        fs::write(&file, text).expect("a file");
        for command in ["config", "ppo"] {
            let began = Instant::now();
            let error = error(&[command, "--config", name]);
            assert!(
                error.contains("there are too many names of games; at most 1000 are possible"),
                "{error}"
            );
            // Parsing the file takes a third of a second on an idle machine.
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        }
    }
}

#[cfg(unix)]
#[test]
fn an_experiment_may_come_from_a_pipe_but_not_without_end() {
    let temp = TempDir::new().expect("a directory");
    let pipe = temp.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("a pipe").success());
    let name = pipe.to_str().expect("a name").to_owned();
    let writer = thread::spawn(move || fs::write(pipe, "ppo.gamma = 0.5\n"));
    let Output { stdout, .. } = output(&["config", "--config", &name]);
    writer.join().expect("a thread").expect("a pipe");
    assert!(String::from_utf8(stdout).expect("text").contains("gamma = 0.5"));
    let error = error(&["config", "--config", "/dev/zero"]);
    assert!(error.contains("cannot read /dev/zero: it is longer than 17 MB"), "{error}");
}
