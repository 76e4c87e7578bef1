//! Snapshots of vector environments that consist of a state for each environment.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{decode_vector_state, encode};
use crate::{AutoresetMode, VectorError};

/// The state of one environment of a vector environment, with its episode and its last result.
pub trait SavedEnv: Serialize + DeserializeOwned {
    /// The version of the format of [`SavedEnvs`]. Changing the type requires a new one.
    const VERSION: u32;

    /// Returns the index of the environment.
    fn env_id(&self) -> usize;

    /// Changes the index of the environment.
    fn set_env_id(&mut self, env_id: usize);

    /// Returns the task of the environment.
    fn task(&self) -> &str;
}

/// The states of some environments of a vector environment between two steps.
#[derive(Serialize, Deserialize)]
pub struct SavedEnvs<S> {
    version: u32,
    mode: AutoresetMode,
    /// In the order of the results: the last batch received, then the results still to be received. If groups take
    /// turns and all results have been received, the group whose turn is next comes first.
    pub envs: Vec<S>,
}

impl<S: SavedEnv> SavedEnvs<S> {
    /// Returns the states of environments in an autoreset mode.
    pub fn new(mode: AutoresetMode, envs: Vec<S>) -> Self {
        Self { version: S::VERSION, mode, envs }
    }

    /// Returns the snapshot with these states.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// Decodes a snapshot, and checks its version and its autoreset mode.
    pub fn decode(snapshot: &[u8], mode: AutoresetMode) -> Result<Self, VectorError> {
        let saved = Self::decode_in_any_mode(snapshot)?;
        if saved.mode == mode {
            return Ok(saved);
        }
        bad(format!("its autoreset mode is {:?}, but must be {mode:?}", saved.mode))
    }

    fn decode_in_any_mode(snapshot: &[u8]) -> Result<Self, VectorError> {
        let saved: Self = decode_vector_state(snapshot)?;
        if saved.version == S::VERSION {
            return Ok(saved);
        }
        bad(format!("its format is {}, but must be {}", saved.version, S::VERSION))
    }

    /// Checks that there is exactly one state for each environment of these tasks, in order if a batch holds all of
    /// them.
    pub fn check_envs(&self, tasks: &[&str], is_ordered: bool) -> Result<(), VectorError> {
        let mut ids: Vec<usize> = self.envs.iter().map(S::env_id).collect();
        if !is_ordered {
            ids.sort_unstable();
        }
        if !ids.into_iter().eq(0..tasks.len()) {
            let num_envs = tasks.len();
            return bad(format!(
                "it must contain each of the {num_envs} environments once, in the order of the batches"
            ));
        }
        self.check_tasks(self.envs.iter().map(|env| tasks[env.env_id()]))
    }

    /// Checks that the states are those of environments of these tasks, in order.
    pub fn check_tasks<'a>(&self, tasks: impl Iterator<Item = &'a str>) -> Result<(), VectorError> {
        match self.envs.iter().zip(tasks).find(|(env, task)| env.task() != *task) {
            None => Ok(()),
            Some((env, task)) => bad(format!(
                "the state of an environment of {} cannot be restored to one of {task}",
                env.task()
            )),
        }
    }

    fn is_in_order(&self) -> bool {
        self.envs.iter().map(S::env_id).eq(0..self.envs.len())
    }

    /// Appends the environments of another state, whose indices become those after the environments of this one.
    fn append(&mut self, other: Self) -> Result<(), VectorError> {
        if other.mode != self.mode {
            return bad(format!("the autoreset modes {:?} and {:?} cannot be joined", self.mode, other.mode));
        }
        let first = self.envs.len();
        self.envs.extend(other.envs);
        for (env_id, env) in self.envs.iter_mut().enumerate().skip(first) {
            env.set_env_id(env_id);
        }
        Ok(())
    }
}

/// Joins snapshots of several vector environments, each of whose batches hold all environments, into the snapshot of a
/// single vector environment with all their environments in this order.
pub fn join_snapshots<S: SavedEnv>(parts: &[Vec<u8>]) -> Result<Vec<u8>, VectorError> {
    let mut joined: Option<SavedEnvs<S>> = None;
    for part in parts {
        let saved = SavedEnvs::decode_in_any_mode(part)?;
        if !saved.is_in_order() {
            return bad("its environments must be in order".to_owned());
        }
        match &mut joined {
            Some(joined) => joined.append(saved)?,
            None => joined = Some(saved),
        }
    }
    joined.map_or_else(|| bad("none was given".to_owned()), |joined| Ok(joined.encode()))
}

/// Returns the part of a snapshot that belongs to some environments, for a vector environment that has only these. The
/// snapshot must come from a vector environment whose batches hold all environments.
pub fn part_of_snapshot<S: SavedEnv>(snapshot: &[u8], envs: Range<usize>) -> Result<Vec<u8>, VectorError> {
    let mut saved = SavedEnvs::<S>::decode_in_any_mode(snapshot)?;
    if saved.envs.len() < envs.end || !saved.is_in_order() {
        return bad(format!("it must contain at least the first {} environments, in order", envs.end));
    }
    saved.envs = saved.envs.into_iter().skip(envs.start).take(envs.len()).collect();
    for (env_id, env) in saved.envs.iter_mut().enumerate() {
        env.set_env_id(env_id);
    }
    Ok(saved.encode())
}

fn bad<T>(reason: String) -> Result<T, VectorError> {
    Err(VectorError::BadSnapshot(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Counter {
        env_id: usize,
        task: String,
        count: u8,
    }

    impl SavedEnv for Counter {
        const VERSION: u32 = 7;

        fn env_id(&self) -> usize {
            self.env_id
        }

        fn set_env_id(&mut self, env_id: usize) {
            self.env_id = env_id;
        }

        fn task(&self) -> &str {
            &self.task
        }
    }

    fn snapshot(mode: AutoresetMode, env_ids: &[usize]) -> Vec<u8> {
        let counter = |&env_id| Counter { env_id, task: "t".to_owned(), count: 9 };
        SavedEnvs::new(mode, env_ids.iter().map(counter).collect()).encode()
    }

    fn reason<T>(result: Result<T, VectorError>) -> String {
        match result.err() {
            Some(VectorError::BadSnapshot(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_snapshot_has_a_version_a_mode_and_the_states() {
        let two = snapshot(AutoresetMode::SameStep, &[0, 1]);
        assert_eq!(two, [7, AutoresetMode::SameStep as u8, 2, 0, 1, b't', 9, 1, 1, b't', 9]);
        let one = snapshot(AutoresetMode::SameStep, &[0]);
        assert_eq!(join_snapshots::<Counter>(&[one.clone(), one.clone()]), Ok(two.clone()));
        assert_eq!(part_of_snapshot::<Counter>(&two, 1..2), Ok(one));
    }

    #[test]
    fn errors_name_what_does_not_fit() {
        let decode = |bytes: &[u8]| SavedEnvs::<Counter>::decode(bytes, AutoresetMode::SameStep);
        let mut other = snapshot(AutoresetMode::SameStep, &[0]);
        other[0] = 8;
        assert_eq!(reason(decode(&other)), "its format is 8, but must be 7");
        let next_step = snapshot(AutoresetMode::NextStep, &[0]);
        assert_eq!(reason(decode(&next_step)), "its autoreset mode is NextStep, but must be SameStep");
        let swapped = snapshot(AutoresetMode::SameStep, &[1, 0]);
        let saved = decode(&swapped).unwrap();
        assert_eq!(saved.check_envs(&["t", "t"], false), Ok(()));
        let expected = "it must contain each of the 2 environments once, in the order of the batches";
        assert_eq!(reason(saved.check_envs(&["t", "t"], true)), expected);
        let expected = "the state of an environment of t cannot be restored to one of u";
        assert_eq!(reason(saved.check_envs(&["u", "t"], false)), expected);
        let expected = "it must contain at least the first 1 environments, in order";
        assert_eq!(reason(part_of_snapshot::<Counter>(&swapped, 0..1)), expected);
        assert_eq!(reason(join_snapshots::<Counter>(&[swapped])), "its environments must be in order");
        let same_step = snapshot(AutoresetMode::SameStep, &[0]);
        let expected = "the autoreset modes NextStep and SameStep cannot be joined";
        assert_eq!(reason(join_snapshots::<Counter>(&[next_step, same_step])), expected);
    }
}
