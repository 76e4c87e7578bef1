//! The task of each row of a batch.

use std::sync::{Arc, OnceLock};

use burn::tensor::{Bool, Device, Int, Tensor};
use kernels::host::{floats, integers};

use super::groups::{GroupIndices, GroupedRows};
use super::illegal_actions;
use super::mask::forbidden_options;
use crate::Task;
use crate::tasks::task::max_outputs;

/// The task of each row of a batch, prepared for the heads.
#[derive(Clone, Debug)]
pub struct RowTasks {
    /// `[rows]`.
    task_ids: Tensor<1, Int>,
    /// The same on the host.
    tasks: Vec<usize>,
    /// The columns beyond the outputs of each row's task, `[rows, max_outputs]`.
    illegal: Tensor<2, Bool>,
    /// The options that the action masks do not allow, `[rows, max_outputs]`.
    forbidden: Option<Tensor<2, Bool>>,
    /// `[rows, max_outputs]`: the index of the shared output for each output of the row's task; 0 beyond the task's
    /// outputs.
    shared: OnceLock<Tensor<2, Int>>,
    /// The same on the host.
    shared_outputs: Vec<i32>,
    /// The groups of the rows, computed on first use.
    groups: Arc<OnceLock<GroupIndices>>,
    /// The legal outputs of each choice of an action, `[rows, max_outputs]`: 1 for an output of the choice that belongs
    /// to a legal action of the row's task, else 0. Empty if each task has a single choice without illegal options.
    choices: Vec<Tensor<2>>,
    num_tasks: usize,
}

impl RowTasks {
    /// Creates rows of the given tasks, which are indices into `tasks`.
    pub fn new(task_ids: impl Iterator<Item = usize>, tasks: &[Task], device: &Device) -> Self {
        let task_ids: Vec<usize> = task_ids.collect();
        let counts: Vec<usize> = task_ids.iter().map(|&task| tasks[task].actions.num_outputs()).collect();
        let max_outputs = max_outputs(tasks);
        let ids: Vec<i32> = task_ids.iter().map(|&task| task as i32).collect();
        let shared = task_ids.iter().flat_map(|&task| {
            let shared = tasks[task].shared.iter().map(|&output| output as i32);
            shared.chain(std::iter::repeat(0)).take(max_outputs)
        });
        Self {
            shared: OnceLock::new(),
            shared_outputs: shared.collect(),
            groups: Arc::default(),
            task_ids: integers(ids, [counts.len()], device),
            illegal: illegal_actions(&counts, max_outputs, device),
            forbidden: None,
            choices: legal_outputs(&task_ids, tasks, device),
            tasks: task_ids,
            num_tasks: tasks.len(),
        }
    }

    /// Returns rows of the given tasks without transfers to the device. `task_ids` holds the same tasks, `[rows]`.
    /// `self` must have a single row for each task, in order.
    pub(crate) fn select(&self, tasks: Vec<usize>, task_ids: Tensor<1, Int>) -> Self {
        let choices = self.choices.iter().map(|legal| legal.clone().select(0, task_ids.clone()));
        Self {
            illegal: self.illegal.clone().select(0, task_ids.clone()),
            forbidden: None,
            shared: OnceLock::from(self.shared().clone().select(0, task_ids.clone())),
            shared_outputs: Vec::new(),
            groups: Arc::default(),
            choices: choices.collect(),
            num_tasks: self.num_tasks,
            task_ids,
            tasks,
        }
    }

    /// Restricts rows to the options that their action masks allow. There is a mask for each row, or all are empty.
    #[must_use]
    pub(crate) fn masked<'a>(self, masks: impl Iterator<Item = &'a [u8]>) -> Self {
        let masks: Vec<&[u8]> = masks.collect();
        if masks.iter().all(|mask| mask.is_empty()) {
            return self;
        }
        let [_, max_outputs] = self.illegal.dims();
        let forbidden = forbidden_options(&masks, max_outputs, &self.illegal.device());
        Self { forbidden: Some(forbidden), ..self }
    }

    /// Returns the mask of the columns beyond the outputs of each row's task, and of the options that its action mask
    /// does not allow, `[rows, max_outputs]`.
    pub fn illegal(&self) -> Tensor<2, Bool> {
        match &self.forbidden {
            Some(forbidden) => self.illegal.clone().bool_or(forbidden.clone()),
            None => self.illegal.clone(),
        }
    }

    /// Returns the mask of the columns beyond the outputs of each row's task, whatever its action mask is,
    /// `[rows, max_outputs]`.
    pub(super) fn illegal_in_task(&self) -> Tensor<2, Bool> {
        self.illegal.clone()
    }

    /// Returns the legal outputs of each choice of an action, `[rows, max_outputs]`: 1 for an output of the choice that
    /// belongs to a legal action, else 0. Empty if each task has a single choice without illegal options.
    pub(super) fn choices(&self) -> &[Tensor<2>] {
        &self.choices
    }

    /// Returns the task of each row, `[rows]`.
    pub(crate) fn task_ids(&self) -> &Tensor<1, Int> {
        &self.task_ids
    }

    /// Returns the number of tasks, of which some may have no rows.
    pub(crate) fn num_tasks(&self) -> usize {
        self.num_tasks
    }

    /// Selects the column of each row's task: `[rows, num_tasks]` to `[rows, 1]`.
    pub(super) fn pick(&self, all: Tensor<2>) -> Tensor<2> {
        if self.num_tasks == 1 { all } else { all.gather(1, self.task_ids.clone().unsqueeze_dim(1)) }
    }

    /// Groups the rows of `input`, `[rows, inputs]`, by task.
    pub(super) fn group(&self, input: &Tensor<2>) -> GroupedRows {
        let indices = self.groups.get_or_init(|| GroupIndices::new(&self.tasks, &self.task_ids.device()));
        indices.group(input, self.num_tasks)
    }

    /// Selects the values of each row's task: `[tasks, values]` to `[rows, values]`.
    pub fn embed(&self, of_tasks: Tensor<2>) -> Tensor<2> {
        of_tasks.select(0, self.task_ids.clone())
    }

    /// Selects each row's outputs from the shared ones: `[rows, shared outputs, columns]` to
    /// `[rows, max_outputs, columns]`.
    pub(super) fn pick_shared(&self, all: Tensor<3>) -> Tensor<3> {
        let [rows, _, columns] = all.dims();
        let shared = self.shared();
        let [_, max_outputs] = shared.dims();
        all.gather(1, shared.clone().unsqueeze_dim::<3>(2).expand([rows, max_outputs, columns]))
    }

    fn shared(&self) -> &Tensor<2, Int> {
        self.shared.get_or_init(|| {
            let rows = self.tasks.len();
            let shape = [rows, self.shared_outputs.len() / rows];
            integers(self.shared_outputs.clone(), shape, &self.task_ids.device())
        })
    }
}

/// Returns the tensors of [`RowTasks::choices`].
fn legal_outputs(task_ids: &[usize], tasks: &[Task], device: &Device) -> Vec<Tensor<2>> {
    if tasks.iter().all(|task| task.actions.is_single_choice()) {
        return Vec::new();
    }
    let most = tasks.iter().map(|task| task.actions.num_choices()).max().unwrap_or(0);
    let width = max_outputs(tasks);
    let of_choice = |choice: usize| {
        let mut legal = vec![0.0; task_ids.len() * width];
        for (row, &task) in task_ids.iter().enumerate() {
            for column in tasks[task].actions.expect_joint().columns_of(choice) {
                legal[row * width + column] = 1.0;
            }
        }
        floats(legal, [task_ids.len(), width], device)
    };
    (0..most).map(of_choice).collect()
}
