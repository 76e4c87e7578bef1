use algorithms::networks::ILLEGAL_LOGIT;
use algorithms::{Task, TaskActions};

use super::graph::{Element, Graph, Value};
use super::messages::Attribute;

/// The tasks of an agent, and the input with the task of each row if there are several.
pub(super) struct Tasks<'a> {
    tasks: &'a [Task],
    /// `[rows]`.
    task: Option<Value>,
}

impl<'a> Tasks<'a> {
    /// Adds the input.
    pub(super) fn new(graph: &mut Graph, tasks: &'a [Task]) -> Self {
        let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        let about = format!("the index of each row's game: {}", names.join(", "));
        let task = (tasks.len() > 1).then(|| graph.input("task", Element::I64, &[], &about));
        Self { tasks, task }
    }

    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'a Task> {
        self.tasks.iter()
    }

    /// Returns true if actions are vectors of real numbers.
    pub(super) fn are_continuous(&self) -> bool {
        self.iter().any(|task| matches!(task.actions, TaskActions::Continuous(_)))
    }

    /// Returns the largest number of outputs of a task.
    pub(super) fn max_outputs(&self) -> usize {
        self.iter().map(|task| task.actions.num_outputs()).max().unwrap_or(0)
    }

    /// Selects the row of each row's task from a table `[tasks, ...]`. The table of a single task is its own result,
    /// which has one row.
    pub(super) fn embed(&self, graph: &mut Graph, table: &Value) -> Value {
        match &self.task {
            Some(task) => graph.apply("Gather", &[table, task], &[Attribute::of_int("axis", 0)]),
            None => table.clone(),
        }
    }

    /// Selects the outputs of each row's task: `[rows, tasks * width]` to `[rows, width]`.
    pub(super) fn pick(&self, graph: &mut Graph, outputs: &Value, width: usize) -> Value {
        let Some(task) = &self.task else { return outputs.clone() };
        let by_task = graph.reshape(outputs, &[-1, self.len() as i64, width as i64]);
        let index = graph.reshape(task, &[-1, 1]);
        graph.apply("GatherND", &[&by_task, &index], &[Attribute::of_int("batch_dims", 1)])
    }

    /// Adds a table with a row of `width` floats for each task, padded with zeros.
    pub(super) fn floats(
        &self,
        graph: &mut Graph,
        name: &str,
        width: usize,
        of_task: impl Fn(&Task) -> Vec<f32>,
    ) -> Value {
        let mut values = Vec::new();
        for task in self.tasks {
            let mut row = of_task(task);
            row.resize(width, 0.0);
            values.extend(row);
        }
        graph.floats(name, &[self.len(), width], &values)
    }

    /// Selects the outputs of each row's task among those that all tasks share: `[rows, shared, atoms]` to
    /// `[rows, max_outputs, atoms]`.
    pub(super) fn pick_shared(&self, graph: &mut Graph, outputs: &Value, atoms: usize) -> Value {
        let width = self.max_outputs();
        let columns = self.iter().flat_map(|task| {
            let padding = std::iter::repeat_n(0, width - task.shared.len());
            task.shared.iter().copied().chain(padding)
        });
        let columns: Vec<usize> = columns.collect();
        if self.task.is_none() {
            let columns = graph.indices("tasks.shared", &[width], &columns);
            return graph.apply("Gather", &[outputs, &columns], &[Attribute::of_int("axis", 1)]);
        }
        let repeated: Vec<usize> =
            columns.iter().flat_map(|&column| std::iter::repeat_n(column, atoms)).collect();
        let table = graph.indices("tasks.shared", &[self.len(), width, atoms], &repeated);
        let columns = self.embed(graph, &table);
        graph.apply("GatherElements", &[outputs, &columns], &[Attribute::of_int("axis", 1)])
    }

    /// Replaces the outputs, `[rows, max_outputs]`, that each row's task does not have.
    pub(super) fn mask(&self, graph: &mut Graph, outputs: &Value) -> Value {
        if self.task.is_none() {
            return outputs.clone();
        }
        let width = self.max_outputs();
        let legal: Vec<bool> = self
            .iter()
            .flat_map(|task| (0..width).map(|output| output < task.actions.num_outputs()))
            .collect();
        let legal = graph.bools("tasks.legal", &[self.len(), width], &legal);
        let legal = self.embed(graph, &legal);
        let illegal = graph.floats("tasks.illegal_logit", &[], &[ILLEGAL_LOGIT]);
        graph.apply("Where", &[&legal, outputs, &illegal], &[])
    }

    /// Adds a table with a value for each component of each task's continuous actions, computed from its bounds.
    pub(super) fn of_bounds(&self, graph: &mut Graph, name: &str, value: fn(f32, f32) -> f32) -> Value {
        let of_task = |task: &Task| match &task.actions {
            TaskActions::Continuous(actions) => {
                actions.bounds().iter().map(|&(low, high)| value(low, high)).collect()
            }
            TaskActions::Joint(_) | TaskActions::Masked(_) => Vec::new(),
        };
        let table = self.floats(graph, name, self.max_outputs(), of_task);
        self.embed(graph, &table)
    }
}
