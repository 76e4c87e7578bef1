//! The networks of SAC.

use algorithms::networks::layout_of;
use anyhow::Result;

use super::actor_critic::policy_outputs;
use super::continuous;
use super::graph::{Element, Graph, Value};
use super::layers::{Activation, Weights};
use super::tasks::Tasks;
use super::{Agent, body};

/// Bounds of the logarithms of standard deviations, to which a tanh is scaled.
const LOG_DEVIATIONS: [f32; 2] = [-5.0, 2.0];

/// Adds the networks, their inputs and their outputs to a graph.
pub(super) fn add(graph: &mut Graph, agent: &Agent<'_>) -> Result<()> {
    let (weights, spec) = (agent.weights, agent.spec);
    let tasks = Tasks::new(graph, &spec.tasks);
    let observations = body::vector(graph, weights, &tasks, layout_of(&spec.observation_space)?);
    let hidden = hidden_layers(graph, weights, "actor", &observations)?;
    let means = policy_outputs(graph, agent, &tasks, "actor.fc_mean", &hidden)?;
    let raw = policy_outputs(graph, agent, &tasks, "actor.fc_logstd", &hidden)?;
    let log_deviations = log_deviations(graph, &raw);
    continuous::add_outputs(graph, &tasks, &means, &log_deviations, true);

    let width = tasks.max_outputs();
    let own = tasks.floats(graph, "tasks.components", width, |task| vec![1.0; task.actions.num_components()]);
    let own = tasks.embed(graph, &own);
    let squashed = graph.apply("Tanh", &[&means], &[]);
    let actions = graph.apply("Mul", &[&squashed, &own], &[]);
    let inputs = graph.concat(&[observations, actions]);
    let mut value = |critic: &str| -> Result<Value> {
        let hidden = hidden_layers(graph, weights, critic, &inputs)?;
        let values = weights.linear(graph, &format!("{critic}.fc3"), &hidden)?;
        Ok(tasks.pick(graph, &values, 1))
    };
    let (first, second) = (value("qf1")?, value("qf2")?);
    let values = graph.apply("Min", &[&first, &second], &[]);
    let values = graph.reshape(&values, &[-1]);
    let about =
        "values of the most probable actions: the discounted sum of future rewards and weighted entropies";
    graph.output(&values, "values", Element::F32, &[], about);
    Ok(())
}

/// Applies the two hidden layers of a network.
fn hidden_layers(graph: &mut Graph, weights: Weights<'_>, network: &str, input: &Value) -> Result<Value> {
    let mut value = input.clone();
    for layer in 1..=2 {
        let output = weights.linear(graph, &format!("{network}.fc{layer}"), &value)?;
        value = weights.activated(graph, &format!("{network}.norm{layer}"), &output, Activation::Relu)?;
    }
    Ok(value)
}

/// Scales outputs to the range of the logarithms of standard deviations.
fn log_deviations(graph: &mut Graph, outputs: &Value) -> Value {
    let [low, high] = LOG_DEVIATIONS;
    let radius = graph.floats("log_deviations.radius", &[], &[(high - low) / 2.0]);
    let middle = graph.floats("log_deviations.middle", &[], &[f32::midpoint(low, high)]);
    let squashed = graph.apply("Tanh", &[outputs], &[]);
    let scaled = graph.apply("Mul", &[&squashed, &radius], &[]);
    graph.apply("Add", &[&scaled, &middle], &[])
}
