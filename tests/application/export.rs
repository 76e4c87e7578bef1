//! `ale-train export`: names, shapes and values of the weights, and outputs that equal those of PyTorch.

use std::fs;
use std::path::PathBuf;

use algorithms::dqn::Dqn;
use algorithms::networks::NamedWeights;
use algorithms::ppo::Ppo;
use algorithms::pqn::Pqn;
use algorithms::sac::{DiscreteSac, Sac};
use algorithms::{Learner, LearnerError};
use browser::{Evaluation, Memory};
use burn::tensor::Device;
use rl_env::Batch;
use safetensors::SafeTensors;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::program;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/torch");

/// Returns the log-probabilities or values of every row's actions.
type Outputs = Box<dyn Fn(&Batch) -> Result<Vec<Vec<f32>>, LearnerError>>;

/// Returns the weights of the learner whose state a checkpoint has.
fn weights(algorithm: &str, state: &[u8]) -> Result<Vec<NamedWeights>, LearnerError> {
    let device = Device::flex();
    match algorithm {
        "ppo" => Ppo::from_state(state, &device)?.torch_weights(),
        "dqn" => Dqn::from_state(state, &device)?.torch_weights(),
        "sac" if DiscreteSac::is_state(state) => DiscreteSac::from_state(state, &device)?.torch_weights(),
        "sac" => Sac::from_state(state, &device)?.torch_weights(),
        _ => Pqn::from_state(state, &device)?.torch_weights(),
    }
}

/// Returns the SHA-256 of all weights, with their names and shapes.
fn digest(mut weights: Vec<NamedWeights>) -> String {
    weights.sort_by(|a, b| a.name.cmp(&b.name));
    let mut sha256 = Sha256::new();
    for NamedWeights { name, shape, values } in &weights {
        let shape: Vec<String> = shape.iter().map(ToString::to_string).collect();
        sha256.update(format!("{name} {} ", shape.join(",")));
        for value in values {
            sha256.update(value.to_le_bytes());
        }
    }
    format!("{:x}", sha256.finalize())
}

/// An agent with discrete actions from the state in a checkpoint.
struct Agent {
    outputs: Outputs,
    num_envs: usize,
}

impl Agent {
    fn restore(algorithm: &str, state: &[u8]) -> Result<Self, LearnerError> {
        let device = Device::flex();
        Ok(match algorithm {
            "ppo" => {
                let ppo = Ppo::from_state(state, &device)?;
                let (policy, num_envs) = (ppo.policy(ppo.spec())?, ppo.spec().num_envs());
                let outputs = Box::new(move |batch: &Batch| policy.log_probs(batch));
                Self { outputs, num_envs }
            }
            "dqn" => {
                let dqn = Dqn::from_state(state, &device)?;
                let (policy, num_envs) = (dqn.policy(dqn.spec())?, dqn.spec().num_envs());
                let outputs = Box::new(move |batch: &Batch| policy.values(batch));
                Self { outputs, num_envs }
            }
            _ => {
                let pqn = Pqn::from_state(state, &device)?;
                let (policy, num_envs) = (pqn.policy(pqn.spec())?, pqn.spec().num_envs());
                let outputs = Box::new(move |batch: &Batch| policy.values(batch));
                Self { outputs, num_envs }
            }
        })
    }
}

/// The outputs of an agent in PyTorch, as `tests/data/record_torch.py` has recorded them.
#[derive(Deserialize)]
struct Record {
    name: String,
    algorithm: String,
    is_image: bool,
    /// The digest of the exported weights.
    weights: String,
    /// Log-probabilities or action values of every row.
    outputs: Vec<Vec<f64>>,
}

/// Returns the observations of the recording.
fn observations(rows: usize, is_image: bool) -> Batch {
    if is_image {
        return images(rows, 4 * 44 * 44);
    }
    let mut batch = Batch::new(rows, 6 * size_of::<f32>(), false);
    let mut numbers = numbers_of_observations();
    for row in batch.observations.rows_mut() {
        for (float, number) in row.as_chunks_mut().0.iter_mut().zip(&mut numbers) {
            *float = ((f32::from(number) - 128.0) / 128.0).to_le_bytes();
        }
    }
    batch
}

/// Returns the bytes of which the observations of the recording consist.
fn numbers_of_observations() -> impl Iterator<Item = u8> {
    (0_usize..).map(|index| ((index * 151 + 7) % 256) as u8)
}

/// Returns observations of images with rows of this length.
fn images(rows: usize, row_bytes: usize) -> Batch {
    let mut batch = Batch::new(rows, row_bytes, false);
    let mut numbers = numbers_of_observations();
    for row in batch.observations.rows_mut() {
        row.iter_mut().zip(&mut numbers).for_each(|(byte, number)| *byte = number);
    }
    batch
}

#[test]
fn outputs_equal_those_of_pytorch() {
    let records = fs::read_to_string(format!("{DATA}/outputs.json")).expect("recorded outputs");
    let records: Vec<Record> = serde_json::from_str(&records).expect("JSON");
    assert_eq!(records.len(), 16);
    for Record { name, algorithm, is_image, weights: loaded, outputs } in records {
        let state = fs::read(format!("{DATA}/{name}.state")).expect("a recorded state");
        let weights = weights(&algorithm, &state).expect("a state that can be restored");
        assert_eq!(digest(weights), loaded, "{name}: not the weights that PyTorch loaded");
        let agent = Agent::restore(&algorithm, &state).expect("a state that can be restored");
        let ours = (agent.outputs)(&observations(agent.num_envs, is_image)).expect("finite outputs");
        assert_eq!(ours.len(), outputs.len(), "{name}");
        for (ours, theirs) in ours.iter().zip(&outputs) {
            assert_eq!(ours.len(), theirs.len(), "{name}");
            // Libraries add in different orders.
            let is_close = |(ours, theirs): (&f32, &f64)| (f64::from(*ours) - theirs).abs() < 1e-5;
            assert!(ours.iter().zip(theirs).all(is_close), "{name}: {ours:?} and {theirs:?}");
        }
    }
}

/// A trained agent and the file that it was exported to.
struct Exported {
    _directory: TempDir,
    state: Vec<u8>,
    file: Vec<u8>,
}

impl Exported {
    fn train(algorithm: &str, games: &str, frames: &str, settings: &[&str]) -> Self {
        let directory = TempDir::new().expect("a directory");
        let [run, file]: [PathBuf; 2] = ["run", "agent.safetensors"].map(|name| directory.path().join(name));
        let small = "--num-envs 2 --num-threads 1 --quiet";
        let words = format!("{algorithm} --games {games} --total-frames {frames} {small}");
        program::train(&run, &words).settings(settings).succeed();
        program::run("export").arg(&run).arg("--out").arg(&file).succeed();
        let state = fs::read(program::checkpoints(&run)[0].join("learner.bin")).expect("a learner");
        Self { file: fs::read(file).expect("a file"), state, _directory: directory }
    }

    fn tensors(&self) -> SafeTensors<'_> {
        SafeTensors::deserialize(&self.file).expect("safetensors")
    }
}

/// Returns the outputs of a learner for its environments, as the page in a browser evaluates an observation.
fn evaluations(algorithm: &str, state: &[u8], batch: &Batch) -> Result<Vec<Evaluation>, LearnerError> {
    if algorithm != "ppo" {
        let values = (Agent::restore(algorithm, state)?.outputs)(batch)?;
        return Ok(values.into_iter().map(Evaluation::Values).collect());
    }
    let ppo = Ppo::from_state(state, &Device::flex())?;
    let policy = ppo.policy(ppo.spec())?;
    let (log_probabilities, values) = policy.log_probs_and_values(batch, &policy.initial_state())?;
    let of_row = |(log_probabilities, value)| Evaluation::Policy { log_probabilities, value };
    Ok(log_probabilities.into_iter().zip(values).map(of_row).collect())
}

/// Returns all numbers of an evaluation.
fn numbers(evaluation: &Evaluation) -> Vec<f32> {
    match evaluation {
        Evaluation::Policy { log_probabilities, value } => [&log_probabilities[..], &[*value]].concat(),
        Evaluation::Values(values) => values.clone(),
    }
}

/// Returns the largest difference between the numbers of two evaluations, relative to the largest number or 1.
fn difference(ours: &Evaluation, theirs: &Evaluation) -> f32 {
    let (ours, theirs) = (numbers(ours), numbers(theirs));
    assert_eq!(ours.len(), theirs.len());
    let scale = theirs.iter().fold(1.0, |scale: f32, value| scale.max(value.abs()));
    ours.iter().zip(theirs).fold(0.0, |most: f32, (ours, theirs)| most.max((ours - theirs).abs())) / scale
}

#[test]
fn outputs_in_a_browser_equal_those_of_the_learner() {
    let of_algorithm = |algorithm: &str| match algorithm {
        "ppo" => &["ppo.num_steps=16"][..],
        "pqn" => &["pqn.num_steps=16"],
        _ => &["dqn.learning_starts=40", "dqn.buffer_size=1000", "dqn.batch_size=8"],
    };
    let small = ["policy.width=0.125", "policy.hidden_size=16"];
    let factored = "environments.factored_actions=true";
    for (algorithm, settings) in [
        ("ppo", &["policy.layer_norm=false", "policy.value_scale=popart"][..]),
        ("ppo", &["policy.layer_norm=true", "policy.lstm=8", "ppo.num_minibatches=2"]),
        ("ppo", &["policy.torso=impala", "policy.layer_norm=true", "policy.value_scale=h"]),
        ("ppo", &["policy.torso=small", "policy.head=shared", "policy.game_embedding=3"]),
        ("ppo", &[factored, "environments.full_action_space=true", "policy.value_scale=symlog"]),
        ("dqn", &["policy.torso=data_efficient", "dqn.dueling=true", "dqn.noisy=true"]),
        ("dqn", &["dqn.distribution=c51", "dqn.num_atoms=11", "dqn.v_min=-2", "policy.value_scale=h"]),
        ("dqn", &["dqn.distribution=quantile", "dqn.num_atoms=5", "dqn.dueling=true", "policy.head=shared"]),
        ("dqn", &[factored, "environments.full_action_space=true", "policy.head=shared", "dqn.dueling=true"]),
        ("pqn", &["policy.torso=impala", "policy.value_scale=popart"]),
        ("pqn", &["policy.value_scale=symlog", "environments.img_width=84", "environments.img_height=84"]),
    ] {
        let settings = [&small, of_algorithm(algorithm), settings].concat();
        let exported = Exported::train(algorithm, "harvest", "1024", &settings);
        let agent = browser::Agent::read(&exported.file).expect("an agent");
        let [frames, height, width] = agent.observation_shape();
        let batch = images(2, frames * height * width);
        let theirs = evaluations(algorithm, &exported.state, &batch).expect("finite outputs");
        for (row, theirs) in theirs.iter().enumerate() {
            let ours = agent.evaluate(0, batch.observations.row(row), &mut Memory::default());
            assert!(difference(&ours, theirs) < 1e-5, "{settings:?}: {ours:?} and {theirs:?}");
        }
    }
}

#[test]
fn an_agent_of_many_games_plays_each_of_them_alike_in_a_browser() {
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("one.safetensors");
    let zoo = concat!(env!("CARGO_MANIFEST_DIR"), "/checkpoints/zoo/atari57.safetensors");
    let all = browser::Agent::read(&fs::read(zoo).expect("an agent")).expect("an agent");
    let row = images(1, 4 * 44 * 44).observations.row(0).to_vec();
    for game in ["alien", "pong", "zaxxon"] {
        program::run("export zoo:atari57 --games").arg(game).arg("--out").arg(&file).succeed();
        let one = browser::Agent::read(&fs::read(&file).expect("a file")).expect("an agent");
        let task = all.games().iter().position(|name| *name == game).expect("the game");
        let [of_all, of_one] =
            [(&all, task), (&one, 0)].map(|(agent, task)| agent.evaluate(task, &row, &mut Memory::default()));
        assert_eq!(of_all, of_one, "{game}");
        fs::remove_file(&file).expect("the file");
    }
}

#[test]
fn the_file_contains_the_weights_of_the_checkpoint() {
    let games = "CartPole-v1,Acrobot-v1";
    for (algorithm, games, frames, settings) in [
        ("ppo", games, "256", &["ppo.num_steps=16", "policy.lstm=8"][..]),
        ("dqn", games, "512", &["dqn.learning_starts=40", "dqn.buffer_size=1000", "dqn.dueling=true"]),
        ("pqn", games, "256", &["pqn.num_steps=16"]),
        ("sac", "Pendulum-v1", "300", &["sac.learning_starts=256", "sac.buffer_size=1000"]),
        ("sac", games, "300", &["sac.learning_starts=256", "sac.buffer_size=1000"]),
    ] {
        let exported = Exported::train(algorithm, games, frames, settings);
        let weights = weights(algorithm, &exported.state).expect("a state that can be restored");
        let tensors = exported.tensors();
        assert_eq!(tensors.len(), weights.len(), "{algorithm}");
        for NamedWeights { name, shape, values } in &weights {
            let tensor = tensors.tensor(name).expect(name);
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            assert!(tensor.shape() == shape && tensor.data() == bytes, "{algorithm}: {name}");
        }
    }
}

#[test]
fn weights_have_the_names_and_shapes_of_cleanrl() {
    let ppo = Exported::train("ppo", "harvest", "1024", &["ppo.num_steps=16", "policy.layer_norm=false"]);
    assert_eq!(ppo.tensors().len(), 12);
    let heads =
        Exported::train("ppo", "CartPole-v1,Acrobot-v1", "256", &["ppo.num_steps=16", "policy.lstm=8"]);
    let dqn = ["dqn.learning_starts=40", "dqn.buffer_size=1000", "dqn.dueling=false"];
    let dqn = Exported::train("dqn", "harvest", "1024", &dqn);
    let pqn = Exported::train("pqn", "harvest", "1024", &["pqn.num_steps=16"]);
    let sac = ["sac.learning_starts=256", "sac.buffer_size=1000", "policy.hidden_size=16"];
    let sac = Exported::train("sac", "Pendulum-v1", "300", &sac);
    assert_eq!(sac.tensors().len(), 8 + 6 + 6 + 1);
    let discrete_sac = ["sac.learning_starts=200", "sac.buffer_size=1000"];
    let discrete_sac = Exported::train("sac", "harvest", "1024", &discrete_sac);
    assert_eq!(discrete_sac.tensors().len(), 3 * 10 + 1);
    let factored = ["ppo.num_steps=16", "environments.factored_actions=true", "policy.hidden_size=16"];
    let factored = Exported::train("ppo", "harvest", "1024", &factored);
    for (exported, name, shape) in [
        // The options of the button and of the two directions.
        (&factored, "actor.weight", &[2 + 3 + 3, 16][..]),
        (&ppo, "network.0.weight", &[32, 4, 8, 8][..]),
        (&ppo, "network.2.weight", &[64, 32, 4, 4]),
        (&ppo, "network.4.weight", &[64, 64, 3, 3]),
        (&ppo, "network.7.bias", &[512]),
        (&ppo, "critic.weight", &[1, 512]),
        // A block of rows for each task, with as many rows as the largest number of actions.
        (&heads, "actor.weight", &[2 * 3, 8]),
        (&heads, "lstm.weight_ih_l0", &[4 * 8, 64]),
        (&dqn, "network.9.weight", &[3, 512]),
        (&pqn, "network.13.weight", &[3, 512]),
        (&sac, "actor.fc1.weight", &[16, 3]),
        (&sac, "actor.fc_mean.weight", &[1, 16]),
        (&sac, "actor.fc_logstd.bias", &[1]),
        // The observation and the action.
        (&sac, "qf1.fc1.weight", &[16, 4]),
        (&sac, "qf2.fc3.weight", &[1, 16]),
        (&discrete_sac, "actor.network.0.weight", &[32, 4, 8, 8]),
        (&discrete_sac, "qf1.network.7.bias", &[512]),
        (&discrete_sac, "qf2.network.9.weight", &[3, 512]),
    ] {
        assert_eq!(exported.tensors().tensor(name).expect(name).shape(), shape, "{name}");
    }
}

#[test]
fn noisy_layers_have_the_names_of_their_parameters() {
    let rainbow = ["dqn.learning_starts=40", "dqn.buffer_size=1000", "dqn.dueling=true", "dqn.noisy=true"];
    let rainbow = Exported::train("dqn", "CartPole-v1,Acrobot-v1", "512", &rainbow);
    assert!(rainbow.tensors().names().contains(&"value_head.2.weight_mu"));
}
