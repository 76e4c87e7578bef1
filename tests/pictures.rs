//! What runs leave for people to look at: the report and the film.

mod program;

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use program::{ale_train, fail, stdout};

fn succeed(arguments: &[&str], folder: &Path) -> String {
    stdout(ale_train().args(arguments).current_dir(folder))
}

fn complaint(arguments: &[&str], folder: &Path) -> String {
    fail(ale_train().args(arguments).current_dir(folder), 2)
}

/// A run long enough that episodes end.
fn train(run: &str, games: &str, seed: &str, settings: &[&str], folder: &Path) {
    let arguments =
        ["ppo", "--games", games, "--seed", seed, "--total-frames", "8192", "--quiet", "--run-dir", run];
    succeed(&[&arguments, settings].concat(), folder);
}

#[test]
fn a_report_shows_seeds_together_and_settings_apart() {
    let temp = TempDir::new().expect("a folder");
    let folder = temp.path();
    let settings = ["--set", "evaluation.episodes=2"];
    train("one", "CartPole-v1", "1", &settings, folder);
    train("two", "CartPole-v1", "2", &settings, folder);
    train("other", "CartPole-v1", "1", &[&settings[..], &["--set", "ppo.gamma=0.9"]].concat(), folder);
    let said = succeed(&["report", "one", "two", "other", "--out", "page.html"], folder);
    assert_eq!(said, "3 runs in page.html\n");
    let page = fs::read_to_string(folder.join("page.html")).expect("a page");
    assert_eq!(page.matches("<svg").count(), 1, "one game");
    for text in ["ppo.gamma = 0.99</td><td>2</td><td>1, 2</td>", "ppo.gamma = 0.9</td><td>1</td><td>1</td>"] {
        assert!(page.contains(text), "no '{text}' in {page}");
    }
    // Self-contained: nothing is fetched but the name of SVG's language.
    assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("http"), "{page}");
    assert!(!page.contains("<script") && !page.contains("NaN") && !page.contains("inf"), "{page}");
    succeed(&["report", "one", "two", "other", "--out", "curves.svg"], folder);
    let picture = fs::read_to_string(folder.join("curves.svg")).expect("a picture");
    for text in ["CartPole-v1", "ppo.gamma = 0.99", "ppo.gamma = 0.9\n", "thousand frames"] {
        assert!(picture.contains(text), "no '{text}' in {picture}");
    }
    succeed(&["report", "one", "--out", "curves.png"], folder);
    let picture = fs::File::open(folder.join("curves.png")).expect("a picture");
    let picture = png::Decoder::new(std::io::BufReader::new(picture)).read_info().expect("a picture");
    assert_eq!((picture.info().width, picture.info().height), (2 * 560, 2 * 320));
    for (run, expected) in [("nowhere", "there is no nowhere"), (".", ". is no run that can be reported")] {
        let said = complaint(&["report", "one", run], folder);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_film_is_made_of_whole_screens_and_what_cannot_be_filmed_is_told() {
    let temp = TempDir::new().expect("a folder");
    let folder = temp.path();
    train("run", "harvest", "1", &["--set", "evaluation.episodes=0"], folder);
    for name in ["agent.gif", "agent.apng"] {
        let said = succeed(&["record", "run", "--max-steps", "12", "--out", name], folder);
        assert!(said.ends_with(&format!("after 12 steps, in {name}\n")), "{said}");
    }
    let file = fs::File::open(folder.join("agent.gif")).expect("a film");
    let decoder = gif::DecodeOptions::new().read_info(file).expect("a film");
    assert_eq!((decoder.width(), decoder.height()), (320, 2 * (210 + 12)));
    for (arguments, expected) in [
        (&["record", "run", "--out", "agent.avi"][..], "ends in .gif, .apng or .mp4"),
        (
            &["record", "run", "--game", "pong", "--out", "a.gif"],
            "was not trained on 'pong'; it plays harvest",
        ),
        (&["record", "run", "--scale", "0", "--out", "a.gif"], "it must be in 1..=16"),
        (&["record", "nowhere", "--out", "a.gif"], "there is no nowhere"),
    ] {
        let complaint = complaint(arguments, folder);
        assert!(complaint.contains(expected) && complaint.lines().count() == 1, "{complaint}");
    }
}

/// Whether there is an ffmpeg; CI installs it.
fn ffmpeg_is_there() -> bool {
    let found = Command::new("ffmpeg").arg("-version").output().is_ok();
    if !found {
        eprintln!("no film as .mp4 was made: there is no ffmpeg");
    }
    found
}

#[test]
fn an_mp4_has_every_picture_in_its_colours() {
    if !ffmpeg_is_there() {
        return;
    }
    let temp = TempDir::new().expect("a folder");
    let folder = temp.path();
    train("run", "harvest", "1", &["--set", "evaluation.episodes=0"], folder);
    let record =
        |name| succeed(&["record", "run", "--max-steps", "20", "--scale", "1", "--out", name], folder);
    record("agent.mp4");
    record("agent.gif");
    // Both films again as plain pixels.
    let pixels = |name: &str| {
        let mut command = Command::new("ffmpeg");
        command.args(["-loglevel", "error", "-i", name, "-fps_mode", "passthrough", "-pix_fmt", "rgb24"]);
        program::succeed(command.args(["-f", "rawvideo", "-"]).current_dir(folder)).stdout
    };
    let [film, exact] = ["agent.mp4", "agent.gif"].map(pixels);
    assert_eq!(film.len(), 20 * 160 * (210 + 12) * 3);
    assert_eq!(exact.len(), film.len());
    let distance: u64 = film.iter().zip(&exact).map(|(&a, &b)| u64::from(a.abs_diff(b))).sum();
    let mean = distance as f64 / film.len() as f64;
    assert!(mean < 4.0, "colours are off by {mean} of 255");
    let left = fs::read_dir(folder).expect("a folder").count();
    assert_eq!(left, 3, "the run and the two films");
}

#[cfg(unix)]
#[test]
fn a_film_that_cannot_be_completed_leaves_nothing() {
    use std::os::unix::fs::PermissionsExt;

    let temp = TempDir::new().expect("a folder");
    let folder = temp.path();
    train("run", "harvest", "1", &["--set", "evaluation.episodes=0"], folder);
    let programs = folder.join("programs");
    fs::create_dir(&programs).expect("a folder");
    let record = |name: &str, status| {
        let mut command = ale_train();
        command.args(["record", "run", "--max-steps", "40", "--out", name]);
        let said = fail(command.current_dir(folder).env("PATH", &programs), status);
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    let missing = "an .mp4 takes ffmpeg, which is not there; install it, or record a .gif";
    assert_eq!(record("agent.mp4", 2), format!("error: {missing}\n"));

    // One that gives up in the middle.
    let ffmpeg = programs.join("ffmpeg");
    let script = "#!/bin/sh\ncase $1 in -version) exit 0; esac\nfor last; do :; done\n\
                  echo half > \"$last\"\necho no space left >&2\nexit 1\n";
    fs::write(&ffmpeg, script).expect("a program");
    fs::set_permissions(&ffmpeg, fs::Permissions::from_mode(0o755)).expect("a program");
    let expected = "error: the recording failed: cannot write agent.mp4: ffmpeg says: no space left\n";
    assert_eq!(record("agent.mp4", 1), expected);

    for (name, expected) in [
        ("nowhere/agent.gif", "cannot write nowhere/agent.gif: No such file or directory"),
        ("run.gif", "cannot write run.gif: it is a folder"),
    ] {
        let _ = fs::create_dir(folder.join("run.gif"));
        let said = record(name, 2);
        assert!(said.contains(expected), "{said}");
    }
    let mut left: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["programs", "run", "run.gif"]);
}
