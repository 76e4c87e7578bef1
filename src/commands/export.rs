//! `ale-train export`: writes an agent as safetensors, with the names and axes of PyTorch, or as ONNX.

use std::collections::HashMap;
use std::io::Write;

use algorithms::networks::{PolicyConfig, layout_of};
use algorithms::{Task, TaskActions, VectorSpec};
use anyhow::{Result, ensure};
use serde_json::json;

use crate::agent::TrainedAgent;
use crate::cli::{ExportArgs, Global};
use crate::config::Experiment;
use crate::durable;
use crate::file_format::Formats;
use crate::onnx;
use crate::telemetry::Printer;
use crate::tensors::Precision;

/// The format of an exported agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Safetensors,
    Onnx,
}

const FORMATS: Formats<Format> = Formats {
    action: "export",
    by_extension: &[("safetensors", Format::Safetensors), ("onnx", Format::Onnx)],
    allowed: ".safetensors or .onnx",
};

/// Writes the file and prints the number of parameters.
pub(crate) fn run(args: &ExportArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let format = FORMATS.choose(&args.out)?;
    ensure!(
        format == Format::Safetensors || args.dtype == Precision::F32,
        "--dtype is not possible with .onnx, whose weights have 32 bits"
    );
    let agent = TrainedAgent::open(&args.checkpoint, &Printer::new(global.quiet))?.with_games(&args.games)?;
    let exported = agent.exported()?;
    let metadata = metadata(&agent.experiment, &exported.spec);
    let parameters: usize = exported.network.weights.iter().map(|weights| weights.values.len()).sum();
    match format {
        Format::Safetensors => agent.write(exported, &args.out, args.dtype, metadata)?,
        Format::Onnx => {
            let metadata = metadata.into_iter().chain(agent.metadata()?).collect();
            durable::write(&args.out, &onnx::file(&agent.experiment, &exported, metadata)?)?;
        }
    }
    writeln!(out, "{parameters} parameters in {}", args.out.display())?;
    Ok(())
}

/// Returns the metadata that a reader of another language needs. Safetensors supports only strings.
fn metadata(experiment: &Experiment, spec: &VectorSpec) -> HashMap<String, String> {
    let tasks: Vec<_> = spec.tasks.iter().map(task_metadata).collect();
    let shape = spec.observation_space.shape().unwrap_or_default();
    let PolicyConfig { torso, head, .. } = experiment.policy;
    let layout = layout_of(&spec.observation_space);
    let torso = layout.map_or(torso, |layout| experiment.policy.torso_for(layout));
    let texts = [
        ("algorithm", experiment.run.algorithm.to_string()),
        ("tasks", json!(tasks).to_string()),
        ("observation_shape", json!(shape).to_string()),
        ("rescale_observations", experiment.environments.rescale_observations.to_string()),
        ("torso", json!(torso).to_string()),
        ("head", json!(head).to_string()),
        ("num_atoms", experiment.algorithm.outputs_per_action().to_string()),
    ];
    texts.into_iter().map(|(key, text)| (key.to_owned(), text)).collect()
}

fn task_metadata(task: &Task) -> serde_json::Value {
    let mut fields = json!({ "name": task.name, "shared": task.shared });
    match &task.actions {
        TaskActions::Joint(actions) | TaskActions::Masked(actions)
            if actions.factors().is_none() && actions.num_choices() == 1 =>
        {
            fields["num_actions"] = json!(actions.num_outputs());
        }
        TaskActions::Joint(actions) | TaskActions::Masked(actions) => {
            fields["choices"] = json!(actions.sizes());
            fields["factors"] = json!(actions.factors());
        }
        TaskActions::Continuous(actions) => {
            fields["num_components"] = json!(actions.num_components());
        }
    }
    fields
}
