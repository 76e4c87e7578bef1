//! Arguments of tasks, with the names and meanings of Gymnasium's.

use crate::error::MujocoError;
use crate::model::{Model, Sizes};
use crate::specs::TaskSpec;
use crate::value::Value;

/// All arguments of a task: the defaults, except those that the user gave.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    spec: &'static TaskSpec,
    values: Vec<Value>,
}

impl Arguments {
    /// Checks the names and values that the user gave.
    pub(crate) fn new(spec: &'static TaskSpec, given: &[(&str, Value)]) -> Result<Self, MujocoError> {
        let values = spec.arguments.iter().map(|(_, value)| value.clone()).collect();
        let mut arguments = Self { spec, values };
        for (name, value) in given {
            arguments.set(name, value)?;
        }
        Ok(arguments)
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), MujocoError> {
        let Some(index) = self.spec.arguments.iter().position(|(known, _)| known == name) else {
            let known = self.spec.arguments.iter().map(|(known, _)| known.as_str()).collect();
            return Err(MujocoError::UnknownArgument { task: &self.spec.id, name: name.to_owned(), known });
        };
        let (name, default) = &self.spec.arguments[index];
        if let Some(expected) = violated_requirement(name, default, value) {
            let found = value.to_string();
            return Err(MujocoError::BadArgument { task: &self.spec.id, name, expected, found });
        }
        self.values[index] = value.clone();
        Ok(())
    }

    pub(crate) fn spec(&self) -> &'static TaskSpec {
        self.spec
    }

    /// Checks that a model has what the task needs: at least one actuator, and at least `needed` of everything else.
    pub(crate) fn require(&self, model: &Model, needed: Sizes) -> Result<(), MujocoError> {
        let sizes = &model.sizes;
        let counts = [
            ("positions", sizes.positions, needed.positions),
            ("velocities", sizes.velocities, needed.velocities),
            ("bodies", sizes.bodies, needed.bodies),
            ("sites", sizes.sites, needed.sites),
            ("actuators", sizes.controls, needed.controls.max(1)),
        ];
        match counts.into_iter().find(|(_, count, needed)| count < needed) {
            None => Ok(()),
            Some((name, count, needed)) => {
                Err(self.unsuitable(model, format!("it has {count} {name}, but {needed} are needed")))
            }
        }
    }

    /// Returns the index of a body.
    pub(crate) fn body(&self, model: &Model, name: &str) -> Result<usize, MujocoError> {
        model.body(name).ok_or_else(|| self.unsuitable(model, format!("it has no body {name:?}")))
    }

    fn unsuitable(&self, model: &Model, reason: String) -> MujocoError {
        MujocoError::UnsuitableModel { task: &self.spec.id, path: model.path().to_owned(), reason }
    }

    fn value(&self, name: &str) -> &Value {
        if let Some((_, value)) = self.spec.constants.iter().find(|(known, _)| known == name) {
            return value;
        }
        let index = self.spec.arguments.iter().position(|(known, _)| known == name);
        &self.values[index.expect("tasks use only arguments of their tables")]
    }

    /// Returns a number. Like [`flag`](Self::flag) and [`range`](Self::range), it is for arguments that have this kind
    /// in the table of the task, and so in every value that the user may give.
    pub(crate) fn number(&self, name: &str) -> f64 {
        let Value::Number(number) = self.value(name) else { unreachable!("{name} is not a number") };
        *number
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        let Value::Flag(flag) = self.value(name) else { unreachable!("{name} is not a flag") };
        *flag
    }

    pub(crate) fn range(&self, name: &str) -> (f64, f64) {
        let Value::Range(low, high) = self.value(name) else { unreachable!("{name} is not a range") };
        (*low, *high)
    }

    /// Returns a string, or `None` if the argument is of another kind.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        if let Value::Text(text) = self.value(name) { Some(text) } else { None }
    }
}

/// Returns the requirement on values of an argument if a value violates it.
fn violated_requirement(name: &str, default: &Value, value: &Value) -> Option<&'static str> {
    match (name, default, value) {
        ("frame_skip", _, Value::Number(number)) => {
            let good = number.fract() == 0.0 && (1.0..=1e6).contains(number);
            (!good).then_some("a positive integer of at most a million")
        }
        ("main_body", _, value) => {
            let good = match value {
                Value::Number(number) => number.fract() == 0.0 && *number >= 0.0,
                value => matches!(value, Value::Text(_)),
            };
            (!good).then_some("the index or the name of a body")
        }
        ("reset_noise_scale", _, Value::Number(number)) => {
            let good = number.is_finite() && *number >= 0.0;
            (!good).then_some("a number of 0 or more")
        }
        (_, Value::Number(_), Value::Number(number)) => (!number.is_finite()).then_some("a finite number"),
        (_, Value::Number(_), _) => Some("a number"),
        (_, Value::Flag(_), value) => (!matches!(value, Value::Flag(_))).then_some("true or false"),
        (_, Value::Range(..), Value::Range(low, high)) if low <= high => None,
        (_, Value::Range(..), _) => Some("a lower and an upper limit"),
        (_, Value::Text(_), value) => (!matches!(value, Value::Text(_))).then_some("a path"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "healthy_z_range is not a number")]
    fn an_argument_of_another_kind_is_not_read_as_0() {
        Arguments::new(TaskSpec::find("Ant-v5").unwrap(), &[]).unwrap().number("healthy_z_range");
    }
}
