//! Tests values: which are read, and how others are refused.

use std::fs;

use tempfile::TempDir;
use toml::Value;

use super::{experiment, value};
use crate::config::from_toml;
use crate::config::schema::{Keys, keys};

#[test]
fn norm_adv_is_a_name_or_a_boolean() {
    for (written, name) in [("game", "game"), ("true", "batch"), ("false", "none"), ("none", "none")] {
        let set = format!("ppo.norm_adv={written}");
        assert_eq!(
            value(&experiment(&["--set", &set]).unwrap(), "ppo.norm_adv"),
            Value::String(name.to_owned())
        );
    }
}

#[test]
fn accepts_whole_numbers_with_separators_exponents_and_suffixes() {
    let temp = TempDir::new().unwrap();
    let file = temp.path().join("mine.toml");
    fs::write(&file, "[experiment]\ntotal_frames = 1e7\nseed = '1_000'\n[ppo]\nnum_steps = '0.1k'\n")
        .unwrap();
    let config = ["--config", file.to_str().unwrap()];
    let sets = ["--set", "environments.num_envs=1e1", "--set", "checkpoints.interval_frames=10M"];
    let experiment = experiment(&[config, [sets[0], sets[1]], [sets[2], sets[3]]].concat()).unwrap();
    assert_eq!((experiment.run.total_frames, experiment.run.seed), (10_000_000, 1_000));
    assert_eq!((experiment.num_envs(), experiment.checkpoints.interval_frames), (10, 10_000_000));
    assert_eq!(value(&experiment, "ppo.num_steps"), Value::Integer(100));
    let error = |set| self::experiment(&["--set", set]).unwrap_err();
    assert!(error("experiment.seed=18446744073709551615").ends_with("it must be in 0..=9223372036854775807"));
    assert!(error("experiment.seed=-1").ends_with("experiment.seed = -1 is invalid: it must be 0 or more"));
    assert!(error("ppo.num_steps=1.5").ends_with("it must be a whole number in 2..=1000000"));
    assert!(error("environments.noop_max=5G").ends_with("it must be in 0..=108000"));
    // Numbers that are not valid TOML.
    assert_eq!(value(&self::experiment(&["--set", "ppo.gamma=.5"]).unwrap(), "ppo.gamma"), Value::Float(0.5));
}

#[test]
fn errors_name_the_key_and_the_allowed_values() {
    let error = |set| experiment(&["--set", set]).unwrap_err();
    assert!(error("ppo.lerning_rate=1").contains("did you mean 'ppo.learning_rate'?"));
    let gammas = "did you mean 'ppo.gamma' or 'dqn.gamma' or 'pqn.gamma' or 'sac.gamma'?";
    assert!(error("gamma=0.9").contains(gammas));
    assert!(
        error("\"ppo.gamma\"=0.9")
            .contains("unknown key '\"ppo.gamma\"'; write it without quotes: ppo.gamma")
    );
    assert!(error("policy.torsos=impala").contains("did you mean 'policy.torso'?"));
    assert!(error("policy.torso=resnet").ends_with(
        "policy.torso = \"resnet\" is invalid: it must be nature, impala, data_efficient or small"
    ));
    assert!(
        error("ppo.norm_adv=games")
            .ends_with("it must be batch, game, none, true or false; did you mean game?")
    );
    assert!(error("policy.width=0").contains("policy.width = 0 is invalid: it must be above 0"));
    assert!(error("ppo.gae_lambda=1.1").contains("ppo.gae_lambda = 1.1 is invalid: it must be in 0..=1"));
    assert!(error("ppo.total_steps=9").contains("experiment.total_frames"));
    assert!(
        error("xyz.qrstuvw=9")
            .contains("the sections are experiment, environments, policy, ppo, dqn, replay")
    );
    assert!(error("nonsense").contains("expected KEY=VALUE"));
    let wrong_type = error("ppo.gamma=high");
    assert!(wrong_type.contains("ppo.gamma") && wrong_type.contains("high"), "{wrong_type}");
    assert!(error("environments.games=pogn").contains("did you mean pong?"));
    assert!(error("environments.repeat_action_probability=2").contains("it must be in 0..=1"));
    assert!(error("environments.num_envs=0").contains("it must be in 1..=65536"));
    assert!(
        error("checkpoints.keep_last=0")
            .contains("checkpoints.keep_last = 0 is invalid: it must be 1 or more")
    );
    let short = experiment(&["--games", "breakout", "--total-frames", "100"]).unwrap_err();
    assert!(short.contains("one update takes 4096 frames"), "{short}");
}

#[test]
fn errors_in_a_file_name_the_file() {
    let temp = TempDir::new().unwrap();
    let file = temp.path().join("mine.toml");
    let path = file.to_str().unwrap();
    for (text, expected) in [
        ("[ppo]\ngama = 0.9\n", "did you mean 'ppo.gamma'?"),
        ("[ppo]\ngamma = 'high'\n", "ppo.gamma = \"high\" is invalid: it must be a number in 0..=1"),
        ("[ppo\n", "line 1"),
    ] {
        fs::write(&file, text).unwrap();
        let error = experiment(&["--config", path]).unwrap_err();
        assert!(error.starts_with(path) && error.contains(expected), "{error}");
    }
}

#[test]
fn values_of_the_wrong_kind_are_explained_for_every_key() {
    let values = [
        "-1",
        "1.5",
        "'x'",
        "''",
        "true",
        "[]",
        "[1]",
        "['a', 2]",
        "{}",
        "{ a = 1 }",
        "1979-05-27",
        "nan",
        "inf",
        "9223372036854775807",
        "1e300",
        "'1e300'",
    ];
    let (mut refused, mut read) = (0, 0);
    for Keys { section, fields, .. } in keys() {
        let section = section.replace("NAME", "harvest");
        for (key, field) in fields.iter().map(|field| (format!("{section}.{}", field.name), field)) {
            for value in values {
                let message = match from_toml(&format!("{key} = {value}")) {
                    Ok(_) => {
                        read += 1;
                        continue;
                    }
                    Err(error) => format!("{error:#}"),
                };
                refused += 1;
                assert!(message.contains(&key), "{message}");
                assert!(message.contains("it must be ") || message.starts_with("unknown key"), "{message}");
                let kind = field.allowed();
                // Precisions have the names of types, such as `f32`.
                assert_without_types(&message.replace(&kind, ""));
                let is_of_the_kind = ["-1", "9223372036854775807", "1e300", "'1e300'"].contains(&value);
                assert!(
                    is_of_the_kind || message.contains(&kind) || message.starts_with("unknown"),
                    "{message}"
                );
            }
        }
        for wrong in ["5", "'x'", "[]", "[[]]"] {
            let message = format!("{:#}", from_toml(&format!("{section} = {wrong}")).unwrap_err());
            assert!(message.contains("is a section with keys such as"), "{message}");
            assert_without_types(&message);
        }
    }
    assert!(refused > 500 && read > 100, "{refused} refused, {read} read");
}

/// Asserts that a message does not mention Rust types.
pub(crate) fn assert_without_types(message: &str) {
    let types = [
        "usize",
        "u64",
        "u32",
        "i64",
        "i128",
        "f32",
        "f64",
        "bool",
        "struct",
        "enum",
        "variant",
        "Option",
        "String",
        "str",
        "Vec",
        "invalid digit",
        "invalid type",
        "literal",
        "integer",
        "sequence",
        "map",
        "target type",
    ];
    for name in types {
        assert!(!contains_word(message, name), "{name} in: {message}");
    }
}

/// Returns true if `word` is in `text`, not as a part of a longer one.
fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(start, _)| {
        let (before, after) = (&text[..start], &text[start + word.len()..]);
        !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
    })
}
