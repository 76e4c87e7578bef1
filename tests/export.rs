//! What `ale-train export` writes, read by others: the safetensors crate, and PyTorch where it is installed.

mod program;
mod python;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use algorithms::dqn::Dqn;
use algorithms::ppo::Ppo;
use algorithms::pqn::Pqn;
use algorithms::{Learner, LearnerError};
use burn::tensor::Device;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::Batch;
use safetensors::SafeTensors;
use tempfile::TempDir;

use program::{ale_train, stdout, succeed};
use python::python_with;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/load_in_pytorch.py");

/// A trained agent, and the file that its weights were exported to.
struct Exported {
    folder: TempDir,
    file: PathBuf,
    judge: Judge,
    rows: usize,
}

/// What an agent says of each row's actions: log-probabilities, or values.
type Judge = Box<dyn Fn(&Batch) -> Result<Vec<Vec<f32>>, LearnerError>>;

/// How a learner that was restored from a checkpoint judges, and how many environments it has.
fn judge(algorithm: &str, state: &[u8]) -> Result<(Judge, usize), LearnerError> {
    let device = Device::flex();
    Ok(match algorithm {
        "ppo" => {
            let ppo = Ppo::from_state(state, &device)?;
            let policy = ppo.policy(ppo.spec())?;
            (Box::new(move |batch| policy.log_probs(batch)), ppo.spec().num_envs())
        }
        "dqn" => {
            let dqn = Dqn::from_state(state, &device)?;
            let policy = dqn.policy(dqn.spec())?;
            (Box::new(move |batch| policy.values(batch)), dqn.spec().num_envs())
        }
        _ => {
            let pqn = Pqn::from_state(state, &device)?;
            let policy = pqn.policy(pqn.spec())?;
            (Box::new(move |batch| policy.values(batch)), pqn.spec().num_envs())
        }
    })
}

impl Exported {
    /// Trains for two updates or more, so that no bias is zero any more.
    fn of(algorithm: &str, games: &str, frames: &str, keys: &[&str]) -> Self {
        let folder = TempDir::new().expect("a folder");
        let [run, file] = ["run", "agent.safetensors"].map(|name| folder.path().join(name));
        let [run_dir, out] = [&run, &file].map(|path| path.to_str().expect("a name"));
        let mut arguments = vec![algorithm, "--games", games, "--num-envs", "2", "--total-frames", frames];
        arguments.extend([
            "--num-threads",
            "1",
            "--set",
            "evaluation.episodes=0",
            "--quiet",
            "--run-dir",
            run_dir,
        ]);
        let own_keys: &[&str] = match algorithm {
            "ppo" => &["ppo.num_steps=16"],
            "pqn" => &["pqn.num_steps=16"],
            _ => &["dqn.learning_starts=40", "dqn.buffer_size=1000", "dqn.batch_size=8"],
        };
        arguments.extend(own_keys.iter().chain(keys).flat_map(|key| ["--set", key]));
        succeed(ale_train().args(&arguments));
        succeed(ale_train().args(["export", run_dir, "--out", out]));
        let checkpoint = fs::read_dir(run.join("checkpoints")).expect("checkpoints").next().expect("one");
        let state = fs::read(checkpoint.expect("an entry").path().join("learner.bin")).expect("a learner");
        let (judge, rows) = judge(algorithm, &state).expect("a learner");
        Self { folder, file, judge, rows }
    }

    /// Random observations of `row_bytes` bytes, written to a file too.
    fn observations(&self, row_bytes: usize, floats: bool) -> (Batch, PathBuf) {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut batch = Batch::new(self.rows, row_bytes, false);
        let mut bytes = Vec::new();
        for row in batch.observations.rows_mut() {
            if floats {
                for number in row.as_chunks_mut().0 {
                    *number = rng.random_range(-1.0f32..1.0).to_le_bytes();
                }
            } else {
                rng.fill(row);
            }
            bytes.extend_from_slice(row);
        }
        let path = self.folder.path().join("observations.bin");
        fs::write(&path, bytes).expect("a file");
        (batch, path)
    }
}

/// What PyTorch says of one task's actions, row by row: log-probabilities of a policy, values of the rest.
fn by_torch(
    python: &str,
    exported: &Exported,
    observations: &Path,
    shape: &str,
    dtype: &str,
    task: usize,
) -> Vec<Vec<f64>> {
    let program = format!(
        "import importlib.util, json, torch\n\
         spec = importlib.util.spec_from_file_location('script', r'{SCRIPT}')\n\
         script = importlib.util.module_from_spec(spec); spec.loader.exec_module(script)\n\
         act, tasks = script.load(r'{}', {task})\n\
         rows = torch.frombuffer(bytearray(open(r'{}', 'rb').read()), dtype=torch.{dtype}).reshape({shape})\n\
         said = act(rows)\n\
         said = torch.log_softmax(said[0], 1) if isinstance(said, tuple) else said.mean(2)\n\
         print(json.dumps(said.tolist()))",
        exported.file.display(),
        observations.display()
    );
    serde_json::from_str(&stdout(Command::new(python).args(["-c", &program]))).expect("JSON")
}

/// Different libraries add in different orders.
fn assert_close(ours: &[f32], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!((f64::from(*ours) - theirs).abs() < 1e-5, "{ours} and {theirs}");
    }
}

/// Fails unless PyTorch says the same of `tasks` as the agent; each task has `num_envs` rows.
fn compare(exported: &Exported, shape: &str, floats: bool, tasks: usize) {
    let Some(python) = python_with("torch, safetensors") else { return };
    let row_bytes: usize = shape.split(',').map(|side| side.trim().parse::<usize>().unwrap_or(1)).product();
    let (batch, file) = exported.observations(if floats { 4 * row_bytes } else { row_bytes }, floats);
    let ours = (exported.judge)(&batch).expect("numbers of actions");
    let dtype = if floats { "float32" } else { "uint8" };
    let rows = exported.rows / tasks;
    for task in 0..tasks {
        let theirs = by_torch(&python, exported, &file, shape, dtype, task);
        for row in task * rows..(task + 1) * rows {
            assert_close(&ours[row], &theirs[row]);
        }
    }
}

const PICTURES: &str = "-1, 4, 44, 44";

#[test]
fn weights_of_pictures_have_the_names_and_shapes_of_pytorch_and_the_same_logits() {
    let exported = Exported::of("ppo", "harvest", "1024", &["policy.layer_norm=false"]);
    let bytes = fs::read(&exported.file).expect("a file");
    let tensors = SafeTensors::deserialize(&bytes).expect("safetensors");
    for (name, shape) in [
        ("network.0.weight", &[32, 4, 8, 8][..]),
        ("network.2.weight", &[64, 32, 4, 4]),
        ("network.4.weight", &[64, 64, 3, 3]),
        ("network.7.bias", &[512]),
        ("critic.weight", &[1, 512]),
    ] {
        assert_eq!(tensors.tensor(name).expect(name).shape(), shape, "{name}");
    }
    assert_eq!(tensors.len(), 12);
    compare(&exported, PICTURES, false, 1);
}

#[test]
fn every_task_has_its_own_rows_of_the_heads() {
    let exported = Exported::of("ppo", "CartPole-v1,Acrobot-v1", "256", &[]);
    let bytes = fs::read(&exported.file).expect("a file");
    let tensors = SafeTensors::deserialize(&bytes).expect("safetensors");
    assert_eq!(tensors.tensor("actor.weight").expect("a head").shape(), [2 * 3, 64]);
    compare(&exported, "-1, 6", true, 2);
}

#[test]
fn impala_is_exported_with_and_without_normalisation() {
    let keys = ["policy.torso=impala", "policy.width=0.25", "policy.hidden_size=32"];
    for normal in [
        ["policy.layer_norm=false", "policy.head=per_game"],
        ["policy.layer_norm=true", "policy.head=shared"],
    ] {
        compare(&Exported::of("ppo", "harvest", "1024", &[&keys[..], &normal].concat()), PICTURES, false, 1);
    }
    // PQN normalises without being asked.
    compare(&Exported::of("pqn", "harvest", "1024", &keys), PICTURES, false, 1);
}

#[test]
fn a_shared_head_and_an_embedding_are_exported() {
    let keys = ["policy.head=shared", "policy.game_embedding=3"];
    for algorithm in ["ppo", "dqn", "pqn"] {
        let exported = Exported::of(algorithm, "CartPole-v1,Acrobot-v1", "256", &keys);
        compare(&exported, "-1, 6", true, 2);
    }
}

#[test]
fn a_recurrent_network_is_exported() {
    let exported = Exported::of("ppo", "CartPole-v1,Acrobot-v1", "256", &["policy.lstm=8"]);
    let bytes = fs::read(&exported.file).expect("a file");
    let tensors = SafeTensors::deserialize(&bytes).expect("safetensors");
    assert_eq!(tensors.tensor("lstm.weight_ih_l0").expect("a layer").shape(), [4 * 8, 64]);
    compare(&exported, "-1, 6", true, 2);
}

#[test]
fn action_values_are_exported_by_the_names_of_cleanrl() {
    let names_of = |exported: &Exported| -> Vec<String> {
        let bytes = fs::read(&exported.file).expect("a file");
        let tensors = SafeTensors::deserialize(&bytes).expect("safetensors");
        tensors.names().into_iter().map(str::to_owned).collect()
    };
    let dqn = Exported::of("dqn", "harvest", "1024", &["dqn.dueling=false"]);
    assert!(names_of(&dqn).contains(&"network.9.weight".to_owned()));
    compare(&dqn, PICTURES, false, 1);
    let pqn = Exported::of("pqn", "harvest", "1024", &[]);
    assert!(names_of(&pqn).contains(&"network.13.weight".to_owned()));
    compare(&pqn, PICTURES, false, 1);
    let rainbow = [
        "dqn.dueling=true",
        "dqn.noisy=true",
        "dqn.distribution=quantile",
        "dqn.num_atoms=5",
        "dqn.n_step=3",
    ];
    let rainbow = Exported::of("dqn", "CartPole-v1,Acrobot-v1", "512", &rainbow);
    assert!(names_of(&rainbow).contains(&"value_head.2.weight_mu".to_owned()));
    compare(&rainbow, "-1, 6", true, 2);
}
