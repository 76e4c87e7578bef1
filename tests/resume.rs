//! An interrupted run continues as if it had never stopped. Errors in writing or reading checkpoints are reported and lose
//! nothing.
#![cfg(unix)]

mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use program::{ale_train, fail, succeed};

/// A run of the built-in game with about forty updates.
const HARVEST: [&str; 7] =
    ["ppo", "--games", "harvest", "--total-frames", "40000", "--set", "ppo.num_steps=32"];
const CART_POLE: [&str; 5] = ["ppo", "--games", "CartPole-v1", "--total-frames", "60000"];
/// A run whose replay is full before its end.
const DQN: [&str; 9] = [
    "dqn",
    "--games",
    "harvest",
    "--total-frames",
    "16000",
    "--set",
    "dqn.buffer_size=3000",
    "--set",
    "dqn.learning_starts=200",
];
/// A run with regular evaluations.
const EVALUATED: [&str; 9] = [
    "ppo",
    "--games",
    "CartPole-v1",
    "--total-frames",
    "60000",
    "--set",
    "evaluation.interval_frames=7000",
    "--set",
    "evaluation.episodes=5",
];
/// Two games, one of which rests in the second half.
const BUDGET: [&str; 9] = [
    "ppo",
    "--games",
    "CartPole-v1,Acrobot-v1",
    "--num-envs",
    "4",
    "--total-frames",
    "40000",
    "--set",
    "environments.game.CartPole-v1.total_frames=11111",
];
/// Three games, one of which rests in the second half.
const THREE_GAMES: [&str; 11] = [
    "ppo",
    "--games",
    "CartPole-v1,Acrobot-v1,MountainCar-v0",
    "--num-envs",
    "4",
    "--total-frames",
    "60000",
    "--set",
    "environments.game.CartPole-v1.total_frames=11111",
    "--set",
    "ppo.num_steps=32",
];
/// A run whose halves take turns.
const HALVES: [&str; 7] =
    ["ppo", "--games", "CartPole-v1", "--total-frames", "60000", "--set", "environments.halves=true"];
const PQN: [&str; 5] = ["pqn", "--games", "CartPole-v1", "--total-frames", "60000"];

/// Returns a training command, by default without evaluations. The first of the settings is the algorithm.
fn train(run: &Path, threads: &str, settings: &[&str]) -> Command {
    let mut command = ale_train();
    command.arg(settings[0]).args(["--seed", "4", "--num-threads", threads, "--run-dir"]).arg(run);
    command.args(["--set", "evaluation.episodes=0"]).args(&settings[1..]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn checkpoints(run: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(run.join("checkpoints")) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_complete =
        |path: &PathBuf| path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."));
    let mut paths: Vec<PathBuf> = paths.filter(is_complete).collect();
    paths.sort();
    paths
}

/// Returns the result of a run: the learner and the environments of its newest checkpoint, and the curves without
/// measured times.
fn outcome(run: &Path) -> (Vec<u8>, Vec<u8>, Vec<Value>) {
    let newest = checkpoints(run).pop().expect("a checkpoint");
    let read = |name: &str| fs::read(newest.join(name)).expect("a file of the checkpoint");
    (read("learner.bin"), read("environments.bin"), curves(run))
}

fn curves(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).expect("curves");
    let mut records: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    for record in &mut records {
        let record = record.as_object_mut().expect("an object");
        record.retain(|tag, _| tag != "seconds" && tag != "charts/SPS" && !tag.starts_with("time/"));
    }
    records
}

/// Waits until `happened` returns true.
fn wait_for(run: &mut Child, what: &str, happened: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(2);
    while !happened() {
        assert!(Instant::now() < deadline, "no {what} in two minutes");
        assert!(run.try_wait().expect("a process").is_none(), "the run ended before {what}: make it longer");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn updates(run: &Path) -> usize {
    // Metrics that PPO and the other algorithms report for each update.
    let reports = |text: String| ["losses/entropy", "losses/td_loss"].map(|tag| text.matches(tag).count());
    fs::read_to_string(run.join("metrics.jsonl")).map_or(0, |text| reports(text).into_iter().sum())
}

fn signal(run: &Child, name: &str) {
    let status = Command::new("kill").args([name, &run.id().to_string()]).status().expect("a signal");
    assert!(status.success());
}

#[test]
fn a_killed_run_continues_bit_for_bit_with_another_number_of_threads() {
    for settings in [&HARVEST[..], &CART_POLE, &DQN, &EVALUATED, &BUDGET, &HALVES] {
        let temp = TempDir::new().expect("a directory");
        let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
        succeed(&mut train(&whole, "2", settings));

        let interval = ["--set", "checkpoints.interval_frames=5000"];
        let mut killed = train(&parts, "1", &[settings, &interval].concat()).spawn().expect("a run");
        // Updates after the checkpoint are lost and repeated.
        wait_for(&mut killed, "checkpoint", || !checkpoints(&parts).is_empty());
        let before = updates(&parts);
        wait_for(&mut killed, "update after it", || updates(&parts) > before);
        signal(&killed, "-KILL");
        assert_eq!(killed.wait().expect("the run ends").code(), None);
        let longer = fs::metadata(parts.join("metrics.jsonl")).expect("curves").len();

        let mut resume = ale_train();
        succeed(resume.arg("resume").arg(&parts).args(["--num-threads", "3"]));
        assert!(outcome(&parts) == outcome(&whole), "the runs differ");
        assert!(fs::metadata(parts.join("metrics.jsonl")).expect("curves").len() > longer);
        assert!(checkpoints(&parts).len() <= 4, "three and the best are kept");
    }
}

#[test]
fn a_run_that_was_killed_before_its_first_checkpoint_starts_again() {
    let temp = TempDir::new().expect("a directory");
    let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
    succeed(&mut train(&whole, "2", &HARVEST));
    let mut killed = train(&parts, "1", &HARVEST).spawn().expect("a run");
    wait_for(&mut killed, "second update", || updates(&parts) >= 2);
    signal(&killed, "-KILL");
    assert_eq!(killed.wait().expect("the run ends").code(), None);
    assert!(checkpoints(&parts).is_empty());

    let stderr = succeed(ale_train().arg("resume").arg(&parts)).stderr;
    let said = String::from_utf8(stderr).expect("text");
    let expected = format!("the run {} has no checkpoint yet: it starts from the beginning", parts.display());
    assert!(said.contains(&expected), "{said}");
    assert!(outcome(&parts) == outcome(&whole), "the runs differ");
}

#[cfg(unix)]
#[test]
fn files_of_a_run_have_the_usual_permissions() {
    use std::os::unix::fs::PermissionsExt;

    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    succeed(&mut train(&run, "1", &["ppo", "--games", "CartPole-v1", "--total-frames", "256"]));
    let mode = |name: &str| fs::metadata(run.join(name)).expect("a file").permissions().mode();
    for name in ["config.toml", "run.json"] {
        assert_eq!(mode(name), mode("metrics.jsonl"), "{name}");
    }
}

#[test]
fn a_full_disk_leaves_no_incomplete_output() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    succeed(&mut train(&run, "1", &["ppo", "--games", "CartPole-v1", "--total-frames", "2048"]));
    for (command, name) in
        [("export", "agent.safetensors"), ("report", "report.html"), ("report", "report.png")]
    {
        let out = temp.path().join(name);
        let mut write = ale_train();
        write.arg(command).arg(&run).arg("--out").arg(&out);
        let output = on_a_small_disk(&write, 1).output().expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let expected = format!("error: cannot write {}: File too large", out.display());
        assert!(stderr.starts_with(&expected) && stderr.lines().count() == 1, "{stderr}");
        assert_eq!(output.status.code(), Some(1), "{stderr}");
    }
    let left =
        fs::read_dir(temp.path()).expect("a directory").map(|entry| entry.expect("an entry").file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["run"]);
}

#[test]
fn halves_that_take_turns_learn_the_same() {
    // A recurrent network has separate states for the halves.
    let recurrent = [&CART_POLE[..], &["--set", "policy.lstm=16"]].concat();
    for settings in [&HARVEST[..], &PQN, &recurrent] {
        let temp = TempDir::new().expect("a directory");
        let [together, halves] = ["together", "halves"].map(|name| temp.path().join(name));
        succeed(&mut train(&together, "2", settings));
        succeed(&mut train(&halves, "2", &[settings, &["--set", "environments.halves=true"]].concat()));
        let [(learner, environments, curves), (same_learner, same_environments, same_curves)] =
            [outcome(&together), outcome(&halves)];
        assert!(learner == same_learner && environments == same_environments, "the results differ");
        let losses = |curves: Vec<Value>| curves.iter().filter_map(loss).cloned().collect::<Vec<_>>();
        assert_eq!(losses(curves), losses(same_curves));
    }
}

/// Returns the loss in a record, if there is one.
fn loss(record: &Value) -> Option<&Value> {
    ["losses/value_loss", "losses/td_loss"].into_iter().find_map(|tag| record.get(tag))
}

#[test]
fn a_run_that_a_signal_stopped_continues_bit_for_bit() {
    let signals = [("-INT", 130), ("-TERM", 143), ("-HUP", 129)];
    let mut in_rollouts = 0;
    for (settings, rollout) in [(&HARVEST[..], 256), (&HALVES, 256), (&THREE_GAMES, 0), (&DQN, 0), (&PQN, 0)]
    {
        let temp = TempDir::new().expect("a directory");
        let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
        succeed(&mut train(&whole, "2", settings));

        let mut stopped = train(&parts, "1", settings).spawn().expect("a run");
        for (delay, (name, status)) in (1..).zip(signals) {
            let before = updates(&parts);
            wait_for(&mut stopped, "update", || updates(&parts) > before);
            // An update and a rollout take some milliseconds each.
            std::thread::sleep(Duration::from_millis(7 * delay));
            signal(&stopped, name);
            assert_eq!(stopped.wait().expect("the run ends").code(), Some(status));
            assert_ne!(
                outcome(&parts),
                outcome(&whole),
                "the signal came after the end: make the run longer"
            );
            in_rollouts += usize::from(rollout > 0 && !steps(&parts).is_multiple_of(rollout));
            stopped = ale_train().arg("resume").arg(&parts).stderr(Stdio::null()).spawn().expect("a run");
        }
        assert!(stopped.wait().expect("the run ends").success());
        assert!(outcome(&parts) == outcome(&whole), "the runs differ");
    }
    assert!(in_rollouts > 0, "no signal arrived in a rollout");
}

/// Returns the number of steps at the newest checkpoint.
fn steps(run: &Path) -> u64 {
    let newest = checkpoints(run).pop().expect("a checkpoint").join("progress.json");
    let progress: Value = serde_json::from_slice(&fs::read(newest).expect("progress")).expect("JSON");
    progress["moment"]["steps"].as_u64().expect("a number")
}

#[test]
fn evaluations_do_not_affect_training_and_determine_the_score() {
    let temp = TempDir::new().expect("a directory");
    let [plain, evaluated] = ["plain", "evaluated"].map(|name| temp.path().join(name));
    succeed(&mut train(&plain, "2", &CART_POLE));
    succeed(&mut train(&evaluated, "2", &EVALUATED));
    let [(learner, environments, _), (same_learner, same_environments, curves)] =
        [outcome(&plain), outcome(&evaluated)];
    assert!(learner == same_learner && environments == same_environments, "the results differ");

    let returns: Vec<f64> =
        curves.iter().filter_map(|record| record.get("evaluation/return")?.as_f64()).collect();
    // At the multiples of 7000 below 60000, and at the end.
    assert_eq!(returns.len(), 9);
    let newest = checkpoints(&evaluated).pop().expect("a checkpoint").join("progress.json");
    let progress: Value = serde_json::from_slice(&fs::read(newest).expect("progress")).expect("JSON");
    assert_eq!(progress["score"].as_f64(), returns.last().copied());
    assert_eq!(progress["evaluation"]["frames"], progress["moment"]["frames"]);
}

#[test]
fn an_interrupted_evaluation_is_repeated() {
    let temp = TempDir::new().expect("a directory");
    let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
    let settings = ["ppo", "--games", "CartPole-v1", "--total-frames", "9000"];
    let evaluation = ["--set", "evaluation.interval_frames=6000", "--set", "evaluation.episodes=3000"];
    // 1024 steps between two updates: the first evaluation follows the sixth.
    let rollouts = ["--set", "ppo.num_steps=128", "--set", "environments.num_envs=8"];
    let settings = [&settings[..], &evaluation, &rollouts].concat();
    succeed(&mut train(&whole, "2", &settings));
    let evaluations =
        |run: &Path| curves(run).iter().filter(|record| record.get("evaluation/return").is_some()).count();
    assert_eq!(evaluations(&whole), 2, "one during training and one at the end");

    let mut stopped = train(&parts, "1", &settings).spawn().expect("a run");
    wait_for(&mut stopped, "sixth update", || updates(&parts) >= 6);
    signal(&stopped, "-INT");
    assert_eq!(stopped.wait().expect("the run ends").code(), Some(130));
    assert_eq!((updates(&parts), evaluations(&parts)), (6, 0), "the signal came too late");

    succeed(ale_train().arg("resume").arg(&parts));
    assert!(outcome(&parts) == outcome(&whole), "the runs differ");
    // Resuming a complete run changes nothing.
    succeed(ale_train().arg("resume").arg(&parts));
    assert!(outcome(&parts) == outcome(&whole), "the runs differ");
}

#[test]
fn a_finished_run_repeats_its_scores_and_makes_up_for_an_interrupted_evaluation() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let mut train = ale_train();
    train.args([
        "ppo",
        "--games",
        "CartPole-v1",
        "--total-frames",
        "2048",
        "--num-threads",
        "1",
        "--run-dir",
    ]);
    train.arg(&run).args(["--set", "evaluation.episodes=4000"]);
    let mut stopped = train.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a run");
    // The last checkpoint precedes the evaluation.
    wait_for(&mut stopped, "checkpoint", || !checkpoints(&run).is_empty());
    signal(&stopped, "-TERM");
    assert_eq!(stopped.wait().expect("the run ends").code(), Some(143));
    assert!(!curves(&run).iter().any(|record| record.get("evaluation/return").is_some()));

    let resume = || succeed(ale_train().arg("resume").arg(&run));
    let first = resume();
    let recorded = curves(&run);
    assert!(recorded.iter().any(|record| record.get("evaluation/return").is_some()));
    let again = resume();
    assert_eq!((&again.stdout, curves(&run)), (&first.stdout, recorded));
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    let extend = format!("extend it with `ale-train resume {} --total-frames N`", run.display());
    assert!(said.contains("is finished: it has trained for all of its") && said.contains(&extend), "{said}");
}

#[test]
fn a_directory_that_is_deleted_during_training_is_created_again() {
    let temp = TempDir::new().expect("a directory");
    let [whole, deleted] = ["whole", "deleted"].map(|name| temp.path().join(name));
    succeed(&mut train(&whole, "1", &CART_POLE));
    let mut command = train(&deleted, "1", &CART_POLE);
    let mut going = command.stderr(Stdio::piped()).spawn().expect("a run");
    wait_for(&mut going, "second update", || updates(&deleted) >= 2);
    // A moved directory is as good as a deleted one, and nothing can be written into it meanwhile.
    fs::rename(&deleted, temp.path().join("moved")).expect("a directory");
    let output = going.wait_with_output().expect("the run ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let warnings: Vec<&str> = said.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert_eq!(warnings.len(), 1, "{said}");
    assert!(warnings[0].contains("was deleted or moved; it is created again"), "{said}");
    assert!(outcome(&deleted) == outcome(&whole), "the runs differ");
    for name in ["config.toml", "run.json"] {
        let read = |run: &Path| fs::read(run.join(name)).expect("a file");
        assert_eq!(read(&deleted), read(&temp.path().join("moved")));
    }
    assert!(checkpoints(&deleted).len() >= 2, "one after the deletion and one at the end");
}

#[test]
fn checkpoints_by_time_do_not_affect_training() {
    let temp = TempDir::new().expect("a directory");
    let [plain, timed] = ["plain", "timed"].map(|name| temp.path().join(name));
    let frames = ["--set", "checkpoints.interval_frames=0", "--set", "checkpoints.keep_last=99"];
    let settings = [&CART_POLE[..], &frames].concat();
    succeed(&mut train(&plain, "1", &settings));
    let minutes = [&settings[..], &["--set", "checkpoints.interval_minutes=1e-6"]].concat();
    succeed(&mut train(&timed, "1", &minutes));
    assert_eq!(checkpoints(&plain).len(), 1);
    assert!(checkpoints(&timed).len() > 2, "no checkpoint by time");
    assert!(outcome(&timed) == outcome(&plain), "the runs differ");
}

#[test]
fn the_second_signal_ends_the_run_at_once() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let settings = [&HARVEST[..], &["--set", "checkpoints.interval_frames=20000"]].concat();
    let mut stopped = train(&run, "1", &settings).spawn().expect("a run");
    wait_for(&mut stopped, "checkpoint", || !checkpoints(&run).is_empty());
    // A run that has just been saved has nothing to do after the first signal.
    let saved = updates(&run);
    wait_for(&mut stopped, "update after the checkpoint", || updates(&run) > saved);
    // Both signals wait for the stopped process, so that no checkpoint can be written between them.
    let kill = format!("kill -STOP {0}; kill -INT {0}; kill -TERM {0}; kill -CONT {0}", stopped.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
    assert_eq!(stopped.wait().expect("the run ends").code(), Some(143));
    assert_eq!(checkpoints(&run).len(), 1, "the last signal wrote a checkpoint");
    succeed(ale_train().arg("resume").arg(&run));
}

/// Wraps a command so that writing files of more than the given number of kilobytes fails.
fn on_a_small_disk(command: &Command, kilobytes: u32) -> Command {
    let mut limited = Command::new("bash");
    limited.args(["-c", &format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" \"$@\"")]);
    limited.arg(command.get_program()).args(command.get_args());
    limited
}

#[test]
fn training_continues_on_a_full_disk_with_warnings() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let interval = ["--set", "checkpoints.interval_frames=10000"];
    let command = train(&run, "2", &[&HARVEST[..], &interval].concat());
    let output = on_a_small_disk(&command, 300).output().expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let warnings: Vec<&str> = stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert!(warnings.len() >= 3, "{stderr}");
    for warning in warnings {
        assert!(warning.contains("cannot write the checkpoint"), "{warning}");
        assert!(warning.ends_with("; training continues"), "{warning}");
    }
    let last = stderr.lines().last().expect("an error");
    assert!(last.starts_with("error: training failed: cannot write the checkpoint"), "{last}");
    assert_eq!(updates(&run), 39, "training is complete");
    assert!(checkpoints(&run).is_empty());
    let left = fs::read_dir(run.join("checkpoints")).expect("a directory").count();
    assert_eq!(left, 0, "an incomplete checkpoint remains");
}

/// Returns the error of `ale-train resume`.
fn refusal(run: &Path) -> String {
    let stderr = fail(ale_train().arg("resume").arg(run), 2);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr
}

#[test]
fn damaged_and_changed_runs_have_different_errors() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let settings = ["ppo", "--games", "CartPole-v1", "--total-frames", "4096"];
    let interval = ["--set", "checkpoints.interval_frames=2048"];
    succeed(&mut train(&run, "1", &[&settings[..], &interval].concat()));
    let [older, newest] = checkpoints(&run).try_into().expect("two checkpoints");
    let said = |mut command: Command| String::from_utf8(succeed(&mut command).stderr).expect("text");
    let resume = |path: &Path| {
        let mut command = ale_train();
        command.arg("resume").arg(path);
        command
    };

    // A modified configuration file.
    let config = fs::read_to_string(run.join("config.toml")).expect("a configuration");
    fs::write(run.join("config.toml"), config.replace("gamma = 0.99", "gamma = 0.5")).expect("a file");
    let stderr = said(resume(&run));
    assert!(stderr.contains("changes ppo.gamma; the run continues with the configuration"), "{stderr}");
    fs::write(run.join("config.toml"), config).expect("a file");

    // A damaged newest checkpoint: the previous one is used, with the same result.
    let learner = fs::read(newest.join("learner.bin")).expect("a learner");
    fs::write(newest.join("learner.bin"), &learner[1..]).expect("a file");
    let stderr = said(resume(&run));
    assert!(stderr.contains("learner.bin is damaged") && stderr.contains("is used instead"), "{stderr}");
    let again = checkpoints(&run).pop().expect("a checkpoint");
    assert_eq!(fs::read(again.join("learner.bin")).expect("a learner"), learner);
    assert!(refusal(&newest).contains("learner.bin is damaged"));

    // A later format.
    let manifest = fs::read_to_string(older.join("manifest.json")).expect("a manifest");
    fs::write(older.join("manifest.json"), manifest.replace("\"format\": 1", "\"format\": 9"))
        .expect("a file");
    assert!(refusal(&older).contains("it has format 9, written by ale-train"));
    fs::write(older.join("manifest.json"), "{}").expect("a file");
    assert!(refusal(&older).contains("its manifest is damaged"));
    assert!(refusal(temp.path()).contains("neither a checkpoint nor a run with checkpoints"));
}

#[test]
fn a_signal_before_training_ends_the_program_with_a_message() {
    let temp = TempDir::new().expect("a directory");
    let config = temp.path().join("experiment.toml");
    assert!(Command::new("mkfifo").arg(&config).status().expect("a pipe").success());
    for (name, status) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        // The tests themselves may run under nohup.
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP").arg(ale_train().get_program());
        command.arg("ppo").arg("--run-dir").arg(temp.path().join("run")).arg("--config").arg(&config);
        let waiting = command.stderr(Stdio::piped()).spawn().expect("a run");
        // Opening blocks until the program reads the pipe.
        let pipe = fs::OpenOptions::new().write(true).open(&config).expect("a pipe");
        signal(&waiting, name);
        let output = waiting.wait_with_output().expect("the program ends");
        drop(pipe);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "stopped by a signal\n");
        assert_eq!(output.status.code(), Some(status));
    }
    assert_eq!(fs::read_dir(temp.path()).expect("a directory").count(), 1, "something was written");
}

#[test]
fn a_run_under_nohup_ignores_hang_ups() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let plain = train(&run, "1", &CART_POLE);
    let mut ignoring = Command::new("sh");
    ignoring.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(plain.get_program()).args(plain.get_args());
    let mut going = ignoring.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a run");
    wait_for(&mut going, "second update", || updates(&run) >= 2);
    signal(&going, "-HUP");
    assert_eq!(going.wait().expect("the run ends").code(), Some(0));
}
