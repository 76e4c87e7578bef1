//! `ale-train man` and `--version`, which packagers of the program need.

use std::collections::BTreeSet;
use std::fs;

use tempfile::TempDir;

use crate::program::run;

/// Returns the names of the pages of a command and of all commands below it, which its help lists.
fn pages_of(command: &[&str]) -> BTreeSet<String> {
    let help = run("").args(command).arg("--help").stdout();
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
    run("man --out").arg(&pages).succeed();

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
    let number = env!("CARGO_PKG_VERSION");
    assert_eq!(run("-V").stdout(), format!("ale-train {number}\n"));
    let long = run("--version").stdout();
    let keys: Vec<&str> = long.lines().skip(1).filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    assert_eq!(long.lines().next(), Some(format!("ale-train {number}").as_str()));
    assert_eq!(keys, ["commit", "features", "processor"]);
}
