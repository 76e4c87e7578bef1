//! `ale-train sweep` completes all runs, continues after an interruption and rejects impossible settings.

use std::fs;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;

use crate::program::{self, run};

fn sweep(arguments: &[&str], directory: &Path) -> Output {
    let fixed = "sweep --games CartPole-v1 --total-frames 4096 --run-dir sweep --set evaluation.episodes=2";
    run(fixed).args(arguments).within(directory).output()
}

#[test]
fn prints_a_row_per_setting_and_trains_only_missing_runs() {
    let temp = TempDir::new().expect("a temporary directory");
    let arguments = ["--vary", "ppo.gamma=0.9,0.99", "--seeds", "1,2"];
    let Output { status, stdout, stderr } = sweep(&arguments, temp.path());
    let said = String::from_utf8_lossy(&stderr);
    assert!(status.success() && said.contains("run 4 of 4: gamma=0.99__seed=2"), "{said}");
    let table = String::from_utf8(stdout).expect("text");
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(table.contains("ppo.gamma=0.9 ") && table.contains("ppo.gamma=0.99 "), "{table}");

    // As if the last run had stopped after a checkpoint, and the first one before its first checkpoint.
    let runs = temp.path().join("sweep");
    fs::remove_file(runs.join("gamma=0.99__seed=2/complete")).expect("a completed run");
    fs::remove_file(runs.join("gamma=0.9__seed=1/complete")).expect("a completed run");
    fs::remove_dir_all(runs.join("gamma=0.9__seed=1/checkpoints")).expect("checkpoints");
    let again = sweep(&arguments, temp.path());
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("run 1 of 4") && said.contains("run 4 of 4"), "{said}");
    assert!(!said.contains("run 2 of 4") && !said.contains("run 3 of 4"), "{said}");
    assert_eq!(String::from_utf8(again.stdout).expect("text"), table, "the scores of the same runs differ");

    let other =
        sweep(&["--vary", "ppo.gamma=0.8,0.9", "--seeds", "1", "--set", "ppo.clip_coef=0.3"], temp.path());
    assert!(
        String::from_utf8_lossy(&other.stderr).contains("contains a sweep with a different ppo.clip_coef")
    );
    assert!(!runs.join("settings/gamma=0.8.toml").exists(), "a rejected sweep wrote a setting");
}

#[test]
fn a_run_that_is_worse_ends_early_and_can_be_continued() {
    let temp = TempDir::new().expect("a temporary directory");
    let line =
        run("sweep --games CartPole-v1 --total-frames 60000 --run-dir sweep --set evaluation.episodes=2");
    let line = line.words("--vary ppo.learning_rate=2.5e-3,1e-9").within(temp.path());
    let pruning = line.clone().words("--prune halving");
    let Output { status, stdout, stderr } = pruning.output();
    let said = String::from_utf8_lossy(&stderr).into_owned();
    assert!(status.success(), "{said}");
    assert!(said.contains("learning_rate=1e-9__seed=1 was ended early: score "), "{said}");
    assert!(said.contains("; 1 of 1 other runs were better there"), "{said}");
    let table = String::from_utf8(stdout).expect("text");
    let row = |key: &str| table.lines().find(|line| line.contains(key)).expect("a row").to_owned();
    assert!(row("setting").ends_with("ended early"), "{table}");
    assert!(row("=2.5e-3").ends_with('0') && row("=1e-9").ends_with('1'), "{table}");

    // It has ended; continuing the sweep trains nothing.
    let again = pruning.output();
    assert!(!String::from_utf8_lossy(&again.stderr).contains("run "), "{:?}", again.stderr);
    assert_eq!(String::from_utf8(again.stdout).expect("text"), table);
    // Its checkpoint is that of an interrupted run.
    let complete = line.stdout();
    assert!(!complete.contains("ended early") && complete.contains("ppo.learning_rate=1e-9"), "{complete}");
}

#[test]
fn varies_the_seed_alone() {
    let temp = TempDir::new().expect("a temporary directory");
    let Output { status, stdout, stderr } = sweep(&["--seeds", "1..2"], temp.path());
    let said = String::from_utf8_lossy(&stderr);
    assert!(status.success() && said.contains("run 2 of 2: seed=2"), "{said}");
    let table = String::from_utf8(stdout).expect("text");
    assert_eq!(table.lines().count(), 2, "{table}");

    let nothing = sweep(&[], temp.path());
    assert_eq!(nothing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("--vary"));
}

#[test]
fn trains_a_separate_agent_for_each_game() {
    let temp = TempDir::new().expect("a temporary directory");
    let each = |words: &str| {
        let fixed = run("sweep --total-frames 4096 --set evaluation.episodes=2 --run-dir each");
        fixed.words(words).within(temp.path()).output()
    };
    let two = "--games-each CartPole-v1,FrozenLake-v1 --seeds 1,2";
    let Output { status, stdout, stderr } = each(two);
    let said = String::from_utf8_lossy(&stderr);
    assert!(status.success() && said.contains("run 4 of 4: games=FrozenLake-v1__seed=2"), "{said}");
    let config = fs::read_to_string(temp.path().join("each/games=CartPole-v1__seed=2/config.toml"));
    assert!(config.expect("a configuration").contains("games = [\"CartPole-v1\"]"));
    let table = String::from_utf8(stdout).expect("text");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        (rows.len(), &rows[1][..2], &rows[2][..2]),
        (3, &["CartPole-v1", "2"][..], &["FrozenLake-v1", "2"][..])
    );
    // Only the new game is trained.
    let more = "--games-each FrozenLake-v1,CartPole-v1,Taxi-v4 --seeds 1..2";
    let said = String::from_utf8(each(more).stderr).expect("text");
    assert_eq!(said.matches("\nrun ").count() + usize::from(said.starts_with("run ")), 2, "{said}");
    assert!(said.contains("run 6 of 6: games=Taxi-v4__seed=2"), "{said}");

    for (words, expected) in [
        ("--games-each pong --games pong", "cannot be used with"),
        ("--games-each pong --vary environments.games=pong,qbert", "--games-each, which sets the same key"),
        ("--games-each pog", "did you mean pong?"),
        ("--games-each pong,-pong", "--games-each: all games are excluded"),
    ] {
        let Output { status, stderr, .. } = each(words);
        let said = String::from_utf8_lossy(&stderr);
        assert!(status.code() == Some(2) && said.contains(expected), "{words}: {said}");
    }
}

#[test]
fn parallel_runs_draw_the_same_settings_and_reach_the_same_scores() {
    let temp = TempDir::new().expect("a temporary directory");
    let [one, two] = ["one", "two"].map(|name| temp.path().join(name));
    let arguments = ["--vary", "ppo.learning_rate=log:1e-4..1e-2", "--vary", "ppo.update_epochs=1..4"];
    let table = |directory: &Path, more: &[&str]| {
        fs::create_dir_all(directory).expect("a directory");
        let Output { status, stdout, stderr } = sweep(&[&arguments[..], more].concat(), directory);
        let said = String::from_utf8_lossy(&stderr).into_owned();
        assert!(status.success(), "{said}");
        (String::from_utf8(stdout).expect("text"), said)
    };
    let (alone, _) = table(&one, &["--random", "3"]);
    let (together, said) = table(&two, &["--random", "3", "--jobs", "3"]);
    assert_eq!(together, alone);
    assert!(!said.contains("frames"), "progress lines are mixed: {said}");
    // Extends the three settings by a fourth.
    let (_, said) = table(&two, &["--random", "4", "--jobs", "2"]);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("run 4 of 4: learning_rate="), "{said}");
}

#[test]
fn each_setting_has_the_preset_that_fits_it() {
    let temp = TempDir::new().expect("a temporary directory");
    let Output { status, stderr, .. } = sweep(&["--vary", "experiment.algorithm=ppo,dqn"], temp.path());
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    for algorithm in ["ppo", "dqn"] {
        let swept = temp.path().join(format!("sweep/algorithm={algorithm}__seed=1"));
        let alone = temp.path().join(algorithm);
        let words = "--games CartPole-v1 --total-frames 4096 --seed 1 --set evaluation.episodes=2 --run-dir";
        run(algorithm).words(words).arg(&alone).succeed();
        let read = |run: &Path| fs::read_to_string(run.join("config.toml")).expect("a configuration");
        assert_eq!(read(&swept), read(&alone));
    }
}

#[test]
fn the_seed_is_that_of_the_experiment_unless_seeds_are_given() {
    let temp = TempDir::new().expect("a temporary directory");
    let Output { status, stderr, .. } = sweep(&["--vary", "ppo.gamma=0.9", "--seed", "5"], temp.path());
    let said = String::from_utf8_lossy(&stderr);
    assert!(status.success() && said.contains("run 1 of 1: gamma=0.9__seed=5"), "{said}");
    let config = fs::read_to_string(temp.path().join("sweep/gamma=0.9__seed=5/config.toml")).expect("a file");
    assert!(config.contains("seed = 5\n"), "{config}");
    // A further seed extends the sweep.
    let arguments = ["--vary", "ppo.gamma=0.9", "--set", "experiment.seed=6"];
    let said = String::from_utf8(sweep(&arguments, temp.path()).stderr).expect("text");
    assert!(said.contains("run 1 of 1: gamma=0.9__seed=6"), "{said}");
    let both = sweep(&["--vary", "ppo.gamma=0.9", "--seed", "5", "--seeds", "1..2"], temp.path());
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn other_runs_continue_after_a_failure() {
    let temp = TempDir::new().expect("a temporary directory");
    let arguments = ["--vary", "ppo.learning_rate=1e30,1e-3"];
    for is_first in [true, false] {
        let Output { status, stdout, stderr } = sweep(&arguments, temp.path());
        let said = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(1), "{said}");
        let last = said.lines().last().expect("a line");
        assert_eq!(
            last,
            "error: 1 of 2 runs failed (learning_rate=1e30__seed=1): run the same command again to repeat only the failed runs"
        );
        assert_eq!(said.contains("run 2 of 2"), is_first, "{said}");
        let table = String::from_utf8_lossy(&stdout);
        let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!((rows.len(), &rows[1][..2]), (3, &["ppo.learning_rate=1e-3", "1"][..]), "{table}");
        assert_eq!(rows[2][..3], ["ppo.learning_rate=1e30", "0", "-"], "{table}");
    }
}

#[test]
fn settings_of_the_same_name_are_not_confused() {
    let temp = TempDir::new().expect("a temporary directory");
    let first = sweep(&["--vary", "checkpoints.interval_frames=4096"], temp.path());
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let Output { status, stdout, stderr } =
        sweep(&["--vary", "evaluation.interval_frames=4096"], temp.path());
    let said = String::from_utf8_lossy(&stderr);
    assert_eq!((status.code(), stdout.len()), (Some(2), 0), "{said}");
    assert!(
        said.contains("a different checkpoints.interval_frames, evaluation.interval_frames; choose another"),
        "{said}"
    );
}

#[test]
fn settings_whose_runs_would_share_a_directory_are_refused() {
    let temp = TempDir::new().expect("a temporary directory");
    let Output { status, stderr, .. } =
        sweep(&["--set", "experiment.algorithm=dqn", "--vary", "replay.folder=a/b,a_b"], temp.path());
    let said = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(
        said.contains("the runs of replay.folder=a/b and replay.folder=a_b would have the same name"),
        "{said}"
    );
    assert!(!temp.path().join("sweep").exists());
}

#[test]
fn only_the_settings_need_to_be_valid() {
    let temp = TempDir::new().expect("a temporary directory");
    let settings = ["sac.learning_starts=100", "evaluation.episodes=1", "policy.hidden_size=16"];
    let line = run("sweep --games Pendulum-v1 --total-frames 200 --run-dir sweep").settings(&settings);
    line.words("--vary experiment.algorithm=sac").within(temp.path()).succeed();
}

#[test]
fn flags_do_not_override_varied_keys() {
    let temp = TempDir::new().expect("a temporary directory");
    for (vary, flag) in [
        ("environments.games=CartPole-v1,Acrobot-v1", "--games"),
        ("experiment.total_frames=4k,8k", "--total-frames"),
        ("environments.num_envs=8,16", "--num-envs"),
        ("experiment.device=cpu", "--device"),
    ] {
        let more = match flag {
            "--num-envs" => &["--num-envs", "4"][..],
            "--device" => &["--device", "cpu"],
            _ => &[],
        };
        let Output { status, stderr, .. } = sweep(&[&["--vary", vary], more].concat(), temp.path());
        let said = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("cannot be used with {flag}, which sets the same key")), "{said}");
    }
    assert_eq!(fs::read_dir(temp.path()).expect("a directory").count(), 0);
}

#[test]
fn no_run_starts_if_any_setting_is_invalid() {
    let temp = TempDir::new().expect("a temporary directory");
    let Output { status, stderr, .. } = sweep(&["--vary", "ppo.gamma=0.9,1.5"], temp.path());
    let said = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("it must be in 0..=1") && said.lines().count() == 1, "{said}");
    assert_eq!(fs::read_dir(temp.path()).expect("a directory").count(), 0);
}

/// Signals sent only to the process of the sweep.
#[cfg(unix)]
#[test]
fn a_launcher_starts_the_runs() {
    let temp = TempDir::new().expect("a temporary directory");
    fs::write(temp.path().join("launch"), "echo \"$1|$2\" >> launched; shift; exec \"$@\"")
        .expect("a script");
    let arguments = ["--vary", "ppo.gamma=0.9,0.99", "--launcher", "sh ./launch 'on node 3'"];
    let Output { status, stdout, stderr } = sweep(&arguments, temp.path());
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    assert_eq!(String::from_utf8_lossy(&stdout).lines().count(), 3);
    let launched = fs::read_to_string(temp.path().join("launched")).expect("the launcher's file");
    assert_eq!(launched, format!("on node 3|{}\n", program::ALE_TRAIN).repeat(2));

    for (launcher, expected) in [
        ("sh 'x", "it must be a command in which every quote is closed"),
        ("", "it must be a command of at least one word"),
        ("no-such-launcher", "cannot start a run with no-such-launcher"),
    ] {
        let arguments = ["--vary", "ppo.gamma=0.8,0.7", "--launcher", launcher];
        let fresh = TempDir::new().expect("a temporary directory");
        let Output { status, stderr, .. } = sweep(&arguments, fresh.path());
        let said = String::from_utf8_lossy(&stderr);
        assert!(!status.success() && said.contains(expected), "{said}");
    }
}

#[cfg(target_os = "linux")]
mod signals {
    use std::fs;
    use std::io::{BufRead, BufReader};
    use std::path::Path;
    use std::process::{Child, Output, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use tempfile::TempDir;

    use crate::program::{is_alive, run, signal, wait_for};

    /// Starts a sweep of two runs. Returns it and the process of its first run, once that is training.
    fn start(directory: &Path) -> (Child, u32) {
        let sweep = run("sweep --games harvest --run-dir sweep --vary ppo.gamma=0.9,0.99 --num-threads 1");
        let settings = ["evaluation.episodes=0", "checkpoints.interval_minutes=0"];
        let mut command =
            sweep.settings(&settings).words("--total-frames 400000").within(directory).command();
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut sweep = command.spawn().expect("the program starts");
        let curves = directory.join("sweep/gamma=0.9__seed=1/metrics.jsonl");
        wait_for(&mut sweep, "run", || curves.exists());
        // Gives the run time to install its signal handlers.
        thread::sleep(Duration::from_millis(300));
        let run = (|| {
            for task in fs::read_dir(format!("/proc/{}/task", sweep.id())).ok()? {
                let children = fs::read_to_string(task.ok()?.path().join("children")).ok()?;
                if let Some(id) = children.split_whitespace().next() {
                    return id.parse().ok();
                }
            }
            None
        })();
        (sweep, run.expect("a child process"))
    }

    #[test]
    fn the_first_signal_is_forwarded_and_waits_for_checkpoints() {
        let temp = TempDir::new().expect("a temporary directory");
        let (sweep, run) = start(temp.path());
        signal(sweep.id(), "-TERM");
        let Output { status, stderr, .. } = sweep.wait_with_output().expect("an exit status");
        let said = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(143), "{said}");
        assert!(!is_alive(run), "the run is still alive");
        assert!(said.contains("stopping once the active runs have written checkpoints"), "{said}");
        assert!(said.ends_with("stopped by a signal; continue with the same command\n"), "{said}");
        let runs = temp.path().join("sweep");
        let checkpoints = fs::read_dir(runs.join("gamma=0.9__seed=1/checkpoints")).expect("checkpoints");
        assert_eq!(checkpoints.count(), 1);
        assert!(!runs.join("gamma=0.99__seed=1").exists(), "the next run started");
    }

    #[test]
    fn the_second_signal_stops_the_sweep_and_its_runs_at_once() {
        let temp = TempDir::new().expect("a temporary directory");
        let (mut sweep, run) = start(temp.path());
        // The run is paused, so that it cannot write a checkpoint between the signals.
        signal(run, "-STOP");
        signal(sweep.id(), "-INT");
        let first = BufReader::new(sweep.stderr.take().expect("a pipe")).lines().find(|line| {
            line.as_ref()
                .is_ok_and(|line| line.contains("stopping once the active runs have written checkpoints"))
        });
        assert!(first.is_some(), "no message about the first signal");
        signal(sweep.id(), "-TERM");
        assert_eq!(sweep.wait().expect("an exit status").code(), Some(143));
        signal(run, "-CONT");
        let began = Instant::now();
        while is_alive(run) {
            assert!(began.elapsed() < Duration::from_secs(10), "the run is still alive");
            thread::sleep(Duration::from_millis(10));
        }
        let checkpoints = temp.path().join("sweep/gamma=0.9__seed=1/checkpoints");
        assert!(!checkpoints.exists() || fs::read_dir(checkpoints).expect("a directory").count() == 0);
    }
}

#[cfg(unix)]
#[test]
fn a_link_that_leaves_the_sweep_is_refused() {
    let temp = TempDir::new().expect("a temporary directory");
    let (runs, outside) = (temp.path().join("sweep"), temp.path().join("outside"));
    for name in ["settings", "gamma=0.9__seed=1"] {
        fs::create_dir_all(&runs).expect("a directory");
        fs::create_dir_all(&outside).expect("a directory");
        std::os::unix::fs::symlink("../outside", runs.join(name)).expect("a link");
        let Output { status, stderr, .. } =
            sweep(&["--vary", "ppo.gamma=0.9,0.99", "--seeds", "1"], temp.path());
        let said = String::from_utf8_lossy(&stderr);
        assert!(status.code() == Some(2) && said.contains(name) && said.contains("outside"), "{said}");
        assert_eq!(fs::read_dir(&outside).expect("a directory").count(), 0);
        fs::remove_dir_all(&runs).expect("a directory");
    }
}
