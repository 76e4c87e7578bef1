//! Entry points of the fuzz targets in `fuzz`, one for each format that the application reads. None may panic on any
//! input.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use algorithms::VectorSpec;
use algorithms::cluster::Cluster;
use anyhow::{Result, ensure};
use burn::tensor::Device;
use rl_env::ResetSeeds;
use tempfile::TempDir;

use crate::agent::{StoredAgent, TrainedAgent, exported};
use crate::checkpoint::{Checkpoint, FILES, Progress};
use crate::cli::Global;
use crate::commands::trace;
use crate::config;
use crate::environments::{Builder, CommandOverrides};
use crate::tensors::Precision;

/// Reads an experiment in TOML. A valid one must survive a round trip through `to_toml`.
pub fn configuration(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let resolve = |text: &str| config::from_toml(text).and_then(config::Config::resolve);
    let Ok(experiment) = resolve(text) else { return };
    let written = experiment.to_toml().expect("a possible experiment is TOML");
    let again = resolve(&written).expect("a written experiment is possible");
    assert_eq!(again.to_toml().expect("TOML"), written);
}

/// Reads a file of actions for `ale-train trace`.
pub fn actions(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data) {
        let _ = trace::parse_actions(text, Path::new("actions.txt"));
    }
}

/// Opens a damaged checkpoint as `resume` and `eval` do, after their check of the manifest's hashes. The first byte
/// chooses the algorithm and the file, the others damage it.
pub fn checkpoint(data: &[u8]) {
    let Some((&choice, damage)) = data.split_first() else { return };
    let choice = usize::from(choice);
    let base = &BASES[choice % BASES.len()];
    let names: Vec<&str> = FILES.to_vec();
    let damaged = names[choice / BASES.len() % names.len()];
    let mut files = base.clone();
    let file = files.get_mut(damaged).expect("a checkpoint has every file");
    apply(damage, file);
    // The sizes in a configuration are limited only by the machine.
    if damaged != crate::checkpoint::CONFIG {
        let _ = open(files);
    }
}

/// Reads a damaged file of `ale-train export`, as `eval` does. The first byte chooses the agent, the others damage it.
pub fn agent(data: &[u8]) {
    let Some((&choice, damage)) = data.split_first() else { return };
    let (mut file, experiment) = AGENTS[usize::from(choice) % AGENTS.len()].clone();
    apply(damage, &mut file);
    let _ = play(&file, &experiment);
}

/// Reads the manifest of a checkpoint.
pub fn manifest(data: &[u8]) {
    let _ = crate::checkpoint::parse_manifest(data);
}

type Files = HashMap<&'static str, Vec<u8>>;

/// A small checkpoint of each algorithm, and one of an agent with several choices.
static BASES: LazyLock<Vec<Files>> = LazyLock::new(|| {
    const CARTPOLE: &str = "[environments]\ngames = [\"CartPole-v1\"]\nnum_envs = 2";
    const PENDULUM: &str =
        "[policy]\nhidden_size = 8\n[environments]\ngames = [\"Pendulum-v1\"]\nnum_envs = 2";
    const FACTORED: &str = "[environments]\ngames = [\"harvest\"]\nnum_envs = 2\nfactored_actions = true\n\
        img_height = 36\nimg_width = 36";
    const ROLLOUT: &str = "num_steps = 4\nnum_minibatches = 1";
    let experiments = [
        format!("algorithm = \"ppo\"\n[ppo]\n{ROLLOUT}\n[policy]\nvalue_scale = \"popart\"\n{CARTPOLE}"),
        format!("algorithm = \"pqn\"\n[pqn]\n{ROLLOUT}\n{CARTPOLE}"),
        format!(
            "algorithm = \"dqn\"\n[dqn]\nbuffer_size = 32\nlearning_starts = 8\nbatch_size = 4\n{CARTPOLE}"
        ),
        format!("algorithm = \"ppo\"\n[ppo]\n{ROLLOUT}\n{FACTORED}"),
        format!(
            "algorithm = \"sac\"\n[sac]\nbuffer_size = 32\nlearning_starts = 8\nbatch_size = 4\n{PENDULUM}"
        ),
        format!(
            "algorithm = \"sac\"\n[sac]\nbuffer_size = 32\nlearning_starts = 8\nbatch_size = 4\n{CARTPOLE}"
        ),
    ];
    experiments.iter().map(|experiment| base(experiment).expect("an experiment")).collect()
});

/// Returns the files of a checkpoint in the middle of a rollout.
fn base(experiment: &str) -> Result<Files> {
    let experiment = config::from_toml(&format!("[experiment]\n{experiment}"))?.resolve()?;
    let mut environments = builder(&experiment)?.build_training()?;
    let spec = VectorSpec::of(environments.as_ref())?;
    let mut learner = experiment.algorithm.create(
        experiment.policy.clone(),
        spec,
        Cluster::default(),
        &Device::flex(),
        1,
    )?;
    environments.reset(ResetSeeds::From(1))?;
    for _ in 0..6 {
        let actions = learner.act(environments.batch())?;
        let batch = environments.step(actions)?;
        learner.observe(batch)?;
        if learner.is_ready() {
            learner.update_unless(&|| false)?;
        }
    }
    let checkpoint = Checkpoint {
        config: experiment.to_toml()?,
        progress: Progress::default(),
        learner: learner.state()?,
        environments: environments.snapshot()?,
    };
    let directory = TempDir::new()?;
    checkpoint.write_into(directory.path())?;
    FILES.into_iter().map(|name| Ok((name, fs::read(directory.path().join(name))?))).collect()
}

/// The exported agent of each checkpoint, with its experiment.
static AGENTS: LazyLock<Vec<(Vec<u8>, String)>> =
    LazyLock::new(|| BASES.iter().map(|base| export(base).expect("an agent")).collect());

fn export(base: &Files) -> Result<(Vec<u8>, String)> {
    let mut files = base.clone();
    let checkpoint = Checkpoint::from_files(|name| Ok(files.remove(name).unwrap_or_default()))?;
    let agent = TrainedAgent::from(StoredAgent::new(PathBuf::from("checkpoint"), checkpoint)?);
    let directory = TempDir::new()?;
    let path = directory.path().join("agent");
    agent.write(agent.exported()?, &path, Precision::F32, HashMap::new())?;
    Ok((fs::read(path)?, agent.experiment.to_toml()?))
}

/// Opens the file of an agent and lets the agent act once.
fn play(file: &[u8], experiment: &str) -> Result<()> {
    let agent = exported::parse(Path::new("agent"), file)?;
    // The sizes in a configuration are limited only by the machine.
    ensure!(agent.experiment.to_toml()? == experiment, "another experiment");
    let builder = builder(&agent.experiment)?;
    let mut environments = builder.build_evaluation_of_each(None)?;
    environments.reset(ResetSeeds::From(1))?;
    agent.player(&builder, false, 1)?.0.act(environments.batch())?;
    Ok(())
}

fn builder(experiment: &config::Experiment) -> Result<Builder> {
    let global = Global { rom_dir: None, offline: true, quiet: true };
    Builder::new(
        experiment,
        &CommandOverrides { num_threads: Some(1), ..CommandOverrides::default() },
        &global,
    )
}

/// Restores the learner and the environments, and lets them make a step.
fn open(mut files: Files) -> Result<()> {
    let checkpoint = Checkpoint::from_files(|name| Ok(files.remove(name).unwrap_or_default()))?;
    let agent = StoredAgent::new(PathBuf::from("checkpoint"), checkpoint)?;
    let mut environments = builder(&agent.experiment)?.build_training()?;
    let spec = VectorSpec::of(environments.as_ref())?;
    let algorithm = &agent.experiment.algorithm;
    let policy = agent.experiment.policy.clone();
    let state = &agent.checkpoint.learner;
    let mut learner = algorithm.restore(state, policy, &spec, Cluster::default(), &Device::flex())?;
    ensure!(*learner.spec() == spec, "another specification");
    environments.restore(&agent.checkpoint.environments)?;
    let actions = learner.act(environments.batch())?;
    let batch = environments.step(actions)?;
    learner.observe(batch)?;
    learner.state()?;
    Ok(())
}

/// Changes a file. Each change takes four bytes: kind, position (two bytes, from the start or the end), value.
fn apply(damage: &[u8], file: &mut Vec<u8>) {
    for change in damage.chunks_exact(4).take(16) {
        let &[kind, low, high, value] = change else { unreachable!("chunks of four") };
        let distance = usize::from(u16::from_le_bytes([low, high])) % file.len().max(1);
        let position = if kind & 0x80 == 0 { distance } else { file.len().saturating_sub(distance + 1) };
        let end = |length: usize, file: &[u8]| (position + length).min(file.len());
        match kind & 7 {
            0 => file.truncate(position),
            1 => file.insert(position, value),
            2 => _ = file.drain(position..end(usize::from(value), file)),
            // The largest integers of postcard.
            3 => _ = file.splice(position..end(1, file), [0xFF, 0xFF, 0xFF, 0xFF, value]),
            _ => file.iter_mut().skip(position).take(1).for_each(|byte| *byte ^= value),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, RngCore, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Undamaged checkpoints and agents can be opened, so that the fuzz targets reach the code that they test.
    #[test]
    fn every_base_opens() {
        for base in &*BASES {
            open(base.clone()).unwrap();
        }
        for (file, experiment) in &*AGENTS {
            play(file, experiment).unwrap();
        }
    }

    /// Agents whose header was edited once made the program panic or abort.
    #[test]
    fn edited_headers_of_agents_are_errors() {
        let edits = [
            ("task_ids = [0]", "task_ids = [ ]"),
            ("task_ids = [0]", "task_ids = [9]"),
            ("\"tasks\":[{", "\"tasks\":[],\"x\":[{"),
            ("shape = [4]", "shape = [400000000000]"),
            ("shape = [3]", "shape = [400000000000]"),
            ("shape = [4, 36, 36]", "shape = [4, 400000000, 36]"),
        ];
        let mut made = 0;
        for (file, experiment) in &*AGENTS {
            for (from, to) in edits {
                let Some(edited) = with_header(file, from, to) else { continue };
                assert!(play(&edited, experiment).is_err(), "{from} to {to}");
                made += 1;
            }
        }
        assert!(made >= 20, "{made} edits");
    }

    /// Replaces text in the header of a safetensors file, if it is there.
    fn with_header(file: &[u8], from: &str, to: &str) -> Option<Vec<u8>> {
        let (length, rest) = file.split_at(8);
        let (header, tensors) = rest.split_at(u64::from_le_bytes(length.try_into().unwrap()) as usize);
        // The values of the metadata are JSON strings.
        let escaped = |text: &str| text.replace('"', "\\\"");
        let header = str::from_utf8(header).unwrap();
        let present =
            [from.to_owned(), escaped(from)].into_iter().find(|from| header.contains(from.as_str()))?;
        let to = if present == from { to.to_owned() } else { escaped(to) };
        let header = header.replacen(&present, &to, 1);
        Some([&(header.len() as u64).to_le_bytes(), header.as_bytes(), tensors].concat())
    }

    /// A fuzz target found an observation space so large that the network did not fit into memory.
    #[test]
    fn large_numbers_anywhere_in_the_beginning_of_a_state_do_not_panic() {
        for base in &*BASES {
            for position in 0..240 {
                let mut files = base.clone();
                let state = files.get_mut(crate::checkpoint::LEARNER).unwrap();
                state.splice(position..=position, [0xFF, 0xFF, 0xFF, 0xFF, 0x0F]);
                let _ = open(files);
            }
        }
    }

    #[test]
    fn random_damage_does_not_panic() {
        let seed: u64 = rand::rng().random();
        println!("seed {seed}");
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..100 {
            let mut data = vec![0; rng.random_range(0..20)];
            rng.fill_bytes(&mut data);
            checkpoint(&data);
            agent(&data);
            actions(&data);
            configuration(&data);
            manifest(&data);
        }
    }
}
