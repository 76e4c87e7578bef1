//! Entry points of the fuzz targets in `fuzz`, one for each format that the application reads. None may panic on any
//! input.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use algorithms::VectorSpec;
use algorithms::cluster::Cluster;
use anyhow::Result;
use burn::tensor::Device;
use rl_env::ResetSeeds;
use tempfile::TempDir;

use crate::agent::StoredAgent;
use crate::checkpoint::{Checkpoint, FILES, Progress};
use crate::cli::Global;
use crate::config;
use crate::environments::{Builder, Overrides};
use crate::trace;

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

/// Opens a damaged checkpoint as `resume` and `eval` do, after their check of the manifest's hashes. The first byte chooses
/// the algorithm and the file, the others damage it.
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
    ];
    experiments.iter().map(|experiment| base(experiment).expect("an experiment")).collect()
});

/// Returns the files of a checkpoint in the middle of a rollout.
fn base(experiment: &str) -> Result<Files> {
    let experiment = config::from_toml(&format!("[experiment]\n{experiment}"))?.resolve()?;
    let mut environments = builder(&experiment)?.build()?;
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

fn builder(experiment: &config::Experiment) -> Result<Builder> {
    let global = Global { rom_dir: None, offline: true, quiet: true };
    Builder::new(experiment, &Overrides { num_threads: Some(1), ..Overrides::default() }, &global)
}

/// Restores the learner and the environments, and lets them make a step.
fn open(mut files: Files) -> Result<()> {
    let checkpoint = Checkpoint::from_files(|name| Ok(files.remove(name).unwrap_or_default()))?;
    let agent = StoredAgent::new(PathBuf::from("checkpoint"), checkpoint)?;
    let mut environments = builder(&agent.experiment)?.build()?;
    let spec = VectorSpec::of(environments.as_ref())?;
    let algorithm = &agent.experiment.algorithm;
    let policy = agent.experiment.policy.clone();
    let state = &agent.checkpoint.learner;
    let mut learner = algorithm.restore(state, policy, &spec, Cluster::default(), &Device::flex())?;
    anyhow::ensure!(*learner.spec() == spec, "another specification");
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

    /// An undamaged checkpoint can be opened, so that the fuzz target reaches the code that it tests.
    #[test]
    fn every_base_opens() {
        for base in &*BASES {
            open(base.clone()).unwrap();
        }
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
            actions(&data);
            configuration(&data);
            manifest(&data);
        }
    }
}
