//! The gradient of a loss, as one vector where shards of a minibatch are added.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};

use crate::LearnerError;
use crate::host::to_host;

/// The gradient of a loss, with the values to report, on the inner device.
pub(crate) struct Gradient {
    /// The names of the terms.
    pub(crate) names: Vec<&'static str>,
    /// The terms of the loss, together one value for each name.
    pub(crate) terms: Vec<Tensor<1>>,
    /// Values beside the terms.
    pub(crate) details: Tensor<1>,
    pub(crate) parameters: GradientsParams,
}

/// The gradient of one shard of a minibatch.
pub(crate) struct ShardGradient {
    pub(crate) gradient: Gradient,
    /// For each detail its position among those of the whole minibatch.
    pub(crate) places: Vec<usize>,
}

/// The vectors of the gradients of all shards of a minibatch: the terms, the details, for each parameter 1 if it has a
/// gradient, and the gradients of all parameters.
pub(crate) struct GradientVectors<'a, N> {
    network: &'a N,
    names: Vec<&'static str>,
    /// The number of details of the whole minibatch.
    details: usize,
    /// The number of parameters, and of their elements.
    parameters: usize,
    elements: usize,
    device: Device,
}

impl<'a, N: Module> GradientVectors<'a, N> {
    /// `names` are those of the terms.
    pub(crate) fn new(network: &'a N, names: &[&'static str], details: usize, device: &Device) -> Self {
        struct Count(usize);
        impl ModuleVisitor for Count {
            fn visit_float<const D: usize>(&mut self, _: &Param<Tensor<D>>) {
                self.0 += 1;
            }
        }
        let mut count = Count(0);
        network.visit(&mut count);
        Self {
            network,
            names: names.to_vec(),
            details,
            parameters: count.0,
            elements: network.num_params(),
            device: device.clone().without_autodiff(),
        }
    }

    /// Returns the vector of a gradient: zeros if the shard has no rows.
    pub(crate) fn of(&self, shard: Option<ShardGradient>) -> Result<Vec<f32>, LearnerError> {
        let head = self.names.len() + self.details;
        let mut vector = vec![0.0; head + self.parameters + self.elements];
        let Some(ShardGradient { gradient, places }) = shard else { return Ok(vector) };
        let mut collected =
            Collected { gradients: &gradient.parameters, present: Vec::new(), tensors: Vec::new() };
        self.network.visit(&mut collected);
        let Collected { present, mut tensors, .. } = collected;
        vector[head..head + self.parameters].copy_from_slice(&present);
        tensors.splice(0..0, gradient.terms.into_iter().chain([gradient.details]));
        let values = to_host(Tensor::cat(tensors, 0))?;
        let (terms, rest) = values.split_at(self.names.len());
        let (details, gradients) = rest.split_at(places.len());
        vector[..terms.len()].copy_from_slice(terms);
        for (place, &detail) in places.into_iter().zip(details) {
            vector[terms.len() + place] = detail;
        }
        vector[head + self.parameters..].copy_from_slice(gradients);
        Ok(vector)
    }

    /// Returns the gradient of a sum of vectors. A parameter that has no gradient in any shard has none.
    pub(crate) fn gradient(&self, sum: &[f32]) -> Gradient {
        let (terms, rest) = sum.split_at(self.names.len());
        let (details, rest) = rest.split_at(self.details);
        let (counts, values) = rest.split_at(self.parameters);
        let parameters = GradientsParams::new();
        let mut registered = Registered { counts, values, device: &self.device, parameters };
        self.network.visit(&mut registered);
        let parameters = registered.parameters;
        let tensor = |values| host_tensor(values, [values.len()], &self.device);
        Gradient {
            names: self.names.clone(),
            terms: vec![tensor(terms)],
            details: tensor(details),
            parameters,
        }
    }
}

/// The gradients of all parameters, flat.
struct Collected<'a> {
    gradients: &'a GradientsParams,
    present: Vec<f32>,
    tensors: Vec<Tensor<1>>,
}

impl ModuleVisitor for Collected<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let size = param.shape().num_elements();
        let gradient = self.gradients.get::<D>(param.id);
        self.present.push(f32::from(gradient.is_some()));
        let zeros = || Tensor::zeros([size], &param.val().inner().device());
        self.tensors.push(gradient.map_or_else(zeros, |gradient| gradient.reshape([size])));
    }
}

/// Gradients that are made from their values.
struct Registered<'a> {
    /// For each parameter that is left, the number of shards with a gradient.
    counts: &'a [f32],
    values: &'a [f32],
    device: &'a Device,
    parameters: GradientsParams,
}

impl ModuleVisitor for Registered<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let (count, values);
        (count, self.counts) = self.counts.split_first().expect("a count for each parameter");
        (values, self.values) = self.values.split_at(param.shape().num_elements());
        if *count > 0.0 {
            let gradient: Tensor<D> = host_tensor(values, param.val().dims(), self.device);
            self.parameters.register(param.id, gradient);
        }
    }
}

fn host_tensor<const D: usize>(values: &[f32], shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values.to_vec(), shape), device)
}
