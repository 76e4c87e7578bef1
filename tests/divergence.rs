//! A training that comes to what is no number stops, with the batch saved and the suspects named.

use std::fs;
use std::process::Command;

use safetensors::SafeTensors;
use tempfile::TempDir;

#[test]
fn the_batch_is_saved_beside_the_last_good_checkpoint_and_the_suspects_are_named() {
    for (algorithm, rate, keys) in [
        ("ppo", "ppo.learning_rate=1e30", &["ppo.num_steps=16", "ppo.update_epochs=4"][..]),
        ("dqn", "dqn.learning_rate=1e30", &["dqn.learning_starts=40", "dqn.buffer_size=1000"]),
    ] {
        let folder = TempDir::new().expect("a folder");
        let run = folder.path().join("run");
        let mut command = Command::new(env!("CARGO_BIN_EXE_ale-train"));
        command.args([
            algorithm,
            "--games",
            "CartPole-v1,Acrobot-v1",
            "--num-envs",
            "2",
            "--total-frames",
            "4096",
        ]);
        command.args(["--num-threads", "1", "--quiet", "--run-dir", run.to_str().expect("a name")]);
        for key in [rate].iter().chain(keys) {
            command.args(["--set", key]);
        }
        let output = command.output().expect("the program starts");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        for part in
            ["is not finite after", "at learning rate 1e30", "CartPole-v1 (", "Acrobot-v1 (", "weights `"]
        {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(message.contains("there is no checkpoint yet") && message.lines().count() == 1, "{message}");
        let file = run.join("diverged_batch.safetensors");
        assert!(message.contains(file.to_str().expect("a name")), "{message}");
        let bytes = fs::read(file).expect("a file");
        let tensors = SafeTensors::deserialize(&bytes).expect("safetensors");
        let rows = tensors.tensor("observations").expect("observations").shape()[0];
        assert!(rows > 0 && tensors.iter().all(|(_, tensor)| tensor.shape()[0] == rows), "{tensors:?}");
    }
}
