//! The layers from the observations to the last hidden layer.

use algorithms::networks::{ImageShape, ObservationLayout, PolicyConfig, TorsoKind, layout_of};
use anyhow::Result;

use super::Agent;
use super::graph::{Element, Graph, Value};
use super::layers::{Activation, Sequence, Weights};
use super::messages::Attribute;
use super::tasks::Tasks;

/// The largest byte: images are divided by it.
const BYTES: f32 = 255.0;
/// Added to the variances of observations.
const EPSILON: f64 = 1e-8;
/// Bound of normalised observations.
const MAX_NORMALIZED: f32 = 10.0;

/// The features of observations, and the place of the layer that follows.
pub(super) struct Features<'a> {
    /// `[rows, features]`.
    pub(super) value: Value,
    pub(super) next: Sequence<'a>,
    pub(super) has_images: bool,
}

/// Adds the inputs for observations, and the body of a network, whose modules begin with `prefix`.
pub(super) fn features<'a>(
    graph: &mut Graph,
    agent: &Agent<'a>,
    tasks: &Tasks<'_>,
    prefix: &str,
    activation: Activation,
) -> Result<Features<'a>> {
    let &Agent { weights, policy, spec, .. } = agent;
    let layout = layout_of(&spec.observation_space)?;
    let mut next = Sequence { weights, name: format!("{prefix}network"), index: 0 };
    let mut parts = Vec::new();
    if layout.has_images() {
        let is_single = matches!(layout, ObservationLayout::Images { .. });
        for (index, image) in layout.images().enumerate() {
            let name = if is_single { "observations".to_owned() } else { format!("observations_{index}") };
            let shape = [image.channels, image.height, image.width];
            let input = graph.input(&name, Element::U8, &shape, "images (channels, height, width)");
            let is_first = index == 0;
            let module = if is_first { "network".to_owned() } else { format!("further.{}", index - 1) };
            let mut sequence = Sequence { weights, name: format!("{prefix}{module}"), index: 0 };
            let maps = maps_of(graph, &mut sequence, policy, image, &input)?;
            parts.push(flattened(graph, &maps, is_first));
            if is_first {
                next = sequence;
            }
        }
        if let ObservationLayout::Mixed { floats, .. } = layout
            && floats > 0
        {
            let name = format!("observations_{}", parts.len());
            parts.push(graph.input(&name, Element::F32, &[floats], "the numbers beside the images"));
        }
    } else {
        let vector = vector(graph, weights, tasks, layout);
        parts.push(next.hidden(graph, &vector, activation)?);
    }
    if weights.find("game_embedding.weight").is_some() {
        let embedding = embedding(graph, weights, tasks, &parts[0])?;
        parts.push(embedding);
    }
    Ok(Features { value: graph.concat(&parts), next, has_images: layout.has_images() })
}

/// Adds the input for observations that are vectors. Returns it as the first layer reads it.
pub(super) fn vector(
    graph: &mut Graph,
    weights: Weights<'_>,
    tasks: &Tasks<'_>,
    layout: ObservationLayout,
) -> Value {
    let length = layout.length();
    let vector = if matches!(layout, ObservationLayout::Bytes { .. }) {
        let bytes = graph.input("observations", Element::U8, &[length], "bytes");
        units(graph, &bytes)
    } else {
        graph.input("observations", Element::F32, &[length], "numbers")
    };
    let (Some(means), Some(variances)) = (weights.find("obs_rms.mean"), weights.find("obs_rms.var")) else {
        return vector;
    };
    let factors: Vec<f32> = variances
        .values
        .iter()
        .map(|&variance| (f64::from(variance) + EPSILON).sqrt().recip() as f32)
        .collect();
    let shape = [tasks.len(), length];
    let (means, factors) = (
        graph.floats("obs_rms.mean", &shape, &means.values),
        graph.floats("obs_rms.factor", &shape, &factors),
    );
    let (means, factors) = (tasks.embed(graph, &means), tasks.embed(graph, &factors));
    let centred = graph.apply("Sub", &[&vector, &means], &[]);
    let scaled = graph.apply("Mul", &[&centred, &factors], &[]);
    let bounds = [-MAX_NORMALIZED, MAX_NORMALIZED];
    let [low, high] = bounds.map(|bound| graph.floats(&format!("obs_rms.bound.{bound}"), &[], &[bound]));
    graph.apply("Clip", &[&scaled, &low, &high], &[])
}

/// Divides bytes by the largest one.
fn units(graph: &mut Graph, bytes: &Value) -> Value {
    let values = graph.cast(bytes, Element::F32);
    let largest = graph.floats("largest_byte", &[], &[BYTES]);
    graph.apply("Div", &[&values, &largest], &[])
}

/// Applies the convolutions to an image.
fn maps_of(
    graph: &mut Graph,
    sequence: &mut Sequence<'_>,
    policy: &PolicyConfig,
    image: ImageShape,
    bytes: &Value,
) -> Result<Value> {
    // Symbols are small numbers.
    let is_small = policy.torso_for_image(image) == TorsoKind::Small;
    let mut maps = if is_small { graph.cast(bytes, Element::F32) } else { units(graph, bytes) };
    let Some(strides) = policy.strides_for_image(image) else { return impala(graph, sequence, &maps) };
    for stride in strides {
        maps = sequence.convolution(graph, &maps, stride)?;
    }
    // The flattening.
    sequence.index += 1;
    Ok(maps)
}

/// Applies IMPALA's sections, whose modules have names of their own.
fn impala(graph: &mut Graph, sequence: &mut Sequence<'_>, images: &Value) -> Result<Value> {
    let mut maps = images.clone();
    for _ in 0..3 {
        maps = section(graph, sequence.weights, &sequence.module(), &maps)?;
        sequence.index += 1;
    }
    let maps = sequence.activated(graph, &maps, Activation::Relu)?;
    sequence.index += 1;
    Ok(maps)
}

fn section(graph: &mut Graph, weights: Weights<'_>, name: &str, input: &Value) -> Result<Value> {
    let maps = weights.convolution(graph, &format!("{name}.conv"), input, 1, 1)?;
    let pooling = [
        Attribute::of_ints("kernel_shape", &[3; 2]),
        Attribute::of_ints("strides", &[2; 2]),
        Attribute::of_ints("pads", &[1; 4]),
    ];
    let mut maps = graph.apply("MaxPool", &[&maps], &pooling);
    for block in 0..2 {
        let mut inner = maps.clone();
        for layer in 0..2 {
            let module = |kind: &str| format!("{name}.res_block{block}.{kind}{layer}");
            inner = weights.activated(graph, &module("norm"), &inner, Activation::Relu)?;
            inner = weights.convolution(graph, &module("conv"), &inner, 1, 1)?;
        }
        maps = graph.apply("Add", &[&maps, &inner], &[]);
    }
    Ok(maps)
}

/// Flattens feature maps, `[rows, channels, height, width]`. Those of the first image keep their channels first.
fn flattened(graph: &mut Graph, maps: &Value, are_channels_first: bool) -> Value {
    if are_channels_first {
        return graph.apply("Flatten", &[maps], &[]);
    }
    let maps = graph.apply("Transpose", &[maps], &[Attribute::of_ints("perm", &[0, 2, 3, 1])]);
    graph.apply("Flatten", &[&maps], &[])
}

/// Returns the embedding of each row's game, for as many rows as `features` has.
fn embedding(graph: &mut Graph, weights: Weights<'_>, tasks: &Tasks<'_>, features: &Value) -> Result<Value> {
    let table = weights.constant(graph, "game_embedding.weight")?;
    let embedding = tasks.embed(graph, &table);
    if tasks.len() > 1 {
        return Ok(embedding);
    }
    let rows = graph.rows(features);
    let width = weights.get("game_embedding.weight")?.shape[1];
    let width = graph.indices("game_embedding.width", &[1], &[width]);
    let shape = graph.apply("Concat", &[&rows, &width], &[Attribute::of_int("axis", 0)]);
    Ok(graph.apply("Expand", &[&embedding, &shape], &[]))
}
