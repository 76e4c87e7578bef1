//! Completions of shells.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::output;
use crate::program::ALE_TRAIN;

/// Returns the candidates of bash for the last word of a command line, which bash has split at colons.
#[cfg(unix)]
fn completed(directory: &Path, words: &[&str]) -> Vec<String> {
    let script = r#"
        eval "$(ale-train completions bash)"
        [[ $(complete -p ale-train) == *" -F _ale_train ale-train" ]] || exit
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9 COMP_WORDBREAKS=$' \t\n:='
        _ale_train ale-train "${COMP_WORDS[COMP_CWORD]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let program = Path::new(ALE_TRAIN).parent().expect("a directory").to_str().expect("a name");
    let path = format!("{program}:{}", std::env::var("PATH").expect("a path"));
    let mut bash = Command::new("bash");
    bash.args(["-c", script, "bash", "ale-train"]).args(words).env("PATH", path).current_dir(directory);
    let Output { status, stdout, stderr } = bash.output().expect("bash starts");
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("text").lines().map(str::to_owned).collect()
}

#[cfg(unix)]
#[test]
fn bash_completes_games_keys_presets_devices_and_runs() {
    let temp = TempDir::new().expect("a directory");
    for run in ["pong__ppo__1__5", "qbert__ppo__1__6"] {
        fs::create_dir_all(temp.path().join("checkpoints").join(run)).expect("a directory");
    }
    let all = |words: &[&str]| completed(temp.path(), words);
    assert_eq!(all(&["ppo", "--games", "atari5"]), ["atari57", "atari5"]);
    assert_eq!(all(&["ppo", "--games", "pong,brea"]), ["pong,breakout"]);
    assert_eq!(all(&["ppo", "--games", "atari57,-skii"]), ["atari57,-skiing"]);
    assert_eq!(all(&["eval", "RUN", "--games", "CartPole-v"]), ["CartPole-v0", "CartPole-v1"]);
    assert_eq!(all(&["play", "qb"]), ["qbert"]);
    assert_eq!(all(&["play", "atari5"]), [""], "sets are not single games");
    assert_eq!(all(&["ppo", "--set", "ppo.clip_"]), ["ppo.clip_coef=", "ppo.clip_vloss="]);
    assert_eq!(all(&["sweep", "--vary", "dqn.buf"]), ["dqn.buffer_size="]);
    assert_eq!(all(&["ppo", "--preset", "rainb"]), ["rainbow-dqn"]);
    assert_eq!(all(&["resume", "RUN", "--device", "cu"]), ["cuda"]);
    assert_eq!(all(&["resume", "checkpoints/q"]), ["checkpoints/qbert__ppo__1__6"]);
    assert_eq!(
        all(&["report", "checkpoints/"]),
        ["checkpoints/pong__ppo__1__5", "checkpoints/qbert__ppo__1__6"]
    );
    assert_eq!(all(&["comple"]), ["completions"]);
}

#[cfg(unix)]
#[test]
fn bash_completes_agents_of_the_zoo_and_exported_ones() {
    let temp = TempDir::new().expect("a directory");
    for file in ["agent.safetensors", "agent.txt"] {
        fs::write(temp.path().join(file), "").expect("a file");
    }
    let all = |words: &[&str]| completed(temp.path(), words);
    assert_eq!(all(&["eval", "zoo", ":", "har"]), ["harvest"]);
    assert_eq!(all(&["play", "--checkpoint", "zoo", ":"]).len(), all(&["eval", "zoo", ":"]).len());
    assert!(all(&["eval", "zoo", ":"]).contains(&"harvest".to_owned()));
    assert_eq!(all(&["eval", "ag"]), ["agent.safetensors"]);
}

#[test]
fn every_shell_has_a_completion_script() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let Output { status, stdout, .. } = output(&["completions", shell]);
        let script = String::from_utf8(stdout).expect("text");
        assert!(status.success() && script.contains("ALE_TRAIN_COMPLETE"), "{shell}: {script}");
    }
}
