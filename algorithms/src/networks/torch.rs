//! Weights with the names and axis order of PyTorch modules like `CleanRL`'s.
//!
//! In PyTorch the outputs of a layer come first and the channels of an image come before its rows; here both come last.
//! All layers up to the head form an `nn.Sequential` called `network`, whose indices also count normalisations,
//! activations and the flattening of images. The layers of a second image and more are sequences called `further.0` and
//! so on; the features of these images keep their channels last, and the floats beside images follow them.

use burn::module::Module;

use super::{
    ActorCritic, DiscreteSoftActorCritic, MAX_IMAGES, NamedWeights, QNetwork, SoftActorCritic, weights,
};
use crate::LearnerError;

/// The networks of SAC, with the names that they have in `CleanRL`.
const OF_SAC: [(&str, &str); 3] = [("actor", "actor"), ("critics.first", "qf1"), ("critics.second", "qf2")];

impl ActorCritic {
    /// Returns all parameters, with the names of `CleanRL`'s `ppo_atari.py` (`ppo_procgen.py` for IMPALA
    /// convolutions, `ppo_atari_lstm.py` for a recurrent network): `network`, optionally an `nn.LSTM` called
    /// `lstm`, and two `nn.Linear`, `actor` and `critic`.
    ///
    /// With several games, `actor` has the rows of all games, each with as many as the game with the most actions
    /// needs. A shared head has one row for each action. `critic` has one row for each game. With continuous actions
    /// `actor` outputs means, and `actor_logstd` has a row for each task, as in `ppo_continuous_action.py`; with
    /// deviations that depend on the observation it is an `nn.Linear` like `actor`.
    pub fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        torch_weights(self)
    }
}

impl TorchNames for ActorCritic {
    fn names(&self, weights: &[NamedWeights], is_normalised: bool) -> Names {
        let mut names = Names::of_body(weights, is_normalised);
        names.push("hidden.linear", "network", names.next);
        names.push("hidden.activation.norm", "network", names.next + 1);
        let heads = [
            ("heads.policy", "actor"),
            ("heads.value", "critic"),
            ("heads.log_deviations", "actor_logstd"),
            ("heads.log_deviation", "actor_logstd"),
        ];
        names.pairs.extend(heads.map(owned));
        for (ours, theirs) in [("input", "ih"), ("recurrent", "hh")] {
            for parameter in ["weight", "bias"] {
                let path = format!("lstm.{ours}.{parameter}");
                names.pairs.push((path, format!("lstm.{parameter}_{theirs}_l0")));
            }
        }
        names
    }

    fn feature_map(&self) -> [usize; 3] {
        self.body.feature_map()
    }
}

impl QNetwork {
    /// Returns all parameters, with the names of `CleanRL`'s `dqn_atari.py`, `pqn_atari_envpool.py` and
    /// `rainbow_atari.py`: `network`, and for a dueling network `advantage_head` and `value_head`.
    ///
    /// The last layer has the rows of all games, each with as many as the game with the most actions needs. A
    /// shared head has those of each action. An action has one row per atom.
    pub fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        torch_weights(self)
    }
}

impl TorchNames for QNetwork {
    fn names(&self, weights: &[NamedWeights], is_normalised: bool) -> Names {
        let mut names = Names::of_body(weights, is_normalised);
        let streams: &[(&str, &str, usize)] = match self.value {
            Some(_) => &[("advantage", "advantage_head", 0), ("value", "value_head", 0)],
            None => &[("advantage", "network", names.next)],
        };
        for &(ours, theirs, first) in streams {
            for dense in ["Plain", "Noisy"] {
                names.push(&format!("{ours}.hidden.{dense}"), theirs, first);
                names.push(&format!("{ours}.output.{dense}"), theirs, first + names.layer);
            }
            names.push(&format!("{ours}.activation.norm"), theirs, first + 1);
        }
        names
    }

    fn feature_map(&self) -> [usize; 3] {
        self.body.feature_map()
    }
}

impl SoftActorCritic {
    /// Returns all parameters, with the names of `CleanRL`'s `sac_continuous_action.py`: the layers `fc1`, `fc2`,
    /// `fc_mean` and `fc_logstd` of `actor`, and `fc1`, `fc2` and `fc3` of `qf1` and `qf2`.
    ///
    /// With several tasks, `fc_mean` and `fc_logstd` have the rows of all tasks, each with as many as the task with the
    /// most components needs, and `fc3` has one row for each task.
    pub fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        torch_weights(self)
    }
}

impl TorchNames for SoftActorCritic {
    fn names(&self, _: &[NamedWeights], _: bool) -> Names {
        let mut names = Names { pairs: Vec::new(), layer: 2, next: 0 };
        for (ours, theirs) in OF_SAC {
            for (position, layer) in [("first", 1), ("second", 2)] {
                let hidden = format!("{ours}.hidden.{position}");
                names.pairs.push((format!("{hidden}.linear"), format!("{theirs}.fc{layer}")));
                names.pairs.push((format!("{hidden}.activation.norm"), format!("{theirs}.norm{layer}")));
            }
            for (output, layer) in [("mean", "fc_mean"), ("log_deviation", "fc_logstd"), ("value", "fc3")] {
                names.pairs.push((format!("{ours}.{output}"), format!("{theirs}.{layer}")));
            }
        }
        names
    }

    fn feature_map(&self) -> [usize; 3] {
        // No layer reads feature maps.
        [1, 1, 1]
    }
}

impl DiscreteSoftActorCritic {
    /// Returns all parameters: those of [`QNetwork`] in the modules `actor`, `qf1` and `qf2`, such as
    /// `actor.network.0.weight`.
    pub fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        torch_weights(self)
    }
}

impl TorchNames for DiscreteSoftActorCritic {
    fn names(&self, weights: &[NamedWeights], is_normalised: bool) -> Names {
        // The three networks have the same layers.
        let of_network = self.actor.names(weights, is_normalised);
        let mut pairs = Vec::new();
        for (ours, theirs) in OF_SAC {
            let within =
                |(layer, name): &(String, String)| (format!("{ours}.{layer}"), format!("{theirs}.{name}"));
            pairs.extend(of_network.pairs.iter().map(within));
        }
        Names { pairs, ..of_network }
    }

    fn feature_map(&self) -> [usize; 3] {
        self.actor.feature_map()
    }
}

/// A network whose parameters have names in PyTorch.
pub trait TorchNames {
    /// Returns the names of the network's parameters `weights` in a network that has normalisations or not.
    fn names(&self, weights: &[NamedWeights], is_normalised: bool) -> Names;

    /// Returns height, width and channels of the features that the layer after the body reads.
    fn feature_map(&self) -> [usize; 3];
}

/// Returns all parameters that acting needs, with the names and axis order of PyTorch.
pub(crate) fn torch_weights(network: &(impl Module + TorchNames)) -> Result<Vec<NamedWeights>, LearnerError> {
    let weights = weights(network)?;
    let is_normalised = weights.iter().any(|weights| weights.name.contains("norm"));
    let (names, feature_map) = (network.names(&weights, is_normalised), network.feature_map());
    let exported = weights.into_iter().filter(|weights| is_exported(&weights.name));
    Ok(exported.map(|weights| names.for_torch(weights, feature_map)).collect())
}

/// Mapping of layer names.
pub struct Names {
    pairs: Vec<(String, String)>,
    /// The number of indices that a layer occupies in a sequence: itself, its activation, and optionally a
    /// normalisation between them.
    layer: usize,
    /// Index of the first layer after the body.
    next: usize,
}

impl Names {
    /// Maps the layers up to the last hidden one.
    fn of_body(weights: &[NamedWeights], is_normalised: bool) -> Self {
        let has = |part: &str| weights.iter().any(|weights| weights.name.contains(part));
        let layer = if is_normalised { 3 } else { 2 };
        let mut names =
            Self { pairs: vec![owned(("body.embedding", "game_embedding.weight"))], layer, next: 0 };
        let torsos = [("Nature", 3), ("DataEfficient", 2), ("Small", 3)];
        let torso = torsos.into_iter().find(|(torso, _)| has(&format!("layers.{torso}")));
        if let Some((torso, count)) = torso {
            for index in 0..count {
                names.push(&format!("body.layers.{torso}.conv{}", index + 1), "network", index * layer);
                names.push(&format!("body.layers.{torso}.norms.{index}"), "network", index * layer + 1);
            }
            names.next = count * layer + 1;
            names.further(&torsos);
        } else if has("layers.Impala") {
            for index in 0..3 {
                names.push(&format!("body.layers.Impala.section{index}"), "network", index);
            }
            names.push("body.layers.Impala.norm", "network", 3);
            names.next = 3 + layer;
            names.further(&torsos);
        } else {
            names.push("body.layers.Vector.linear", "network", 0);
            names.push("body.layers.Vector.activation.norm", "network", 1);
            names.next = layer;
        }
        names
    }

    /// Maps the layers of images after the first one, whose kinds are `torsos` or IMPALA.
    fn further(&mut self, torsos: &[(&str, usize)]) {
        for image in 0..MAX_IMAGES - 1 {
            let (ours, theirs) = (format!("body.further.{image}"), format!("further.{image}"));
            for &(torso, count) in torsos {
                for index in 0..count {
                    self.push(&format!("{ours}.{torso}.conv{}", index + 1), &theirs, index * self.layer);
                    self.push(&format!("{ours}.{torso}.norms.{index}"), &theirs, index * self.layer + 1);
                }
            }
            for section in 0..3 {
                self.push(&format!("{ours}.Impala.section{section}"), &theirs, section);
            }
            self.push(&format!("{ours}.Impala.norm"), &theirs, 3);
        }
    }

    fn push(&mut self, ours: &str, theirs: &str, index: usize) {
        self.pairs.push((ours.to_owned(), format!("{theirs}.{index}")));
    }

    fn rename(&self, name: &str) -> String {
        let renamed = self.pairs.iter().find_map(|(ours, theirs)| {
            let rest = name.strip_prefix(ours.as_str())?;
            (rest.is_empty() || rest.starts_with('.')).then(|| format!("{theirs}{rest}"))
        });
        let renamed = renamed.unwrap_or_else(|| name.to_owned());
        let Some((layer, parameter)) = renamed.rsplit_once('.') else { return renamed };
        let parameter = match parameter {
            "gamma" => "weight",
            "beta" => "bias",
            "weight" if name.contains(".Noisy.") => "weight_mu",
            "bias" if name.contains(".Noisy.") => "bias_mu",
            other => other,
        };
        format!("{layer}.{parameter}")
    }

    /// Converts a parameter. `feature_map` is height, width and channels of the features that the layer after the body
    /// reads.
    pub(super) fn for_torch(&self, weights: NamedWeights, feature_map: [usize; 3]) -> NamedWeights {
        let NamedWeights { name, shape, values } = weights;
        let (shape, values) = match *shape {
            [height, width, inputs, outputs] => {
                (vec![outputs, inputs, height, width], transposed(&values, height * width, inputs, outputs))
            }
            [height, width, channels] => {
                (vec![channels, height, width], transposed(&values, height * width, channels, 1))
            }
            [_, _] if is_of_tasks(&name) => (shape, values),
            [inputs, outputs] if reads_body(&name) => {
                (vec![outputs, inputs], flattened_first(&values, feature_map, outputs))
            }
            [inputs, outputs] => (vec![outputs, inputs], transposed(&values, 1, inputs, outputs)),
            _ => (shape, values),
        };
        NamedWeights { name: self.rename(&name), shape, values }
    }
}

/// Returns `parameter` with the values of a parameter in PyTorch: the inverse of [`Names::for_torch`].
pub(super) fn with_torch_values(
    parameter: NamedWeights,
    values: Vec<f32>,
    feature_map: [usize; 3],
) -> NamedWeights {
    let NamedWeights { name, shape, .. } = parameter;
    let values = match *shape {
        [height, width, inputs, outputs] => transposed(&values, outputs, inputs, height * width),
        [height, width, channels] => transposed(&values, 1, channels, height * width),
        [_, _] if is_of_tasks(&name) => values,
        [_, outputs] if reads_body(&name) => flattened_last(&values, feature_map, outputs),
        [inputs, outputs] => transposed(&values, 1, outputs, inputs),
        _ => values,
    };
    NamedWeights { name, shape, values }
}

/// Returns true for parameters that acting needs. False for those of Random Network Distillation.
pub(super) fn is_exported(name: &str) -> bool {
    !name.starts_with("exploration.")
}

/// Returns true for parameters that belong to no layer but have a row for each task.
pub(super) fn is_of_tasks(name: &str) -> bool {
    ["body.embedding", "heads.log_deviations"].contains(&name)
}

/// Returns true for the weights of a layer that reads the features of the body.
fn reads_body(name: &str) -> bool {
    let name = within_network(name);
    ["hidden.linear.", "advantage.hidden.", "value.hidden."].iter().any(|layer| name.starts_with(layer))
}

/// Returns the name that a parameter of SAC for discrete actions has in its [`QNetwork`]; other names as they are.
pub(super) fn within_network(name: &str) -> &str {
    let mut within = OF_SAC.iter().filter_map(|(network, _)| name.strip_prefix(network)?.strip_prefix('.'));
    within.find(|rest| rest.starts_with("body.") || rest.starts_with("advantage.")).unwrap_or(name)
}

fn owned((ours, theirs): (&str, &str)) -> (String, String) {
    (ours.to_owned(), theirs.to_owned())
}

/// Transposes (pixels, inputs, outputs) to (outputs, inputs, pixels).
fn transposed(values: &[f32], pixels: usize, inputs: usize, outputs: usize) -> Vec<f32> {
    let at = |output: usize, input: usize, pixel: usize| values[(pixel * inputs + input) * outputs + output];
    (0..outputs)
        .flat_map(|output| {
            (0..inputs).flat_map(move |input| (0..pixels).map(move |pixel| at(output, input, pixel)))
        })
        .collect()
}

/// Transposes the weights of a layer that reads feature maps and optionally a game embedding after them: (pixels of
/// channels, then embedding values; outputs) to (outputs; channels of pixels, then embedding values).
fn flattened_first(values: &[f32], feature_map: [usize; 3], outputs: usize) -> Vec<f32> {
    let [height, width, channels] = feature_map;
    let (maps, embeddings) = values.split_at(height * width * channels * outputs);
    let maps = transposed(maps, height * width, channels, outputs);
    let embedding = embeddings.len() / outputs;
    let embeddings = transposed(embeddings, 1, embedding, outputs);
    let rows = maps.chunks_exact(maps.len() / outputs).enumerate();
    rows.flat_map(|(output, row)| row.iter().chain(&embeddings[output * embedding..][..embedding]))
        .copied()
        .collect()
}

/// Inverts [`flattened_first`].
fn flattened_last(values: &[f32], [height, width, channels]: [usize; 3], outputs: usize) -> Vec<f32> {
    let (pixels, inputs) = (height * width, values.len() / outputs);
    let of_input = |input: usize| {
        if input < pixels * channels { input % channels * pixels + input / channels } else { input }
    };
    (0..inputs)
        .flat_map(|input| (0..outputs).map(move |output| values[output * inputs + of_input(input)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(name: &str, shape: &[usize]) -> NamedWeights {
        let values = (0..shape.iter().product::<usize>()).map(|value| value as f32).collect();
        NamedWeights { name: name.to_owned(), shape: shape.to_vec(), values }
    }

    fn names(layers: &[&str]) -> Names {
        let is_normalised = layers.iter().any(|name| name.contains("norm"));
        Names::of_body(&layers.iter().map(|name| weights(name, &[1])).collect::<Vec<_>>(), is_normalised)
    }

    #[test]
    fn convolutions_have_outputs_first_and_pixels_last() {
        let ours = weights("body.layers.Nature.conv2.weight", &[1, 2, 3, 2]);
        let theirs = names(&[&ours.name]).for_torch(ours, [1, 1, 1]);
        assert_eq!((theirs.name.as_str(), theirs.shape.as_slice()), ("network.2.weight", &[2, 3, 1, 2][..]));
        // Output 0: input 0 at both pixels, input 1, input 2; then output 1.
        assert_eq!(theirs.values, [0., 6., 2., 8., 4., 10., 1., 7., 3., 9., 5., 11.]);
    }

    #[test]
    fn features_are_flattened_by_channel_and_the_embedding_comes_last() {
        // Two pixels, one above the other, with three channels each; an embedding of two values; one output.
        let ours = weights("hidden.linear.weight", &[8, 1]);
        let theirs = names(&["body.layers.Nature"]).for_torch(ours, [2, 1, 3]);
        assert_eq!(theirs.shape, [1, 8]);
        assert_eq!(theirs.values, [0., 3., 1., 4., 2., 5., 6., 7.]);
    }

    #[test]
    fn image_normalisations_have_channels_first() {
        let ours = weights("body.layers.Nature.norms.1.gamma", &[2, 1, 2]);
        let theirs = names(&[&ours.name, "body.layers.Nature.conv1.weight"]).for_torch(ours, [1, 1, 1]);
        assert_eq!((theirs.name.as_str(), theirs.shape), ("network.4.weight", vec![2, 2, 1]));
        assert_eq!(theirs.values, [0., 2., 1., 3.]);
    }

    #[test]
    fn from_torch_is_the_inverse_of_for_torch() {
        let names = names(&["body.layers.Nature.conv1.weight", "body.layers.Nature.norms.0.gamma"]);
        for (name, shape) in [
            ("body.layers.Nature.conv2.weight", &[2, 3, 4, 5][..]),
            ("body.layers.Nature.norms.1.gamma", &[2, 3, 4]),
            ("body.embedding", &[3, 2]),
            ("hidden.linear.weight", &[2 * 3 * 4 + 2, 5]),
            ("heads.policy.weight", &[4, 6]),
            ("heads.policy.bias", &[6]),
        ] {
            let ours = weights(name, shape);
            let theirs = names.for_torch(ours.clone(), [2, 3, 4]);
            let fresh = NamedWeights { values: vec![0.0; ours.values.len()], ..ours.clone() };
            assert_eq!(with_torch_values(fresh, theirs.values, [2, 3, 4]), ours);
        }
    }

    #[test]
    fn layers_are_indexed_as_in_a_sequential_module() {
        let plain = names(&["body.layers.Impala.section0.conv.weight"]);
        assert_eq!(plain.next, 5);
        let block = "body.layers.Impala.section2.res_block1.conv0.bias";
        assert_eq!(plain.rename(block), "network.2.res_block1.conv0.bias");
        let normal = names(&["body.layers.Nature.norms.0.gamma"]);
        assert_eq!(normal.rename("body.layers.Nature.conv3.bias"), "network.6.bias");
        assert_eq!((normal.next, normal.layer), (10, 3));
        assert_eq!(names(&["body.layers.Vector.linear.weight"]).next, 2);
    }

    #[test]
    fn noisy_layers_have_the_parameter_names_of_rainbow() {
        let mut names = names(&["body.layers.Vector.linear.weight"]);
        names.push("value.hidden.Noisy", "value_head", 0);
        assert_eq!(names.rename("value.hidden.Noisy.weight"), "value_head.0.weight_mu");
        assert_eq!(names.rename("value.hidden.Noisy.bias_sigma"), "value_head.0.bias_sigma");
    }
}
