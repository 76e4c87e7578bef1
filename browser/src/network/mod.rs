//! The networks of exported agents, computed for one observation at a time.
//!
//! Burn, in which the learners are written, needs the random numbers of a JavaScript environment on WebAssembly; this
//! module needs nothing. `products` has the arithmetic, `layers`, `maps` and `lstm` the layers; `torso` and `impala`
//! arrange the convolutions. `actions` selects the outputs of a task, `scales` converts values to returns.

mod actions;
mod impala;
mod layers;
mod lstm;
mod maps;
mod products;
mod scales;
mod torso;
mod weights;

use crate::error::FileError;
pub(crate) use actions::TaskActions;
use layers::{Hidden, Linear, Sequence};
use lstm::Lstm;
pub use lstm::Memory;
use maps::Size;
pub(crate) use scales::TaskScales;
use torso::Torso;
pub(crate) use torso::TorsoKind;
pub(crate) use weights::Weights;

/// The structure of a network, from the metadata of its file.
#[derive(Clone, Debug)]
pub(crate) struct Structure {
    pub(crate) torso: TorsoKind,
    /// Channels, height and width of an observation.
    pub(crate) image: [usize; 3],
    /// True if all tasks share one head.
    pub(crate) is_shared: bool,
    pub(crate) outputs: OutputKind,
    pub(crate) tasks: Vec<TaskActions>,
    pub(crate) scales: TaskScales,
}

/// The kind of outputs that a network has for each action.
#[derive(Clone, Debug)]
pub(crate) enum OutputKind {
    /// A logit.
    Policy,
    /// The mean return, or this number of quantiles of it.
    Quantiles(usize),
    /// Logits of the probabilities of these returns, in the scale of the network.
    Categorical(Vec<f32>),
}

impl OutputKind {
    /// Returns the number of outputs for an action.
    fn atoms(&self) -> usize {
        match self {
            Self::Policy => 1,
            Self::Quantiles(count) => *count,
            Self::Categorical(returns) => returns.len(),
        }
    }
}

/// The outputs of a network for an observation.
#[derive(Clone, Debug, PartialEq)]
pub enum Evaluation {
    /// Those of an agent with a policy.
    Policy {
        /// The natural logarithms of the probabilities of the actions.
        log_probabilities: Vec<f32>,
        /// The estimate of the discounted sum of future rewards, as the learner saw them.
        value: f32,
    },
    /// Estimates of the discounted sum of future rewards after each action.
    Values(Vec<f32>),
}

/// A network with its weights.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    structure: Structure,
    torso: Torso,
    /// An additional input for each task.
    embeddings: Option<Vec<Vec<f32>>>,
    head: Head,
}

/// The layers after the torso.
#[derive(Clone, Debug)]
enum Head {
    Policy { hidden: Hidden, lstm: Option<Lstm>, actor: Linear, critic: Linear },
    Values(Stream),
    Dueling { advantages: Stream, values: Stream },
}

/// A hidden layer and an output layer.
#[derive(Clone, Debug)]
struct Stream {
    hidden: Hidden,
    output: Linear,
}

impl Stream {
    fn read(sequence: &mut Sequence<'_>, inputs: usize) -> Result<Self, FileError> {
        let hidden = sequence.hidden(inputs)?;
        let output = sequence.linear(hidden.outputs())?;
        Ok(Self { hidden, output })
    }

    fn apply(&self, features: &[f32]) -> Vec<f32> {
        self.output.apply(&self.hidden.apply(features))
    }
}

impl Network {
    /// Creates a network. Fails if a tensor does not fit the structure.
    pub(crate) fn new(weights: &Weights, structure: Structure) -> Result<Self, FileError> {
        let [channels, height, width] = structure.image;
        let mut sequence = Sequence::new(weights, "network");
        let torso = Torso::read(&mut sequence, structure.torso, Size { channels, height, width })?;
        let embeddings = embeddings(weights, structure.tasks.len())?;
        let features = torso.features() + embeddings.as_ref().map_or(0, |table| table[0].len());
        let head = match structure.outputs {
            OutputKind::Policy => policy_head(&mut sequence, features)?,
            _ => values_head(sequence, features)?,
        };
        let network = Self { structure, torso, embeddings, head };
        network.check_outputs()?;
        Ok(network)
    }

    /// Returns the actions of each task.
    pub(crate) fn tasks(&self) -> &[TaskActions] {
        &self.structure.tasks
    }

    /// Fails unless every task has its outputs.
    fn check_outputs(&self) -> Result<(), FileError> {
        let Structure { tasks, is_shared, outputs, .. } = &self.structure;
        let atoms = outputs.atoms();
        let widest = tasks.iter().map(|task| task.shared().len()).max().unwrap_or(0);
        let last = tasks.iter().flat_map(TaskActions::shared).max().map_or(0, |last| last + 1);
        let of_actions = if *is_shared { last } else { widest * tasks.len() } * atoms;
        let (layer, found, further) = match &self.head {
            Head::Policy { actor, critic, .. } => ("actor", actor, Some(("critic", critic, tasks.len()))),
            Head::Values(stream) => ("network", &stream.output, None),
            Head::Dueling { advantages, values } => {
                let count = if *is_shared { atoms } else { tasks.len() * atoms };
                ("advantage_head", &advantages.output, Some(("value_head", &values.output, count)))
            }
        };
        let fits = if *is_shared { found.outputs() >= of_actions } else { found.outputs() == of_actions };
        match further {
            _ if !fits => Err(FileError::Tensor(layer.to_owned())),
            Some((layer, linear, count)) if linear.outputs() != count => {
                Err(FileError::Tensor(layer.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Evaluates an observation `[channels, height, width]` of a task, and updates the memory of a recurrent network.
    ///
    /// # Panics
    /// Panics if there is no such task, or if the observation has another size.
    pub(crate) fn evaluate(&self, task: usize, observation: &[u8], memory: &mut Memory) -> Evaluation {
        assert_eq!(observation.len(), self.torso.inputs(), "the size of an observation");
        let mut features = self.torso.apply(observation);
        if let Some(embeddings) = &self.embeddings {
            features.extend(&embeddings[task]);
        }
        let actions = &self.structure.tasks[task];
        match &self.head {
            Head::Policy { hidden, lstm, actor, critic } => {
                let mut hidden = hidden.apply(&features);
                if let Some(lstm) = lstm {
                    hidden = lstm.apply(&hidden, memory);
                }
                let logits = self.of_actions(task, &actor.apply(&hidden));
                Evaluation::Policy {
                    log_probabilities: actions.log_probabilities(&logits),
                    value: self.structure.scales.expand(task, critic.apply(&hidden)[task]),
                }
            }
            Head::Values(stream) => {
                Evaluation::Values(self.means(task, &self.of_actions(task, &stream.apply(&features))))
            }
            Head::Dueling { advantages, values } => {
                let mut outputs = self.of_actions(task, &advantages.apply(&features));
                let atoms = self.structure.outputs.atoms();
                actions.centre(&mut outputs, atoms);
                let values = values.apply(&features);
                let own = if self.structure.is_shared { &values[..] } else { &values[task * atoms..] };
                for of_action in outputs.chunks_exact_mut(atoms) {
                    of_action.iter_mut().zip(own).for_each(|(output, value)| *output += value);
                }
                Evaluation::Values(self.means(task, &outputs))
            }
        }
    }

    /// Returns the outputs for the options of a task: `[options, atoms]`.
    fn of_actions(&self, task: usize, outputs: &[f32]) -> Vec<f32> {
        let (tasks, atoms) = (&self.structure.tasks, self.structure.outputs.atoms());
        let shared = tasks[task].shared();
        if !self.structure.is_shared {
            let block = outputs.len() / tasks.len();
            return outputs[task * block..][..shared.len() * atoms].to_vec();
        }
        shared.iter().flat_map(|column| &outputs[column * atoms..][..atoms]).copied().collect()
    }

    /// Returns the mean return after each action from the outputs of its options.
    fn means(&self, task: usize, outputs: &[f32]) -> Vec<f32> {
        let scales = &self.structure.scales;
        let atoms = self.structure.outputs.atoms();
        let mean = |outputs: &[f32]| match &self.structure.outputs {
            OutputKind::Categorical(returns) => {
                let max = outputs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let weights = outputs.iter().map(|logit| (logit - max).exp());
                let total: f32 = weights.clone().sum();
                let parts = weights.zip(returns).map(|(weight, &value)| weight * scales.expand(task, value));
                parts.sum::<f32>() / total
            }
            _ => outputs.iter().map(|&output| scales.expand(task, output)).sum::<f32>() / atoms as f32,
        };
        let of_options: Vec<f32> = outputs.chunks_exact(atoms).map(mean).collect();
        self.structure.tasks[task].values(&of_options)
    }
}

/// Reads the embeddings of the tasks, if there are any.
fn embeddings(weights: &Weights, tasks: usize) -> Result<Option<Vec<Vec<f32>>>, FileError> {
    const NAME: &str = "game_embedding.weight";
    if !weights.has(NAME) {
        return Ok(None);
    }
    let ([rows, width], values) = weights.get::<2>(NAME)?;
    if rows != tasks {
        return Err(FileError::Tensor(NAME.to_owned()));
    }
    Ok(Some(values.chunks_exact(width).map(<[f32]>::to_vec).collect()))
}

fn policy_head(sequence: &mut Sequence<'_>, features: usize) -> Result<Head, FileError> {
    let weights = sequence.weights();
    let hidden = sequence.hidden(features)?;
    let lstm = Lstm::read(weights, hidden.outputs())?;
    let inputs = lstm.as_ref().map_or(hidden.outputs(), Lstm::outputs);
    let [actor, critic] = ["actor", "critic"].map(|name| Linear::read(weights, name, inputs));
    Ok(Head::Policy { hidden, lstm, actor: actor?, critic: critic? })
}

fn values_head(mut sequence: Sequence<'_>, features: usize) -> Result<Head, FileError> {
    let weights = sequence.weights();
    let is_dueling = ["weight", "weight_mu"].iter().any(|part| weights.has(&format!("value_head.0.{part}")));
    if !is_dueling {
        return Ok(Head::Values(Stream::read(&mut sequence, features)?));
    }
    let [advantages, values] = ["advantage_head", "value_head"]
        .map(|name| Stream::read(&mut Sequence::new(weights, name), features));
    Ok(Head::Dueling { advantages: advantages?, values: values? })
}
