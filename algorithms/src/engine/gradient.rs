//! The gradient of a loss, and its conversion to vectors that can be added over the shards of a minibatch.

use std::slice;

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use kernels::host::to_host;

use crate::LearnerError;
use crate::cluster::{Cluster, TreeSum};
use crate::engine::backward::BodyBackward;

/// The module of a network whose gradients are computed in the second stage of the backward pass.
const BODY: &str = "body";

/// The gradient of a loss, with the values to report, on the inner device.
pub(crate) struct Gradient {
    /// The names of the terms.
    pub(crate) names: Vec<&'static str>,
    /// The terms of the loss, which together hold one value for each name.
    pub(crate) terms: Vec<Tensor<1>>,
    /// Values reported with the terms.
    pub(crate) details: Tensor<1>,
    pub(crate) parameters: GradientsParams,
    /// The second stage of the backward pass, if it has not run yet. `parameters` then holds the gradients of the upper
    /// layers only.
    pub(crate) body: Option<BodyBackward>,
}

/// The gradient of one shard of a minibatch.
pub(crate) struct ShardGradient {
    pub(crate) gradient: Gradient,
    /// Where each detail goes among those of the whole minibatch.
    pub(crate) offsets: Vec<usize>,
}

/// Converts the gradients of the shards of a minibatch to vectors, two for each shard, and back. If the backward pass
/// is split, the *upper* vector holds the gradients of the layers above the body; otherwise it is empty. The *lower*
/// vector holds the terms, the details and all other gradients. In both vectors the gradients are preceded by a flag
/// for each of their parameters, which is 1 if the parameter has a gradient.
pub(crate) struct GradientVectors<'a, N> {
    network: &'a N,
    names: Vec<&'static str>,
    /// The number of details of the whole minibatch.
    details: usize,
    /// The vector and the number of elements of each parameter of the network.
    parameters: Vec<(Part, usize)>,
    device: Device,
}

/// One of the two vectors of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Upper,
    Lower,
}

impl<'a, N: Module> GradientVectors<'a, N> {
    /// Creates the conversion. `names` are the names of the terms. `is_split` is true if the backward pass is split.
    pub(crate) fn new(
        network: &'a N,
        names: &[&'static str],
        details: usize,
        is_split: bool,
        device: &Device,
    ) -> Self {
        let mut layout = Layout { path: Vec::new(), is_split, parameters: Vec::new() };
        network.visit(&mut layout);
        Self {
            network,
            names: names.to_vec(),
            details,
            parameters: layout.parameters,
            device: device.clone().without_autodiff(),
        }
    }

    /// Returns true if the backward pass is split.
    fn is_split(&self) -> bool {
        self.parameters.iter().any(|(part, _)| *part == Part::Upper)
    }

    /// Returns the upper vector of a shard: zeros if it has no rows.
    fn upper(&self, shard: Option<&ShardGradient>) -> Result<Vec<f32>, LearnerError> {
        let (parameters, elements) = self.len(Part::Upper);
        let mut vector = vec![0.0; parameters + elements];
        let Some(ShardGradient { gradient, .. }) = shard.filter(|_| parameters > 0) else {
            return Ok(vector);
        };
        let Collected { present, tensors, .. } = self.collect(&gradient.parameters, Part::Upper);
        vector[..parameters].copy_from_slice(&present);
        vector[parameters..].copy_from_slice(&to_host(Tensor::cat(tensors, 0))?);
        Ok(vector)
    }

    /// Completes the backward pass of a shard. Returns its lower vector: zeros if it has no rows.
    fn lower(&self, shard: Option<ShardGradient>) -> Result<Vec<f32>, LearnerError> {
        let (parameters, elements) = self.len(Part::Lower);
        let head = self.names.len() + self.details;
        let mut vector = vec![0.0; head + parameters + elements];
        let Some(ShardGradient { gradient, offsets }) = shard else { return Ok(vector) };
        let gradients = gradient.body.map_or(gradient.parameters, |body| body.run(self.network));
        let Collected { present, mut tensors, .. } = self.collect(&gradients, Part::Lower);
        vector[head..head + parameters].copy_from_slice(&present);
        tensors.splice(0..0, gradient.terms.into_iter().chain([gradient.details]));
        let values = to_host(Tensor::cat(tensors, 0))?;
        let (terms, rest) = values.split_at(self.names.len());
        let (details, gradients) = rest.split_at(offsets.len());
        vector[..terms.len()].copy_from_slice(terms);
        for (offset, &detail) in offsets.into_iter().zip(details) {
            vector[terms.len() + offset] = detail;
        }
        vector[head + parameters..].copy_from_slice(gradients);
        Ok(vector)
    }

    /// Returns the sum of the gradients of all shards. `own` yields those of this process's shards in order, `None` for
    /// a shard without rows. The upper vectors are summed over processes during the rest of the backward passes.
    pub(crate) fn sum<E: From<LearnerError>>(
        &self,
        cluster: &Cluster,
        own: impl Iterator<Item = Result<Option<ShardGradient>, E>>,
    ) -> Result<Gradient, E> {
        let (mut upper, mut lower, mut incomplete) = (TreeSum::default(), TreeSum::default(), Vec::new());
        for shard in own {
            let shard = shard?;
            upper.push(self.upper(shard.as_ref())?);
            if self.is_split() {
                incomplete.push(shard);
            } else {
                lower.push(self.lower(shard)?);
            }
        }
        let mut upper = upper.finish();
        let rest = cluster.all_reduce_during(&mut upper, || {
            for shard in incomplete {
                lower.push(self.lower(shard)?);
            }
            Ok::<_, LearnerError>(())
        });
        rest.map_err(LearnerError::from)??;
        let mut lower = lower.finish();
        cluster.all_reduce(&mut lower).map_err(LearnerError::from)?;
        Ok(self.gradient(&upper, &lower))
    }

    /// Returns the gradient, given the sums of both vectors over all shards. A parameter without a gradient in any
    /// shard gets none.
    fn gradient(&self, upper: &[f32], lower: &[f32]) -> Gradient {
        let (terms, rest) = lower.split_at(self.names.len());
        let (details, lower) = rest.split_at(self.details);
        let sums =
            [(Part::Upper, upper), (Part::Lower, lower)].map(|(part, sum)| sum.split_at(self.len(part).0));
        let parameters = GradientsParams::new();
        let mut registered =
            Registered { sums, layout: self.parameters.iter(), device: &self.device, parameters };
        self.network.visit(&mut registered);
        let parameters = registered.parameters;
        let tensor = |values| host_tensor(values, [values.len()], &self.device);
        Gradient {
            names: self.names.clone(),
            terms: vec![tensor(terms)],
            details: tensor(details),
            parameters,
            body: None,
        }
    }

    /// Returns the number of parameters and the number of gradient elements of a vector.
    fn len(&self, part: Part) -> (usize, usize) {
        let sizes = self.parameters.iter().filter(|(other, _)| *other == part).map(|(_, elements)| elements);
        (sizes.clone().count(), sizes.sum())
    }

    fn collect<'b>(&'b self, gradients: &'b GradientsParams, part: Part) -> Collected<'b> {
        let (present, tensors) = (Vec::new(), Vec::new());
        let mut collected = Collected { gradients, part, layout: self.parameters.iter(), present, tensors };
        self.network.visit(&mut collected);
        collected
    }
}

/// Finds the vector of each parameter.
struct Layout {
    path: Vec<String>,
    is_split: bool,
    parameters: Vec<(Part, usize)>,
}

impl ModuleVisitor for Layout {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let is_upper = self.is_split && self.path.first().is_none_or(|module| module != BODY);
        let part = if is_upper { Part::Upper } else { Part::Lower };
        self.parameters.push((part, param.shape().num_elements()));
    }

    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
}

/// The flattened gradients of the parameters of one vector.
struct Collected<'a> {
    gradients: &'a GradientsParams,
    part: Part,
    /// The parameters that have not been visited yet.
    layout: slice::Iter<'a, (Part, usize)>,
    present: Vec<f32>,
    tensors: Vec<Tensor<1>>,
}

impl ModuleVisitor for Collected<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let &(part, size) = self.layout.next().expect("a part for each parameter");
        if part == self.part {
            let gradient = self.gradients.get::<D>(param.id);
            self.present.push(f32::from(gradient.is_some()));
            let zeros = || Tensor::zeros([size], &param.val().inner().device());
            self.tensors.push(gradient.map_or_else(zeros, |gradient| gradient.reshape([size])));
        }
    }
}

/// Rebuilds gradients from the values of both vectors.
struct Registered<'a> {
    /// For the upper and the lower vector, the number of shards with a gradient and the values of each parameter that
    /// has not been visited yet.
    sums: [(&'a [f32], &'a [f32]); 2],
    layout: slice::Iter<'a, (Part, usize)>,
    device: &'a Device,
    parameters: GradientsParams,
}

impl ModuleVisitor for Registered<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let &(part, size) = self.layout.next().expect("a part for each parameter");
        let (counts, values) = &mut self.sums[part as usize];
        let (count, own);
        (count, *counts) = counts.split_first().expect("a count for each parameter");
        (own, *values) = values.split_at(size);
        if *count > 0.0 {
            let gradient: Tensor<D> = host_tensor(own, param.val().dims(), self.device);
            self.parameters.register(param.id, gradient);
        }
    }
}

fn host_tensor<const D: usize>(values: &[f32], shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values.to_vec(), shape), device)
}
