//! Exported agents play like the runs that they come from, and agents of the zoo play without downloads.

use std::fs;
use std::path::Path;

use half::f16;
use memchr::memmem;
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;
use tempfile::TempDir;

use crate::program::{ALE_TRAIN, Line, run, stdout};

/// Trains a small agent of an algorithm into `run`.
fn train(algorithm: &str, games: &str, settings: &[&str], directory: &Path) {
    let small = "--num-envs 2 --total-frames 1024 --quiet --num-threads 1 --run-dir run";
    let line = run(algorithm).args(["--games", games]).words(small).set("evaluation.episodes", 2);
    line.settings(settings).within(directory).succeed();
}

/// Returns the JSON that a command prints.
fn printed(line: &Line) -> Value {
    serde_json::from_str(&line.stdout()).expect("JSON")
}

/// Returns an evaluation of three episodes.
fn eval(agent: &str, directory: &Path) -> Line {
    run("eval").arg(agent).words("--episodes 3 --num-threads 1 --json").within(directory)
}

/// Returns the evaluation of an agent without its name.
fn evaluated(agent: &str, directory: &Path) -> Value {
    let mut report = printed(&eval(agent, directory));
    report.as_object_mut().expect("an object").remove("checkpoint");
    report
}

#[test]
fn exported_agents_play_like_their_runs() {
    for (algorithm, games, settings) in [
        ("ppo", "CartPole-v1,Acrobot-v1", &["ppo.num_steps=16", "policy.lstm=8"][..]),
        (
            "ppo",
            "Pendulum-v1",
            &["ppo.num_steps=16", "ppo.num_minibatches=2", "policy.normalize_observations=true"],
        ),
        ("ppo", "harvest", &["ppo.num_steps=16", "policy.value_scale=popart"]),
        ("ppo", "harvest", &["ppo.num_steps=16", "environments.factored_actions=true"]),
        (
            "ppo",
            "harvest",
            &[
                "ppo.num_steps=16",
                "ppo.rnd.enabled=true",
                "ppo.rnd.num_iterations_obs_norm_init=1",
                "ppo.rnd.features=16",
            ],
        ),
        ("dqn", "CartPole-v1", &["dqn.learning_starts=40", "dqn.noisy=true", "dqn.num_atoms=5"]),
        ("pqn", "harvest", &["pqn.num_steps=16"]),
        (
            "sac",
            "CartPole-v1,Acrobot-v1",
            &["sac.learning_starts=64", "sac.buffer_size=2000", "sac.batch_size=32", "policy.hidden_size=16"],
        ),
        (
            "sac",
            "Pendulum-v1",
            &[
                "sac.learning_starts=64",
                "sac.buffer_size=2000",
                "sac.batch_size=32",
                "sac.train_ratio=0.25",
                "policy.hidden_size=16",
            ],
        ),
    ] {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path();
        train(algorithm, games, settings, path);
        run("export run --out agent.safetensors").within(path).succeed();
        let of_run = evaluated("run", path);
        assert_eq!(evaluated("agent.safetensors", path), of_run, "{algorithm} on {games}");
        assert!(of_run["frames"].as_u64() >= Some(1000), "{of_run}");
        // Exporting the file again changes nothing.
        run("export agent.safetensors --out again.safetensors").within(path).succeed();
        assert_eq!(evaluated("again.safetensors", path), of_run);
    }
}

/// CartPole's observations have 4 elements and Acrobot's 6, so the agent sees those of CartPole with padding.
#[test]
fn an_agent_of_several_tasks_can_be_evaluated_on_one_of_them() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path();
    train("ppo", "CartPole-v1,Acrobot-v1", &["ppo.num_steps=16"], path);
    let games = |flags: &str| printed(&eval("run", path).words(flags))["games"].clone();
    let all = games("");
    for (chosen, index) in [("CartPole-v1", 0), ("Acrobot-v1", 1), ("-Acrobot-v1", 0)] {
        assert_eq!(games(&format!("--games {chosen}")), Value::from(vec![all[index].clone()]), "{chosen}");
    }
}

#[test]
fn an_exported_part_of_an_agent_plays_like_the_whole() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path();
    let settings = ["ppo.num_steps=16", "policy.normalize_observations=true", "policy.value_scale=popart"];
    train("ppo", "CartPole-v1,Acrobot-v1,MountainCar-v0", &settings, path);
    run("export run --games MountainCar-v0,CartPole-v1 --out part.safetensors").within(path).succeed();
    let games = |agent: &str, flags: &str| printed(&eval(agent, path).words(flags))["games"].clone();
    assert_eq!(games("part.safetensors", ""), games("run", "--games MountainCar-v0,CartPole-v1"));
    // A part of a part, and training from it.
    run("export part.safetensors --games -CartPole-v1 --out one.safetensors").within(path).succeed();
    assert_eq!(games("one.safetensors", ""), games("run", "--games MountainCar-v0"));
    let tuned = run(
        "ppo --games MountainCar-v0 --num-envs 2 --total-frames 1024 --set ppo.num_steps=16 --run-dir tuned",
    );
    let error = tuned.words("--quiet --init-from one.safetensors").within(path).fail(2);
    assert!(error.contains("the observations of the source are"), "{error}");

    for (games, expected) in [
        ("CartPole-v2", "did you mean CartPole-v0 or CartPole-v1?"),
        (
            "Pendulum-v1",
            "the agent was not trained on 'Pendulum-v1'; it plays CartPole-v1, Acrobot-v1, MountainCar-v0",
        ),
    ] {
        let error = run("export run --out no.safetensors --games").arg(games).within(path).fail(2);
        assert!(error.contains(expected) && !path.join("no.safetensors").exists(), "{error}");
    }
}

#[test]
fn evaluations_are_greedy_if_a_flag_or_the_experiment_says_so() {
    for greedy in [false, true] {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path();
        let setting = format!("evaluation.greedy={greedy}");
        let settings = ["ppo.num_steps=16", "evaluation.episodes=10", &setting];
        train("ppo", "CartPole-v1", &settings, path);
        // The episodes of the final evaluation of the run, whose seed is 1.
        let eval = run("eval run --episodes 10 --seed 1000001 --num-threads 1 --json").within(path);
        let [sampled, best] = ["", "--greedy"].map(|flag| printed(&eval.clone().words(flag)));
        assert_eq!((&sampled["greedy"], &best["greedy"]), (&Value::from(false), &Value::from(true)));
        let mean = |report: &Value| report["games"][0]["mean"].as_f64().expect("a mean");
        assert_ne!(mean(&sampled), mean(&best));

        let curves = fs::read_to_string(path.join("run/metrics.jsonl")).expect("curves");
        let records = curves.lines().map(|line| serde_json::from_str::<Value>(line).expect("a record"));
        let of_run: Vec<f64> = records.filter_map(|record| record["evaluation/return"].as_f64()).collect();
        assert_eq!(of_run, [mean(if greedy { &best } else { &sampled })], "{setting}");
    }
}

#[test]
fn sixteen_bit_floats_are_the_nearest_and_halve_the_size() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path();
    train("ppo", "harvest", &["ppo.num_steps=16"], path);
    run("export run --out full.safetensors").within(path).succeed();
    run("export run --dtype f16 --out half.safetensors").within(path).succeed();
    let [full, half] =
        ["full", "half"].map(|name| fs::read(path.join(format!("{name}.safetensors"))).unwrap());
    let [full, half] = [&full, &half].map(|file| SafeTensors::deserialize(file).expect("safetensors"));
    assert_eq!(full.len(), half.len());
    for (name, tensor) in full.tensors() {
        let rounded = half.tensor(&name).expect("the same names");
        assert_eq!((rounded.dtype(), rounded.shape()), (Dtype::F16, tensor.shape()));
        let values = tensor.data().as_chunks().0.iter().map(|&value| f32::from_le_bytes(value));
        let nearest: Vec<u8> = values.flat_map(|value| f16::from_f32(value).to_le_bytes()).collect();
        assert!(rounded.data() == nearest, "{name}");
    }
    evaluated("half.safetensors", path);
}

#[test]
fn statistics_keep_32_bits_and_two_exports_are_equal() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path();
    let settings = ["policy.normalize_observations=true", "ppo.num_steps=64", "ppo.num_minibatches=4"];
    train("ppo", "Pendulum-v1", &settings, path);
    let [full, half, again] = [("full", "f32"), ("half", "f16"), ("again", "f16")].map(|(name, dtype)| {
        let file = format!("{name}.safetensors");
        run("export run").args(["--dtype", dtype, "--out", &file]).within(path).succeed();
        fs::read(path.join(file)).expect("an export")
    });
    assert!(half == again);
    let [full, half] = [&full, &half].map(|file| SafeTensors::deserialize(file).expect("safetensors"));
    for name in ["obs_rms.mean", "obs_rms.var", "obs_rms.count"] {
        let [full, half] = [&full, &half].map(|file| file.tensor(name).expect("a statistic"));
        assert!(half.dtype() == Dtype::F32 && half.data() == full.data(), "{name}");
    }
    assert_eq!(half.tensor("critic.weight").expect("a layer").dtype(), Dtype::F16);
    evaluated("half.safetensors", path);
}

#[test]
fn the_zoo_plays_without_roms_and_without_a_home() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path();
    // Neither HOME nor another variable names a directory.
    let said = |words: &str| stdout(run("--offline").words(words).within(path).command().env_clear());
    let report: Value =
        serde_json::from_str(&said("eval zoo:harvest --episodes 16 --num-threads 1 --json")).expect("JSON");
    let mean = report["games"][0]["mean"].as_f64().expect("a mean");
    assert!(mean > 33.0, "{report}");
    let report: Value =
        serde_json::from_str(&said("eval zoo:harvest --episodes 1 --sticky 0.1 --json")).expect("JSON");
    assert_eq!(report["repeat_action_probability"], Value::from(0.1));
    said("record zoo:harvest --max-steps 20 --out harvest.gif");
    said("ppo --init-from zoo:harvest --total-frames 4096 --set evaluation.episodes=0");
}

/// The weights are more than half of the package for Python. Copies in several object files would multiply them.
#[test]
fn the_program_contains_the_zoo_once() {
    let program = fs::read(ALE_TRAIN).expect("the program");
    for entry in fs::read_dir("checkpoints/zoo").expect("the zoo") {
        let path = entry.expect("an entry").path();
        let agent = fs::read(&path).expect("an agent");
        let middle = &agent[agent.len() / 2..][..64];
        assert_eq!(memmem::find_iter(&program, middle).count(), 1, "{}", path.display());
    }
}

#[test]
fn the_zoo_wins_at_pong() {
    if ale::roms::for_tests("pong").is_none() {
        return;
    }
    let report = printed(&run("eval zoo:pong --episodes 4 --num-threads 1 --json"));
    let mean = report["games"][0]["mean"].as_f64().expect("a mean");
    // The mean of 100 episodes is 20.4; the best possible score is 21.
    assert!((15.0..=21.0).contains(&mean), "{report}");
}

#[test]
fn every_agent_of_the_zoo_has_a_card() {
    let rows: Vec<Value> = serde_json::from_str(&run("zoo --json").stdout()).expect("JSON");
    assert!(!rows.is_empty());
    for row in rows {
        let name = row["name"].as_str().expect("a name");
        let card = run("zoo").arg(name).stdout();
        let commit = row["commit"].as_str().expect("a commit");
        assert!(!commit.ends_with("+changes"), "{name} was trained by modified code");
        for part in [commit, "MIT OR Apache-2.0", "| game |", "[environments]"] {
            assert!(card.contains(part), "{name}: {card}");
        }
        for game in row["games"].as_array().expect("games") {
            let game = game.as_str().expect("a game");
            assert!(card.contains(&format!("| {game} |")), "{name} has no score in {game}");
        }
    }
}

/// Saves the tensors of `agent.safetensors` again, with the metadata that `keeps` selects.
fn saved_again(directory: &Path, name: &str, keeps: impl Fn(&str) -> bool) {
    let file = fs::read(directory.join("agent.safetensors")).expect("an agent");
    let (_, header) = SafeTensors::read_metadata(&file).expect("a header");
    let mut metadata = header.metadata().clone().expect("metadata");
    metadata.retain(|key, _| keeps(key));
    let tensors = SafeTensors::deserialize(&file).expect("tensors").tensors();
    let saved = safetensors::serialize(tensors, (!metadata.is_empty()).then_some(metadata));
    fs::write(directory.join(name), saved.expect("a file of tensors")).expect("a file");
}

#[test]
fn other_files_and_names_are_refused() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path();
    fs::write(path.join("text"), "no tensors").expect("a file");
    let empty = safetensors::serialize(Vec::<(String, safetensors::tensor::TensorView<'_>)>::new(), None);
    fs::write(path.join("empty"), empty.expect("a file of tensors")).expect("a file");
    run("export zoo:harvest --out agent.safetensors").within(path).succeed();
    saved_again(path, "without", |_| false);
    saved_again(path, "pytorch", |key| key == "format");
    saved_again(path, "older", |key| key != "scores" && key != "commit");
    saved_again(path, "whole", |_| true);
    evaluated("whole", path);
    for (words, expected) in [
        ("eval text", "text is not an agent: not a safetensors file"),
        ("eval empty", "empty has no metadata of an agent; if it comes from `ale-train export`, pass"),
        ("eval without", "pass the metadata of the exported file when you save its weights again"),
        ("record pytorch --out a.gif", "pytorch has no metadata of an agent; if it comes from"),
        (
            "eval older",
            "older has no commit, scores in its metadata; save the weights with all metadata of the agent's file, or \
             export the agent again with this version",
        ),
        ("eval zoo:harvset", "the zoo has no agent 'harvset'; did you mean harvest?"),
        ("eval zoo:harvest --best", "--best requires a run, but zoo:harvest is a single agent"),
        ("zoo pnog", "the zoo has no agent 'pnog'"),
    ] {
        let message = run(words).within(path).fail(2);
        assert!(message.contains(expected), "{words}: {message}");
    }
}
