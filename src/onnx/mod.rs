//! Agents in the ONNX format.
//!
//! * `messages` are those of the format, `graph` adds nodes and constants to a graph.
//! * `layers` builds layers with the names of PyTorch modules, `body` those up to the last hidden one; `tasks` selects
//!   the outputs of each row's game, `scales` converts values to returns.
//! * `actor_critic`, `q_network` and `soft_actor_critic` build the networks; `continuous` has the outputs for
//!   continuous actions.

mod actor_critic;
mod body;
mod continuous;
mod graph;
mod layers;
mod messages;
mod q_network;
mod scales;
mod soft_actor_critic;
mod tasks;

use std::collections::HashMap;

use algorithms::VectorSpec;
use algorithms::dqn::{Distribution, DqnConfig};
use algorithms::networks::{PolicyConfig, TaskScales};
use anyhow::{Result, ensure};
use prost::Message;
use toml::Value;

use crate::agent::Exported;
use crate::config::Experiment;
use crate::learner::Algorithm;

use graph::Graph;
use layers::Weights;
use messages::{Model, OperatorSet, Property};

/// The version of the format: that of ONNX 1.12.
const IR_VERSION: i64 = 8;
/// The version of the operators: that of ONNX 1.12.
const OPERATORS: i64 = 17;
/// The largest size of a message: 2 GB.
const MOST_BYTES: usize = i32::MAX as usize;

/// The parts of an agent that its graph consists of.
struct Agent<'a> {
    weights: Weights<'a>,
    policy: &'a PolicyConfig,
    spec: &'a VectorSpec,
    scales: &'a TaskScales,
    /// The number of outputs for each action.
    num_atoms: usize,
}

/// The meaning of the outputs for an action.
enum Returns {
    /// Its mean return, or quantiles of it.
    Mean,
    /// Logits of the probabilities of these returns, in the scale of the network.
    Categorical(Vec<f32>),
}

/// Returns an agent as a file in the ONNX format, with metadata.
pub(crate) fn file(
    experiment: &Experiment,
    exported: &Exported,
    metadata: HashMap<String, String>,
) -> Result<Vec<u8>> {
    let Exported { network, spec } = exported;
    let agent = Agent {
        weights: Weights(&network.weights),
        policy: &experiment.policy,
        spec,
        scales: &network.description.scales,
        num_atoms: experiment.algorithm.outputs_per_action(),
    };
    let mut graph = Graph::default();
    match experiment.run.algorithm {
        Algorithm::Ppo => actor_critic::add(&mut graph, &agent)?,
        Algorithm::Dqn => q_network::add(&mut graph, &agent, &returns(experiment)?)?,
        Algorithm::Pqn => q_network::add(&mut graph, &agent, &Returns::Mean)?,
        Algorithm::Sac => soft_actor_critic::add(&mut graph, &agent)?,
    }
    let mut metadata_props: Vec<Property> =
        metadata.into_iter().map(|(key, value)| Property { key, value }).collect();
    metadata_props.sort_by(|first, second| first.key.cmp(&second.key));
    let model = Model {
        ir_version: IR_VERSION,
        producer_name: env!("CARGO_PKG_NAME").to_owned(),
        producer_version: env!("CARGO_PKG_VERSION").to_owned(),
        doc_string: format!("an agent that plays {}", experiment.games.labels().join(", ")),
        graph: Some(graph.into_message(experiment.run.algorithm.name())),
        opset_import: vec![OperatorSet { domain: String::new(), version: OPERATORS }],
        metadata_props,
    };
    let size = model.encoded_len();
    ensure!(
        size <= MOST_BYTES,
        "the agent needs {size} bytes, but a file in the ONNX format has at most {MOST_BYTES}"
    );
    Ok(model.encode_to_vec())
}

/// Returns the meaning of the outputs of DQN.
fn returns(experiment: &Experiment) -> Result<Returns> {
    let sections = experiment.algorithm.to_toml()?;
    let section = sections.get("dqn").cloned().unwrap_or_else(|| Value::Table(toml::Table::new()));
    let config: DqnConfig = section.try_into()?;
    Ok(match config.distribution {
        Distribution::Mean | Distribution::Quantile => Returns::Mean,
        Distribution::C51 => {
            let DqnConfig { num_atoms, v_min, v_max, .. } = config;
            let step = (v_max - v_min) / (num_atoms - 1) as f32;
            Returns::Categorical((0..num_atoms).map(|atom| v_min + atom as f32 * step).collect())
        }
    })
}
