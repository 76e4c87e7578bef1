//! `ale-train man` and `--version`, which packagers of the program need.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use tempfile::TempDir;

fn stdout(arguments: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_ale-train")).args(arguments).output().expect("ale-train starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Returns the names of the pages of a command and of all commands below it, which its help lists.
fn pages_of(command: &[&str]) -> BTreeSet<String> {
    let help = stdout(&[command, &["--help"]].concat());
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = commands
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help");
    let mut pages = BTreeSet::from([[&["ale-train"][..], command].concat().join("-")]);
    for name in names {
        pages.extend(pages_of(&[command, &[name]].concat()));
    }
    pages
}

#[test]
fn man_writes_a_page_for_every_command() {
    let dir = TempDir::new().expect("a temporary directory");
    let pages = dir.path().join("man1");
    stdout(&["man", "--out", pages.to_str().expect("UTF-8")]);

    let written: BTreeSet<String> = fs::read_dir(&pages)
        .expect("the directory was created")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    let commands = pages_of(&[]);
    assert!(commands.contains("ale-train-ppo") && commands.contains("ale-train-roms-fetch"), "{commands:?}");
    let expected: BTreeSet<String> = commands.iter().map(|command| format!("{command}.1")).collect();
    assert_eq!(written, expected);
    for command in &commands {
        let page = format!("{command}.1");
        let text = fs::read_to_string(pages.join(&page)).expect("a readable page");
        assert!(text.contains(&format!(".TH {command} 1")), "{page} has no title:\n{text}");
        assert!(text.contains(".SH SYNOPSIS"), "{page} has no synopsis");
    }
}

#[test]
fn version_is_short_with_v_and_complete_with_version() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(stdout(&["-V"]), format!("ale-train {version}\n"));
    let long = stdout(&["--version"]);
    let keys: Vec<&str> = long.lines().skip(1).filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    assert_eq!(long.lines().next(), Some(format!("ale-train {version}").as_str()));
    assert_eq!(keys, ["commit", "features", "processor"]);
}
