//! The networks of SAC.

use algorithms::networks::{ILLEGAL_LOGIT, layout_of};
use anyhow::Result;

use super::actor_critic::{add_logits, policy_outputs};
use super::continuous;
use super::graph::{Element, Graph, Value};
use super::layers::{Activation, Weights};
use super::messages::Attribute;
use super::tasks::Tasks;
use super::{Agent, body, q_network};

/// Bounds of the logarithms of standard deviations, to which a tanh is scaled.
const LOG_DEVIATIONS: [f32; 2] = [-5.0, 2.0];

/// Adds the networks, their inputs and their outputs to a graph.
pub(super) fn add(graph: &mut Graph, agent: &Agent<'_>) -> Result<()> {
    let tasks = Tasks::new(graph, &agent.spec.tasks);
    if tasks.are_continuous() {
        add_continuous(graph, agent, &tasks)
    } else {
        add_discrete(graph, agent, &tasks)
    }
}

/// Adds the networks for discrete actions.
fn add_discrete(graph: &mut Graph, agent: &Agent<'_>, tasks: &Tasks<'_>) -> Result<()> {
    let width = tasks.max_outputs() as i64;
    let outputs = |graph: &mut Graph, network: &str| -> Result<Value> {
        let outputs = q_network::outputs(graph, agent, tasks, network)?;
        Ok(graph.reshape(&outputs, &[-1, width]))
    };
    let logits = outputs(graph, "actor.")?;
    add_logits(graph, tasks, &logits);
    let (first, second) = (outputs(graph, "qf1.")?, outputs(graph, "qf2.")?);
    let values = graph.apply("Min", &[&first, &second], &[]);
    q_network::add_values(graph, tasks, &values);
    // The choices of factored actions depend on each other.
    let are_independent =
        tasks.iter().all(|task| task.actions.joint().is_some_and(|own| own.factors().is_none()));
    if are_independent {
        let expected = expected_values(graph, tasks, &logits, &values);
        let about =
            "expected values of the policy: the discounted sum of future rewards and weighted entropies";
        graph.output(&expected, "values", Element::F32, &[], about);
    }
    Ok(())
}

/// Computes the expected value of an action, `[rows]`: the mean over its choices of that of an option. `logits` and
/// `values` are those of the options, `[rows, max_outputs]`.
fn expected_values(graph: &mut Graph, tasks: &Tasks<'_>, logits: &Value, values: &Value) -> Value {
    let width = tasks.max_outputs();
    let most = tasks.iter().map(|task| task.actions.num_choices()).max().unwrap_or(0);
    let illegal = graph.floats("tasks.illegal_logit", &[], &[ILLEGAL_LOGIT]);
    let parts: Vec<Value> = (0..most)
        .map(|choice| {
            let shares = tasks.floats(graph, &format!("tasks.weight_{choice}"), width, |task| {
                let legal = q_network::legal_options(task, choice, width);
                legal.iter().map(|legal| legal / task.actions.num_choices() as f32).collect()
            });
            let shares = tasks.embed(graph, &shares);
            let legal = graph.cast(&shares, Element::Bool);
            let own = graph.apply("Where", &[&legal, logits, &illegal], &[]);
            let probabilities = graph.apply("Softmax", &[&own], &[Attribute::of_int("axis", 1)]);
            let weights = graph.apply("Mul", &[&probabilities, &shares], &[]);
            graph.apply("Mul", &[&weights, values], &[])
        })
        .collect();
    let parts = graph.concat(&parts);
    let axes = graph.indices("values.axis", &[1], &[1]);
    graph.apply("ReduceSum", &[&parts, &axes], &[Attribute::of_int("keepdims", 0)])
}

/// Adds the networks for continuous actions.
fn add_continuous(graph: &mut Graph, agent: &Agent<'_>, tasks: &Tasks<'_>) -> Result<()> {
    let (weights, spec) = (agent.weights, agent.spec);
    let observations = body::vector(graph, weights, tasks, layout_of(&spec.observation_space)?);
    let hidden = hidden_layers(graph, weights, "actor", &observations)?;
    let means = policy_outputs(graph, agent, tasks, "actor.fc_mean", &hidden)?;
    let raw = policy_outputs(graph, agent, tasks, "actor.fc_logstd", &hidden)?;
    let log_deviations = log_deviations(graph, &raw);
    continuous::add_outputs(graph, tasks, &means, &log_deviations, true);

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
