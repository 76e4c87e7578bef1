use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A text that is not the name of an environment.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "{0:?} does not name an environment; use gymnasium:ID, gymnasium:MODULE:ID or python:MODULE:CALLABLE, as in \
     gymnasium:CartPole-v1"
)]
pub struct NameError(String);

/// The origin of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// An id in Gymnasium's registry.
    Gymnasium,
    /// A callable of a module.
    Python,
}

/// The name of an environment. [`EnvGroup::name`](crate::EnvGroup::name) describes its forms.
///
/// ```
/// use gymnasium_workers::EnvName;
///
/// let name: EnvName = "gym:LunarLander-v3".parse()?;
/// assert_eq!(name.to_string(), "gymnasium:LunarLander-v3");
/// # Ok::<(), gymnasium_workers::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvName {
    pub(crate) source: Source,
    /// The module to import first.
    pub(crate) module: Option<String>,
    /// The id or the callable.
    pub(crate) target: String,
}

impl EnvName {
    /// The beginnings of all names.
    pub const PREFIXES: [&'static str; 3] = ["gymnasium:", "gym:", "python:"];
}

impl FromStr for EnvName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let error = || NameError(text.to_owned());
        let (prefix, rest) = text.split_once(':').ok_or_else(error)?;
        let source = match prefix {
            "gymnasium" | "gym" => Source::Gymnasium,
            "python" => Source::Python,
            _ => return Err(error()),
        };
        let (module, target) = match rest.rsplit_once(':') {
            Some((module, target)) => (Some(module), target),
            None => (None, rest),
        };
        let lacks_module = source == Source::Python && module.is_none();
        if target.is_empty() || module == Some("") || lacks_module {
            return Err(error());
        }
        Ok(Self { source, module: module.map(str::to_owned), target: target.to_owned() })
    }
}

impl fmt::Display for EnvName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.source {
            Source::Gymnasium => "gymnasium:",
            Source::Python => "python:",
        })?;
        if let Some(module) = &self.module {
            write!(f, "{module}:")?;
        }
        f.write_str(&self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_source_a_module_and_a_target() {
        let parts = |text: &str| {
            let name = text.parse::<EnvName>().unwrap();
            (name.source, name.module.clone().unwrap_or_default(), name.target.clone(), name.to_string())
        };
        let expected = |source, module: &str, target: &str, text: &str| {
            (source, module.to_owned(), target.to_owned(), text.to_owned())
        };
        let lander = expected(Source::Gymnasium, "", "LunarLander-v3", "gymnasium:LunarLander-v3");
        assert_eq!(parts("gymnasium:LunarLander-v3"), lander);
        assert_eq!(parts("gym:LunarLander-v3"), lander);
        let text = "gymnasium:my_package:mine/Corridor-v0";
        assert_eq!(parts(text), expected(Source::Gymnasium, "my_package", "mine/Corridor-v0", text));
        let text = "python:my_package.envs:make_env";
        assert_eq!(parts(text), expected(Source::Python, "my_package.envs", "make_env", text));
    }

    #[test]
    fn other_texts_are_errors_that_show_the_forms() {
        for text in
            ["CartPole-v1", "gymnasium:", "gymnasium::Id-v0", "python:make_env", "python:a:", "ale:pong"]
        {
            let message = text.parse::<EnvName>().unwrap_err().to_string();
            assert!(message.contains(&format!("{text:?}")) && message.contains("gymnasium:ID"), "{message}");
        }
    }
}
