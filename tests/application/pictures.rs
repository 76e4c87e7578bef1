//! The report and the videos of runs.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::program::{ale_train, fail, skip, stdout};

fn succeed(arguments: &[&str], directory: &Path) -> String {
    stdout(ale_train().args(arguments).current_dir(directory))
}

fn refusal(arguments: &[&str], directory: &Path) -> String {
    fail(ale_train().args(arguments).current_dir(directory), 2)
}

/// Trains a run that is long enough for episodes to finish.
fn train(run: &str, games: &str, seed: &str, settings: &[&str], directory: &Path) {
    let arguments =
        ["ppo", "--games", games, "--seed", seed, "--total-frames", "8192", "--quiet", "--run-dir", run];
    succeed(&[&arguments, settings].concat(), directory);
}

#[test]
fn a_report_groups_seeds_and_compares_settings() {
    let temp = TempDir::new().expect("a temporary directory");
    let directory = temp.path();
    let settings = ["--set", "evaluation.episodes=2"];
    train("one", "CartPole-v1", "1", &settings, directory);
    train("two", "CartPole-v1", "2", &settings, directory);
    train("other", "CartPole-v1", "1", &[&settings[..], &["--set", "ppo.gamma=0.9"]].concat(), directory);
    let said = succeed(&["report", "one", "two", "other", "--out", "page.html"], directory);
    assert_eq!(said, "3 runs in page.html\n");
    let page = fs::read_to_string(directory.join("page.html")).expect("a page");
    for text in
        ["PPO, gamma 0.99</td><td class=\"left\">two</td><td>2</td>", "PPO, gamma 0.9</td>", "policy loss\n"]
    {
        assert!(page.contains(text), "no '{text}' in {page}");
    }
    // Self-contained: the only URL is the namespace of SVG.
    assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("http"), "{page}");
    assert!(!page.contains("<script") && !page.contains("NaN") && !page.contains("inf"), "{page}");
    succeed(&["report", "one", "two", "other", "--out", "curves.svg"], directory);
    let svg = fs::read_to_string(directory.join("curves.svg")).expect("an SVG");
    for text in ["CartPole-v1", "PPO, gamma 0.99", "PPO, gamma 0.9\n", "\nframes\n"] {
        assert!(svg.contains(text), "no '{text}' in {svg}");
    }
    succeed(&["report", "one", "--out", "curves.png"], directory);
    let file = fs::File::open(directory.join("curves.png")).expect("a PNG");
    let png = png::Decoder::new(std::io::BufReader::new(file)).read_info().expect("a PNG");
    assert_eq!((png.info().width, png.info().height), (2 * 560, 2 * 320));
    // A directory of runs, as that of a sweep.
    let said = succeed(&["report", ".", "--out", "all.html"], directory);
    assert_eq!(said, "3 runs in all.html\n");
    fs::create_dir(directory.join("papers")).expect("a directory");
    for (arguments, expected) in [
        (&["report", "one", "nowhere"][..], "nowhere does not exist"),
        (&["report", "papers"], "papers is not the directory of a run"),
        (&["report", "one", "--out", "x.pdf"], "must end in .html for the page, or in .svg or .png"),
    ] {
        let said = refusal(arguments, directory);
        assert!(said.contains(expected), "{said}");
    }
    assert!(!directory.join("x.pdf").exists());
}

#[test]
fn records_whole_screens_and_rejects_wrong_arguments() {
    let temp = TempDir::new().expect("a temporary directory");
    let directory = temp.path();
    train("run", "harvest", "1", &["--set", "evaluation.episodes=0"], directory);
    for name in ["agent.gif", "agent.apng"] {
        let said =
            succeed(&["record", "run", "--games", "harvest", "--max-steps", "12", "--out", name], directory);
        assert!(said.ends_with(&format!("after 12 steps, in {name}\n")), "{said}");
    }
    let file = fs::File::open(directory.join("agent.gif")).expect("a GIF");
    let decoder = gif::DecodeOptions::new().read_info(file).expect("a GIF");
    assert_eq!((decoder.width(), decoder.height()), (320, 2 * (210 + 12)));
    for (arguments, expected) in [
        (&["record", "run", "--out", "agent.avi"][..], "must end in .gif, .apng or .mp4"),
        (
            &["record", "run", "--game", "pong", "--out", "a.gif"],
            "was not trained on 'pong'; it plays harvest",
        ),
        (&["record", "run", "--scale", "0", "--out", "a.gif"], "it must be in 1..=16"),
        (&["record", "nowhere", "--out", "a.gif"], "nowhere does not exist"),
    ] {
        let message = refusal(arguments, directory);
        assert!(message.contains(expected) && message.lines().count() == 1, "{message}");
    }
}

/// Returns true if ffmpeg is installed, as it must be in CI.
fn has_ffmpeg() -> bool {
    let found = Command::new("ffmpeg").arg("-version").output().is_ok();
    if !found {
        skip("ffmpeg is not installed");
    }
    found
}

#[test]
fn an_mp4_has_every_frame_in_its_colours() {
    if !has_ffmpeg() {
        return;
    }
    let temp = TempDir::new().expect("a temporary directory");
    let directory = temp.path();
    train("run", "harvest", "1", &["--set", "evaluation.episodes=0"], directory);
    let record =
        |name| succeed(&["record", "run", "--max-steps", "20", "--scale", "1", "--out", name], directory);
    record("agent.mp4");
    record("agent.gif");
    // Both videos decoded to raw pixels.
    let pixels = |name: &str| {
        let mut command = Command::new("ffmpeg");
        command.args(["-loglevel", "error", "-i", name, "-fps_mode", "passthrough", "-pix_fmt", "rgb24"]);
        crate::program::succeed(command.args(["-f", "rawvideo", "-"]).current_dir(directory)).stdout
    };
    let [mp4, gif] = ["agent.mp4", "agent.gif"].map(pixels);
    assert_eq!(mp4.len(), 20 * 160 * (210 + 12) * 3);
    assert_eq!(gif.len(), mp4.len());
    let distance: u64 = mp4.iter().zip(&gif).map(|(&a, &b)| u64::from(a.abs_diff(b))).sum();
    let mean = distance as f64 / mp4.len() as f64;
    assert!(mean < 4.0, "colours differ by {mean} of 255");
    let left = fs::read_dir(directory).expect("a directory").count();
    assert_eq!(left, 3, "the run and the two videos");
}

#[cfg(unix)]
#[test]
fn a_failed_recording_leaves_no_file() {
    use std::os::unix::fs::PermissionsExt;

    let temp = TempDir::new().expect("a temporary directory");
    let directory = temp.path();
    train("run", "harvest", "1", &["--set", "evaluation.episodes=0"], directory);
    let programs = directory.join("programs");
    fs::create_dir(&programs).expect("a directory");
    let record = |name: &str, status| {
        let mut command = ale_train();
        command.args(["record", "run", "--max-steps", "40", "--out", name]);
        let said = fail(command.current_dir(directory).env("PATH", &programs), status);
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    let missing = "an .mp4 requires ffmpeg, which is not installed; install it, or record a .gif";
    assert_eq!(record("agent.mp4", 2), format!("error: {missing}\n"));

    // A stand-in for ffmpeg that fails half-way.
    let ffmpeg = programs.join("ffmpeg");
    let script = "#!/bin/sh\ncase $1 in -version) exit 0; esac\nfor last; do :; done\n\
                  echo half > \"$last\"\necho no space left >&2\nexit 1\n";
    fs::write(&ffmpeg, script).expect("a program");
    fs::set_permissions(&ffmpeg, fs::Permissions::from_mode(0o755)).expect("a program");
    let expected = "error: the recording failed: cannot write agent.mp4: ffmpeg failed: no space left\n";
    assert_eq!(record("agent.mp4", 1), expected);

    for (name, expected) in [
        ("nowhere/agent.gif", "cannot write nowhere/agent.gif: No such file or directory"),
        ("run.gif", "cannot write run.gif: it is a directory"),
    ] {
        let _ = fs::create_dir(directory.join("run.gif"));
        let said = record(name, 2);
        assert!(said.contains(expected), "{said}");
    }
    let mut left: Vec<_> =
        fs::read_dir(directory).expect("a directory").map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["programs", "run", "run.gif"]);
}

#[cfg(unix)]
#[test]
fn a_signal_during_a_recording_leaves_no_file() {
    use std::process::Stdio;
    use std::thread;
    use std::time::{Duration, Instant};

    let temp = TempDir::new().expect("a temporary directory");
    let directory = temp.path();
    // Writing this many large frames takes seconds.
    let mut command = ale_train();
    command.args(["record", "zoo:harvest", "--max-steps", "200", "--scale", "8", "--out", "agent.gif"]);
    command.current_dir(directory).stdout(Stdio::null()).stderr(Stdio::null());
    let mut recording = command.spawn().expect("the program starts");
    let is_being_written = |entry: fs::DirEntry| {
        let is_partial = entry.file_name().to_string_lossy().starts_with(".partial-");
        is_partial && entry.metadata().is_ok_and(|metadata| metadata.len() > 0)
    };
    let has_begun =
        || fs::read_dir(directory).expect("a directory").any(|entry| entry.is_ok_and(is_being_written));
    let deadline = Instant::now() + Duration::from_mins(2);
    while !has_begun() {
        assert!(Instant::now() < deadline, "no frame in two minutes");
        assert!(recording.try_wait().expect("a process").is_none(), "the video is complete: make it longer");
        thread::sleep(Duration::from_millis(5));
    }
    crate::program::succeed(Command::new("kill").args(["-TERM", &recording.id().to_string()]));
    assert_eq!(recording.wait().expect("an exit status").code(), Some(143));
    let left: Vec<_> =
        fs::read_dir(directory).expect("a directory").map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}
