//! `ale-train watch --terminal` in a pseudo-terminal of 80 columns and 24 rows.

use std::fs;
use std::process::Stdio;

use tempfile::TempDir;

use crate::play::{PLAIN, Size, Terminal};
use crate::program::{self, ALE_TRAIN, fail, run};

const SIZE: Size = (80, 24);
const DOWN: &str = "\x1b[B";
const RIGHT: &str = "\x1b[C";

/// Starts the command for runs, and answers its queries.
fn watch(directory: &TempDir) -> Option<Terminal> {
    let command = format!("{ALE_TRAIN} watch {} --terminal; echo status $?", directory.path().display());
    let mut terminal = Terminal::run_in(SIZE, &command)?;
    terminal.answer(PLAIN);
    Some(terminal)
}

fn train(words: &str, directory: &TempDir) {
    let fixed = "--num-threads 1 --quiet --set evaluation.episodes=0";
    run(words).words(fixed).within(directory.path()).succeed();
}

#[test]
fn runs_their_curves_and_the_agent_are_shown() {
    let temp = TempDir::new().expect("a directory");
    train("ppo --games harvest --total-frames 16384 --run-dir first", &temp);
    train("dqn --games CartPole-v1 --total-frames 2000 --set dqn.learning_starts=9 --run-dir second", &temp);
    let damaged = temp.path().join("third");
    fs::create_dir(&damaged).expect("a directory");
    for file in ["config.toml", "run.json"] {
        fs::write(damaged.join(file), "damaged").expect("a file");
    }
    let Some(mut terminal) = watch(&temp) else { return };
    // The newest run is the first of the list.
    terminal.on("third", DOWN);
    terminal.on("DQN, CartPole-v1, finished, 100 %", DOWN);
    terminal.on("PPO, harvest, finished, 100 %", "");
    for part in ["Harvest", "agent at 16.38k frames", "score ", "noop", " %", "▄▄▄▄", "recent return (1 of"]
    {
        terminal.on(part, "");
    }
    // The points of a curve.
    assert!(terminal.screen().chars().any(|letter| ('⠁'..='⣿').contains(&letter)), "{}", terminal.screen());
    terminal.on("(1 of", RIGHT);
    terminal.on("(2 of", "g");
    terminal.on("The agent plays nothing", "g");
    terminal.on("score ", "q");
    let (_, after) = terminal.close();
    assert!(after.contains("status 0"), "{after}");
}

#[test]
fn a_run_that_appears_is_shown_and_ctrl_c_restores_the_terminal() {
    let temp = TempDir::new().expect("a directory");
    let Some(mut terminal) = watch(&temp) else { return };
    terminal.on("There are no runs yet", "");
    train("ppo --games harvest --total-frames 4096 --run-dir late", &temp);
    terminal.on("late", "\x03");
    let (_, after) = terminal.close();
    assert!(after.contains("status 0"), "{after}");
}

#[test]
fn refuses_without_a_terminal_or_with_a_port() {
    let temp = TempDir::new().expect("a directory");
    let directory = temp.path().display().to_string();
    let mut command = run("watch --terminal").arg(&directory).command();
    let message = fail(command.stdin(Stdio::null()), 2);
    assert!(message.contains("needs a terminal as standard input and output"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    let message = program::run("watch --terminal --port 8000").fail(2);
    assert!(message.contains("cannot be used with"), "{message}");
}
