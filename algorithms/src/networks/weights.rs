//! Reading and writing the weights of a network, in the order of its layers.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};
use kernels::host::DeviceError;

use crate::LearnerError;
use crate::named_weights::NamedWeights;

/// Returns all parameters of `module`.
pub fn weights(module: &impl Module) -> Result<Vec<NamedWeights>, LearnerError> {
    let mut reader = Reader { path: Vec::new(), weights: Vec::new(), error: None };
    module.visit(&mut reader);
    reader.error.map_or(Ok(reader.weights), Err)
}

/// Returns `module` with the parameters that [`weights`] returned for a module of the same structure.
pub fn load_weights<M: Module>(module: M, weights: Vec<NamedWeights>) -> Result<M, LearnerError> {
    let mut writer = Writer { path: Vec::new(), weights: weights.into_iter(), error: None };
    let module = module.map(&mut writer);
    if let Some(error) = writer.error {
        return Err(error);
    }
    match writer.weights.next() {
        Some(rest) => Err(LearnerError::BadState(format!("the network has no parameter {}", rest.name))),
        None => Ok(module),
    }
}

struct Reader {
    path: Vec<String>,
    weights: Vec<NamedWeights>,
    error: Option<LearnerError>,
}

impl ModuleVisitor for Reader {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        match param.val().try_into_vec_as::<f32>() {
            Ok(values) => self.weights.push(NamedWeights {
                name: self.path.join("."),
                shape: param.dims().to_vec(),
                values,
            }),
            Err(error) => self.error = Some(LearnerError::Device(DeviceError(error.to_string()))),
        }
    }
}

struct Writer {
    path: Vec<String>,
    weights: std::vec::IntoIter<NamedWeights>,
    error: Option<LearnerError>,
}

impl ModuleMapper for Writer {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = self.path.join(".");
        let shape = param.dims();
        match self.weights.next() {
            Some(weights)
                if weights.name == name
                    && weights.shape == shape
                    && weights.values.len() == shape.iter().product::<usize>() =>
            {
                param.map(|old| {
                    let new = Tensor::from_data(TensorData::new(weights.values, shape), &old.device());
                    new.set_require_grad(old.is_require_grad())
                })
            }
            found => {
                let found =
                    found.map_or("nothing".to_owned(), |found| format!("{} {:?}", found.name, found.shape));
                let problem = format!("expected the parameter {name} {shape:?}, found {found}");
                self.error.get_or_insert(LearnerError::BadState(problem));
                param
            }
        }
    }
}
