//! Gradients that reveal the dead units of a network.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

/// The names of modules whose units are rectified.
const RECTIFIED: [&str; 3] = ["body", "hidden", "activation"];

/// Returns the gradients of the biases, and of the parameters of normalisations, of each rectified layer. The gradient
/// of a unit is exactly 0 if no row of the batch activates it. In normalised images, it is the largest of a channel's
/// positions.
pub(crate) fn unit_gradients(module: &impl Module, gradients: &GradientsParams) -> Vec<Tensor<1>> {
    struct Visitor<'a> {
        gradients: &'a GradientsParams,
        path: Vec<String>,
        layers: Vec<Tensor<1>>,
    }
    impl ModuleVisitor for Visitor<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let is_rectified = self.path.iter().any(|name| RECTIFIED.contains(&name.as_str()));
            if !is_rectified {
                return;
            }
            match D {
                1 => self.layers.extend(self.gradients.get::<1>(param.id)),
                // `[height, width, channels]`.
                3 => {
                    let gradient = self.gradients.get::<3>(param.id);
                    let largest = |gradient: Tensor<3>| gradient.abs().max_dim(0).max_dim(1).flatten(0, 2);
                    self.layers.extend(gradient.map(largest));
                }
                _ => {}
            }
        }

        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.to_owned());
        }

        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }
    }
    let mut visitor = Visitor { gradients, path: Vec::new(), layers: Vec::new() };
    module.visit(&mut visitor);
    visitor.layers
}

/// Returns the share of units without a gradient in the layer with the largest such share. `gradients` holds the units
/// of all layers, which have the given `sizes`.
pub(crate) fn dead_units(mut gradients: &[f32], sizes: &[usize]) -> f32 {
    let mut largest = 0.0;
    for &size in sizes {
        let (layer, rest) = gradients.split_at(size);
        gradients = rest;
        let dead = layer.iter().filter(|gradient| **gradient == 0.0).count();
        largest = f32::max(largest, dead as f32 / size as f32);
    }
    largest
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[derive(Module, Debug)]
    struct Network {
        body: Param<Tensor<3>>,
        head: Param<Tensor<1>>,
    }

    #[test]
    fn a_channel_of_a_normalised_image_is_alive_if_one_position_is() {
        let device = Device::flex().autodiff();
        let network = Network {
            body: Param::from_tensor(Tensor::ones([2, 1, 3], &device)),
            head: Param::from_tensor(Tensor::ones([1], &device)),
        };
        let factors = Tensor::from_floats([[[0.0, -2.0, 0.0]], [[0.0, 1.0, 3.0]]], &device);
        let loss = (network.body.val() * factors).sum() + network.head.val().sum();
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        let layers = unit_gradients(&network, &gradients);
        let layers: Vec<Vec<f32>> =
            layers.into_iter().map(|layer| layer.try_into_vec_as().unwrap()).collect();
        assert_eq!(layers, [[0.0, 2.0, 3.0]]);
    }

    #[test]
    fn a_dead_layer_counts_even_if_others_are_alive() {
        let gradients = [0.0, 0.1, 0.2, 0.3, 0.0, -0.0, 0.0];
        assert_eq!(dead_units(&gradients, &[4, 3]), 1.0);
        assert_eq!(dead_units(&gradients[..4], &[4]), 0.25);
        assert_eq!(dead_units(&[], &[]), 0.0);
    }
}
