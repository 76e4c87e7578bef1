//! `ale-train sync` sends runs to Weights & Biases and `MLflow`, whose own packages read them again.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};
use tempfile::TempDir;

#[cfg(unix)]
use crate::program::wait_for;
use crate::program::{run, stdout, train};
use crate::python::python_with;

/// Prints the runs of an experiment of `MLflow`: state, name, settings, and the steps and values of a curve.
const READ_MLFLOW: &str = "
import json, mlflow
client = mlflow.MlflowClient()
experiment = client.get_experiment_by_name('balance')
print(json.dumps([{
    'state': run.info.status,
    'name': run.info.run_name,
    'settings': run.data.params,
    'values': [(m.step, m.value) for m in client.get_metric_history(run.info.run_id, 'losses/entropy')],
} for run in client.search_runs([experiment.experiment_id])]))
";

/// Prints the same of the newest directory that Weights & Biases has written offline: a log of records as in
/// `LevelDB`, each with checksum, length and kind (1 whole, 2 first, 3 middle, 4 last), in blocks of 32 KiB after a
/// header of 7 bytes.
const READ_WANDB: &str = "
import glob, json, struct
from wandb.proto.wandb_internal_pb2 import Record
log = open(sorted(glob.glob('wandb/offline-run-*/*.wandb'))[-1], 'rb').read()
position, message, run = 7, b'', {'values': []}
while position + 7 <= len(log):
    left = 32768 - position % 32768
    if left < 7:
        position += left
        continue
    _, length, kind = struct.unpack('<IHB', log[position:position + 7])
    message += log[position + 7:position + 7 + length]
    position += 7 + length
    if kind not in (1, 4):
        continue
    record, message = Record.FromString(message), b''
    if record.HasField('run'):
        run['project'], run['name'] = record.run.project, record.run.display_name
        run['settings'] = {item.key: json.loads(item.value_json) for item in record.run.config.update}
    if record.HasField('exit'):
        run['status'] = record.exit.exit_code
    if record.HasField('history'):
        items = {item.key or '/'.join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
        if 'losses/entropy' in items:
            run['values'].append((items['_step'], items['losses/entropy']))
print(json.dumps(run))
";

/// Trains a short run named `run`.
fn make_run(directory: &Path) {
    train(Path::new("run"), "ppo --games CartPole-v1 --total-frames 2048 --quiet")
        .within(directory)
        .succeed();
}

/// Returns the steps and values of the entropy in the curves of a run.
fn entropies(run_dir: &Path) -> Vec<(u64, f64)> {
    let text = fs::read_to_string(run_dir.join("metrics.jsonl")).expect("metrics");
    let records =
        text.lines().map(|line| serde_json::from_str::<Map<String, Value>>(line).expect("a record"));
    let entropy = |record: Map<String, Value>| {
        Some((record["steps"].as_u64().expect("steps"), record.get("losses/entropy")?.as_f64()?))
    };
    records.filter_map(entropy).collect()
}

/// Runs a command of Python or of the program with the settings of both services.
fn with_services(command: &mut Command, directory: &Path) -> String {
    command.current_dir(directory).env("WANDB_MODE", "offline").env("MLFLOW_ALLOW_FILE_STORE", "true");
    command.env("MLFLOW_TRACKING_URI", format!("file:{}/mlflow", directory.display()));
    stdout(command)
}

fn read(python: &str, program: &str, directory: &Path) -> Value {
    let printed = with_services(Command::new(python).args(["-c", program]), directory);
    serde_json::from_str(&printed).expect("JSON")
}

#[test]
fn mlflow_has_the_curves_of_a_run_once() {
    let Some(python) = python_with("mlflow") else { return };
    let temp = TempDir::new().expect("a temporary directory");
    make_run(temp.path());
    let sync = run("sync run --to mlflow --project balance --json --python").arg(&python);
    let send =
        || -> Value { serde_json::from_str(&with_services(&mut sync.command(), temp.path())).expect("JSON") };
    let sent = send();
    let expected = entropies(&temp.path().join("run"));
    assert!(sent[0]["records"].as_u64() > Some(expected.len() as u64), "{sent}");
    assert_eq!(send()[0]["records"], 0);

    run("resume run --total-frames 4096 --quiet").within(temp.path()).succeed();
    let later = entropies(&temp.path().join("run"));
    assert!(later.len() > expected.len());
    assert!(send()[0]["records"].as_u64() > Some(0));
    let runs = read(&python, READ_MLFLOW, temp.path());
    assert_eq!(runs.as_array().map(Vec::len), Some(1), "{runs}");
    assert_eq!((&runs[0]["state"], &runs[0]["name"]), (&json!("FINISHED"), &json!("run")));
    assert_eq!(runs[0]["values"], json!(later));
    assert_eq!(runs[0]["settings"]["environments.games"], "['CartPole-v1']");
    assert_eq!(runs[0]["settings"]["run.preset"], "cartpole-ppo");
}

#[test]
fn weights_and_biases_has_the_curves_of_a_run() {
    let Some(python) = python_with("wandb") else { return };
    let temp = TempDir::new().expect("a temporary directory");
    make_run(temp.path());
    let sync = run("sync run --to wandb --project balance --quiet --python").arg(&python);
    let printed = with_services(&mut sync.command(), temp.path());
    assert!(printed.starts_with("run: ") && printed.contains("wandb/offline-run-"), "{printed}");
    let sent = read(&python, READ_WANDB, temp.path());
    assert_eq!(sent["values"], json!(entropies(&temp.path().join("run"))), "{sent}");
    assert_eq!(
        (&sent["project"], &sent["name"], &sent["status"]),
        (&json!("balance"), &json!("run"), &json!(0))
    );
    assert_eq!(sent["settings"]["ppo"]["num_steps"], 32);
    assert_eq!(sent["settings"]["run"]["preset"], "cartpole-ppo");
}

#[cfg(unix)]
#[test]
fn a_run_is_followed_until_it_ends() {
    let Some(python) = python_with("mlflow") else { return };
    let temp = TempDir::new().expect("a temporary directory");
    let line = train(Path::new("run"), "ppo --games CartPole-v1 --total-frames 30000 --quiet");
    let mut training = line.within(temp.path()).start();
    wait_for(&mut training, "the first curves", || temp.path().join("run/metrics.jsonl").exists());
    let sync = run("sync run --to mlflow --project balance --follow --python").arg(&python);
    with_services(&mut sync.command(), temp.path());
    assert!(training.wait().expect("the program ends").success());
    let runs = read(&python, READ_MLFLOW, temp.path());
    assert_eq!(runs[0]["state"], "FINISHED");
    assert_eq!(runs[0]["values"], json!(entropies(&temp.path().join("run"))));
}

#[test]
fn errors_say_what_is_missing() {
    let temp = TempDir::new().expect("a temporary directory");
    let fails = |words: &str, status| run(words).within(temp.path()).fail(status);
    assert!(fails("sync nowhere --to wandb", 2).contains("nowhere does not exist"));
    make_run(temp.path());
    let error = fails("sync run --to wandb --python nowhere/python", 2);
    assert!(error.contains("cannot start Python as nowhere/python"), "{error}");
    assert!(
        fails("sync run run --to mlflow --follow", 2).contains("--follow takes one run, but 2 are given")
    );
    // A module of that name that another module lacks.
    fs::create_dir(temp.path().join("wandb")).expect("a directory");
    fs::write(temp.path().join("wandb/__init__.py"), "import missing_module.part").expect("a file");
    let Some(python) = python_with("sys") else { return };
    let mut line = run("sync run --to wandb --quiet --python").arg(&python).within(temp.path()).command();
    let output = line.env("PYTHONPATH", temp.path()).output().expect("the program starts");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        error.contains(&format!(
            "{python} has no module \"missing_module\"; install it: {python} -m pip install missing_module"
        )),
        "{error}"
    );
}
