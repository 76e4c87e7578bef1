//! The networks of DQN and PQN.

use algorithms::Task;
use algorithms::networks::HeadKind;
use anyhow::Result;

use super::body::{self, Features};
use super::graph::{Element, Graph, Value};
use super::layers::{Activation, Sequence};
use super::messages::Attribute;
use super::scales;
use super::tasks::Tasks;
use super::{Agent, Returns};

/// Adds the network, its inputs and its outputs to a graph.
pub(super) fn add(graph: &mut Graph, agent: &Agent<'_>, returns: &Returns) -> Result<()> {
    let tasks = Tasks::new(graph, &agent.spec.tasks);
    let outputs = outputs(graph, agent, &tasks, "")?;
    let values = means(graph, agent, &tasks, &outputs, returns);
    add_values(graph, &tasks, &values);
    Ok(())
}

/// Adds the output for action values, `[rows, max_outputs]`.
pub(super) fn add_values(graph: &mut Graph, tasks: &Tasks<'_>, values: &Value) {
    let values = tasks.mask(graph, values);
    let about = "action values, -1e30 for actions that the game lacks";
    graph.output(&values, "action_values", Element::F32, &[tasks.max_outputs()], about);
}

/// Adds a network whose modules begin with `prefix`. Returns the outputs for the actions of each row's task,
/// `[rows, max_outputs, atoms]`.
pub(super) fn outputs(
    graph: &mut Graph,
    agent: &Agent<'_>,
    tasks: &Tasks<'_>,
    prefix: &str,
) -> Result<Value> {
    let weights = agent.weights;
    let Features { value: features, next, .. } =
        body::features(graph, agent, tasks, prefix, Activation::Relu)?;
    let stream = |name: &str| Sequence { weights, name: name.to_owned(), index: 0 };
    let is_dueling = weights.find("value_head.0.weight").or(weights.find("value_head.0.weight_mu")).is_some();
    if !is_dueling {
        let outputs = head(graph, agent, next, &features)?;
        return Ok(of_actions(graph, agent, tasks, &outputs));
    }
    let advantages = head(graph, agent, stream("advantage_head"), &features)?;
    let advantages = of_actions(graph, agent, tasks, &advantages);
    let values = head(graph, agent, stream("value_head"), &features)?;
    let values = match agent.policy.head {
        HeadKind::PerGame => tasks.pick(graph, &values, agent.num_atoms),
        HeadKind::Shared => values,
    };
    let values = graph.reshape(&values, &[-1, 1, agent.num_atoms as i64]);
    let centred = centred(graph, tasks, &advantages);
    Ok(graph.apply("Add", &[&centred, &values], &[]))
}

/// Adds a hidden layer and an output layer.
fn head(graph: &mut Graph, agent: &Agent<'_>, mut sequence: Sequence<'_>, features: &Value) -> Result<Value> {
    let hidden = sequence.hidden(graph, features, Activation::Relu)?;
    agent.weights.linear(graph, &sequence.module(), &hidden)
}

/// Returns the outputs for the actions of each row's task, `[rows, max_outputs, atoms]`.
fn of_actions(graph: &mut Graph, agent: &Agent<'_>, tasks: &Tasks<'_>, outputs: &Value) -> Value {
    let (width, atoms) = (tasks.max_outputs(), agent.num_atoms);
    match agent.policy.head {
        HeadKind::PerGame => {
            let own = tasks.pick(graph, outputs, width * atoms);
            graph.reshape(&own, &[-1, width as i64, atoms as i64])
        }
        HeadKind::Shared => {
            let by_action = graph.reshape(outputs, &[0, -1, atoms as i64]);
            tasks.pick_shared(graph, &by_action, atoms)
        }
    }
}

/// Subtracts the mean over the legal options of each choice of an action from their advantages.
fn centred(graph: &mut Graph, tasks: &Tasks<'_>, advantages: &Value) -> Value {
    let width = tasks.max_outputs();
    let most = tasks.iter().map(|task| task.actions.num_choices()).max().unwrap_or(0);
    let mut centred = advantages.clone();
    for choice in 0..most {
        let legal = tasks.floats(graph, &format!("tasks.choice_{choice}"), width, |task| {
            legal_options(task, choice, width)
        });
        let share = tasks.floats(graph, &format!("tasks.share_{choice}"), width, |task| {
            let legal = legal_options(task, choice, width);
            let count: f32 = legal.iter().sum();
            legal.iter().map(|legal| legal / count.max(1.0)).collect()
        });
        let [legal, share] = [legal, share].map(|table| {
            let of_rows = tasks.embed(graph, &table);
            graph.reshape(&of_rows, &[-1, width as i64, 1])
        });
        let parts = graph.apply("Mul", &[advantages, &share], &[]);
        let axes = graph.indices("actions.axis", &[1], &[1]);
        let mean = graph.apply("ReduceSum", &[&parts, &axes], &[]);
        let of_legal = graph.apply("Mul", &[&mean, &legal], &[]);
        centred = graph.apply("Sub", &[&centred, &of_legal], &[]);
    }
    centred
}

/// Returns 1 for each option of a choice that some legal action of a task has, else 0.
pub(super) fn legal_options(task: &Task, choice: usize, width: usize) -> Vec<f32> {
    let mut legal = vec![0.0; width];
    for column in task.actions.joint().into_iter().flat_map(|actions| actions.columns_of(choice)) {
        legal[column] = 1.0;
    }
    legal
}

/// Computes the mean returns, `[rows, max_outputs]`, from outputs `[rows, max_outputs, atoms]`.
fn means(
    graph: &mut Graph,
    agent: &Agent<'_>,
    tasks: &Tasks<'_>,
    outputs: &Value,
    returns: &Returns,
) -> Value {
    let Returns::Categorical(support) = returns else {
        let expanded = scales::expand(graph, tasks, agent.scales, outputs, 3);
        return scales::mean_of_atoms(graph, &expanded);
    };
    // Normalisations by the returns of a task are not possible with fixed returns.
    let support: Vec<f32> = support.iter().map(|&value| agent.scales.kind().expand(value)).collect();
    let support = graph.floats("returns.support", &[support.len()], &support);
    let probabilities = graph.apply("Softmax", &[outputs], &[Attribute::of_int("axis", 2)]);
    let parts = graph.apply("Mul", &[&probabilities, &support], &[]);
    let axes = graph.indices("returns.axis", &[1], &[2]);
    graph.apply("ReduceSum", &[&parts, &axes], &[Attribute::of_int("keepdims", 0)])
}
