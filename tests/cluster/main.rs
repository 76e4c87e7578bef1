//! Several processes connected by MPI train one agent: the result does not depend on their number, and the failure of
//! one process ends all. Needs the feature `mpi`, and `mpirun` on the path.
#![cfg(unix)]

mod failures;
#[path = "../program/mod.rs"]
mod program;
#[path = "../application/python.rs"]
mod python;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

use safetensors::SafeTensors;
use serde_json::Value;
use tempfile::TempDir;

use program::{ALE_TRAIN, Line, checkpoints, outcome, signal, succeed, wait_for};
use python::python_with;

/// Three games with different numbers of environments, so that shard boundaries fall within games and one game ends
/// early.
const GAMES: &str = "ppo --games CartPole-v1,Acrobot-v1,MountainCar-v0 --num-envs 5 --total-frames 12000 \
    --set environments.game.CartPole-v1.total_frames=2111 --set ppo.num_steps=32";
const PIXELS: &str = "ppo --games harvest --total-frames 8000 --set ppo.num_steps=32 --set policy.lstm=16";
const PQN: &str = "pqn --games CartPole-v1 --num-envs 8 --total-frames 8000";
/// Rainbow on two games with different numbers of environments, whose replay buffer is full in the end.
const DQN: &str = "dqn --games CartPole-v1,Acrobot-v1 --num-envs 5 --total-frames 6000 \
    --set dqn.prioritized=true --set dqn.noisy=true --set dqn.n_step=3 --set dqn.learning_starts=1500 \
    --set dqn.buffer_size=4000 --set dqn.train_ratio=0.1";
const DQN_OF_PIXELS: &str = "dqn --games harvest --total-frames 8000 --set dqn.learning_starts=1000 \
    --set dqn.train_ratio=0.02 --set dqn.buffer_size=10000";
const SAC: &str = "sac --games Pendulum-v1 --num-envs 8 --total-frames 3000 --set sac.learning_starts=1000 \
    --set sac.train_ratio=0.1 --set sac.buffer_size=2000";
const NORMALISED: &str = "ppo --games Pendulum-v1 --num-envs 8 --total-frames 20000";

/// Two updates of one gradient step each.
const SHORT_PQN: &str = "pqn --games CartPole-v1 --num-envs 8 --total-frames 512 \
    --set pqn.learning_rate=0.01 --set pqn.num_minibatches=1 --set pqn.update_epochs=1";
/// Two gradient steps of Rainbow.
const SHORT_DQN: &str = "dqn --games CartPole-v1,Acrobot-v1 --num-envs 5 --total-frames 220 \
    --set dqn.learning_rate=0.01 --set dqn.prioritized=true --set dqn.noisy=true \
    --set dqn.learning_starts=200 --set dqn.train_ratio=0.1";

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

/// Returns a training with one thread in each process.
fn training(run: &Path, words: &str) -> Line {
    training_by_threads(run, words, "1")
}

fn training_by_threads(run: &Path, words: &str, threads: &str) -> Line {
    program::train(run, words).words("--seed 4 --num-threads").arg(threads)
}

/// Returns a job of processes that train together.
fn job(processes: usize, line: &Line) -> Command {
    let mut job = mpirun(processes);
    job.args(line.arguments());
    job
}

/// Returns a job that continues a run.
fn resume(processes: usize, run: &Path) -> Command {
    job(processes, &program::run("resume").arg(run))
}

/// Returns the training by processes with the given numbers of threads.
fn mpirun_of_threads(threads: &[&str], run: &Path, settings: &str) -> Command {
    let mut job = mpirun(1);
    for (rank, threads) in threads.iter().enumerate() {
        if rank > 0 {
            job.args([":", "-n", "1", ALE_TRAIN]);
        }
        job.args(training_by_threads(run, settings, threads).arguments());
    }
    job
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Fails unless the result is the same for any number of processes and threads.
fn learns_the_same(settings: &str) {
    let temp = TempDir::new().expect("a directory");
    let run = |name: &str| temp.path().join(name);
    for processes in [1, 2, 4] {
        let run = run(&processes.to_string());
        succeed(&mut job(processes, &training(&run, settings)));
    }
    succeed(&mut mpirun_of_threads(&["2", "3"], &run("2 and 3 threads"), settings));
    training(&run("alone"), settings).set("distributed.shards", 8).succeed();
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
    learns_the_same(GAMES);
}

#[test]
fn ppo_on_images_with_an_lstm_learns_the_same() {
    learns_the_same(PIXELS);
}

#[test]
fn ppo_with_16_bit_products_learns_the_same() {
    learns_the_same(&format!("{PIXELS} --set policy.precision=bf16"));
}

#[test]
fn ppo_with_normalised_observations_learns_the_same() {
    learns_the_same(NORMALISED);
}

#[test]
fn pqn_learns_the_same() {
    learns_the_same(PQN);
}

#[test]
fn rainbow_learns_the_same() {
    learns_the_same(DQN);
}

#[test]
fn dqn_on_images_learns_the_same() {
    learns_the_same(DQN_OF_PIXELS);
}

#[test]
fn sac_learns_the_same() {
    learns_the_same(SAC);
}

#[test]
fn environments_in_python_learn_the_same() {
    let Some(python) = python_with("gymnasium") else { return };
    let temp = TempDir::new().expect("a directory");
    let run = |name: &str| temp.path().join(name);
    // Observations of different lengths, and shard boundaries within the environments of a task.
    let games = "ppo --games gymnasium:CartPole-v1,gymnasium:Acrobot-v1 --num-envs 5 --total-frames 4000";
    let line = |name: &str| {
        let line =
            training(&run(name), games).set("ppo.num_steps", 32).set("checkpoints.interval_frames", 1000);
        line.set("environments.gymnasium.python", &python)
    };
    for processes in [1, 2, 4] {
        succeed(&mut job(processes, &line(&processes.to_string())));
    }
    line("alone").set("distributed.shards", 8).succeed();
    // A run of two processes that is killed, and continued by four.
    let mut killed =
        job(2, &line("parts")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a job");
    wait_for(&mut killed, "checkpoint", || !checkpoints(&run("parts")).is_empty());
    signal(killed.id(), "-TERM");
    killed.wait().expect("the job ends");
    succeed(&mut resume(4, &run("parts")));
    // The state of an episode has its duration, so environments are not compared.
    let expected = outcome(&run("2")).0;
    for name in ["1", "4", "alone", "parts"] {
        assert!(outcome(&run(name)).0 == expected, "the learner of {name}");
    }
}

#[test]
fn the_leader_alone_prints_and_evaluates() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let line = training(&run, PQN).set("evaluation.episodes", 2);
    let Output { stdout, stderr, .. } = succeed(&mut job(4, &line));
    assert_eq!(text(&stdout).matches("CartPole-v1").count(), 1, "{}", text(&stdout));
    assert_eq!(text(&stderr).matches("PQN on CartPole-v1").count(), 1, "{}", text(&stderr));
    assert_eq!(text(&stderr).matches("the run is in").count(), 1);
    assert!(run.join("scores.json").exists());
}

#[test]
fn processes_write_a_checkpoint_at_the_start_together() {
    for settings in [GAMES, DQN] {
        let temp = TempDir::new().expect("a directory");
        let [plain, early] = ["plain", "early"].map(|name| temp.path().join(name));
        succeed(&mut job(2, &training(&plain, settings)));
        let line = training(&early, settings).set("checkpoints.interval_minutes", 10);
        succeed(&mut job(2, &line));
        let checkpoints = checkpoints(&early);
        assert!(checkpoints[0].ends_with("update-00000000") && checkpoints.len() > 1, "{checkpoints:?}");
        assert!(outcome(&early) == outcome(&plain), "the runs differ, {settings:?}");
    }
}

#[test]
fn a_stopped_run_continues_with_another_number_of_processes() {
    // Slurm's warning, which mpirun forwards, and the request to stop, which mpirun forwards if configured to.
    let (usr1, term) = (("-USR1", 138), ("-TERM", 143));
    for (settings, (name, status)) in [(GAMES, usr1), (GAMES, term), (DQN, term), (SAC, usr1)] {
        let temp = TempDir::new().expect("a directory");
        let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
        succeed(&mut job(2, &training(&whole, settings)));

        let line = training(&parts, settings);
        let mut stopped = forwarding_mpirun().args(line.arguments()).spawn().expect("a job");
        failures::wait_for_update(&mut stopped, &parts);
        signal(stopped.id(), name);
        let signalled = Instant::now();
        let Output { status: ended, stderr, .. } = stopped.wait_with_output().expect("the job ends");
        assert!(signalled.elapsed() < failures::END, "{:?}", signalled.elapsed());
        assert_eq!(ended.code(), Some(status), "{}", text(&stderr));
        let stops = text(&stderr).matches("stopped by a signal; continue with").count();
        assert_eq!(stops, 1, "{}", text(&stderr));
        assert_eq!(checkpoints(&parts).len(), 1);

        succeed(&mut resume(4, &parts));
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
        succeed(&mut job(processes, &training(&run, DQN)));
        succeed(resume(processes, &run).args(changes));
        let config = fs::read_to_string(run.join("config.toml")).expect("a configuration");
        assert!(config.contains("gamma = 0.9\n"), "{config}");
        let (learner, environments, _) = outcome(&run);
        (learner, environments)
    });
    assert!(alone == several, "the runs differ");
}

#[test]
fn an_evaluation_interrupted_twice_is_repeated() {
    let temp = TempDir::new().expect("a directory");
    let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
    // 1024 steps between two updates: the first evaluation follows the sixth.
    let settings = "ppo --games CartPole-v1 --num-envs 8 --total-frames 9000 --set ppo.num_steps=128 \
        --set evaluation.interval_frames=6000 --set evaluation.episodes=3000";
    succeed(&mut job(2, &training(&whole, settings)));

    let interrupt = |job: &mut Command, is_evaluating: &dyn Fn(&mut Child)| {
        let mut job = job.spawn().expect("a job");
        is_evaluating(&mut job);
        signal(job.id(), "-TERM");
        let Output { status, stderr, .. } = job.wait_with_output().expect("the job ends");
        assert_eq!(status.code(), Some(143), "{}", text(&stderr));
        let (_, _, curves) = outcome(&parts);
        let count = |tag: &str| curves.iter().filter(|record| record.get(tag).is_some()).count();
        assert_eq!((count("losses/policy_loss"), count("evaluation/return")), (6, 0));
    };
    interrupt(forwarding_mpirun().args(training(&parts, settings).arguments()), &|job| {
        failures::wait_for_updates(job, &parts, 6);
    });
    interrupt(forwarding_mpirun().arg("resume").arg(&parts), &|job| {
        let mut lines = BufReader::new(job.stderr.as_mut().expect("a pipe")).lines();
        assert!(lines.any(|line| line.expect("a line").starts_with("PPO on CartPole-v1")));
    });
    succeed(&mut resume(2, &parts));
    let (expected, resumed) = (outcome(&whole), outcome(&parts));
    assert!(resumed == expected, "the runs differ");
}

/// Returns the exported weights of a run, in the order of their names.
fn weights(run: &Path) -> Vec<f32> {
    let exported = run.with_extension("safetensors");
    program::run("export").arg(run).arg("--out").arg(&exported).succeed();
    let file = fs::read(exported).expect("a file");
    let mut tensors = SafeTensors::deserialize(&file).expect("safetensors").tensors();
    tensors.sort_by(|(one, _), (other, _)| one.cmp(other));
    let values = tensors.iter().flat_map(|(_, tensor)| tensor.data().as_chunks().0);
    values.map(|&value| f32::from_le_bytes(value)).collect()
}

#[test]
fn inexact_training_equals_that_of_one_process_except_for_rounding() {
    for settings in [SHORT_PQN, SHORT_DQN] {
        let temp = TempDir::new().expect("a directory");
        let [several, alone] = ["several", "alone"].map(|name| temp.path().join(name));
        // Three processes have shards of different sizes.
        succeed(&mut job(3, &training(&several, settings).set("distributed.exact", false)));
        training(&alone, settings).set("distributed.exact", false).succeed();
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
    for (name, settings) in [("pqn", PQN), ("dqn", DQN)] {
        let run = temp.path().join(name);
        succeed(&mut job(2, &training(&run, settings).set("distributed.report_ranks", true)));
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
