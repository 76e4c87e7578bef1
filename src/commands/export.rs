//! `ale-train export`: writes an agent as safetensors, with the names and axes of PyTorch, as ONNX, or with a card.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use algorithms::networks::{PolicyConfig, layout_of};
use algorithms::{Task, TaskActions, VectorSpec};
use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::agent::TrainedAgent;
use crate::card::{self, Licence};
use crate::cli::{ExportArgs, Global};
use crate::config::Experiment;
use crate::durable;
use crate::file_format::Formats;
use crate::onnx;
use crate::telemetry::Printer;
use crate::tensors::Precision;
use crate::threads::set_threads;

/// The format of an exported agent.
#[derive(Clone, Copy)]
enum Format {
    Safetensors,
    Onnx,
}

const FORMATS: Formats<Format> = Formats {
    action: "export",
    by_extension: &[("safetensors", Format::Safetensors), ("onnx", Format::Onnx)],
    allowed: ".safetensors or .onnx",
};

/// Writes the file or the card, and prints the number of parameters.
pub(crate) fn run(args: &ExportArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let target = Target::of(args)?;
    let printer = Printer::new(global.quiet);
    let agent = TrainedAgent::open(&args.checkpoint, &printer)?;
    set_threads(agent.experiment.num_threads())?;
    let agent = agent.with_games(&args.games)?;
    let has_scores = agent.scores.is_some();
    let exported = agent.exported()?;
    let metadata = metadata(&agent.experiment, &exported.spec);
    let parameters: usize = exported.network.weights.iter().map(|weights| weights.values.len()).sum();
    let path = match target {
        Target::Weights(path) => {
            agent.write(exported, path, args.dtype, metadata)?;
            path
        }
        Target::Onnx(path) => {
            let metadata = metadata.into_iter().chain(agent.metadata()?).collect();
            durable::write(path, &onnx::file(&agent.experiment, &exported, metadata)?)?;
            path
        }
        Target::Card(directory) => {
            let of_zoo = agent.is_of_zoo().then(Licence::of_zoo);
            let licence = args.license.as_deref().map(Licence::named).or(of_zoo);
            if licence.is_none() {
                printer.say("the card states no licence; --license names one, such as --license apache-2.0");
            }
            let weights = |path: &Path| agent.write(exported, path, args.dtype, metadata);
            card::write(&agent, directory, licence, global, weights)?;
            directory
        }
    };
    if !has_scores {
        printer.say("the agent has no scores: only the end of a training evaluates it");
    }
    writeln!(out, "{parameters} parameters in {}", path.display())?;
    Ok(())
}

/// The file or the directory that the flags choose.
enum Target<'a> {
    Weights(&'a Path),
    Onnx(&'a Path),
    Card(&'a Path),
}

impl<'a> Target<'a> {
    /// Fails before the agent is opened if the target cannot be written.
    fn of(args: &'a ExportArgs) -> Result<Self> {
        let Some(path) = args.out.as_deref() else {
            let directory = args.card.as_deref().context("--out or --card is missing")?;
            card::check(directory)?;
            return Ok(Self::Card(directory));
        };
        match FORMATS.choose(path)? {
            Format::Safetensors => Ok(Self::Weights(path)),
            Format::Onnx => {
                let is_possible = args.dtype == Precision::F32;
                ensure!(is_possible, "--dtype is not possible with .onnx, whose weights have 32 bits");
                Ok(Self::Onnx(path))
            }
        }
    }
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
