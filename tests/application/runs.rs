//! The life cycle of runs: listing, extending, fine-tuning, and continuing with other settings.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{ale_train, fail, stdout, succeed};

/// A run of eight rollouts with 64 frames each, with a checkpoint in the middle.
const SMALL: [&str; 14] = [
    "--games",
    "CartPole-v1",
    "--num-envs",
    "4",
    "--num-threads",
    "1",
    "--set",
    "experiment.total_frames=512",
    "--set",
    "ppo.num_steps=16",
    "--set",
    "evaluation.episodes=2",
    "--set",
    "checkpoints.interval_frames=256",
];

/// Returns a command that trains with PPO.
fn train(run: &Path, settings: &[&str]) -> Command {
    let mut command = ale_train();
    command.arg("ppo").args(SMALL).arg("--run-dir").arg(run).args(settings);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn resumed(run: &Path, arguments: &[&str]) -> Command {
    let mut command = ale_train();
    command.arg("resume").arg(run).args(arguments);
    command
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-r").arg(from).arg(to).status().expect("a copy").success());
}

/// Returns the runs below a directory.
fn listed(directory: &Path) -> Vec<Value> {
    let json = stdout(ale_train().arg("runs").arg(directory).arg("--json"));
    serde_json::from_str(&json).expect("an array")
}

#[test]
fn runs_lists_the_state_of_every_run() {
    let temp = TempDir::new().expect("a directory");
    let of = |name: &str| temp.path().join(name);
    succeed(&mut train(&of("sweep/finished"), &[]));
    for name in ["stopped", "unsaved", "damaged"] {
        copy(&of("sweep/finished"), &of(name));
    }
    let newest = |name: &str| of(name).join("checkpoints/update-00000008");
    fs::remove_dir_all(newest("stopped")).expect("a checkpoint");
    fs::remove_dir_all(of("unsaved/checkpoints")).expect("checkpoints");
    fs::write(newest("damaged").join("learner.bin"), "x").expect("a file");
    fs::write(of("notes.txt"), "x").expect("a file");
    let endless = ["--total-frames", "1000000000", "--set", "checkpoints.interval_frames=0"];
    let mut running = train(&of("running"), &endless).spawn().expect("a run");
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

    let error = fail(ale_train().arg("eval").arg(of("stopped")).args(["--sticky", "0.25"]), 2);
    assert!(error.contains("--sticky is not possible: CartPole-v1 is not an Atari game"), "{error}");

    let table = stdout(ale_train().arg("runs").arg(temp.path()));
    running.kill().expect("a running process");
    running.wait().expect("the run ends");
    assert_eq!(table.lines().count(), 1 + states.len() + 1, "{table}");
    assert!(table.lines().last().expect("a line").starts_with("damaged: the checkpoint "), "{table}");
}

#[test]
fn directories_without_runs_are_named() {
    let temp = TempDir::new().expect("a directory");
    let nothing = stdout(ale_train().arg("runs").current_dir(temp.path()));
    assert_eq!(nothing, "no runs in checkpoints; `ale-train ppo` starts one\n");
    assert_eq!(stdout(ale_train().args(["runs", "--json"]).current_dir(temp.path())), "[]\n");
    let nowhere = fail(ale_train().args(["runs", "nowhere"]).current_dir(temp.path()), 2);
    assert_eq!(nowhere, "error: nowhere does not exist\n");
}

/// Returns the files of the newest checkpoint and the curves without measured times.
fn outcome(run: &Path) -> (Vec<u8>, Vec<u8>, Vec<Value>) {
    let checkpoints = fs::read_dir(run.join("checkpoints")).expect("checkpoints");
    let newest = checkpoints.map(|entry| entry.expect("an entry").path()).max().expect("a checkpoint");
    let read = |name: &str| fs::read(newest.join(name)).expect("a file");
    let text = fs::read_to_string(run.join("metrics.jsonl")).expect("curves");
    let mut records: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    for record in &mut records {
        let record = record.as_object_mut().expect("an object");
        record.retain(|tag, _| tag != "seconds" && tag != "charts/SPS" && !tag.starts_with("time/"));
    }
    (read("learner.bin"), read("environments.bin"), records)
}

#[test]
fn an_extended_run_equals_a_longer_one() {
    let ppo = ["ppo", "--set", "ppo.anneal_lr=false", "--set", "ppo.num_steps=16"];
    let pqn =
        ["pqn", "--set", "pqn.anneal_lr=false", "--set", "pqn.num_steps=16", "--set", "pqn.start_e=0.01"];
    let dqn =
        ["dqn", "--set", "dqn.learning_starts=64", "--set", "dqn.start_e=0.01", "--set", "dqn.end_e=0.01"];
    let small = ["sac.learning_starts=64", "sac.batch_size=16", "policy.hidden_size=16"];
    let sac = ["sac", "--set", small[0], "--set", small[1], "--set", small[2]];
    for (settings, game) in
        [(&ppo[..], "CartPole-v1"), (&pqn, "CartPole-v1"), (&dqn, "CartPole-v1"), (&sac, "Pendulum-v1")]
    {
        let temp = TempDir::new().expect("a directory");
        let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
        let train = |run: &Path, frames: &str| {
            let mut command = ale_train();
            command.args(settings).args(["--games", game, "--num-envs", "4", "--total-frames", frames]);
            succeed(
                command.args(["--set", "evaluation.episodes=0", "--run-dir"]).arg(run).stdout(Stdio::null()),
            );
        };
        train(&whole, "1024");
        train(&parts, "512");
        succeed(ale_train().arg("resume").arg(&parts).args(["--total-frames", "1024"]));
        assert!(outcome(&parts) == outcome(&whole), "{settings:?}");
    }
}

/// The last step of three environments exceeds the total: 334 steps of each are 1002 frames.
#[test]
fn a_run_that_exceeded_its_total_can_change_its_settings() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let mut train = ale_train();
    train.args(["dqn", "--games", "CartPole-v1", "--num-envs", "3", "--total-frames", "1000"]);
    train.args(["--set", "dqn.learning_starts=900", "--set", "policy.hidden_size=8"]);
    succeed(train.args(["--set", "evaluation.episodes=1", "--run-dir"]).arg(&run));
    succeed(&mut resumed(&run, &["--set", "evaluation.episodes=2"]));
    let error = fail(&mut resumed(&run, &["--total-frames", "1001"]), 2);
    assert!(error.contains("the run has been trained for 1002 frames already"), "{error}");
}

#[test]
fn changes_of_settings_are_recorded_in_the_run() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    succeed(&mut train(&run, &[]));
    let resume = |arguments: &[&str]| resumed(&run, arguments);
    let before = outcome(&run);
    for (arguments, expected) in [
        (
            &["--set", "experiment.seed=2"][..],
            "experiment.seed cannot change when a run is resumed: all random numbers of the run follow from it; \
             `ale-train ppo --init-from RUN`",
        ),
        (&["--set", "policy.torso=impala"], "policy.torso cannot change when a run is resumed"),
        (&["--set", "dqn.gamma=0.5"], "dqn.gamma has no effect in a run of ppo"),
        (&["--set", "ppo.gama=0.5"], "did you mean"),
        (&["--set", "ppo.gamma=1.5"], "it must be"),
        (
            &["--total-frames", "511"],
            "experiment.total_frames = 511 is not possible: the run has been trained for 512 frames already",
        ),
    ] {
        let error = fail(&mut resume(arguments), 2);
        assert!(error.contains(expected) && error.lines().count() == 1, "{arguments:?}: {error}");
    }
    assert!(outcome(&run) == before, "a refused change had an effect");

    let changes = [
        "--total-frames",
        "768",
        "--set",
        "ppo.learning_rate=0.002",
        "--set",
        "environments.reward_clipping=false",
    ];
    let said = String::from_utf8(succeed(&mut resume(&changes)).stderr).expect("text");
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
    let said = String::from_utf8(succeed(&mut resume(&[])).stderr).expect("text");
    assert!(!said.contains("warning"), "{said}");
    assert_eq!((&read("config.toml"), &read("run.json")), (&config, &provenance));

    // A run that has lost its checkpoints starts again, with its settings and their history.
    fs::remove_dir_all(run.join("checkpoints")).expect("checkpoints");
    succeed(&mut resume(&[]));
    assert_eq!(read("config.toml"), config);
    let again: Value = serde_json::from_str(&read("run.json")).expect("JSON");
    assert_eq!(again["amendments"], recorded["amendments"]);
}

#[test]
fn changed_settings_cause_their_warnings() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    succeed(&mut train(&run, &[]));
    let resume =
        |arguments: &[&str]| String::from_utf8(succeed(&mut resumed(&run, arguments)).stderr).expect("text");
    let said = resume(&["--total-frames", "600", "--set", "evaluation.repeat_action_probability=0.25"]);
    assert!(said.contains("warning: evaluation.repeat_action_probability has no effect"), "{said}");
    let said = resume(&["--total-frames", "700"]);
    assert!(!said.contains("warning: "), "repeated: {said}");
}

#[test]
fn a_run_starts_from_the_weights_of_another_one() {
    let temp = TempDir::new().expect("a directory");
    let of = |name: &str| temp.path().join(name);
    succeed(&mut train(&of("source"), &[]));
    let file = of("agent.safetensors");
    succeed(ale_train().arg("export").arg(of("source")).arg("--out").arg(&file).stdout(Stdio::null()));
    let from = |source: &Path, run: &Path, settings: &[&str]| {
        let mut command = train(run, settings);
        command.args(["--seed", "2", "--init-from"]).arg(source);
        command
    };
    let said = |command: &mut Command| String::from_utf8(succeed(command).stderr).expect("text");
    let message = said(&mut from(&of("source"), &of("own"), &[]));
    assert!(message.contains("8 of 8 tensors from "), "{message}");
    let message = said(&mut from(&file, &of("from-file"), &[]));
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
        succeed(ale_train().arg("export").arg(path).arg("--out").arg(&file).stdout(Stdio::null()));
        let bytes = fs::read(file).expect("a file");
        let header = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
        bytes[8 + header..].to_vec()
    };
    assert_eq!(weights(&of("own/checkpoints/update-00000000")), weights(&of("source")));
    fs::rename(of("source"), of("elsewhere")).expect("a directory");
    for newer in ["update-00000004", "update-00000008"] {
        fs::remove_dir_all(of("own/checkpoints").join(newer)).expect("a checkpoint");
    }
    succeed(ale_train().arg("resume").arg(of("own")));
    assert!(outcome(&of("own")) == whole, "the resumed run differs");
    fs::remove_dir_all(of("own/checkpoints")).expect("checkpoints");
    let error = fail(ale_train().arg("resume").arg(of("own")), 2);
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
    let command = |run: &str, algorithm: &str, games: &str, settings: &[&str]| {
        let mut command = ale_train();
        command.args([algorithm, "--games", games, "--num-envs", "4", "--num-threads", "1", "--quiet"]);
        command.args(["--total-frames", "1024", "--set", "evaluation.episodes=0", "--run-dir"]);
        command.arg(temp.path().join(run));
        command.args(settings.iter().flat_map(|set| ["--set", set]));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let (harvest, pole) = ("harvest", "CartPole-v1");
    for (index, (algorithm, games, of_source, of_run, keys)) in [
        (
            "ppo",
            harvest,
            &["environments.img_height=36", "environments.stack_num=2", "policy.layer_norm=false"][..],
            &["environments.factored_actions=true", "policy.value_scale=popart", "policy.width=0.5"][..],
            6,
        ),
        ("ppo", harvest, &["policy.torso=impala", "policy.lstm=4"], &["policy.game_embedding=2"], 3),
        ("pqn", harvest, &["policy.layer_norm=false", "policy.head=shared"], &["policy.hidden_size=20"], 3),
        (
            "dqn",
            pole,
            &["dqn.noisy=true", "dqn.distribution=c51", "dqn.num_atoms=11", "dqn.v_max=20"],
            &["dqn.dueling=true", "policy.hidden_size=16"],
            6,
        ),
        ("sac", "Pendulum-v1", &["policy.hidden_size=16"], &["policy.normalize_observations=true"], 2),
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
        succeed(&mut command(&source, algorithm, games, &[small, of_source].concat()));
        let start = || {
            let mut start = command(&run, algorithm, games, &[small, of_run].concat());
            start.arg("--init-from").arg(temp.path().join(&source));
            start
        };
        let error = fail(&mut start(), 2);
        assert_eq!(error.lines().count(), 1, "{error}");
        let flags = flags_to_add(&error);
        assert_eq!(flags.len(), 2 * keys, "{error}");
        succeed(start().args(flags));
    }
}

#[test]
fn a_run_learns_all_settings_of_an_agent_of_the_zoo_from_one_error() {
    let temp = TempDir::new().expect("a directory");
    let start = || {
        let mut start = ale_train();
        start.args(["ppo", "--games", "harvest", "--init-from", "zoo:atari57", "--total-frames", "8192"]);
        start.args(["--quiet", "--set", "evaluation.episodes=0", "--num-envs", "4", "--run-dir"]);
        start.arg(temp.path().join("run")).stdout(Stdio::piped()).stderr(Stdio::piped());
        start
    };
    let error = fail(&mut start(), 2);
    assert!(error.contains(" --set policy.value_scale=popart"), "{error}");
    succeed(start().args(flags_to_add(&error)));
}

#[test]
fn settings_of_a_source_that_a_run_cannot_have_are_not_recommended() {
    let temp = TempDir::new().expect("a directory");
    let of = |name: &str| temp.path().join(name);
    succeed(&mut train(&of("source"), &["--set", "policy.normalize_observations=true"]));
    let mut other = ale_train();
    other.args(["dqn", "--games", "CartPole-v1", "--quiet", "--init-from"]).arg(of("source"));
    let error = fail(other.arg("--run-dir").arg(of("own")), 2);
    assert!(
        error.contains("policy.normalize_observations = true (here false), but this run cannot have them: ")
            && error.contains("only PPO and SAC normalise observations")
            && !error.contains("add --set"),
        "{error}"
    );
    let mut source = ale_train();
    source.args(["ppo", "--games", "Pendulum-v1", "--num-envs", "4", "--total-frames", "512", "--quiet"]);
    source.args(["--set", "ppo.num_steps=16", "--set", "evaluation.episodes=0", "--run-dir"]);
    succeed(source.arg(of("pendulum")));
    let mut other = ale_train();
    other.args(["sac", "--games", "Pendulum-v1", "--quiet", "--init-from"]).arg(of("pendulum"));
    let error = fail(other.arg("--run-dir").arg(of("own")), 2);
    assert!(error.contains("the source has experiment.algorithm = ppo, the new network has sac"), "{error}");
    let mut other = ale_train();
    other.args(["ppo", "--games", "harvest", "--quiet", "--init-from"]).arg(of("source"));
    let error = fail(other.arg("--run-dir").arg(of("own")), 2);
    assert!(error.contains("the observations of the source are Box(") && !error.contains("--set"), "{error}");
}

#[test]
fn weights_that_do_not_fit_are_refused_before_anything_is_written() {
    let temp = TempDir::new().expect("a directory");
    let of = |name: &str| temp.path().join(name);
    succeed(&mut train(&of("source"), &[]));
    fs::write(of("text.safetensors"), "weights").expect("a file");
    fs::write(of("plain.safetensors"), b"\x02\0\0\0\0\0\0\0{}").expect("a file");
    for (source, settings, expected) in [
        ("nowhere", &[][..], "does not exist"),
        ("text.safetensors", &[], "is not a safetensors file"),
        ("plain.safetensors", &[], "has no metadata of an agent"),
        (
            "source",
            &["--set", "policy.hidden_size=32", "--set", "policy.lstm=4"],
            "it has policy.hidden_size = absent (here 32), policy.lstm = 0 (here 4); add --set policy.hidden_size=absent \
             --set policy.lstm=0",
        ),
    ] {
        let mut command = train(&of("own"), settings);
        command.arg("--quiet");
        let error =
            fail(command.arg("--init-from").arg(of(source)).stdout(Stdio::piped()).stderr(Stdio::piped()), 2);
        assert!(error.contains(expected) && error.lines().count() == 1, "{source}: {error}");
        assert!(!of("own").exists(), "something was written");
    }
}

/// Starts a run that trains until it is killed and writes checkpoints on request only. Returns it once it has made
/// updates.
fn endless(run: &Path) -> Child {
    let settings =
        ["checkpoints.interval_frames=0", "checkpoints.interval_minutes=0", "experiment.total_frames=1e9"];
    let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let mut child = train(run, &settings).spawn().expect("a run");
    let metrics = run.join("metrics.jsonl");
    wait_until(&mut child, "an update", || fs::metadata(&metrics).is_ok_and(|file| file.len() > 0));
    child
}

fn wait_until(run: &mut Child, event: &str, happened: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !happened() {
        assert!(Instant::now() < deadline, "no {event} in a minute");
        assert!(run.try_wait().expect("a process").is_none(), "it ended before {event}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(process: &Child, name: &str) {
    assert!(
        Command::new("kill").args([name, &process.id().to_string()]).status().expect("a signal").success()
    );
}

fn request(run: &Path, arguments: &[&str]) -> Command {
    let mut command = ale_train();
    command.arg("checkpoint").arg(run).args(arguments);
    command
}

#[test]
fn a_run_in_training_writes_checkpoints_on_request_and_its_agent_can_be_used() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let mut training = endless(&run);
    let eval = |arguments: &[&str]| {
        let mut command = ale_train();
        command.arg("eval").arg(&run).args(["--episodes", "1", "--num-threads", "1"]).args(arguments);
        command
    };
    let error = fail(&mut eval(&[]), 2);
    let expected = "has no checkpoint yet; it writes the first one at its end, or when `ale-train checkpoint` requests it";
    assert!(error.contains(expected), "{error}");

    let first = stdout(&mut request(&run, &[]));
    let first = Path::new(first.trim_end());
    assert!(first.starts_with(&run) && first.join("manifest.json").is_file(), "{}", first.display());
    let second: Value = serde_json::from_str(&stdout(&mut request(&run, &["--json"]))).expect("JSON");
    assert_ne!(second["checkpoint"].as_str(), first.to_str());
    assert_eq!(second["run"].as_str(), run.to_str());
    assert!(!run.join("checkpoint.request").exists(), "the request is answered");
    let updates = second["updates"].as_u64().expect("a number");
    assert_eq!(second["frames"], json!(64 * updates));

    let said = |command: &mut Command| String::from_utf8(succeed(command).stderr).expect("text");
    let line = format!("the run {} is training: checkpoint of update {updates}, ", run.display());
    assert!(said(&mut eval(&[])).contains(&line));
    assert!(said(&mut eval(&["--quiet"])).is_empty());
    let file = temp.path().join("agent.safetensors");
    assert!(said(ale_train().arg("export").arg(&run).arg("--out").arg(&file)).contains(&line));
    assert!(!said(ale_train().arg("export").arg(first).arg("--out").arg(&file)).contains("is training"));

    assert!(training.try_wait().expect("a process").is_none(), "the run continues");
    training.kill().expect("a running process");
    training.wait().expect("the run ends");
    assert!(!said(&mut eval(&[])).contains("is training"));
    let error = fail(&mut request(&run, &[]), 2);
    assert!(error.contains("no process of this machine is training the run"), "{error}");
    assert!(!run.join("checkpoint.request").exists());
    for (path, expected) in [("nowhere", "nowhere does not exist"), ("", "is not a run")] {
        let error = fail(&mut request(&temp.path().join(path), &[]), 2);
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
    signal(&training, "-STOP");
    let error = fail(&mut request(&run, &["--timeout", "1"]), 1);
    assert!(error.contains("did not answer within 0:01") && error.lines().count() == 1, "{error}");

    let waiting = || {
        let mut command = request(&run, &[]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process")
    };
    fs::remove_file(&file).expect("the request remains");
    let mut interrupted = waiting();
    wait_until(&mut interrupted, "a request", || file.exists());
    signal(&interrupted, "-INT");
    assert_eq!(interrupted.wait().expect("it ends").code(), Some(130));

    signal(&training, "-CONT");
    wait_until(&mut training, "an answer to the request", || !file.exists());
    signal(&training, "-STOP");
    let mut late = waiting();
    wait_until(&mut late, "a request", || file.exists());
    signal(&training, "-KILL");
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
    let mut training = train(&run, &["--set", "evaluation.episodes=10000000"]).spawn().expect("a run");
    let last = run.join("checkpoints/update-00000008");
    wait_until(&mut training, "the last checkpoint", || last.exists());
    assert_eq!(stdout(&mut request(&run, &[])), format!("{}\n", last.display()));
    training.kill().expect("a running process");
    training.wait().expect("the run ends");
}
