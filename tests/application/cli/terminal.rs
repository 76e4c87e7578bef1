//! The output of a run on a terminal.

use std::fs;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::program::{self, ALE_TRAIN, skip};

/// Runs a command in a pseudo-terminal of this type, with 80 columns and 24 rows, and returns everything that it wrote.
/// `None` if `script`, which makes the pseudo-terminal, is not installed.
fn in_terminal(term: &str, arguments: &str) -> Option<String> {
    let command = format!("stty cols 80 rows 24; {ALE_TRAIN} {arguments}");
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env("TERM", term).stdin(Stdio::null());
    let Ok(output) = script.output() else {
        skip("`script`, which makes pseudo-terminals, is not installed");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    Some(text)
}

#[test]
fn the_final_scores_are_not_erased_with_the_progress_line() {
    let temp = TempDir::new().expect("a directory");
    for (index, games) in ["CartPole-v1", "CartPole-v1,Acrobot-v1"].into_iter().enumerate() {
        let run = temp.path().join(index.to_string());
        let arguments =
            format!("ppo --games {games} --total-frames 4k --num-threads 1 --run-dir {}", run.display());
        let Some(text) = in_terminal("xterm", &arguments) else { return };
        let (progress, scores) = text.rsplit_once("episodes").expect("the head of the table of scores");
        assert!(progress.contains("\x1b[2K"), "the progress line was drawn and erased: {text:?}");
        // Every escape sequence moves the cursor or erases something.
        assert!(!scores.contains('\x1b'), "{scores:?}");
        for game in games.split(',') {
            assert!(scores.contains(game), "{game}: {scores:?}");
        }
    }
}

#[test]
fn a_dumb_terminal_shows_lines_instead_of_a_bar() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let arguments =
        format!("ppo --games CartPole-v1 --total-frames 4k --num-threads 1 --run-dir {}", run.display());
    let Some(text) = in_terminal("dumb", &arguments) else { return };
    assert!(text.contains(" of 3840 frames, "), "{text:?}");
    assert!(!text.contains('\x1b'), "{text:?}");
}

/// The name sets the title of a terminal and its colour, and has a line break.
#[test]
fn names_of_files_cannot_control_the_terminal() {
    const NAME: &str = "x\u{1b}]0;pwn\u{7}\n\u{1b}[31mRÖD";
    const SHOWN: &str = r"x\u001b]0;pwn\u0007\u000a\u001b[31mRÖD";
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join(NAME);
    fs::create_dir(&run).expect("a directory");
    fs::write(run.join("run.json"), "{}").expect("a file");
    fs::write(run.join("config.toml"), "").expect("a file");
    let table = program::run("runs").arg(temp.path()).stdout();
    assert_eq!(table.lines().count(), 2, "{table}");
    assert!(table.contains(SHOWN) && !table.contains('\u{1b}'), "{table}");
    let json: serde_json::Value =
        serde_json::from_str(&program::run("runs --json").arg(temp.path()).stdout()).expect("JSON");
    assert_eq!(json[0]["path"].as_str(), run.to_str());
    // A game in a file, and the name in errors, in notes and in errors of the arguments.
    fs::write(run.join("config.toml"), r#"environments.games = ["a\u001b[31mb"]"#).expect("a file");
    let page = temp.path().join("page.html");
    for message in [
        program::run("report").arg(&run).arg("--out").arg(&page).fail(2),
        program::run("resume").arg(run.join("nowhere")).fail(2),
        program::run("runs").arg(temp.path()).stdout(),
    ] {
        assert!(message.contains(r"\u001b[31m") && !message.contains('\u{1b}'), "{message}");
    }
    let message = program::run("").arg(NAME).fail(2);
    assert!(
        message.contains("unrecognized subcommand") && !message.contains(['\u{1b}', '\u{7}']),
        "{message:?}"
    );
}
