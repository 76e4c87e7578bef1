//! Spaces, as workers describe them.

use std::num::ParseFloatError;
use std::ops::Range;

use rl_env::{ActionKind, Bound, Dtype, Space};
use serde::Deserialize;

use crate::BuildError;

/// The spaces of an environment.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(crate) struct DescribedSpaces {
    observation: DescribedSpace,
    action: DescribedSpace,
}

/// A space in JSON.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum DescribedSpace {
    Box { shape: Vec<usize>, dtype: String, low: Vec<String>, high: Vec<String> },
    Discrete { n: usize },
    MultiDiscrete { nvec: Vec<usize> },
    Tuple { parts: Vec<DescribedSpace> },
}

/// Returns the spaces of observations and actions that `Slot.describe` of worker.py describes in JSON. `None` if the
/// description is not valid.
pub fn described_spaces(json: &str) -> Option<(Space, Space)> {
    serde_json::from_str::<DescribedSpaces>(json).ok()?.parse()
}

/// The spaces of the environments of a worker.
#[derive(Debug, Deserialize)]
pub(crate) struct SpacesReply {
    distinct: Vec<DescribedSpaces>,
    /// The index into `distinct` of each environment.
    indices: Vec<usize>,
}

impl SpacesReply {
    /// Returns the spaces of observations and actions of each environment. `None` if a description is not valid.
    pub(crate) fn parse(&self) -> Option<Vec<(Space, Space)>> {
        let distinct: Option<Vec<(Space, Space)>> =
            self.distinct.iter().map(DescribedSpaces::parse).collect();
        let distinct = distinct?;
        self.indices.iter().map(|&index| distinct.get(index).cloned()).collect()
    }
}

impl DescribedSpaces {
    fn parse(&self) -> Option<(Space, Space)> {
        Some((self.observation.parse()?, self.action.parse()?))
    }
}

impl DescribedSpace {
    fn parse(&self) -> Option<Space> {
        Some(match self {
            &Self::Discrete { n } => Space::discrete(n),
            Self::MultiDiscrete { nvec } => Space::multi_discrete(nvec.clone()),
            Self::Tuple { parts } => {
                let parts: Option<Vec<Space>> = parts.iter().map(Self::parse).collect();
                Space::tuple(parts?)
            }
            Self::Box { shape, dtype, low, high } => {
                let dtypes = [Dtype::U8, Dtype::I8, Dtype::I64, Dtype::F32];
                Space::Box {
                    low: bound(low).ok()?,
                    high: bound(high).ok()?,
                    shape: shape.clone(),
                    dtype: dtypes.into_iter().find(|known| known.name() == dtype)?,
                }
            }
        })
    }
}

fn bound(texts: &[String]) -> Result<Bound, ParseFloatError> {
    let bounds: Vec<f64> = texts.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
    Ok(match bounds[..] {
        [] => Bound::All(0.0),
        [bound] => Bound::All(bound),
        _ => Bound::Each(bounds),
    })
}

/// Pads observations as [`WorkerOptions::pad`](crate::WorkerOptions::pad) says, if all of them are vectors of 32-bit
/// floats.
pub(crate) fn pad(spaces: &mut [(Space, Space)], pad: Option<usize>) {
    let Some(least) = pad else { return };
    let are_equal = spaces.iter().all(|(observation, _)| *observation == spaces[0].0);
    let lengths: Option<Vec<usize>> = spaces.iter().map(|(observation, _)| length_of(observation)).collect();
    if let Some(longest) = lengths.and_then(|lengths| lengths.into_iter().max())
        && (!are_equal || least > 0)
    {
        let padded = Space::floats(longest.max(least), f32::NEG_INFINITY, f32::INFINITY);
        for (observation, _) in spaces {
            observation.clone_from(&padded);
        }
    }
}

/// Returns the length of observations, if they are vectors of 32-bit floats.
fn length_of(observation: &Space) -> Option<usize> {
    match observation {
        Space::Box { shape, dtype: Dtype::F32, .. } if shape.len() == 1 => Some(shape[0]),
        _ => None,
    }
}

/// Checks that environments, with their names, can share batches of observations and actions.
pub(crate) fn check_spaces(names: &[String], spaces: &[(Space, Space)]) -> Result<(), BuildError> {
    let (expected, first_action) = &spaces[0];
    for (env, (observation, action)) in spaces.iter().enumerate() {
        let name = names[env].clone();
        if action.num_elements() == 0 {
            return Err(BuildError::NoActions { env, name, found: Box::new(action.clone()) });
        }
        if observation != expected {
            return Err(BuildError::DifferentObservations {
                env,
                name,
                found: Box::new(observation.clone()),
                expected: Box::new(expected.clone()),
            });
        }
        if ActionKind::of(action) != ActionKind::of(first_action) {
            return Err(BuildError::DifferentActions {
                env,
                name,
                found: Box::new(action.clone()),
                expected: Box::new(first_action.clone()),
            });
        }
    }
    Ok(())
}

/// Returns the bytes of the floats in an observation, if there are any.
pub(crate) fn floats_of(space: &Space) -> Option<Range<usize>> {
    let leaf = space.leaves().into_iter().find(|leaf| leaf.dtype == Dtype::F32)?;
    Some(leaf.offset..leaf.offset + leaf.byte_len())
}

/// Returns the largest number of options of all choices of an action.
pub(crate) fn most_options(action_spaces: &[Space]) -> usize {
    let options = action_spaces.iter().map(|space| match space {
        &Space::Discrete { n, .. } => n,
        Space::MultiDiscrete { nvec, .. } => nvec.iter().sum(),
        _ => 0,
    });
    options.max().unwrap_or(0)
}

/// Returns the distinct names of the tasks, and the index of each environment's task.
pub(crate) fn index_tasks(names: &[String]) -> (Vec<String>, Vec<usize>) {
    let mut tasks: Vec<String> = Vec::new();
    let task_ids = names.iter().map(|name| {
        tasks.iter().position(|task| task == name).unwrap_or_else(|| {
            tasks.push(name.clone());
            tasks.len() - 1
        })
    });
    let task_ids = task_ids.collect();
    (tasks, task_ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_have_infinite_bounds() {
        let reply = r#"{
            "distinct": [{
                "observation": {"kind": "box", "shape": [2], "dtype": "float32", "low": ["-inf"], "high": ["1.0", "inf"]},
                "action": {"kind": "discrete", "n": 3}
            }],
            "indices": [0, 0]
        }"#;
        let spaces = serde_json::from_str::<SpacesReply>(reply).unwrap().parse().unwrap();
        let observation = Space::Box {
            low: Bound::All(f64::NEG_INFINITY),
            high: Bound::Each(vec![1.0, f64::INFINITY]),
            shape: vec![2],
            dtype: Dtype::F32,
        };
        assert_eq!(spaces, vec![(observation, Space::discrete(3)); 2]);
        assert!(
            serde_json::from_str::<SpacesReply>(&reply.replace("[0, 0]", "[1]")).unwrap().parse().is_none()
        );
    }

    #[test]
    fn spaces_that_differ_name_the_environment() {
        let names = ["gymnasium:A-v0", "gymnasium:B-v0"].map(str::to_owned);
        let check = |spaces: [(Space, Space); 2]| check_spaces(&names, &spaces).unwrap_err().to_string();
        let (floats, choice) = (Space::floats(2, 0.0, 1.0), Space::discrete(2));
        let longer = (Space::floats(3, 0.0, 1.0), choice.clone());
        assert_eq!(
            check([(floats.clone(), choice.clone()), longer]),
            "environment 1 (gymnasium:B-v0) has observations of Box(0, 1, [3], float32), but environment 0 has Box(0, 1, [2], \
             float32); all must be equal"
        );
        let continuous = (floats.clone(), floats.clone());
        assert!(check([(floats.clone(), choice), continuous]).contains("cannot be mixed"));
        let none = (floats.clone(), Space::multi_discrete([]));
        assert!(check([none.clone(), none]).contains("without elements"));
    }

    #[test]
    fn vectors_are_padded_if_they_differ_or_are_too_short() {
        let spaces = |lengths: [usize; 2]| lengths.map(|n| (Space::floats(n, 0.0, 1.0), Space::discrete(2)));
        let padded = |lengths, least| {
            let mut spaces = spaces(lengths);
            pad(&mut spaces, least);
            spaces.map(|(observation, _)| observation)
        };
        let unbounded = |length| Space::floats(length, f32::NEG_INFINITY, f32::INFINITY);
        assert_eq!(padded([2, 3], None), [2, 3].map(|n| Space::floats(n, 0.0, 1.0)));
        assert_eq!(padded([3, 3], Some(0)), [3, 3].map(|n| Space::floats(n, 0.0, 1.0)));
        assert_eq!(padded([2, 3], Some(0)), [3, 3].map(unbounded));
        assert_eq!(padded([3, 3], Some(2)), [3, 3].map(unbounded));
        assert_eq!(padded([2, 3], Some(5)), [5, 5].map(unbounded));
        let mut images = [(Space::bytes([3, 40, 40]), Space::discrete(2))];
        let before = images.clone();
        pad(&mut images, Some(7));
        assert_eq!(images, before);
    }

    #[test]
    fn tasks_are_distinct_names() {
        let names = ["b", "a", "b"].map(str::to_owned);
        assert_eq!(index_tasks(&names), (vec!["b".to_owned(), "a".to_owned()], vec![0, 1, 0]));
    }
}
