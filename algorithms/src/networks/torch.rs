use super::NamedWeights;

/// Channels that come out of the last convolution of [`Nature`](super::Nature).
const LAST_CHANNELS: usize = 64;

/// The names of layers here and in the PyTorch modules of `CleanRL`'s `ppo_atari.py`.
const LAYERS: [(&str, &str); 8] = [
    ("torso.Nature.convs.conv1", "network.0"),
    ("torso.Nature.convs.conv2", "network.2"),
    ("torso.Nature.convs.conv3", "network.4"),
    ("torso.Nature.linear", "network.7"),
    ("torso.Mlp.linear1", "network.0"),
    ("torso.Mlp.linear2", "network.2"),
    ("heads.policy", "actor"),
    ("heads.value", "critic"),
];

/// The parameters of an [`ActorCritic`](super::ActorCritic) by the names, and with the order of axes, of the PyTorch
/// modules of `CleanRL`'s `ppo_atari.py`: an `nn.Sequential` called `network`, and two `nn.Linear`, `actor` and `critic`.
///
/// PyTorch has the outputs of a layer first and the channels of a picture before its rows, here both come last. With
/// several tasks `actor` has the rows of all, as many for each as the one with the most actions needs.
pub fn torch_weights(weights: Vec<NamedWeights>) -> Vec<NamedWeights> {
    weights.into_iter().map(for_torch).collect()
}

fn for_torch(weights: NamedWeights) -> NamedWeights {
    let NamedWeights { name, shape, values } = weights;
    let renamed =
        LAYERS.iter().find_map(|(ours, theirs)| Some(format!("{theirs}{}", name.strip_prefix(ours)?)));
    let (shape, values) = match *shape {
        [height, width, inputs, outputs] => {
            (vec![outputs, inputs, height, width], transposed(&values, height * width, inputs, outputs))
        }
        // The rows of this one are the pixels of a picture.
        [rows, outputs] if name.starts_with("torso.Nature.") => {
            (vec![outputs, rows], transposed(&values, rows / LAST_CHANNELS, LAST_CHANNELS, outputs))
        }
        [inputs, outputs] => (vec![outputs, inputs], transposed(&values, 1, inputs, outputs)),
        _ => (shape, values),
    };
    NamedWeights { name: renamed.unwrap_or(name), shape, values }
}

/// (pixels, inputs, outputs) to (outputs, inputs, pixels).
fn transposed(values: &[f32], pixels: usize, inputs: usize, outputs: usize) -> Vec<f32> {
    let at = |output: usize, input: usize, pixel: usize| values[(pixel * inputs + input) * outputs + output];
    (0..outputs)
        .flat_map(|output| {
            (0..inputs).flat_map(move |input| (0..pixels).map(move |pixel| at(output, input, pixel)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(name: &str, shape: &[usize]) -> NamedWeights {
        let values = (0..shape.iter().product::<usize>()).map(|value| value as f32).collect();
        NamedWeights { name: name.to_owned(), shape: shape.to_vec(), values }
    }

    #[test]
    fn convolutions_have_their_outputs_first_and_their_pixels_last() {
        let ours = weights("torso.Nature.convs.conv2.weight", &[1, 2, 3, 2]);
        let theirs = for_torch(ours);
        assert_eq!((theirs.name.as_str(), theirs.shape.as_slice()), ("network.2.weight", &[2, 3, 1, 2][..]));
        // Output 0: input 0 at both pixels, input 1, input 2; then output 1.
        assert_eq!(theirs.values, [0., 6., 2., 8., 4., 10., 1., 7., 3., 9., 5., 11.]);
    }

    #[test]
    fn the_features_of_a_picture_are_read_channel_by_channel() {
        let ours = weights("torso.Nature.linear.weight", &[2 * LAST_CHANNELS, 1]);
        let theirs = for_torch(ours);
        assert_eq!(theirs.name, "network.7.weight");
        assert_eq!(theirs.shape, [1, 128]);
        assert_eq!(theirs.values[..4], [0., 64., 1., 65.]);
    }

    #[test]
    fn other_layers_are_transposed_and_biases_are_left_alone() {
        let theirs = for_torch(weights("heads.policy.weight", &[2, 3]));
        assert_eq!((theirs.name.as_str(), theirs.shape), ("actor.weight", vec![3, 2]));
        assert_eq!(theirs.values, [0., 3., 1., 4., 2., 5.]);
        assert_eq!(for_torch(weights("heads.value.bias", &[2])), weights("critic.bias", &[2]));
        assert_eq!(for_torch(weights("torso.Mlp.linear2.bias", &[2])), weights("network.2.bias", &[2]));
    }
}
