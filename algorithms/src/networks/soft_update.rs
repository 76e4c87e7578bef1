use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::Tensor;

/// Returns `tau` times the parameters of `online` plus `1 - tau` times those of `target`, two networks of the
/// same structure without gradients. With a `tau` of 1, the result is a copy of `online` (Polyak averaging,
/// as in Lillicrap et al. 2016, <https://arxiv.org/abs/1509.02971>).
pub fn soft_update<M: Module>(target: M, online: &M, tau: f32) -> M {
    if tau == 1.0 {
        return online.clone();
    }
    let mut parameters = Parameters(Vec::new());
    online.visit(&mut parameters);
    target.map(&mut Mix { online: parameters.0.into_iter(), tau })
}

/// All parameters in the order of the layers, flattened.
struct Parameters(Vec<Tensor<1>>);

impl ModuleVisitor for Parameters {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let length = param.val().shape().num_elements();
        self.0.push(param.val().reshape([length]));
    }
}

struct Mix {
    online: std::vec::IntoIter<Tensor<1>>,
    tau: f32,
}

impl ModuleMapper for Mix {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let online = self.online.next().expect("networks have the same structure");
        param.map(|target| {
            let online = online.reshape(target.dims());
            target.mul_scalar(1.0 - self.tau) + online.mul_scalar(self.tau)
        })
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::Linear;
    use burn::tensor::{Device, TensorData};

    use super::*;

    fn layer(weight: f32, bias: f32) -> Linear {
        let device = Device::flex();
        Linear {
            weight: Param::from_data(TensorData::new(vec![weight], [1, 1]), &device),
            bias: Some(Param::from_data(TensorData::new(vec![bias], [1]), &device)),
        }
    }

    #[test]
    fn parameters_are_interpolated_by_tau() {
        let mixed = |tau| {
            let layer = soft_update(layer(1.0, -2.0), &layer(3.0, 2.0), tau);
            [layer.weight.val().into_scalar::<f32>(), layer.bias.unwrap().val().into_scalar::<f32>()]
        };
        assert_eq!(mixed(0.25), [1.5, -1.0]);
        assert_eq!(mixed(0.0), [1.0, -2.0]);
        assert_eq!(mixed(1.0), [3.0, 2.0]);
    }
}
