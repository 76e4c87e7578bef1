//! `ale-train export`: the weights of a checkpoint as safetensors, by the names and axes of PyTorch.

use std::collections::HashMap;
use std::io::Write;

use algorithms::ppo::Ppo;
use algorithms::{EnvSpec, Learner, networks};
use anyhow::{Context, Result, ensure};
use safetensors::{Dtype, View};
use serde_json::json;
use std::borrow::Cow;

use crate::checkpoint;
use crate::cli::ExportArgs;
use crate::config::{self, Algorithm};

/// One tensor of 32-bit floats.
struct Floats {
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl View for Floats {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// Writes the file and says what is in it.
pub(crate) fn run(args: &ExportArgs, out: &mut impl Write) -> Result<()> {
    let folder = checkpoint::chosen(&args.checkpoint, args.best)?;
    let checkpoint = checkpoint::load(&folder)?;
    let unusable = || format!("the checkpoint {} cannot be used", folder.display());
    let experiment = config::from_toml(&checkpoint.config)?.resolve().with_context(unusable)?;
    ensure!(
        experiment.algorithm == Algorithm::Ppo,
        "{} is of {}; only agents of PPO can be exported",
        folder.display(),
        experiment.algorithm.title()
    );
    let learner = Ppo::from_state(&checkpoint.learner, &experiment.device.device()).with_context(unusable)?;
    let weights = networks::torch_weights(learner.weights()?);
    let parameters: usize = weights.iter().map(|weights| weights.values.len()).sum();
    let tensors = weights.into_iter().map(|weights| {
        let bytes = weights.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        (weights.name, Floats { shape: weights.shape, bytes })
    });
    let bytes = safetensors::serialize(tensors, Some(metadata(learner.spec())))?;
    std::fs::write(&args.out, bytes).with_context(|| format!("cannot write {}", args.out.display()))?;
    writeln!(out, "{parameters} parameters in {}", args.out.display())?;
    Ok(())
}

/// What a reader has to know beside the weights. Safetensors takes texts only.
fn metadata(spec: &EnvSpec) -> HashMap<String, String> {
    let tasks: Vec<_> =
        spec.tasks.iter().map(|task| json!({ "name": task.name, "num_actions": task.num_actions })).collect();
    let shape = spec.observation_space.shape().unwrap_or_default();
    let texts = [
        ("format", "pt".to_owned()),
        ("tasks", json!(tasks).to_string()),
        ("observation_shape", json!(shape).to_string()),
    ];
    texts.into_iter().map(|(key, text)| (key.to_owned(), text)).collect()
}
