//! The scales of values: from the outputs of a network to returns.

use algorithms::ValueScale;
use algorithms::networks::{H_EPSILON, TaskScales};

use super::graph::{Element, Graph, Value};
use super::messages::Attribute;
use super::tasks::Tasks;

/// Converts outputs for values, `[rows, 1]` or `[rows, actions, atoms]`, to returns as the learner sees them. `axes` is
/// 2 or 3. Computes with double precision, because differences of similar numbers occur.
pub(super) fn expand(
    graph: &mut Graph,
    tasks: &Tasks<'_>,
    scales: &TaskScales,
    outputs: &Value,
    axes: usize,
) -> Value {
    if scales.kind() == ValueScale::None {
        return outputs.clone();
    }
    let scaled = graph.cast(outputs, Element::F64);
    let expanded = match scales.kind() {
        ValueScale::None => scaled,
        ValueScale::PopArt => normalized(graph, tasks, scales, &scaled, axes),
        ValueScale::H => inverse_h(graph, &scaled),
        ValueScale::Symlog => inverse_symlog(graph, &scaled),
    };
    graph.cast(&expanded, Element::F32)
}

/// Multiplies by the standard deviation of the returns of each row's task, and adds their mean.
fn normalized(
    graph: &mut Graph,
    tasks: &Tasks<'_>,
    scales: &TaskScales,
    scaled: &Value,
    axes: usize,
) -> Value {
    let (deviations, means): (Vec<f64>, Vec<f64>) =
        (0..tasks.len()).map(|task| scales.normalization(task)).unzip();
    let mut table = |name: &str, values: &[f64]| {
        let mut shape = vec![1; axes];
        shape[0] = tasks.len();
        let table = graph.doubles(name, &shape, values);
        tasks.embed(graph, &table)
    };
    let (deviations, means) = (table("scales.deviation", &deviations), table("scales.mean", &means));
    let product = graph.apply("Mul", &[scaled, &deviations], &[]);
    graph.apply("Add", &[&product, &means], &[])
}

/// Computes `sign(x) (((sqrt(1 + 4 e (|x| + 1 + e)) - 1) / 2 e)^2 - 1)` with the linear part `e`.
fn inverse_h(graph: &mut Graph, scaled: &Value) -> Value {
    let mut constant = |name: &str, value: f64| graph.doubles(&format!("scales.{name}"), &[], &[value]);
    let (factor, shift) =
        (constant("factor", 4.0 * H_EPSILON), constant("shift", 1.0 + 4.0 * H_EPSILON * (1.0 + H_EPSILON)));
    let (one, half) = (constant("one", 1.0), constant("half", 0.5 / H_EPSILON));
    let size = graph.apply("Abs", &[scaled], &[]);
    let radicand = graph.apply("Mul", &[&size, &factor], &[]);
    let radicand = graph.apply("Add", &[&radicand, &shift], &[]);
    let root = graph.apply("Sqrt", &[&radicand], &[]);
    let difference = graph.apply("Sub", &[&root, &one], &[]);
    let quotient = graph.apply("Mul", &[&difference, &half], &[]);
    let square = graph.apply("Mul", &[&quotient, &quotient], &[]);
    let size = graph.apply("Sub", &[&square, &one], &[]);
    let sign = graph.apply("Sign", &[scaled], &[]);
    graph.apply("Mul", &[&sign, &size], &[])
}

/// Computes `sign(x) (exp(|x|) - 1)`.
fn inverse_symlog(graph: &mut Graph, scaled: &Value) -> Value {
    let one = graph.doubles("scales.one", &[], &[1.0]);
    let size = graph.apply("Abs", &[scaled], &[]);
    let exponential = graph.apply("Exp", &[&size], &[]);
    let size = graph.apply("Sub", &[&exponential, &one], &[]);
    let sign = graph.apply("Sign", &[scaled], &[]);
    graph.apply("Mul", &[&sign, &size], &[])
}

/// Computes the mean over the atoms of `[rows, actions, atoms]`.
pub(super) fn mean_of_atoms(graph: &mut Graph, outputs: &Value) -> Value {
    graph.apply(
        "ReduceMean",
        &[outputs],
        &[Attribute::of_ints("axes", &[2]), Attribute::of_int("keepdims", 0)],
    )
}
