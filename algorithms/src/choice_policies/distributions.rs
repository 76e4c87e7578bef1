use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor};
use kernels::host::floats;

use crate::Task;
use crate::networks::ILLEGAL_LOGIT;
use crate::tasks::task::max_outputs;

/// The [graphs](crate::JointActions) of the actions of some rows as tensors, padded to the largest numbers of choices,
/// nodes and columns of any task.
#[derive(Clone, Debug)]
pub(crate) struct Graphs {
    /// `[rows, choices]`: 1 for the choices of the row's task.
    choices: Tensor<2>,
    /// `[rows, nodes, columns]`: 1 for edges of the row's task.
    legal: Tensor<3>,
    /// `[rows, nodes]`: 1 for the nodes of the row's task.
    nodes: Tensor<2>,
    /// `[rows, nodes, columns, nodes]`: 1 where an edge leads to a node. Absent if every path visits all nodes.
    successors: Option<Tensor<4>>,
}

impl Graphs {
    /// Creates the graphs of rows of the given tasks, `[rows]`, which are indices into `tasks`.
    pub(crate) fn new(task_ids: &Tensor<1, Int>, tasks: &[Task], device: &Device) -> Self {
        let most = |count: &dyn Fn(&Task) -> usize| tasks.iter().map(count).max().unwrap_or(0);
        let num_choices = most(&|task| task.actions.num_choices());
        let num_nodes = most(&num_nodes_of);
        let columns = max_outputs(tasks);
        let [rows] = task_ids.dims();
        // Tensors of the tasks, of which each row selects its own.
        let of_rows = |values: Vec<f32>| {
            let length = values.len() / tasks.len();
            floats(values, [tasks.len(), length], device).select(0, task_ids.clone())
        };
        let ones = |count: &dyn Fn(&Task) -> usize, most: usize| {
            tasks
                .iter()
                .flat_map(|task| (0..most).map(move |index| (task, index)))
                .map(|(task, index)| f32::from(index < count(task)))
                .collect()
        };
        let choices = of_rows(ones(&|task| task.actions.num_choices(), num_choices));
        let nodes = of_rows(ones(&num_nodes_of, num_nodes));
        let graphs = GraphsOfTasks { tasks, num_nodes, columns };
        let are_products = tasks.iter().all(|task| task.actions.expect_joint().is_product());
        Self {
            choices,
            legal: of_rows(graphs.legal()).reshape([rows, num_nodes, columns]),
            nodes,
            successors: (!are_products)
                .then(|| of_rows(graphs.successors()).reshape([rows, num_nodes, columns, num_nodes])),
        }
    }

    /// Returns 1 for each choice of the row's task, `[rows, choices]`.
    pub(crate) fn choices(&self) -> Tensor<2> {
        self.choices.clone()
    }

    /// Returns the probability that a row's path visits each node, `[rows, nodes]`, from the probabilities of the
    /// edges, `[rows, nodes, columns]`.
    fn reach(&self, probabilities: Tensor<3>) -> Tensor<2> {
        let Some(successors) = &self.successors else { return self.nodes.clone() };
        let moves = (probabilities.unsqueeze_dim::<4>(3) * successors.clone()).sum_dim(2).squeeze_dim::<3>(2);
        let ([rows, nodes], [_, choices]) = (self.nodes.dims(), self.choices.dims());
        let device = self.nodes.device();
        let first: Tensor<2> =
            Tensor::cat(vec![Tensor::ones([rows, 1], &device), Tensor::zeros([rows, nodes - 1], &device)], 1);
        let (mut current, mut reach) = (first.clone(), first);
        for _ in 1..choices {
            current = (current.unsqueeze_dim::<3>(2) * moves.clone()).sum_dim(1).squeeze_dim(1);
            reach = reach + current.clone();
        }
        reach
    }
}

/// Returns the number of nodes of the graph of a task's actions.
fn num_nodes_of(task: &Task) -> usize {
    task.actions.expect_joint().nodes().len()
}

/// The graphs of all tasks, padded to the same numbers of nodes and columns.
struct GraphsOfTasks<'a> {
    tasks: &'a [Task],
    num_nodes: usize,
    columns: usize,
}

impl GraphsOfTasks<'_> {
    /// Returns the index of each edge in `[tasks, nodes, columns]`, with the node that it leads to.
    fn edges(&self) -> impl Iterator<Item = (usize, Option<usize>)> {
        let Self { tasks, num_nodes, columns } = *self;
        let nodes = tasks
            .iter()
            .enumerate()
            .flat_map(move |(index, task)| (index * num_nodes..).zip(task.actions.expect_joint().nodes()));
        nodes.flat_map(move |(node, edges)| {
            edges.iter().map(move |edge| (node * columns + edge.column, edge.next))
        })
    }

    /// Returns the number of places for edges.
    fn size(&self) -> usize {
        self.tasks.len() * self.num_nodes * self.columns
    }

    /// Returns `[tasks, nodes, columns]`: 1 for edges.
    fn legal(&self) -> Vec<f32> {
        let mut legal = vec![0.0; self.size()];
        self.edges().for_each(|(edge, _)| legal[edge] = 1.0);
        legal
    }

    /// Returns `[tasks, nodes, columns, nodes]`: 1 where an edge leads to a node.
    fn successors(&self) -> Vec<f32> {
        let mut successors = vec![0.0; self.size() * self.num_nodes];
        for (edge, next) in self.edges() {
            if let Some(next) = next {
                successors[edge * self.num_nodes + next] = 1.0;
            }
        }
        successors
    }
}

/// The distributions of the actions of some rows. The probabilities of options that are not legal are 0.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a minibatch has one, which is moved once")]
pub(crate) enum Distributions {
    /// The log-probabilities of single choices, `[rows, columns]`.
    Single(Tensor<2>),
    /// The log-probabilities of the options of each node, `[rows, nodes, columns]`, and the graphs.
    Several(Tensor<3>, Graphs),
}

impl Distributions {
    /// Creates distributions with these logits, `[rows, columns]`, in which illegal options are
    /// [masked](crate::networks::mask_logits). `graphs` is absent if each task has a single choice.
    pub(crate) fn new(logits: Tensor<2>, graphs: Option<Graphs>) -> Self {
        let Some(graphs) = graphs else { return Self::Single(log_softmax(logits, 1)) };
        let illegal = graphs.legal.clone().lower_elem(0.5);
        let logits = logits.unsqueeze_dim::<3>(1).expand(illegal.dims());
        Self::Several(log_softmax(logits.mask_fill(illegal, ILLEGAL_LOGIT), 2), graphs)
    }

    /// Returns the log-probabilities of all options of a row side by side.
    pub(crate) fn log_probs(&self) -> Tensor<2> {
        match self.clone() {
            Self::Single(log_probs) => log_probs,
            Self::Several(log_probs, _) => log_probs.flatten(1, 2),
        }
    }

    /// Computes the entropy of the distribution over legal actions in each row, `[rows]`. By the chain rule, it is the
    /// sum of the entropies of all nodes, each times the probability that the node is visited.
    pub(crate) fn entropies(&self) -> Tensor<1> {
        match self.clone() {
            Self::Single(log_probs) => entropies(log_probs),
            Self::Several(log_probs, graphs) => {
                let probabilities = log_probs.clone().exp();
                let of_nodes = (probabilities.clone() * log_probs).sum_dim(2).squeeze_dim::<2>(2).neg();
                (of_nodes * graphs.reach(probabilities)).sum_dim(1).squeeze_dim(1)
            }
        }
    }

    /// Computes the expected value of each row's action, `[rows]`: the mean of the values of its options, as in
    /// [`Branches`](crate::action_values::Branches). `values` are those of the options, `[rows, columns]`; those of
    /// illegal options must be finite and have no effect.
    pub(crate) fn expectations(&self, values: Tensor<2>) -> Tensor<1> {
        match self.clone() {
            Self::Single(log_probs) => (log_probs.exp() * values).sum_dim(1).squeeze_dim(1),
            Self::Several(log_probs, graphs) => {
                let probabilities = log_probs.exp();
                let values = values.unsqueeze_dim::<3>(1);
                let of_nodes = (probabilities.clone() * values).sum_dim(2).squeeze_dim::<2>(2);
                let counts = graphs.choices.clone().sum_dim(1);
                ((of_nodes * graphs.reach(probabilities)).sum_dim(1) / counts).squeeze_dim(1)
            }
        }
    }
}

/// Computes the entropy of the policy in each row, `-sum over a of pi(a|s) * log pi(a|s)`, from log-probabilities
/// `[rows, actions]`. An action of probability 0 contributes 0.
fn entropies(log_probs: Tensor<2>) -> Tensor<1> {
    (log_probs.clone().exp() * log_probs).sum_dim(1).squeeze_dim::<1>(1).neg()
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::choice_policies::JointPolicy;
    use crate::networks::{RowTasks, mask_logits};
    use crate::testing::{all_actions, random_actions, spec_of_choices};
    use rl_env::{AutoresetMode, Space};

    fn tensor<const ROWS: usize, const COLUMNS: usize>(rows: [[f32; COLUMNS]; ROWS]) -> Tensor<2> {
        Tensor::from_floats(rows, &Device::flex())
    }

    fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.try_into_vec_as().unwrap()
    }

    fn assert_close(values: &[f32], expected: &[f32]) {
        let near = |(value, expected): (&f32, &f32)| (value - expected).abs() < 1e-5;
        assert!(values.len() == expected.len() && values.iter().zip(expected).all(near), "{values:?}");
    }

    #[test]
    fn entropies_and_expectations_by_hand() {
        let half = 0.5f32.ln();
        // ln 2, and 0 for a certain action next to an impossible one.
        let certain = Distributions::Single(tensor([[half, half], [0.0, -1e30]]));
        assert_close(&host(certain.entropies()), &[2f32.ln(), 0.0]);
        assert_close(&host(certain.expectations(tensor([[3.0, -1.0], [2.0, 1e9]]))), &[1.0, 2.0]);
    }

    #[test]
    fn entropies_and_expectations_are_those_of_all_legal_actions() {
        for seed in 0..50 {
            println!("seed {seed}");
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let tasks: Vec<Task> =
                (0..3).map(|_| Task::of_actions("task", random_actions(&mut rng))).collect();
            let (rows, columns) =
                (RowTasks::new([2, 0, 1, 0].into_iter(), &tasks, &Device::flex()), max_outputs(&tasks));
            let mut random = || {
                let values: Vec<f32> = (0..4 * columns).map(|_| rng.random_range(-2.0..2.0)).collect();
                (values.clone(), Tensor::from_data(TensorData::new(values, [4, columns]), &Device::flex()))
            };
            let ((logits, logit_tensor), (values, value_tensor)) = (random(), random());
            let graphs = Graphs::new(rows.task_ids(), &tasks, &Device::flex());
            let distributions = Distributions::new(mask_logits(logit_tensor, rows.illegal()), Some(graphs));
            let (entropies, expectations) =
                (host(distributions.entropies()), host(distributions.expectations(value_tensor)));
            for (row, task) in [2, 0, 1, 0].into_iter().enumerate() {
                let actions = tasks[task].actions.expect_joint();
                let own = |all: &[f32]| all[row * columns..][..actions.num_outputs()].to_vec();
                let (policy, values) = (JointPolicy::new(actions, &own(&logits)), own(&values));
                let (mut entropy, mut expectation) = (0.0, 0.0);
                for options in all_actions(actions) {
                    let log_prob = policy.log_prob(actions, &options);
                    let mean = actions.columns(&options).map(|column| values[column]).sum::<f32>()
                        / actions.num_choices() as f32;
                    entropy -= log_prob.exp() * log_prob;
                    expectation += log_prob.exp() * mean;
                }
                assert_close(&[entropies[row], expectations[row]], &[entropy, expectation]);
            }
        }
    }

    #[test]
    fn values_and_logits_of_illegal_options_have_no_effect() {
        let tasks = spec_of_choices(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep).tasks;
        let rows = RowTasks::new([0, 1, 2].into_iter(), &tasks, &Device::flex());
        let graphs = Graphs::new(rows.task_ids(), &tasks, &Device::flex());
        let legal: Vec<Vec<usize>> = tasks
            .iter()
            .map(|task| {
                task.actions.expect_joint().nodes().iter().flatten().map(|edge| edge.column).collect()
            })
            .collect();
        let results = |illegal: f32| {
            let values: Vec<f32> = (0..3)
                .flat_map(|row| (0..7).map(move |column| (row, column)))
                .map(|(row, column)| if legal[row].contains(&column) { column as f32 } else { illegal })
                .collect();
            let values = || Tensor::<2>::from_data(TensorData::new(values.clone(), [3, 7]), &Device::flex());
            let distributions =
                Distributions::new(mask_logits(values(), rows.illegal()), Some(graphs.clone()));
            (host(distributions.entropies()), host(distributions.expectations(values())))
        };
        assert!(legal.iter().any(|columns| columns.len() < 7));
        assert_eq!(results(0.0), results(1e6));
    }
}
