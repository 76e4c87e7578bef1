//! `ale-train export`: the weights of a checkpoint as safetensors, by the names and axes of PyTorch.

use std::collections::HashMap;
use std::io::Write;

use algorithms::dqn::Distribution;
use algorithms::networks::PolicyConfig;
use algorithms::{Task, VectorSpec};
use anyhow::Result;
use serde_json::json;

use crate::agent::TrainedAgent;
use crate::cli::ExportArgs;
use crate::config::{Algorithm, Experiment};
use crate::tensors;

/// Writes the file and says what is in it.
pub(crate) fn run(args: &ExportArgs, out: &mut impl Write) -> Result<()> {
    let agent = TrainedAgent::open(&args.checkpoint)?;
    let learner = agent.restore()?;
    let weights = learner.torch_weights()?;
    let parameters: usize = weights.iter().map(|weights| weights.values.len()).sum();
    tensors::write(&args.out, weights, metadata(&agent.experiment, learner.spec()))?;
    writeln!(out, "{parameters} parameters in {}", args.out.display())?;
    Ok(())
}

/// What a reader has to know beside the weights. Safetensors takes texts only.
fn metadata(experiment: &Experiment, spec: &VectorSpec) -> HashMap<String, String> {
    let task =
        |task: &Task| json!({ "name": task.name, "num_actions": task.num_actions, "shared": task.shared });
    let tasks: Vec<_> = spec.tasks.iter().map(task).collect();
    let shape = spec.observation_space.shape().unwrap_or_default();
    let PolicyConfig { torso, head, .. } = experiment.policy;
    let num_atoms = match experiment.dqn.distribution {
        Distribution::C51 | Distribution::Quantile if experiment.algorithm == Algorithm::Dqn => {
            experiment.dqn.num_atoms
        }
        _ => 1,
    };
    let texts = [
        ("format", "pt".to_owned()),
        ("algorithm", experiment.algorithm.to_string()),
        ("tasks", json!(tasks).to_string()),
        ("observation_shape", json!(shape).to_string()),
        ("rescale_observations", experiment.environments.rescale_observations.to_string()),
        ("torso", json!(torso).to_string()),
        ("head", json!(head).to_string()),
        ("num_atoms", num_atoms.to_string()),
    ];
    texts.into_iter().map(|(key, text)| (key.to_owned(), text)).collect()
}
