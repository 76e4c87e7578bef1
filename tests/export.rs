//! What `ale-train export` writes, read by others: the safetensors crate, and PyTorch where it is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use algorithms::Learner;
use algorithms::ppo::{Policy, Ppo};
use burn::tensor::Device;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::Batch;
use safetensors::SafeTensors;
use tempfile::TempDir;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/load_in_pytorch.py");

/// A trained agent, and the file that its weights were exported to.
struct Exported {
    folder: TempDir,
    file: PathBuf,
    policy: Policy,
    rows: usize,
}

impl Exported {
    /// Trains for two updates, so that no bias is zero any more.
    fn of(games: &str, frames: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        let [run, file] = ["run", "agent.safetensors"].map(|name| folder.path().join(name));
        let [run_dir, out] = [&run, &file].map(|path| path.to_str().expect("a name"));
        succeed(&[
            "ppo",
            "--games",
            games,
            "--num-envs",
            "2",
            "--total-frames",
            frames,
            "--num-threads",
            "1",
            "--set",
            "ppo.num_steps=16",
            "--set",
            "evaluation.episodes=0",
            "--quiet",
            "--run-dir",
            run_dir,
        ]);
        succeed(&["export", run_dir, "--out", out]);
        let checkpoint = fs::read_dir(run.join("checkpoints")).expect("checkpoints").next().expect("one");
        let state = fs::read(checkpoint.expect("an entry").path().join("learner.bin")).expect("a learner");
        let learner = Ppo::from_state(&state, &Device::flex()).expect("a learner");
        let policy = learner.policy(learner.spec()).expect("its own environments");
        Self { folder, file, policy, rows: learner.spec().num_envs() }
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

fn succeed(arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_ale-train")).args(arguments).output();
    let Output { status, stderr, .. } = output.expect("the program starts");
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
}

/// Whether Python has what the script needs.
fn has_torch() -> bool {
    let found = Command::new(python()).args(["-c", "import torch, safetensors"]).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("not compared with PyTorch: {} cannot import torch and safetensors", python());
    }
    found
}

fn python() -> String {
    std::env::var("ALE_TRAIN_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// Log-probabilities of one task's actions by PyTorch, row by row.
fn by_torch(
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
         print(json.dumps(torch.log_softmax(act(rows)[0], 1).tolist()))",
        exported.file.display(),
        observations.display()
    );
    let output = Command::new(python()).args(["-c", &program]).output().expect("Python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Different libraries add in different orders.
fn assert_close(ours: &[f32], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!((f64::from(*ours) - theirs).abs() < 1e-5, "{ours} and {theirs}");
    }
}

#[test]
fn weights_of_pictures_have_the_names_and_shapes_of_pytorch_and_the_same_logits() {
    let exported = Exported::of("harvest", "1024");
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
    if has_torch() {
        let (batch, file) = exported.observations(4 * 44 * 44, false);
        let theirs = by_torch(&exported, &file, "-1, 4, 44, 44", "uint8", 0);
        for (ours, theirs) in
            exported.policy.log_probs(&batch).expect("log-probabilities").iter().zip(&theirs)
        {
            assert_close(ours, theirs);
        }
    }
}

#[test]
fn every_task_has_its_own_rows_of_the_heads() {
    let exported = Exported::of("CartPole-v1,Acrobot-v1", "256");
    let bytes = fs::read(&exported.file).expect("a file");
    let tensors = SafeTensors::deserialize(&bytes).expect("safetensors");
    assert_eq!(tensors.tensor("actor.weight").expect("a head").shape(), [2 * 3, 64]);
    if has_torch() {
        let (batch, file) = exported.observations(6 * 4, true);
        let ours = exported.policy.log_probs(&batch).expect("log-probabilities");
        for (task, rows) in [(0, 0..2), (1, 2..4)] {
            let theirs = by_torch(&exported, &file, "-1, 6", "float32", task);
            for row in rows {
                assert_close(&ours[row], &theirs[row]);
            }
        }
    }
}
