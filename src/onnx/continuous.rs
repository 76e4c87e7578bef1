//! Continuous actions.

use super::graph::{Element, Graph, Value};
use super::messages::Attribute;
use super::tasks::Tasks;

/// Adds the outputs for continuous actions with these distributions: `means` and `log_deviations` are
/// `[rows, components]`. `is_squashed` says that actions are the tanh of normally distributed values.
pub(super) fn add_outputs(
    graph: &mut Graph,
    tasks: &Tasks<'_>,
    means: &Value,
    log_deviations: &Value,
    is_squashed: bool,
) {
    let actions = if is_squashed {
        let squashed = graph.apply("Tanh", &[means], &[]);
        scaled(graph, tasks, &squashed)
    } else {
        means.clone()
    };
    let low = tasks.of_bounds(graph, "tasks.low", |low, _| low);
    let high = tasks.of_bounds(graph, "tasks.high", |_, high| high);
    let actions = graph.apply("Max", &[&actions, &low], &[]);
    let actions = graph.apply("Min", &[&actions, &high], &[]);
    let width = [tasks.max_outputs()];
    let about = "the most probable actions, within their bounds, 0 for components that the game lacks";
    graph.output(&actions, "actions", Element::F32, &width, about);
    let about = if is_squashed { "means before tanh" } else { "means before they are clipped to the bounds" };
    graph.output(means, "means", Element::F32, &width, about);
    let about = "natural logarithms of the standard deviations";
    graph.output(log_deviations, "log_deviations", Element::F32, &width, about);
}

/// Scales components from -1 to 1 to the bounds of actions.
fn scaled(graph: &mut Graph, tasks: &Tasks<'_>, components: &Value) -> Value {
    let middle = tasks.of_bounds(graph, "tasks.middle", f32::midpoint);
    let radius = tasks.of_bounds(graph, "tasks.radius", |low, high| (high - low) / 2.0);
    let offset = graph.apply("Mul", &[components, &radius], &[]);
    graph.apply("Add", &[&middle, &offset], &[])
}

/// Repeats a single row of parameters for as many rows as `like` has.
pub(super) fn of_all_rows(graph: &mut Graph, row: &Value, like: &Value) -> Value {
    let shape = graph.apply("Shape", &[like], &[] as &[Attribute]);
    graph.apply("Expand", &[row, &shape], &[])
}
