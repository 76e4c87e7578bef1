//! Several processes connected by MPI train one agent: the result does not depend on their number, and the failure of
//! one process ends all. Needs the feature `mpi`, and `mpirun` on the path.
#![cfg(unix)]

mod failures;
#[path = "../program/mod.rs"]
mod program;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

use safetensors::SafeTensors;
use serde_json::Value;
use tempfile::TempDir;

use program::{ALE_TRAIN, ale_train, succeed};

/// Three games with different numbers of environments, so that shard boundaries fall within games and one game ends
/// early.
const GAMES: [&str; 11] = [
    "ppo",
    "--games",
    "CartPole-v1,Acrobot-v1,MountainCar-v0",
    "--num-envs",
    "5",
    "--total-frames",
    "12000",
    "--set",
    "environments.game.CartPole-v1.total_frames=2111",
    "--set",
    "ppo.num_steps=32",
];
const PIXELS: [&str; 9] = [
    "ppo",
    "--games",
    "harvest",
    "--total-frames",
    "8000",
    "--set",
    "ppo.num_steps=32",
    "--set",
    "policy.lstm=16",
];
const PQN: [&str; 7] = ["pqn", "--games", "CartPole-v1", "--num-envs", "8", "--total-frames", "8000"];
/// Rainbow on two games with different numbers of environments, whose replay buffer is full in the end.
const DQN: [&str; 19] = [
    "dqn",
    "--games",
    "CartPole-v1,Acrobot-v1",
    "--num-envs",
    "5",
    "--total-frames",
    "6000",
    "--set",
    "dqn.prioritized=true",
    "--set",
    "dqn.noisy=true",
    "--set",
    "dqn.n_step=3",
    "--set",
    "dqn.learning_starts=1500",
    "--set",
    "dqn.buffer_size=4000",
    "--set",
    "dqn.train_ratio=0.1",
];
const DQN_OF_PIXELS: [&str; 11] = [
    "dqn",
    "--games",
    "harvest",
    "--total-frames",
    "8000",
    "--set",
    "dqn.learning_starts=1000",
    "--set",
    "dqn.train_ratio=0.02",
    "--set",
    "dqn.buffer_size=10000",
];
const SAC: [&str; 13] = [
    "sac",
    "--games",
    "Pendulum-v1",
    "--num-envs",
    "8",
    "--total-frames",
    "3000",
    "--set",
    "sac.learning_starts=1000",
    "--set",
    "sac.train_ratio=0.1",
    "--set",
    "sac.buffer_size=2000",
];
const NORMALISED: [&str; 7] = ["ppo", "--games", "Pendulum-v1", "--num-envs", "8", "--total-frames", "20000"];

/// Two updates of one gradient step each.
const SHORT_PQN: [&str; 13] = [
    "pqn",
    "--games",
    "CartPole-v1",
    "--num-envs",
    "8",
    "--total-frames",
    "512",
    "--set",
    "pqn.learning_rate=0.01",
    "--set",
    "pqn.num_minibatches=1",
    "--set",
    "pqn.update_epochs=1",
];
/// Two gradient steps of Rainbow.
const SHORT_DQN: [&str; 17] = [
    "dqn",
    "--games",
    "CartPole-v1,Acrobot-v1",
    "--num-envs",
    "5",
    "--total-frames",
    "220",
    "--set",
    "dqn.learning_rate=0.01",
    "--set",
    "dqn.prioritized=true",
    "--set",
    "dqn.noisy=true",
    "--set",
    "dqn.learning_starts=200",
    "--set",
    "dqn.train_ratio=0.1",
];

/// Returns the launcher of `processes` processes, to which a command line is added.
fn mpirun(processes: usize) -> Command {
    mpirun_of(processes, &[ALE_TRAIN])
}

/// Returns the launcher of `processes` processes with the given program.
fn mpirun_of(processes: usize, program: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    launch(&mut command, processes, program);
    command
}

/// Returns the launcher of two processes to which it forwards SIGTERM, and SIGUSR1 as Slurm sends it.
fn forwarding_mpirun() -> Command {
    let mut command = Command::new("mpirun");
    launch(command.args(["--forward-signals", "SIGUSR1,15"]), 2, &[ALE_TRAIN]);
    command
}

/// Adds the processes to a launcher.
fn launch<'a>(launcher: &'a mut Command, processes: usize, program: &[&str]) -> &'a mut Command {
    // Tests may run as root, and on fewer cores than processes.
    launcher.args(["--allow-run-as-root", "--oversubscribe", "-n", &processes.to_string()]).args(program);
    launcher.stdout(Stdio::piped()).stderr(Stdio::piped())
}

/// Adds the arguments of a training in `run`, with one thread in each process. The first of the settings is the
/// algorithm.
fn training<'a>(command: &'a mut Command, run: &Path, settings: &[&str]) -> &'a mut Command {
    training_by_threads(command, run, settings, "1")
}

fn training_by_threads<'a>(
    command: &'a mut Command,
    run: &Path,
    settings: &[&str],
    threads: &str,
) -> &'a mut Command {
    command.arg(settings[0]).args([
        "--seed",
        "4",
        "--num-threads",
        threads,
        "--set",
        "evaluation.episodes=0",
        "--set",
        "checkpoints.interval_minutes=0",
    ]);
    command.arg("--run-dir").arg(run).args(&settings[1..])
}

/// Returns the training by processes with the given numbers of threads.
fn mpirun_of_threads(threads: &[&str], run: &Path, settings: &[&str]) -> Command {
    let mut job = mpirun(1);
    for (rank, threads) in threads.iter().enumerate() {
        if rank > 0 {
            job.args([":", "-n", "1", ALE_TRAIN]);
        }
        training_by_threads(&mut job, run, settings, threads);
    }
    job
}

/// Returns the learner and the environments of the newest checkpoint, and the curves without measured times.
fn outcome(run: &Path) -> (Vec<u8>, Vec<u8>, Vec<Value>) {
    let newest = checkpoints(run).pop().expect("a checkpoint");
    let read = |name: &str| fs::read(newest.join(name)).expect("a file of the checkpoint");
    let text = fs::read_to_string(run.join("metrics.jsonl")).expect("curves");
    let mut records: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    for record in &mut records {
        let record = record.as_object_mut().expect("an object");
        record.retain(|tag, _| tag != "seconds" && tag != "charts/SPS" && !tag.starts_with("time/"));
    }
    (read("learner.bin"), read("environments.bin"), records)
}

fn checkpoints(run: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(run.join("checkpoints")) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.join("manifest.json").exists()).collect();
    paths.sort();
    paths
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Fails unless the result is the same for any number of processes and threads.
fn learns_the_same(settings: &[&str]) {
    let temp = TempDir::new().expect("a directory");
    let run = |name: &str| temp.path().join(name);
    for processes in [1, 2, 4] {
        let run = run(&processes.to_string());
        succeed(training(&mut mpirun(processes), &run, settings));
    }
    succeed(&mut mpirun_of_threads(&["2", "3"], &run("2 and 3 threads"), settings));
    succeed(training(
        &mut ale_train(),
        &run("alone"),
        &[settings, &["--set", "distributed.shards=8"]].concat(),
    ));
    let expected = outcome(&run("2"));
    assert!(!expected.2.is_empty());
    for processes in ["1", "4", "2 and 3 threads", "alone"] {
        let (learner, environments, curves) = outcome(&run(processes));
        assert!(learner == expected.0, "the learner of {processes} processes");
        assert!(environments == expected.1, "the environments of {processes} processes");
        // A single process records an episode when it ends; several processes record it before the next update.
        assert!(
            curves == expected.2 || ["1", "alone"].contains(&processes),
            "the curves of {processes} processes"
        );
    }
}

#[test]
fn ppo_on_several_games_learns_the_same() {
    learns_the_same(&GAMES);
}

#[test]
fn ppo_on_images_with_an_lstm_learns_the_same() {
    learns_the_same(&PIXELS);
}

#[test]
fn ppo_with_16_bit_products_learns_the_same() {
    learns_the_same(&[&PIXELS[..], &["--set", "policy.precision=bf16"]].concat());
}

#[test]
fn ppo_with_normalised_observations_learns_the_same() {
    learns_the_same(&NORMALISED);
}

#[test]
fn pqn_learns_the_same() {
    learns_the_same(&PQN);
}

#[test]
fn rainbow_learns_the_same() {
    learns_the_same(&DQN);
}

#[test]
fn dqn_on_images_learns_the_same() {
    learns_the_same(&DQN_OF_PIXELS);
}

#[test]
fn sac_learns_the_same() {
    learns_the_same(&SAC);
}

#[test]
fn the_leader_alone_prints_and_evaluates() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let settings = [&PQN[..], &["--set", "evaluation.episodes=2"]].concat();
    let Output { stdout, stderr, .. } = succeed(training(&mut mpirun(4), &run, &settings));
    assert_eq!(text(&stdout).matches("CartPole-v1").count(), 1, "{}", text(&stdout));
    assert_eq!(text(&stderr).matches("PQN on CartPole-v1").count(), 1, "{}", text(&stderr));
    assert_eq!(text(&stderr).matches("the run is in").count(), 1);
    assert!(run.join("scores.json").exists());
}

#[test]
fn processes_write_a_checkpoint_at_the_start_together() {
    for settings in [&GAMES[..], &DQN] {
        let temp = TempDir::new().expect("a directory");
        let [plain, early] = ["plain", "early"].map(|name| temp.path().join(name));
        succeed(training(&mut mpirun(2), &plain, settings));
        let minutes = [settings, &["--set", "checkpoints.interval_minutes=10"]].concat();
        succeed(training(&mut mpirun(2), &early, &minutes));
        let checkpoints = checkpoints(&early);
        assert!(checkpoints[0].ends_with("update-00000000") && checkpoints.len() > 1, "{checkpoints:?}");
        assert!(outcome(&early) == outcome(&plain), "the runs differ, {settings:?}");
    }
}

#[test]
fn a_stopped_run_continues_with_another_number_of_processes() {
    // Slurm's warning, which mpirun forwards, and the request to stop, which mpirun forwards if configured to.
    let (usr1, term) = (("-USR1", 138), ("-TERM", 143));
    for (settings, (signal, status)) in [(&GAMES[..], usr1), (&GAMES, term), (&DQN, term), (&SAC, usr1)] {
        let temp = TempDir::new().expect("a directory");
        let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
        succeed(training(&mut mpirun(2), &whole, settings));

        let mut stopped = training(&mut forwarding_mpirun(), &parts, settings).spawn().expect("a job");
        failures::wait_for_update(&mut stopped, &parts);
        failures::signal(stopped.id(), signal);
        let signalled = Instant::now();
        let Output { status: ended, stderr, .. } = stopped.wait_with_output().expect("the job ends");
        assert!(signalled.elapsed() < failures::END, "{:?}", signalled.elapsed());
        assert_eq!(ended.code(), Some(status), "{}", text(&stderr));
        let stops = text(&stderr).matches("stopped by a signal; continue with").count();
        assert_eq!(stops, 1, "{}", text(&stderr));
        assert_eq!(checkpoints(&parts).len(), 1);

        succeed(mpirun(4).arg("resume").arg(&parts));
        let (expected, resumed) = (outcome(&whole), outcome(&parts));
        assert!(resumed == expected, "the runs differ, {settings:?}");
    }
}

/// Each process has a part of the replay buffer in the checkpoint that records the changes.
#[test]
fn a_run_with_changed_settings_learns_the_same() {
    let temp = TempDir::new().expect("a directory");
    let changes = ["--total-frames", "8000", "--set", "dqn.gamma=0.9"];
    let [alone, several] = [1, 4].map(|processes| {
        let run = temp.path().join(processes.to_string());
        succeed(training(&mut mpirun(processes), &run, &DQN));
        succeed(mpirun(processes).arg("resume").arg(&run).args(changes));
        let config = fs::read_to_string(run.join("config.toml")).expect("a configuration");
        assert!(config.contains("gamma = 0.9\n"), "{config}");
        let (learner, environments, _) = outcome(&run);
        (learner, environments)
    });
    assert!(alone == several, "the runs differ");
}

/// Interrupts a job in the evaluation after its sixth update, of which nothing may be recorded.
fn interrupt_evaluation(job: Child, run: &Path) {
    failures::signal(job.id(), "-TERM");
    let Output { status, stderr, .. } = job.wait_with_output().expect("the job ends");
    assert_eq!(status.code(), Some(143), "{}", text(&stderr));
    let (_, _, curves) = outcome(run);
    let count = |tag: &str| curves.iter().filter(|record| record.get(tag).is_some()).count();
    assert_eq!((count("losses/policy_loss"), count("evaluation/return")), (6, 0));
}

#[test]
fn an_evaluation_interrupted_twice_is_repeated() {
    let temp = TempDir::new().expect("a directory");
    let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
    // 1024 steps between two updates: the first evaluation follows the sixth.
    let training_of_cart_pole = ["ppo", "--games", "CartPole-v1", "--total-frames", "9000"];
    let rollouts = ["--num-envs", "8", "--set", "ppo.num_steps=128"];
    let evaluation = ["--set", "evaluation.interval_frames=6000", "--set", "evaluation.episodes=3000"];
    let settings = [&training_of_cart_pole[..], &rollouts, &evaluation].concat();
    succeed(training(&mut mpirun(2), &whole, &settings));

    let mut first = training(&mut forwarding_mpirun(), &parts, &settings).spawn().expect("a job");
    failures::wait_for_updates(&mut first, &parts, 6);
    interrupt_evaluation(first, &parts);
    let mut second = forwarding_mpirun().arg("resume").arg(&parts).spawn().expect("a job");
    let mut lines = BufReader::new(second.stderr.as_mut().expect("a pipe")).lines();
    assert!(lines.any(|line| line.expect("a line").starts_with("PPO on CartPole-v1")));
    interrupt_evaluation(second, &parts);
    succeed(mpirun(2).arg("resume").arg(&parts));
    let (expected, resumed) = (outcome(&whole), outcome(&parts));
    assert!(resumed == expected, "the runs differ");
}

/// Returns the exported weights of a run, in the order of their names.
fn weights(run: &Path) -> Vec<f32> {
    let exported = run.with_extension("safetensors");
    succeed(ale_train().arg("export").arg(run).arg("--out").arg(&exported));
    let file = fs::read(exported).expect("a file");
    let mut tensors = SafeTensors::deserialize(&file).expect("safetensors").tensors();
    tensors.sort_by(|(one, _), (other, _)| one.cmp(other));
    let values = tensors.iter().flat_map(|(_, tensor)| tensor.data().as_chunks().0);
    values.map(|&value| f32::from_le_bytes(value)).collect()
}

#[test]
fn inexact_training_equals_that_of_one_process_except_for_rounding() {
    for settings in [&SHORT_PQN[..], &SHORT_DQN] {
        let temp = TempDir::new().expect("a directory");
        let [several, alone] = ["several", "alone"].map(|name| temp.path().join(name));
        let settings = [settings, &["--set", "distributed.exact=false"]].concat();
        // Three processes have shards of different sizes.
        succeed(training(&mut mpirun(3), &several, &settings));
        succeed(training(&mut ale_train(), &alone, &settings));
        let (_, _, curves) = outcome(&several);
        assert!(curves.iter().any(|record| record.get("losses/td_loss").is_some()), "{settings:?}");
        let [several, alone] = [several, alone].map(|run| weights(&run));
        assert_eq!(several.len(), alone.len());
        // Adam's first steps change a weight by about the learning rate, 0.01, in the direction of its gradient.
        // Without the gradients of the other processes, that is the opposite direction for many weights: they would
        // differ by 0.02.
        for (a, b) in several.iter().zip(&alone) {
            assert!((a - b).abs() < 1e-3, "{a} and {b}, {settings:?}");
        }
    }
}

#[test]
fn the_speed_of_each_process_is_recorded_on_request() {
    let temp = TempDir::new().expect("a directory");
    for (name, settings) in [("pqn", &PQN[..]), ("dqn", &DQN)] {
        let run = temp.path().join(name);
        let settings = [settings, &["--set", "distributed.report_ranks=true"]].concat();
        succeed(training(&mut mpirun(2), &run, &settings));
        let (_, _, records) = outcome(&run);
        let updates: Vec<&Value> =
            records.iter().filter(|record| record.get("losses/td_loss").is_some()).collect();
        assert!(!updates.is_empty());
        for record in updates {
            for tag in ["charts/rank_SPS/0", "charts/rank_SPS/1"] {
                assert!(record[tag].as_f64().is_some_and(|speed| speed > 0.0), "{record}");
            }
            assert!(record.get("charts/rank_SPS/2").is_none(), "{record}");
        }
    }
}
