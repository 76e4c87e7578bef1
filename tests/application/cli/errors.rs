//! Error messages, and outputs that cannot be written.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::error;
use crate::program::{self, ALE_TRAIN, fail, succeed};

#[test]
fn the_error_about_a_missing_rom_names_every_way_to_get_it() {
    let empty = TempDir::new().expect("a directory");
    let path = empty.path().join("pong.bin");
    let mut command = program::run("ppo --games pong --offline --quiet").command();
    // Without a Python whose packages may have the ROM.
    command.env("PATH", "").env_remove("ALE_ROMS_DIR").env("ALE_TRAIN_ROMS", empty.path());
    let message = fail(&mut command, 2);
    assert!(
        message.contains(&format!("the ROM of pong is missing: {} does not exist", path.display())),
        "{message}"
    );
    for way in [
        "roms fetch",
        "roms import",
        "ALE_TRAIN_ROMS",
        "--rom-dir",
        "ALE_ROMS_DIR",
        "pip install ale-py",
        "AutoROM",
    ] {
        assert!(message.contains(way), "{way} is not in {message}");
    }
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn errors_are_one_line_with_the_allowed_values() {
    let temp = TempDir::new().expect("a directory");
    let directory = temp.path().join("run");
    let run_dir = directory.to_str().expect("a name");
    for (arguments, expected) in [
        (&["ppo", "--games", "pogn"][..], "did you mean pong?"),
        (&["ppo", "--set", "ppo.lerning_rate=1"], "did you mean 'ppo.learning_rate'?"),
        (&["ppo", "--set", "ppo.gamma=1.5"], "it must be in 0..=1"),
        (&["ppo", "--num-envs", "0"], "--num-envs 0 is invalid: it must be in 1..=65536"),
        (&["ppo", "--total-frames", "10"], "one update takes"),
        (&["ppo", "--set", "environments.noop_max=108001"], "it must be in 0..=108000"),
        (&["ppo", "--set", "environments.stack_num=65"], "it must be in 1..=64"),
        (&["ppo", "--set", "environments.img_width=4097"], "it must be in 1..=4096"),
        (&["ppo", "--set", "environments.frame_skip=2147483648"], "it must be in 1..=2147483647"),
        (
            &["ppo", "--set", "environments.game.harvest.total_frames=31"],
            "it must be 32 or more (8 environments, 4 frames per step)",
        ),
        (&["ppo", "--device", "abacus"], "unknown device 'abacus'"),
        (
            &["ppo", "--set", "policy.precision=f16"],
            "policy.precision = f16 is not possible on the CPU: it must be f32 or bf16",
        ),
        (
            &["ppo", "--set", "policy.precision=f8"],
            "policy.precision = \"f8\" is invalid: it must be f32, bf16 or f16",
        ),
        (
            &["bench", "learner", "--set", "environments.halves=true"],
            "environments.halves = true is not possible here: the benchmark steps all environments together",
        ),
        (
            &["bench", "learner", "--precision", "f16"],
            "policy.precision = f16 is not possible on the CPU: it must be f32 or bf16",
        ),
        (&["ppo", "--device", "wpgu"], "did you mean 'wgpu'?"),
        (&["ppo", "--config", "nowhere.toml"], "cannot read nowhere.toml"),
        (&["ppo", "--games", "CartPole-v1,pong"], "cannot be trained together"),
        (&["ppo", "--games", "pong,-qbert"], "'-qbert' excludes none"),
        (
            &["dqn", "--games", "Pendulum-v1", "--quiet", "--run-dir", run_dir],
            "dqn cannot be trained on Pendulum-v1, whose actions are continuous; use `ale-train ppo` or `ale-train sac`",
        ),
        (
            &["pqn", "--games", "HalfCheetah-v5", "--quiet", "--run-dir", run_dir],
            "pqn cannot be trained on HalfCheetah-v5, whose actions are continuous",
        ),
        (
            &["sac", "--games", "Pendulum-v1,CartPole-v1", "--quiet", "--run-dir", run_dir],
            "discrete and continuous actions cannot be mixed",
        ),
        (
            &[
                "sac",
                "--games",
                "CartPole-v1",
                "--set",
                "sac.noise_correlation=0.5",
                "--quiet",
                "--run-dir",
                run_dir,
            ],
            "sac.noise_correlation = 0.5 is invalid: it must be 0 for discrete actions, which have no noise",
        ),
        (
            &["sac", "--set", "policy.lstm=8", "--quiet", "--run-dir", run_dir],
            "policy.lstm = 8 is invalid: it must be 0; only PPO has recurrent networks",
        ),
        (
            &["sac", "--set", "policy.value_scale=popart", "--quiet", "--run-dir", run_dir],
            "it must be none with SAC",
        ),
        (&["ppo", "--games", "Pendulum-v1,CartPole-v1"], "discrete and continuous actions cannot be mixed"),
        (
            &["ppo", "--set", "policy.normalize_observations=true"],
            "normalize_observations = true is invalid: it must be false for images",
        ),
        (&["ppo", "--games", "Pong-ram-v4"], "has RAM observations"),
        (&["ppo", "--games", "ALE/Pnog-v5"], "did you mean pong?"),
        (&["ppo", "--seed", "-1"], "--seed -1 is invalid: it must be 0 or more"),
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
        (
            &["export", "zoo:harvest", "--out", "agent.pt"],
            "cannot export agent.pt: the file name must end in .safetensors or .onnx",
        ),
        (&["export", "zoo:harvest", "--out", "agent"], "cannot export agent: the file name must end in "),
        (
            &["record", "zoo:harvest", "--out", "a.avi"],
            "a.avi: the file name must end in .gif, .apng or .mp4",
        ),
        (&["report", "checkpoints", "--out", "a.pdf"], "a.pdf: the file name must end in .html for the page"),
        (&["resume", "nowhere"], "nowhere does not exist"),
        (&["record", "zoo:harvest", "--out", "nowhere/a.gif"], "the directory nowhere does not exist"),
        (
            &["record", "zoo:atari57", "--out", "a.gif"],
            "the agent plays 57 games; add --game alien, or --mosaic for all of them",
        ),
        (
            &["record", "zoo:atari57", "--game", "pong,boxing", "--out", "a.gif"],
            "--game names several games: add --mosaic",
        ),
        (&["play", "zoo:harvest"], "zoo:harvest is an agent: add --checkpoint before it"),
        (&["eval", "Cargo.toml"], "Cargo.toml is not an agent: not a safetensors file"),
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
            "--frame-skip 0 is invalid: it must be 1 or more",
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

#[cfg(unix)]
#[test]
fn errors_name_a_run_directory_that_cannot_be_written() {
    let error = error(&["ppo", "--run-dir", "/proc/run"]);
    assert!(error.contains("cannot write the run directory /proc/run"), "{error}");
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

/// `/dev/full` behaves like a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_the_output_fails_but_the_run_completes() {
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
    let Output { status, stderr, .. } =
        program::run("games").command().stdout(full()).output().expect("the program starts");
    let stderr = String::from_utf8(stderr).expect("text");
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("error: cannot write to standard output: No space left"), "{stderr}");

    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let line =
        program::train(&run, "ppo --games CartPole-v1 --total-frames 4096 --set evaluation.episodes=1");
    let status = line.command().stdout(full()).stderr(full()).status().expect("the program starts");
    assert_eq!(status.code(), Some(1), "the final scores cannot be printed");
    let checkpoints = fs::read_dir(run.join("checkpoints")).expect("a directory");
    assert_eq!(checkpoints.count(), 1, "the run is complete");
}

#[cfg(not(feature = "mpi"))]
#[test]
fn a_build_without_mpi_refuses_to_run_as_one_of_several_processes() {
    let error = fail(program::run("games").command().env("OMPI_COMM_WORLD_SIZE", "4"), 2);
    assert!(
        error.starts_with("error: a launcher has started 4 processes, but this build supports only one"),
        "{error}"
    );
    succeed(program::run("games").command().env("OMPI_COMM_WORLD_SIZE", "1"));
}

#[test]
fn without_mujoco_its_tasks_are_an_error_and_others_run() {
    let temp = TempDir::new().expect("a directory");
    let (run, other) = (temp.path().join("run"), temp.path().join("other"));
    let offline = |game: &str, run: &Path| {
        let words = format!("ppo --games {game} --offline --quiet --total-frames 4096");
        let mut command = program::train(run, &words).set("evaluation.episodes", 1).command();
        command.env("ALE_TRAIN_MUJOCO", temp.path().join("empty"));
        command
    };
    let error = fail(&mut offline("Hopper-v5", &run), 2);
    assert!(error.starts_with("error: ") && error.contains("MuJoCo is missing: "), "{error}");
    assert!(error.contains("pip install --no-deps") && error.contains("ALE_TRAIN_MUJOCO"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(!run.exists() && !temp.path().join("empty").exists(), "something was written");
    succeed(&mut offline("CartPole-v1", &other));
}
