//! Weights that a new run starts from.

use std::fmt::Write;
use std::mem;
use std::path::Path;

use algorithms::cluster::Cluster;
use algorithms::networks::{
    Difference, NamedWeights, PolicyConfig, TrainedNetwork, TransferError, Transferred,
};
use anyhow::{Result, bail};
use burn::tensor::Device;
use sha2::{Digest, Sha256};
use toml::{Table, Value};

use crate::agent::TrainedAgent;
use crate::cli::{CheckpointArgs, Global};
use crate::config::{self, Config, Experiment, Games};
use crate::environments::{Builder, CommandOverrides};
use crate::learner::{Algorithm, Learner};
use crate::provenance::{Origin, Provenance};
use crate::telemetry::Printer;

/// The settings that the images of Atari games follow from.
const IMAGES: [&str; 3] = ["environments.img_height", "environments.img_width", "environments.stack_num"];
/// The settings that the actions of a game follow from.
const ACTIONS: [&str; 2] = ["environments.full_action_space", "environments.factored_actions"];
/// The key that only the name of the command sets.
const ALGORITHM: &str = "experiment.algorithm";

/// The agent whose weights a new run starts from.
pub(crate) struct Source {
    pub(crate) origin: Origin,
    network: TrainedNetwork,
    experiment: Experiment,
}

impl Source {
    /// Reads the newest checkpoint of a run, a checkpoint, a file of `ale-train export`, or an agent of the zoo.
    pub(crate) fn open(path: &Path, printer: &Printer) -> Result<Self> {
        let agent =
            TrainedAgent::open(&CheckpointArgs { checkpoint: path.to_owned(), best: false }, printer)?;
        let network = agent.exported()?.network;
        let weights_sha256 = sha256(&network.weights);
        let origin = Origin { path: path.to_owned(), commit: agent.commit, weights_sha256 };
        Ok(Self { origin, network, experiment: agent.experiment })
    }

    /// Returns the keys that determine the network, which a run of `algorithm` inherits unless the user sets them.
    /// Another algorithm has only some of the layers.
    pub(crate) fn network_keys(&self, algorithm: Algorithm) -> Result<Table> {
        let is_same = algorithm == self.experiment.run.algorithm;
        let others = if is_same { &PolicyConfig::OF_OTHER_LAYERS[..] } else { &[] };
        let values = config::values(&self.experiment.to_toml()?)?;
        let keys = PolicyConfig::OF_COMMON_LAYERS.iter().chain(others).map(|&name| {
            let absent = || Value::String(config::ABSENT.to_owned());
            let value = values.get(&format!("policy.{name}")).cloned().unwrap_or_else(absent);
            (name.to_owned(), value)
        });
        Ok(Table::from_iter([("policy".to_owned(), Value::Table(keys.collect()))]))
    }

    /// Gives the weights to the learner of an experiment. Returns the outcome as a sentence.
    pub(crate) fn transfer_to(
        &self,
        learner: &mut dyn Learner,
        experiment: &Experiment,
        global: &Global,
    ) -> Result<String> {
        let error = match learner.start_from(&self.network) {
            Ok(transferred) => return Ok(sentence(&self.origin, &transferred)),
            Err(error) => error,
        };
        match &error {
            TransferError::Differences(differences) => self.refuse(differences, experiment, global),
            error => bail!("--init-from {} is not possible: {error}", self.origin.path.display()),
        }
    }

    /// Fails if the observations of an experiment, given as the text of their space, differ from those of the source.
    pub(crate) fn check_observations(
        &self,
        own: String,
        experiment: &Experiment,
        global: &Global,
    ) -> Result<()> {
        let source_space = self.network.description.observations.clone();
        if own == source_space {
            return Ok(());
        }
        self.refuse(&[Difference::Observations { source_space, own }], experiment, global)
    }

    fn refuse<T>(&self, differences: &[Difference], experiment: &Experiment, global: &Global) -> Result<T> {
        let reason = self.explained(differences, experiment, global)?;
        bail!("--init-from {} is not possible: {reason}", self.origin.path.display())
    }

    /// Explains why an experiment cannot start from the weights. If its settings are the reason, all of them are named,
    /// with the flags that make them equal to those of the source.
    fn explained(
        &self,
        differences: &[Difference],
        experiment: &Experiment,
        global: &Global,
    ) -> Result<String> {
        let toml = experiment.to_toml()?;
        let (values, source_values) = (config::values(&toml)?, config::values(&self.experiment.to_toml()?)?);
        let mut keys = Vec::new();
        for key in differences.iter().flat_map(|difference| settings(difference, experiment)).copied() {
            let is_key = key != ALGORITHM && config::field(key).is_some();
            if is_key && values.get(key) != source_values.get(key) && !keys.contains(&key) {
                keys.push(key);
            }
        }
        if keys.is_empty() {
            return Ok(differences[0].to_string());
        }
        let (mut named, mut sets) = (Vec::new(), Vec::new());
        for key in keys {
            let [value, source_value] = [&values, &source_values].map(|values| as_written(values.get(key)));
            named.push(format!("{key} = {source_value} (here {value})"));
            sets.push(format!("{key}={source_value}"));
        }
        let named = named.join(", ");
        let changed = config::changed(&toml, &sets).and_then(Config::resolve);
        Ok(match changed.and_then(|changed| self.remaining_difference(&changed, global)) {
            Ok(None) => format!("it has {named}; add --set {}", sets.join(" --set ")),
            Err(error) => format!("it has {named}, but this run cannot have them: {error:#}"),
            Ok(Some(remaining)) => {
                let kind = mem::discriminant(&remaining);
                let same = differences.iter().find(|difference| mem::discriminant(*difference) == kind);
                same.unwrap_or(&remaining).to_string()
            }
        })
    }

    /// Returns the first reason why a learner of an experiment cannot start from the weights, if there is one.
    fn remaining_difference(&self, experiment: &Experiment, global: &Global) -> Result<Option<Difference>> {
        let builder = Builder::new(experiment, &CommandOverrides::default(), global)?;
        let spec = builder.spec(builder.build_evaluation_of_each(None)?.as_ref())?;
        let agent_space = spec.observation_space.to_string();
        let source_space = &self.network.description.observations;
        if agent_space != *source_space {
            return Ok(Some(Difference::Observations {
                source_space: source_space.clone(),
                own: agent_space,
            }));
        }
        let (policy, trial) = (experiment.policy.clone(), experiment.algorithm.trial(&spec));
        let mut learner = trial.config.create(policy, spec, Cluster::default(), &Device::flex(), 0)?;
        match learner.start_from(&self.network) {
            Ok(_) => Ok(None),
            Err(TransferError::Differences(mut differences)) => Ok(Some(differences.swap_remove(0))),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the settings that may cause a difference.
fn settings<'a>(difference: &'a Difference, experiment: &Experiment) -> &'a [&'static str] {
    match (difference, &experiment.games) {
        (Difference::Observations { .. }, Games::Atari(_)) => &IMAGES,
        // They follow from the tasks alone.
        (Difference::Observations { .. }, Games::Tasks(_)) => &[],
        (Difference::Actions { .. }, _) => &ACTIONS,
        (other, _) => other.settings(),
    }
}

/// Returns a value as `--set` reads it.
fn as_written(value: Option<&Value>) -> String {
    match value {
        None => config::ABSENT.to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// Fails if a run started from other weights. They are stored in its first checkpoint, so without one it cannot start
/// again.
pub(crate) fn check_absent(run_dir: &Path) -> Result<()> {
    match Provenance::read(run_dir)?.init_from {
        None => Ok(()),
        Some(origin) => bail!(
            "the run {} ended before it stored the weights of {}; remove it and start it again",
            run_dir.display(),
            origin.path.display()
        ),
    }
}

/// Returns the outcome of a transfer as a sentence.
fn sentence(origin: &Origin, transferred: &Transferred) -> String {
    let Transferred { tensors, total, fresh_heads } = transferred;
    let heads = match fresh_heads.as_slice() {
        [] => String::new(),
        tasks if tasks.len() > 6 => format!("; fresh heads for {} games", tasks.len()),
        tasks => format!("; fresh heads for {}", tasks.join(", ")),
    };
    format!("{tensors} of {total} tensors from {}{heads}", origin.path.display())
}

fn sha256(weights: &[NamedWeights]) -> String {
    let mut hash = Sha256::new();
    for NamedWeights { name, shape, values } in weights_in_order(weights) {
        hash.update(format!("{name} {shape:?}\n"));
        for value in values {
            hash.update(value.to_le_bytes());
        }
    }
    hash.finalize().iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Returns the weights ordered by name: the order in files differs from that in networks.
fn weights_in_order(weights: &[NamedWeights]) -> Vec<&NamedWeights> {
    let mut ordered: Vec<&NamedWeights> = weights.iter().collect();
    ordered.sort_by(|a, b| a.name.cmp(&b.name));
    ordered
}
