//! The description of a vector environment for a learner.

use rl_env::{AutoresetMode, Dtype, Space, VectorEnv};
use serde::{Deserialize, Serialize};

use super::spec_error::SpecError;
use super::task::{Task, mask_bytes, max_components, max_outputs};
use crate::{JointActions, TaskActions};

/// Everything that a learner needs to know about a vector environment before the first batch.
///
/// ```
/// use algorithms::VectorSpec;
/// use classic_control::{Probe, ProbeKind};
/// use vector::{PoolOptions, PoolVectorEnv};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let envs = ["one", "two", "one"].map(|task| (task.to_owned(), Probe::new(ProbeKind::BestAction)));
/// let envs = PoolVectorEnv::new(envs.into(), PoolOptions::default())?;
/// let spec = VectorSpec::of(&envs)?;
/// assert_eq!(spec.task_ids, [0, 1, 0]);
/// assert_eq!(spec.tasks[1].actions.num_outputs(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VectorSpec {
    /// The space of one observation.
    pub observation_space: Space,
    /// The tasks, each once.
    pub tasks: Vec<Task>,
    /// The index into `tasks` of each environment.
    pub task_ids: Vec<usize>,
    /// The number of distinct outputs of all tasks together: the width of a head that all tasks share.
    pub shared_outputs: usize,
    /// The autoreset mode, which decides what the batch holds at the end of an episode.
    pub autoreset_mode: AutoresetMode,
}

impl VectorSpec {
    /// Describes `envs`. Fails if learners do not support them.
    pub fn of(envs: &(impl VectorEnv + ?Sized)) -> Result<Self, SpecError> {
        if envs.num_envs() == 0 {
            return Err(SpecError::NoEnvs);
        }
        if envs.autoreset_mode() == AutoresetMode::Disabled {
            return Err(SpecError::NoAutoreset);
        }
        let tasks = tasks_of(envs)?;
        Ok(Self {
            observation_space: envs.single_observation_space().clone(),
            shared_outputs: max_outputs(&tasks),
            tasks,
            task_ids: envs.task_ids().to_vec(),
            autoreset_mode: envs.autoreset_mode(),
        })
    }

    /// Factors the actions of tasks into several choices. `factors` returns the number of options of each choice, and
    /// the options of each action of the task's environments. A task for which it returns `None` keeps its actions, and
    /// so does a task with action masks.
    /// Afterwards the outputs of every task are the first of the shared ones.
    ///
    /// ```
    /// use algorithms::{Task, VectorSpec};
    /// use rl_env::{AutoresetMode, Space};
    ///
    /// let spec = VectorSpec {
    ///     observation_space: Space::bytes([4, 84, 84]),
    ///     tasks: vec![Task::new("paddle", 4)],
    ///     task_ids: vec![0; 8],
    ///     shared_outputs: 4,
    ///     autoreset_mode: AutoresetMode::SameStep,
    /// };
    /// // No input, the button, to the right and to the left.
    /// let factors = vec![vec![0, 0], vec![1, 0], vec![0, 1], vec![0, 2]];
    /// let spec = spec.with_factored_actions(|_| Some((vec![2, 3], factors.clone())))?;
    /// assert_eq!(spec.shared_outputs, 5);
    /// # Ok::<(), algorithms::SpecError>(())
    /// ```
    pub fn with_factored_actions(
        mut self,
        factors: impl Fn(&Task) -> Option<(Vec<usize>, Vec<Vec<usize>>)>,
    ) -> Result<Self, SpecError> {
        // Masks are those of the environments' actions.
        for task in self.tasks.iter_mut().filter(|task| !task.actions.are_masked()) {
            let Some((sizes, factors)) = factors(task) else { continue };
            let error = |error| SpecError::Factors { task: task.name.clone(), error };
            let factored: TaskActions = JointActions::factored(&sizes, factors).map_err(error)?.into();
            let space = task.actions.space();
            if factored.space() != space {
                let (task, space) = (task.name.clone(), space.to_string());
                return Err(SpecError::OtherActions { task, space, factored: factored.to_string() });
            }
            task.actions = factored;
        }
        for task in &mut self.tasks {
            task.shared = (0..task.actions.num_outputs()).collect();
        }
        self.shared_outputs = self.max_outputs();
        Ok(self)
    }

    /// Sets the number of shared outputs, and maps the outputs of each task to them. A task for which `outputs` returns
    /// `None` is left unchanged.
    pub fn with_shared_outputs(
        mut self,
        count: usize,
        outputs: impl Fn(&Task) -> Option<Vec<usize>>,
    ) -> Result<Self, SpecError> {
        self.shared_outputs = count;
        for task in &mut self.tasks {
            if let Some(shared) = outputs(task) {
                task.shared = shared;
            }
            if !task.is_consistent(count) {
                return Err(SpecError::SharedOutputs {
                    task: task.name.clone(),
                    outputs: task.shared.clone(),
                    count,
                });
            }
        }
        Ok(self)
    }

    /// Fails unless learners support the environments and the fields fit together.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        if self.task_ids.is_empty() {
            return Err(SpecError::NoEnvs);
        }
        if self.autoreset_mode == AutoresetMode::Disabled {
            return Err(SpecError::NoAutoreset);
        }
        let count = self.shared_outputs;
        if let Some(task) = self.tasks.iter().find(|task| !task.is_consistent(count)) {
            let (task, outputs) = (task.name.clone(), task.shared.clone());
            return Err(SpecError::SharedOutputs { task, outputs, count });
        }
        let are_used = (0..self.tasks.len()).all(|task| self.task_ids.contains(&task));
        if !are_used || self.task_ids.iter().any(|&task| task >= self.tasks.len()) {
            return Err(SpecError::TaskIds { tasks: self.tasks.len() });
        }
        check_kind(&self.tasks)
    }

    /// Returns true if the fields fit together and a state of `state_len` bytes could hold a network for the
    /// observations. Returns false for a damaged specification.
    pub fn is_consistent(&self, state_len: usize) -> bool {
        // A linear layer has at least one weight for each element. A convolution and the layer after it have at least a
        // few for each block of 16 by 16 pixels.
        let fits = |space: &Space| {
            let (shape, most): (&[usize], _) = match space {
                Space::Box { shape, dtype: Dtype::U8, .. } => (shape, state_len.saturating_mul(16)),
                Space::Box { shape, .. } => (shape, state_len / size_of::<f32>()),
                _ => (&[], state_len),
            };
            let elements = shape.iter().try_fold(1_usize, |elements, &extent| elements.checked_mul(extent));
            elements.is_some_and(|elements| elements <= most)
        };
        let space = &self.observation_space;
        // A shared head has at least one weight for each output.
        let has_outputs = self.shared_outputs <= state_len / size_of::<f32>();
        fits(space) && space.parts().all(fits) && has_outputs && self.check().is_ok()
    }

    /// Fails unless `other` has the same observation space.
    pub(crate) fn check_observations(&self, other: &Self) -> Result<(), SpecError> {
        if other.observation_space == self.observation_space {
            return Ok(());
        }
        Err(SpecError::OtherObservations {
            got: other.observation_space.to_string(),
            expected: self.observation_space.to_string(),
        })
    }

    /// Returns the number of environments.
    pub fn num_envs(&self) -> usize {
        self.task_ids.len()
    }

    /// Returns the largest number of outputs of any task.
    pub fn max_outputs(&self) -> usize {
        max_outputs(&self.tasks)
    }

    /// Returns the number of bytes of an action mask, 0 if the tasks have none.
    pub fn mask_bytes(&self) -> usize {
        mask_bytes(&self.tasks)
    }

    /// Returns the largest number of choices of any task.
    pub(crate) fn max_choices(&self) -> usize {
        self.tasks.iter().map(|task| task.actions.num_choices()).max().unwrap_or(0)
    }

    /// Returns the largest number of components of any task's actions; 0 if these are choices.
    pub(crate) fn max_components(&self) -> usize {
        max_components(&self.tasks)
    }

    /// Returns the actions of an environment.
    pub(crate) fn actions(&self, env: usize) -> &TaskActions {
        &self.tasks[self.task_ids[env]].actions
    }

    /// Returns the choices of an environment's actions.
    ///
    /// # Panics
    /// Panics if its actions are continuous.
    pub(crate) fn joint_actions(&self, env: usize) -> &JointActions {
        self.actions(env).expect_joint()
    }

    /// Fails unless all actions are continuous.
    pub(crate) fn check_continuous(&self) -> Result<(), SpecError> {
        match self.tasks.iter().find(|task| task.actions.joint().is_some()) {
            None => Ok(()),
            Some(task) => Err(SpecError::DiscreteActions {
                task: task.name.clone(),
                space: task.actions.space().to_string(),
            }),
        }
    }

    /// Fails unless all continuous actions have finite bounds.
    pub(crate) fn check_bounded(&self) -> Result<(), SpecError> {
        let is_unbounded = |task: &&Task| match &task.actions {
            TaskActions::Continuous(actions) => !actions.is_bounded(),
            TaskActions::Joint(_) | TaskActions::Masked(_) => false,
        };
        match self.tasks.iter().find(is_unbounded) {
            None => Ok(()),
            Some(task) => Err(SpecError::UnboundedActions {
                task: task.name.clone(),
                space: task.actions.space().to_string(),
            }),
        }
    }

    /// Fails unless all actions are choices.
    pub(crate) fn check_choices(&self) -> Result<(), SpecError> {
        match self.tasks.iter().find(|task| task.actions.joint().is_none()) {
            None => Ok(()),
            Some(task) => Err(SpecError::ContinuousActions {
                task: task.name.clone(),
                space: task.actions.space().to_string(),
            }),
        }
    }
}

/// Returns the tasks with their actions. Fails if the environments of a task differ.
fn tasks_of(envs: &(impl VectorEnv + ?Sized)) -> Result<Vec<Task>, SpecError> {
    let mut known: Vec<Option<TaskActions>> = vec![None; envs.tasks().len()];
    for (env, (space, &task)) in envs.action_spaces().iter().zip(envs.task_ids()).enumerate() {
        let actions = TaskActions::of_space(space)
            .ok_or_else(|| SpecError::ActionSpace { env, space: space.to_string() })?;
        let actions = if envs.batch().has_action_masks() { actions.masked() } else { actions };
        match &known[task] {
            None => known[task] = Some(actions),
            Some(expected) if *expected == actions => {}
            Some(expected) => {
                let (got, expected) = (actions.to_string(), expected.to_string());
                return Err(SpecError::UnequalActions {
                    env,
                    task: envs.tasks()[task].clone(),
                    got,
                    expected,
                });
            }
        }
    }
    let tasks = envs.tasks().iter().zip(known);
    let tasks: Vec<Task> =
        tasks.filter_map(|(name, actions)| Some(Task::of_actions(name, actions?))).collect();
    check_kind(&tasks)?;
    Ok(tasks)
}

/// Fails if some tasks have choices and others continuous actions.
fn check_kind(tasks: &[Task]) -> Result<(), SpecError> {
    let joint = tasks.iter().find(|task| task.actions.joint().is_some());
    let continuous = tasks.iter().find(|task| task.actions.joint().is_none());
    let (Some(joint), Some(other)) = (joint, continuous) else { return Ok(()) };
    Err(SpecError::MixedActions {
        joint: joint.name.clone(),
        choices: joint.actions.to_string(),
        other: other.name.clone(),
        continuous: other.actions.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::spec;

    #[test]
    fn fields_must_fit_together() {
        let spec = || spec(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep);
        assert_eq!(spec().check(), Ok(()));
        let tasks = spec().tasks.len();
        for (bad, error) in [
            (VectorSpec { task_ids: Vec::new(), ..spec() }, SpecError::NoEnvs),
            (VectorSpec { autoreset_mode: AutoresetMode::Disabled, ..spec() }, SpecError::NoAutoreset),
            (VectorSpec { task_ids: vec![0; 4], ..spec() }, SpecError::TaskIds { tasks }),
            (VectorSpec { task_ids: (0..=tasks).collect(), ..spec() }, SpecError::TaskIds { tasks }),
        ] {
            assert_eq!(bad.check(), Err(error));
        }
        let few = VectorSpec { shared_outputs: 0, ..spec() };
        assert!(matches!(few.check(), Err(SpecError::SharedOutputs { count: 0, .. })));
    }

    #[test]
    fn outputs_of_factored_actions_are_the_first_shared_ones() {
        let one = VectorSpec {
            tasks: vec![Task::new("one", 3)],
            task_ids: vec![0],
            shared_outputs: 3,
            ..spec(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep)
        };
        let mapped = one.with_shared_outputs(18, |_| Some(vec![0, 11, 12])).unwrap();
        let factored = mapped.with_factored_actions(|_| None).unwrap();
        assert_eq!((&factored.tasks[0].shared[..], factored.shared_outputs), (&[0, 1, 2][..], 3));
        assert_eq!(factored.check(), Ok(()));
    }

    #[test]
    fn a_state_is_at_least_as_large_as_its_network() {
        let is_consistent =
            |space: Space, state_len| spec(space, AutoresetMode::NextStep).is_consistent(state_len);
        assert!(is_consistent(Space::floats(3, -1.0, 1.0), 1000));
        assert!(is_consistent(Space::bytes([4, 84, 84]), 2000));
        let no_environments = VectorSpec {
            tasks: Vec::new(),
            task_ids: Vec::new(),
            ..spec(Space::bytes([4, 84, 84]), AutoresetMode::NextStep)
        };
        assert!(!no_environments.is_consistent(2000));
        for space in [Space::floats(1 << 40, -1.0, 1.0), Space::bytes([4, 1 << 20, 1 << 20])] {
            assert!(!is_consistent(space, 1_000_000));
        }
    }
}
