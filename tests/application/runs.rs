//! The life cycle of runs: listing, extending, fine-tuning, and continuing with other settings.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{self, Line, copy, outcome, signal, wait_for};

/// A run of eight rollouts with 64 frames each, with a checkpoint in the middle.
const SMALL: &str = "ppo --games CartPole-v1 --num-envs 4 --num-threads 1 --set experiment.total_frames=512 \
    --set ppo.num_steps=16 --set evaluation.episodes=2 --set checkpoints.interval_frames=256 --run-dir";

fn train(run: &Path) -> Line {
    program::run(SMALL).arg(run)
}

fn resume(run: &Path) -> Line {
    program::run("resume").arg(run)
}

/// Returns the runs below a directory.
fn listed(directory: &Path) -> Vec<Value> {
    serde_json::from_str(&program::run("runs --json").arg(directory).stdout()).expect("an array")
}

/// Exports an agent.
fn export(agent: &Path, file: &Path) -> Line {
    program::run("export").arg(agent).arg("--out").arg(file)
}

#[test]
fn runs_lists_the_state_of_every_run() {
    let temp = TempDir::new().expect("a directory");
    let of = |name: &str| temp.path().join(name);
    train(&of("sweep/finished")).succeed();
    for name in ["stopped", "unsaved", "damaged"] {
        copy(&of("sweep/finished"), &of(name));
    }
    let newest = |name: &str| of(name).join("checkpoints/update-00000008");
    fs::remove_dir_all(newest("stopped")).expect("a checkpoint");
    fs::remove_dir_all(of("unsaved/checkpoints")).expect("checkpoints");
    fs::write(newest("damaged").join("learner.bin"), "x").expect("a file");
    fs::write(of("notes.txt"), "x").expect("a file");
    let endless = "--total-frames 1000000000 --set checkpoints.interval_frames=0";
    let mut running = train(&of("running")).words(endless).start();
    let deadline = Instant::now() + Duration::from_mins(1);
    let has_begun = |run: &Value| {
        run["path"].as_str() == of("running").to_str()
            && run["frames"].as_u64().is_some_and(|frames| frames > 0)
    };
    while !listed(temp.path()).iter().any(has_begun) {
        assert!(Instant::now() < deadline, "no frames in a minute");
        std::thread::sleep(Duration::from_millis(10));
    }

    let runs = listed(temp.path());
    let run = |name: &str| {
        let path = of(name);
        runs.iter().find(|run| run["path"].as_str() == path.to_str()).expect("a run")
    };
    let states = ["running", "sweep/finished", "stopped", "unsaved", "damaged"];
    for name in states {
        assert_eq!(run(name)["state"], json!(name.trim_start_matches("sweep/")), "{name}");
    }
    assert_eq!(runs.len(), states.len());
    assert_eq!(run("running"), &runs[0], "the newest comes first");
    let finished = run("sweep/finished");
    assert_eq!((&finished["frames"], &finished["total_frames"]), (&json!(512), &json!(512)));
    assert_eq!(finished["final_frames"], json!(512));
    assert_eq!((&finished["algorithm"], &finished["games"]), (&json!("ppo"), &json!(["CartPole-v1"])));
    assert_eq!(finished["percent_done"], json!(100));
    assert_eq!(finished["score"]["origin"], json!("evaluation"));
    assert_eq!(run("stopped")["frames"], json!(256));
    assert_eq!(run("stopped")["score"]["origin"], json!("training"));
    assert_eq!((&run("unsaved")["frames"], &run("unsaved")["percent_done"]), (&json!(512), &json!(100)));
    let problem = run("damaged")["problem"].as_str().expect("a problem");
    assert!(problem.contains("learner.bin is damaged: it has 1 bytes"), "{problem}");

    let error = program::run("eval --sticky 0.25").arg(of("stopped")).fail(2);
    assert!(error.contains("--sticky is not possible: CartPole-v1 is not an Atari game"), "{error}");

    let table = program::run("runs").arg(temp.path()).stdout();
    running.kill().expect("a running process");
    running.wait().expect("the run ends");
    assert_eq!(table.lines().count(), 1 + states.len() + 2, "{table}");
    let marked = "\n* of the newest evaluation; other scores are of the last episodes of training\n";
    assert!(table.contains(marked), "{table}");
    assert!(table.lines().last().expect("a line").starts_with("damaged: the checkpoint "), "{table}");
}

#[test]
fn directories_without_runs_are_named() {
    let temp = TempDir::new().expect("a directory");
    let run = |words| program::run(words).within(temp.path());
    let nothing = run("runs").stdout();
    assert_eq!(nothing, "no runs in checkpoints; `ale-train ppo` starts one\n");
    assert_eq!(run("runs --json").stdout(), "[]\n");
    let nowhere = run("runs nowhere").fail(2);
    assert_eq!(nowhere, "error: nowhere does not exist\n");
}

#[test]
fn an_extended_run_equals_a_longer_one() {
    let ppo = ["ppo.anneal_lr=false", "ppo.num_steps=16"];
    let pqn = ["pqn.anneal_lr=false", "pqn.num_steps=16", "pqn.start_e=0.01"];
    let dqn = ["dqn.learning_starts=64", "dqn.start_e=0.01", "dqn.end_e=0.01"];
    let sac = ["sac.learning_starts=64", "sac.batch_size=16", "policy.hidden_size=16"];
    for (words, settings) in [
        ("ppo --games CartPole-v1 --num-envs 4", &ppo[..]),
        ("pqn --games CartPole-v1 --num-envs 4", &pqn),
        ("dqn --games CartPole-v1 --num-envs 4", &dqn),
        ("sac --games Pendulum-v1 --num-envs 4", &sac),
    ] {
        let temp = TempDir::new().expect("a directory");
        let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
        program::train(&whole, words).settings(settings).words("--total-frames 1024").succeed();
        program::train(&parts, words).settings(settings).words("--total-frames 512").succeed();
        resume(&parts).words("--total-frames 1024").succeed();
        assert!(outcome(&parts) == outcome(&whole), "{words}");
    }
}

/// The last step of three environments exceeds the total: 334 steps of each are 1002 frames.
#[test]
fn a_run_that_exceeded_its_total_can_change_its_settings() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let settings = "dqn --games CartPole-v1 --num-envs 3 --total-frames 1000 --set dqn.learning_starts=900 \
        --set policy.hidden_size=8 --set evaluation.episodes=1";
    program::train(&run, settings).succeed();
    resume(&run).set("evaluation.episodes", 2).succeed();
    let error = resume(&run).words("--total-frames 1001").fail(2);
    assert!(error.contains("the run has been trained for 1002 frames already"), "{error}");
}

#[test]
fn changes_of_settings_are_recorded_in_the_run() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    train(&run).succeed();
    let before = outcome(&run);
    for (words, expected) in [
        (
            "--set experiment.seed=2",
            "experiment.seed cannot change when a run is resumed: all random numbers of the run follow from it; \
             `ale-train ppo --init-from RUN`",
        ),
        ("--set policy.torso=impala", "policy.torso cannot change when a run is resumed"),
        ("--set dqn.gamma=0.5", "dqn.gamma has no effect in a run of ppo"),
        ("--set ppo.gama=0.5", "did you mean"),
        ("--set ppo.gamma=1.5", "it must be"),
        (
            "--total-frames 511",
            "experiment.total_frames = 511 is not possible: the run has been trained for 512 frames already",
        ),
    ] {
        let error = resume(&run).words(words).fail(2);
        assert!(error.contains(expected) && error.lines().count() == 1, "{words}: {error}");
    }
    assert!(outcome(&run) == before, "a refused change had an effect");

    let changes = "--total-frames 768 --set ppo.learning_rate=0.002 --set environments.reward_clipping=false";
    let said = resume(&run).words(changes).messages();
    assert!(said.contains("from now on, ppo.learning_rate = 0.002 (was 0.001)"), "{said}");
    let read = |name: &str| fs::read_to_string(run.join(name)).expect("a file");
    let (config, provenance) = (read("config.toml"), read("run.json"));
    assert!(config.contains("learning_rate = 0.002") && config.contains("total_frames = 768"), "{config}");
    let recorded: Value = serde_json::from_str(&provenance).expect("JSON");
    let [amendment] = recorded["amendments"].as_array().expect("a list").as_slice() else {
        panic!("{recorded}")
    };
    assert_eq!((&amendment["frames"], &amendment["commit"]), (&json!(512), &recorded["commit"]));
    assert_eq!(
        amendment["changes"],
        json!([
            { "key": "environments.reward_clipping", "from": true, "to": false },
            { "key": "experiment.total_frames", "from": 512, "to": 768 },
            { "key": "ppo.learning_rate", "from": 0.001, "to": 0.002 },
        ])
    );
    let events = fs::read(run.join("events.out.tfevents.ale-train")).expect("events");
    let shown = events.windows(15).filter(|&window| window == b"hyperparameters").count();
    assert!(shown >= 2, "the table of settings is shown again");
    assert_eq!(listed(&run)[0]["frames"], json!(768));

    // If a process is killed after it wrote the checkpoint with the new settings, the next process writes these files.
    let mut incomplete = recorded.clone();
    incomplete.as_object_mut().expect("an object").remove("amendments");
    fs::write(run.join("run.json"), incomplete.to_string()).expect("a file");
    fs::write(run.join("config.toml"), config.replace("768", "512")).expect("a file");
    let said = resume(&run).messages();
    assert!(!said.contains("warning"), "{said}");
    assert_eq!((&read("config.toml"), &read("run.json")), (&config, &provenance));

    // A run that has lost its checkpoints starts again, with its settings and their history.
    fs::remove_dir_all(run.join("checkpoints")).expect("checkpoints");
    resume(&run).succeed();
    assert_eq!(read("config.toml"), config);
    let again: Value = serde_json::from_str(&read("run.json")).expect("JSON");
    assert_eq!(again["amendments"], recorded["amendments"]);
}

#[test]
fn changed_settings_cause_their_warnings() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    train(&run).succeed();
    let changes = "--total-frames 600 --set evaluation.repeat_action_probability=0.25";
    let said = resume(&run).words(changes).messages();
    assert!(said.contains("warning: evaluation.repeat_action_probability has no effect"), "{said}");
    let said = resume(&run).words("--total-frames 700").messages();
    assert!(!said.contains("warning: "), "repeated: {said}");
}

#[test]
fn a_run_starts_from_the_weights_of_another_one() {
    let temp = TempDir::new().expect("a directory");
    let of = |name: &str| temp.path().join(name);
    train(&of("source")).succeed();
    let file = of("agent.safetensors");
    export(&of("source"), &file).succeed();
    let from = |source: &Path, run: &Path| train(run).words("--seed 2 --init-from").arg(source).messages();
    let message = from(&of("source"), &of("own"));
    assert!(message.contains("8 of 8 tensors from "), "{message}");
    let message = from(&file, &of("from-file"));
    assert!(message.contains("8 of 8 tensors from "), "{message}");
    assert!(outcome(&of("own")) == outcome(&of("from-file")), "the run and its export differ");
    let origin = |run: &str| -> Value {
        let text = fs::read_to_string(of(run).join("run.json")).expect("a file");
        serde_json::from_str::<Value>(&text).expect("JSON")["init_from"].clone()
    };
    assert_eq!(origin("own")["path"].as_str(), of("source").to_str());
    assert_eq!(origin("own")["weights_sha256"], origin("from-file")["weights_sha256"]);
    assert!(origin("own")["commit"].is_string() && origin("source").is_null());

    // The first checkpoint contains the weights of the source, so resuming no longer needs the source.
    let whole = outcome(&of("own"));
    let weights = |path: &Path| {
        let file = of("weights.safetensors");
        export(path, &file).succeed();
        let bytes = fs::read(file).expect("a file");
        let header = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
        bytes[8 + header..].to_vec()
    };
    assert_eq!(weights(&of("own/checkpoints/update-00000000")), weights(&of("source")));
    fs::rename(of("source"), of("elsewhere")).expect("a directory");
    for newer in ["update-00000004", "update-00000008"] {
        fs::remove_dir_all(of("own/checkpoints").join(newer)).expect("a checkpoint");
    }
    resume(&of("own")).succeed();
    assert!(outcome(&of("own")) == whole, "the resumed run differs");
    fs::remove_dir_all(of("own/checkpoints")).expect("checkpoints");
    let error = resume(&of("own")).fail(2);
    assert!(error.contains("ended before it stored the weights of"), "{error}");
}

/// Returns the flags that an error tells the user to add.
fn flags_to_add(error: &str) -> Vec<String> {
    let (_, flags) = error.trim_end().split_once("; add ").unwrap_or_else(|| panic!("no flags in: {error}"));
    shlex::split(flags).expect("words")
}

#[test]
fn the_flags_that_an_error_prints_make_a_run_fit_its_source() {
    let temp = TempDir::new().expect("a directory");
    let training = |run: &str, algorithm: &str, games: &str| {
        let fixed = "--num-envs 4 --num-threads 1 --quiet --total-frames 1024";
        program::train(&temp.path().join(run), &format!("{algorithm} --games {games} {fixed}"))
    };
    let (harvest, pole) = ("harvest", "CartPole-v1");
    for (index, (algorithm, games, of_source, of_run, keys)) in [
        (
            "ppo",
            harvest,
            &["environments.img_height=36", "environments.stack_num=2", "policy.layer_norm=false"][..],
            &["environments.factored_actions=true", "policy.value_scale=popart", "policy.width=0.5"][..],
            5,
        ),
        (
            "ppo",
            harvest,
            &["policy.torso=impala", "policy.lstm=4"],
            &["policy.torso=nature", "policy.lstm=0", "policy.game_embedding=2"],
            3,
        ),
        ("pqn", harvest, &["policy.layer_norm=false", "policy.head=shared"], &["policy.head=per_game"], 1),
        (
            "dqn",
            pole,
            &["dqn.noisy=true", "dqn.distribution=c51", "dqn.num_atoms=11", "dqn.v_max=20"],
            &["dqn.dueling=true", "policy.hidden_size=16"],
            6,
        ),
        ("sac", "Pendulum-v1", &["policy.hidden_size=16"], &["policy.normalize_observations=true"], 1),
    ]
    .into_iter()
    .enumerate()
    {
        let small: &[&str] = match algorithm {
            "ppo" => &["ppo.num_steps=16", "ppo.num_minibatches=2"],
            "pqn" => &["pqn.num_steps=16", "pqn.num_minibatches=2"],
            "dqn" => &["dqn.learning_starts=64", "dqn.buffer_size=500", "dqn.batch_size=4"],
            _ => &["sac.learning_starts=64", "sac.buffer_size=500", "sac.batch_size=4"],
        };
        let [source, run] = ["source", "run"].map(|name| format!("{name}-{index}"));
        training(&source, algorithm, games).settings(small).settings(of_source).succeed();
        let start = training(&run, algorithm, games).settings(small).settings(of_run);
        let start = start.arg("--init-from").arg(temp.path().join(&source));
        let error = start.fail(2);
        assert_eq!(error.lines().count(), 1, "{error}");
        let flags = flags_to_add(&error);
        assert_eq!(flags.len(), 2 * keys, "{error}");
        start.args(flags).succeed();
    }
}

#[test]
fn a_run_inherits_the_network_of_its_source_unless_the_user_sets_it() {
    let temp = TempDir::new().expect("a directory");
    let of = |name: &str| temp.path().join(name);
    let small =
        "--num-envs 4 --num-threads 1 --total-frames 1024 --set ppo.num_steps=16 --set evaluation.episodes=0";
    let training = |run: &str, words: &str| {
        program::train(&of(run), &format!("{words} --games harvest {small}")).set("ppo.num_minibatches", 2)
    };
    let network =
        ["policy.torso=impala", "policy.lstm=4", "policy.layer_norm=absent", "policy.popart_beta=0.5"];
    training("source", "ppo").settings(&network).set("policy.width", 0.25).succeed();
    let policy = |run: &str| {
        let text = fs::read_to_string(of(run).join("config.toml")).expect("a file");
        text.parse::<toml::Table>().expect("TOML")["policy"].clone()
    };

    let start = |run: &str, words: &str| training(run, words).arg("--init-from").arg(of("source"));
    let said = start("own", "ppo").messages();
    let expected = format!(
        "policy.layer_norm = absent, policy.lstm = 4, policy.torso = \"impala\", policy.width = 0.25 from {}",
        of("source").display()
    );
    assert!(said.contains(&expected), "{said}");
    let (own, source) = (policy("own"), policy("source"));
    for key in ["torso", "lstm", "width", "layer_norm", "hidden_size"] {
        assert_eq!(own.get(key), source.get(key), "{key}");
    }
    assert_ne!(own["popart_beta"], source["popart_beta"]);

    // Keys that the command line, a file or a named preset sets are the user's.
    let file = of("file.toml");
    fs::write(&file, "[policy]\nwidth = 0.5\n").expect("a file");
    for (words, key, value) in [
        ("ppo --set policy.lstm=0", "policy.lstm", "4 (here 0)"),
        (&format!("ppo --config {}", file.display()), "policy.width", "0.25 (here 0.5)"),
        ("ppo --preset harvest", "policy.layer_norm", "absent (here true)"),
    ] {
        let error = start("other", words).arg("--quiet").fail(2);
        let names = [format!("{key} = {value}"), format!(" --set {key}=")];
        assert!(names.iter().all(|name| error.contains(name)), "{words}: {error}");
    }

    // Other algorithms have no LSTM.
    let small = ["pqn.num_steps=16", "pqn.num_minibatches=2", "evaluation.episodes=0"];
    let words = "pqn --games harvest --num-envs 4 --num-threads 1 --total-frames 1024";
    let line = program::train(&of("pqn"), words).settings(&small).arg("--init-from").arg(of("source"));
    let said = line.messages();
    let expected = format!("policy.torso = \"impala\", policy.width = 0.25 from {}", of("source").display());
    assert!(said.contains(&expected) && !said.contains("policy.lstm"), "{said}");
}

#[test]
fn a_network_of_the_source_that_a_run_cannot_have_is_named() {
    let temp = TempDir::new().expect("a directory");
    let of = |name: &str| temp.path().join(name);
    train(&of("source")).set("policy.lstm", 4).succeed();
    let own = program::train(
        &of("own"),
        "ppo --games CartPole-v1 --num-envs 2 --set ppo.num_minibatches=4 --quiet",
    );
    let error = own.arg("--init-from").arg(of("source")).fail(2);
    let expected = format!("policy.lstm = 4 from {}: policy.lstm = 4 is invalid", of("source").display());
    assert!(error.contains(&expected), "{error}");
}

#[test]
fn a_run_starts_from_an_agent_of_the_zoo_with_another_value_scale() {
    let temp = TempDir::new().expect("a directory");
    let words = "ppo --games harvest --num-envs 4 --init-from zoo:atari57 --total-frames 8192";
    let said = program::train(&temp.path().join("run"), words).messages();
    assert!(said.contains("policy.value_scale = \"popart\" from zoo:atari57"), "{said}");
}

#[test]
fn settings_of_a_source_that_a_run_cannot_have_are_not_recommended() {
    let temp = TempDir::new().expect("a directory");
    let of = |name: &str| temp.path().join(name);
    let error = |words: &str, source: &str| {
        program::train(&of("own"), words).arg("--quiet").arg("--init-from").arg(of(source)).fail(2)
    };
    train(&of("source")).set("policy.normalize_observations", true).succeed();
    let refused = error("dqn --games CartPole-v1", "source");
    assert!(
        refused
            .contains("policy.normalize_observations = true (here false), but this run cannot have them: ")
            && refused.contains("only PPO and SAC normalise observations")
            && !refused.contains("add --set"),
        "{refused}"
    );
    let pendulum = "ppo --games Pendulum-v1 --num-envs 4 --total-frames 512 --set ppo.num_steps=16";
    program::train(&of("pendulum"), pendulum).succeed();
    let refused = error("sac --games Pendulum-v1", "pendulum");
    let expected = "the source has experiment.algorithm = ppo, the new network has sac";
    assert!(refused.contains(expected), "{refused}");
    let refused = error("ppo --games harvest", "source");
    let expected = "the observations of the source are Box(";
    assert!(refused.contains(expected) && !refused.contains("--set"), "{refused}");
}

#[test]
fn weights_that_do_not_fit_are_refused_before_anything_is_written() {
    let temp = TempDir::new().expect("a directory");
    let of = |name: &str| temp.path().join(name);
    train(&of("source")).succeed();
    fs::write(of("text.safetensors"), "weights").expect("a file");
    fs::write(of("plain.safetensors"), b"\x02\0\0\0\0\0\0\0{}").expect("a file");
    for (source, settings, expected) in [
        ("nowhere", "", "does not exist"),
        ("text.safetensors", "", "is not an agent: not a safetensors file"),
        ("plain.safetensors", "", "has no metadata of an agent"),
        (
            "source",
            "--set policy.hidden_size=32 --set policy.lstm=4",
            "it has policy.hidden_size = absent (here 32), policy.lstm = 0 (here 4); add --set policy.hidden_size=absent \
             --set policy.lstm=0",
        ),
    ] {
        let line = train(&of("own")).words(settings).arg("--quiet");
        let error = line.arg("--init-from").arg(of(source)).fail(2);
        assert!(error.contains(expected) && error.lines().count() == 1, "{source}: {error}");
        assert!(!of("own").exists(), "something was written");
    }
}

/// Starts a run that trains until it is killed and writes checkpoints on request only. Returns it once it has made
/// updates.
fn endless(run: &Path) -> Child {
    let settings =
        ["checkpoints.interval_frames=0", "checkpoints.interval_minutes=0", "experiment.total_frames=1e9"];
    let mut child = train(run).settings(&settings).start();
    let metrics = run.join("metrics.jsonl");
    wait_for(&mut child, "an update", || fs::metadata(&metrics).is_ok_and(|file| file.len() > 0));
    child
}

fn request(run: &Path) -> Line {
    program::run("checkpoint").arg(run)
}

#[test]
fn a_run_in_training_writes_checkpoints_on_request_and_its_agent_can_be_used() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let mut training = endless(&run);
    let eval = program::run("eval --episodes 1 --num-threads 1").arg(&run);
    let error = eval.fail(2);
    let expected = "has no checkpoint yet; it writes the first one at its end, or when `ale-train checkpoint` requests it";
    assert!(error.contains(expected), "{error}");

    let first = request(&run).stdout();
    let first = Path::new(first.trim_end());
    assert!(first.starts_with(&run) && first.join("manifest.json").is_file(), "{}", first.display());
    let second: Value = serde_json::from_str(&request(&run).arg("--json").stdout()).expect("JSON");
    assert_ne!(second["checkpoint"].as_str(), first.to_str());
    assert_eq!(second["run"].as_str(), run.to_str());
    assert!(!run.join("checkpoint.request").exists(), "the request is answered");
    let updates = second["updates"].as_u64().expect("a number");
    assert_eq!(second["frames"], json!(64 * updates));

    let line = format!("the run {} is training: checkpoint of update {updates}, ", run.display());
    assert!(eval.messages().contains(&line));
    assert!(eval.clone().arg("--quiet").messages().is_empty());
    let file = temp.path().join("agent.safetensors");
    assert!(export(&run, &file).messages().contains(&line));
    assert!(!export(first, &file).messages().contains("is training"));

    assert!(training.try_wait().expect("a process").is_none(), "the run continues");
    training.kill().expect("a running process");
    training.wait().expect("the run ends");
    assert!(!eval.messages().contains("is training"));
    let error = request(&run).fail(2);
    assert!(error.contains("no process of this machine is training the run"), "{error}");
    assert!(!run.join("checkpoint.request").exists());
    for (path, expected) in [("nowhere", "nowhere does not exist"), ("", "is not a run")] {
        let error = request(&temp.path().join(path)).fail(2);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_request_ends_after_a_while_with_ctrl_c_and_with_the_run() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let file = run.join("checkpoint.request");
    let mut training = endless(&run);
    // As if an update took a long time.
    signal(training.id(), "-STOP");
    let error = request(&run).words("--timeout 1").fail(1);
    assert!(error.contains("did not answer within 0:01") && error.lines().count() == 1, "{error}");

    let waiting = || {
        let mut command = request(&run).command();
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process")
    };
    fs::remove_file(&file).expect("the request remains");
    let mut interrupted = waiting();
    wait_for(&mut interrupted, "a request", || file.exists());
    signal(interrupted.id(), "-INT");
    assert_eq!(interrupted.wait().expect("it ends").code(), Some(130));

    signal(training.id(), "-CONT");
    wait_for(&mut training, "an answer to the request", || !file.exists());
    signal(training.id(), "-STOP");
    let mut late = waiting();
    wait_for(&mut late, "a request", || file.exists());
    signal(training.id(), "-KILL");
    training.wait().expect("the run ends");
    let output = late.wait_with_output().expect("it ends");
    let error = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("ended before it answered; its last one is "), "{error}");
    assert!(output.stdout.is_empty() && !file.exists());
}

#[test]
fn a_request_during_the_final_evaluation_names_the_last_checkpoint() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let mut training = train(&run).set("evaluation.episodes", 10_000_000).start();
    let last = run.join("checkpoints/update-00000008");
    wait_for(&mut training, "the last checkpoint", || last.exists());
    assert_eq!(request(&run).stdout(), format!("{}\n", last.display()));
    training.kill().expect("a running process");
    training.wait().expect("the run ends");
}
