//! Changes of the settings of a run that is resumed.

use std::fmt;

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};
use toml::Value;

use super::layers::{assigned, from_text, leaves, merge};
use super::schema::{field, is_unused};
use super::values::ABSENT;
use super::written::Config;

/// A key with a new value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) key: String,
    /// The old value, or `None` if the key had none.
    pub(crate) from: Option<Value>,
    pub(crate) to: Option<Value>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = [&self.from, &self.to]
            .map(|value| value.as_ref().map_or_else(|| ABSENT.to_owned(), ToString::to_string));
        write!(f, "{} = {to} (was {from})", self.key)
    }
}

/// Applies the assignments `set`, such as `ppo.gamma=0.9`, to the experiment `config`. Returns the new experiment and
/// the keys whose values have changed. Fails for a key that is fixed once training has begun, and for one that the
/// experiment does not use.
pub(crate) fn amended(
    config: &str,
    set: &[String],
    total_frames: Option<u64>,
) -> Result<(Config, Vec<Change>)> {
    let before = from_text(config)?;
    let mut after = before.clone();
    let total_frames = total_frames.map(|frames| format!("experiment.total_frames={frames}"));
    let mut assigned_keys = Vec::new();
    for assignment in set.iter().chain(&total_frames) {
        let layer = assigned("--set", assignment)?;
        assigned_keys.extend(leaves(&layer).into_keys());
        merge(&mut after, layer);
    }
    let (before, after) = (Config::new(&before)?, Config::new(&after)?);
    let (old, new) = (leaves(&before.to_table()?), leaves(&after.to_table()?));
    let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
    let mut changes = Vec::new();
    for key in keys.filter(|key| old.get(*key) != new.get(*key)) {
        if let Some(reason) = field(key).and_then(|field| field.fixed) {
            bail!(
                "{key} cannot change when a run is resumed: {reason}; `ale-train {} --init-from RUN` starts a new run with \
                 the weights of this one",
                after.sections.run.algorithm
            )
        }
        changes.push(Change { key: key.clone(), from: old.get(key).cloned(), to: new.get(key).cloned() });
    }
    for key in assigned_keys {
        let algorithm = before.sections.run.algorithm;
        let section = key.split('.').next().unwrap_or(&key);
        ensure!(!is_unused(section, algorithm), "{key} has no effect in a run of {algorithm}");
    }
    Ok((after, changes))
}

/// Returns the experiment `config` with the assignments `set`, such as `policy.lstm=8`.
pub(crate) fn changed(config: &str, set: &[String]) -> Result<Config> {
    let mut experiment = from_text(config)?;
    for assignment in set {
        merge(&mut experiment, assigned("--set", assignment)?);
    }
    Config::new(&experiment)
}

#[cfg(test)]
mod tests {
    use settings::{Field, Kind};

    use super::super::schema::keys;
    use super::*;
    use crate::learner::Algorithm;

    /// Returns a value of a key that differs from its default, as text.
    fn other_value(section: &str, field: &Field, current: Option<&Value>) -> String {
        match field.kind {
            Kind::Boolean => (current != Some(&Value::Boolean(true))).to_string(),
            Kind::Choice(choices) => {
                let other =
                    choices.iter().find(|choice| current.and_then(Value::as_str) != Some(choice.name));
                other.expect("two choices").name.to_owned()
            }
            Kind::Text | Kind::List => if section == "experiment" { "cuda" } else { "pong" }.to_owned(),
            Kind::Items { .. } => "module.Name".to_owned(),
            Kind::Float => "0.123".to_owned(),
            _ => "33".to_owned(),
        }
    }

    #[test]
    fn every_key_can_change_or_has_a_reason() {
        for algorithm in Algorithm::ALL {
            let config = format!("[experiment]\nalgorithm = \"{algorithm}\"\n");
            let values = leaves(&Config::new(&config.parse().unwrap()).unwrap().to_table().unwrap());
            for keys in keys() {
                let section = keys.section.replace("NAME", "harvest");
                let is_other = Algorithm::ALL.iter().any(|other| {
                    let sections = other.descriptor().sections;
                    let outer = section.split('.').next();
                    other != algorithm && sections.iter().any(|known| Some(known.name) == outer)
                });
                for field in keys.fields {
                    let within = if let Kind::Table { .. } = field.kind { ".a" } else { "" };
                    let key = format!("{section}.{}", field.name);
                    let value = other_value(&section, field, values.get(&key));
                    let outcome = amended(&config, &[format!("{key}{within}={value}")], None);
                    match (outcome, field.fixed) {
                        _ if key == "experiment.algorithm" => {}
                        (Err(error), _) if is_other => {
                            assert_eq!(
                                error.to_string(),
                                format!("{key} has no effect in a run of {algorithm}")
                            );
                        }
                        (Ok((_, changes)), None) => {
                            assert_eq!(changes.len(), 1, "{key}");
                            assert_eq!(
                                (&changes[0].key, &changes[0].from),
                                (&key, &values.get(&key).cloned())
                            );
                        }
                        (Err(error), Some(reason)) => {
                            let message = format!("{key} cannot change when a run is resumed: {reason}; ");
                            assert!(error.to_string().starts_with(&message), "{error}");
                        }
                        (outcome, fixed) => panic!("{key}: {outcome:?}, {fixed:?}"),
                    }
                }
            }
        }
    }

    /// Returns the changes that assignments and a number of frames make to an experiment, as text.
    fn changes(config: &str, set: &[&str], total_frames: Option<u64>) -> Vec<String> {
        let set: Vec<String> = set.iter().map(|&assignment| assignment.to_owned()).collect();
        let (_, changes) = amended(config, &set, total_frames).unwrap();
        changes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_different_values_are_changes() {
        let config = "[experiment]\ntotal_frames = 1000\n[ppo]\nnorm_adv = true\n";
        assert!(
            changes(config, &["ppo.norm_adv=batch", "experiment.seed=1", "environments.games=harvest"], None)
                .is_empty()
        );
        assert_eq!(
            changes(config, &["ppo.target_kl=0.02", "ppo.gamma=0.9"], Some(2000)),
            [
                "experiment.total_frames = 2000 (was 1000)",
                "ppo.gamma = 0.9 (was 0.99)",
                "ppo.target_kl = 0.02 (was absent)"
            ]
        );
        let with_limit = format!("{config}target_kl = 0.02\n");
        let unset = |config| amended(config, &["ppo.target_kl=absent".to_owned()], None).unwrap().1;
        assert_eq!(
            unset(&with_limit).iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["ppo.target_kl = absent (was 0.02)"]
        );
        assert!(unset(config).is_empty());
        let algorithm = amended(config, &["experiment.algorithm=dqn".to_owned()], None).unwrap_err();
        assert!(algorithm.to_string().starts_with("experiment.algorithm cannot change"), "{algorithm}");
    }
}
