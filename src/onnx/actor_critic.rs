//! The networks of PPO.

use algorithms::networks::HeadKind;
use anyhow::Result;

use super::Agent;
use super::body::{self, Features};
use super::continuous;
use super::graph::{Element, Graph, Value};
use super::layers::{Activation, Weights};
use super::scales;
use super::tasks::Tasks;

/// Adds the network, its inputs and its outputs to a graph.
pub(super) fn add(graph: &mut Graph, agent: &Agent<'_>) -> Result<()> {
    let (weights, policy) = (agent.weights, agent.policy);
    let tasks = Tasks::new(graph, &agent.spec.tasks);
    let Features { value: features, mut next, has_images } =
        body::features(graph, agent, &tasks, "", Activation::Tanh)?;
    let activation = if has_images { Activation::Relu } else { Activation::Tanh };
    let hidden = next.hidden(graph, &features, activation)?;
    let features = if policy.lstm > 0 { lstm(graph, weights, &hidden, policy.lstm)? } else { hidden };

    let values = weights.linear(graph, "critic", &features)?;
    let values = tasks.pick(graph, &values, 1);
    let values = scales::expand(graph, &tasks, agent.scales, &values, 2);
    let values = graph.reshape(&values, &[-1]);
    let outputs = policy_outputs(graph, agent, &tasks, "actor", &features)?;
    if tasks.are_continuous() {
        let log_deviations = if weights.find("actor_logstd.weight").is_some() {
            policy_outputs(graph, agent, &tasks, "actor_logstd", &features)?
        } else {
            let table = weights.constant(graph, "actor_logstd")?;
            let log_deviations = tasks.embed(graph, &table);
            continuous::of_all_rows(graph, &log_deviations, &outputs)
        };
        continuous::add_outputs(graph, &tasks, &outputs, &log_deviations, policy.squash_actions);
    } else {
        add_logits(graph, &tasks, &outputs);
    }
    graph.output(&values, "values", Element::F32, &[], "estimates of the discounted sum of future rewards");
    Ok(())
}

/// Adds the output for the logits of discrete actions, `[rows, max_outputs]`.
pub(super) fn add_logits(graph: &mut Graph, tasks: &Tasks<'_>, outputs: &Value) {
    let logits = tasks.mask(graph, outputs);
    let about = "logits of the actions, -1e30 for actions that the game lacks";
    graph.output(&logits, "logits", Element::F32, &[tasks.max_outputs()], about);
}

/// Applies a layer of the policy. Returns the outputs of each row's task, `[rows, max_outputs]`.
pub(super) fn policy_outputs(
    graph: &mut Graph,
    agent: &Agent<'_>,
    tasks: &Tasks<'_>,
    layer: &str,
    features: &Value,
) -> Result<Value> {
    let all = agent.weights.linear(graph, layer, features)?;
    let width = tasks.max_outputs();
    Ok(match agent.policy.head {
        HeadKind::PerGame => tasks.pick(graph, &all, width),
        HeadKind::Shared => {
            let all = graph.reshape(&all, &[0, -1, 1]);
            let picked = tasks.pick_shared(graph, &all, 1);
            graph.reshape(&picked, &[0, width as i64])
        }
    })
}

/// Adds an LSTM with its state as inputs and outputs. Returns its outputs.
fn lstm(graph: &mut Graph, weights: Weights<'_>, input: &Value, size: usize) -> Result<Value> {
    let about = "state of the LSTM before the step, 0 where an episode starts";
    let [hidden, cell] = ["hidden", "cell"].map(|name| graph.input(name, Element::F32, &[size], about));
    let parameters = |of: &str| ["weight", "bias"].map(|parameter| format!("lstm.{parameter}_{of}_l0"));
    let of_input = weights.product(graph, input, parameters("ih"))?;
    let of_state = weights.product(graph, &hidden, parameters("hh"))?;
    let gates = graph.apply("Add", &[&of_input, &of_state], &[]);
    let [write, keep, new, read] = graph.split::<4>(&gates);
    let [write, keep, read] = [&write, &keep, &read].map(|gate| graph.apply("Sigmoid", &[gate], &[]));
    let new = graph.apply("Tanh", &[&new], &[]);
    let (kept, written) =
        (graph.apply("Mul", &[&keep, &cell], &[]), graph.apply("Mul", &[&write, &new], &[]));
    let cell = graph.apply("Add", &[&kept, &written], &[]);
    let squashed = graph.apply("Tanh", &[&cell], &[]);
    let hidden = graph.apply("Mul", &[&read, &squashed], &[]);
    for (name, value) in [("next_hidden", &hidden), ("next_cell", &cell)] {
        graph.output(value, name, Element::F32, &[size], "state of the LSTM after the step");
    }
    Ok(hidden)
}
