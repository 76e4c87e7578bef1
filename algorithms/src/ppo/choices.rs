use burn::tensor::{Device, Int, Tensor};
use kernels::host::integers;

use super::loss;
use crate::Task;
use crate::choice_policies::{Distributions, Graphs};
use crate::tasks::task::max_outputs;

/// The actions of the rows of a minibatch, with the [graphs](crate::JointActions) of their tasks as tensors.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a minibatch has one, which is moved once")]
pub(super) enum Choices {
    /// The actions of tasks with a single choice, `[rows]`.
    Single(Tensor<1, Int>),
    /// The actions of tasks, some of which have several choices.
    Several(Paths),
}

/// Actions as paths.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    /// `[rows, choices]`: the index in `[nodes * columns]` of each edge of a row's path.
    edges: Tensor<2, Int>,
    graphs: Graphs,
}

impl Choices {
    /// Creates the actions of some rows, each with its task and its options.
    pub(super) fn new<'a>(
        actions: impl Iterator<Item = (usize, &'a [i32])>,
        tasks: &[Task],
        device: &Device,
    ) -> Self {
        if tasks.iter().all(|task| task.actions.is_single_choice()) {
            let actions: Vec<i32> = actions.map(|(_, options)| options[0]).collect();
            let rows = actions.len();
            return Self::Single(integers(actions, [rows], device));
        }
        Self::Several(Paths::new(actions, tasks, device))
    }

    /// Returns the policies with the given logits, `[rows, columns]`.
    pub(super) fn policies(self, logits: Tensor<2>) -> RowPolicies {
        let graphs = match &self {
            Self::Single(_) => None,
            Self::Several(paths) => Some(paths.graphs.clone()),
        };
        RowPolicies { distributions: Distributions::new(logits, graphs), taken: self }
    }
}

impl Paths {
    fn new<'a>(actions: impl Iterator<Item = (usize, &'a [i32])>, tasks: &[Task], device: &Device) -> Self {
        let num_choices = tasks.iter().map(|task| task.actions.num_choices()).max().unwrap_or(0);
        let columns = max_outputs(tasks);
        let (mut ids, mut edges) = (Vec::new(), Vec::new());
        for (task, options) in actions {
            let graph = tasks[task].actions.expect_joint();
            ids.push(task as i32);
            let path = graph.path(options);
            edges.extend(path.map(|(node, edge)| (node * columns + graph.nodes()[node][edge].column) as i32));
            edges.resize(ids.len() * num_choices, 0);
        }
        let rows = ids.len();
        let ids = integers(ids, [rows], device);
        Self { edges: integers(edges, [rows, num_choices], device), graphs: Graphs::new(&ids, tasks, device) }
    }
}

/// The policies of a network for the rows of a minibatch, and the actions taken.
#[derive(Clone, Debug)]
pub(super) struct RowPolicies {
    distributions: Distributions,
    taken: Choices,
}

impl RowPolicies {
    /// Computes the log-probability of each row's action, `[rows]`: the sum along its path.
    pub(super) fn log_prob(&self) -> Tensor<1> {
        let log_probs = self.distributions.log_probs();
        match self.taken.clone() {
            Choices::Single(actions) => loss::log_prob(log_probs, actions),
            Choices::Several(Paths { edges, graphs }) => {
                (log_probs.gather(1, edges) * graphs.choices()).sum_dim(1).squeeze_dim(1)
            }
        }
    }

    /// Computes the entropy of the distribution over legal actions in each row, `[rows]`.
    pub(super) fn entropies(&self) -> Tensor<1> {
        self.distributions.entropies()
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;
    use rand::seq::IndexedRandom;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::JointActions;
    use crate::choice_policies::JointPolicy;
    use crate::networks::ILLEGAL_LOGIT;
    use crate::testing::{all_actions, random_actions};

    /// Rows of random tasks with random logits and legal actions.
    struct Case {
        tasks: Vec<Task>,
        /// The task and the action of each row.
        rows: Vec<(usize, Vec<i32>)>,
        logits: Vec<f32>,
        columns: usize,
        rng: ChaCha8Rng,
    }

    impl Case {
        fn of_tasks(tasks: Vec<Task>, mut rng: ChaCha8Rng) -> Self {
            let columns = max_outputs(&tasks);
            let rows: Vec<(usize, Vec<i32>)> = (0..rng.random_range(1..6))
                .map(|_| {
                    let task = rng.random_range(0..tasks.len());
                    (task, all_actions(tasks[task].actions.expect_joint()).choose(&mut rng).unwrap().clone())
                })
                .collect();
            let logits = (0..rows.len() * columns).map(|_| rng.random_range(-3.0..3.0)).collect();
            Self { tasks, rows, logits, columns, rng }
        }

        /// Cases of 100 seeds.
        fn all() -> impl Iterator<Item = Self> {
            (0..100).map(|seed| {
                println!("seed {seed}");
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                let task = |rng: &mut ChaCha8Rng| Task::of_actions("task", random_actions(rng));
                let mut tasks: Vec<Task> = (0..rng.random_range(0..3)).map(|_| task(&mut rng)).collect();
                // A single choice with an illegal option, or several choices.
                let last = if seed % 2 == 0 {
                    JointActions::factored(&[3], vec![vec![0], vec![2]])
                } else {
                    JointActions::product(&[2, 2])
                };
                tasks.push(Task::of_actions("last", last.unwrap()));
                Self::of_tasks(tasks, rng)
            })
        }

        fn device() -> Device {
            Device::flex().autodiff()
        }

        fn logits(&self) -> Tensor<2> {
            let data = TensorData::new(self.logits.clone(), [self.rows.len(), self.columns]);
            Tensor::from_data(data, &Self::device()).require_grad()
        }

        fn actions(&self) -> impl Iterator<Item = (usize, &[i32])> {
            self.rows.iter().map(|(task, options)| (*task, &options[..]))
        }

        fn graph(&self, row: usize) -> &JointActions {
            self.tasks[self.rows[row].0].actions.expect_joint()
        }

        fn row(&self, row: usize) -> &[f32] {
            &self.logits[row * self.columns..][..self.columns]
        }
    }

    /// Computes the log-probability of an action by enumerating all legal actions: at each choice, the logits of the
    /// options with which a legal action can continue are normalised.
    fn log_prob(all: &[Vec<i32>], sizes: &[usize], logits: &[f64], options: &[i32]) -> f64 {
        let mut start = 0;
        let mut total = 0.0;
        for (choice, &size) in sizes.iter().enumerate() {
            let is_legal = |option: i32| {
                all.iter().any(|other| other[..choice] == options[..choice] && other[choice] == option)
            };
            let legal = (0..size as i32).filter(|&option| is_legal(option));
            let sum: f64 = legal.map(|option| logits[start + option as usize].exp()).sum();
            total += logits[start + options[choice] as usize] - sum.ln();
            start += size;
        }
        total
    }

    fn entropy(all: &[Vec<i32>], sizes: &[usize], logits: &[f64]) -> f64 {
        let log_probs = all.iter().map(|options| log_prob(all, sizes, logits, options));
        log_probs.map(|log_prob| -log_prob.exp() * log_prob).sum()
    }

    fn wide(logits: &[f32]) -> Vec<f64> {
        logits.iter().map(|&logit| f64::from(logit)).collect()
    }

    fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.try_into_vec_as().unwrap()
    }

    #[test]
    fn log_probabilities_and_entropies_equal_those_of_all_legal_actions() {
        for case in Case::all() {
            let policy = Choices::new(case.actions(), &case.tasks, &Case::device()).policies(case.logits());
            let (log_probs, entropies) = (host(policy.log_prob()), host(policy.entropies()));
            for (row, (_, options)) in case.rows.iter().enumerate() {
                let (graph, logits) = (case.graph(row), wide(case.row(row)));
                let all = all_actions(graph);
                let expected = log_prob(&all, graph.sizes(), &logits, options);
                assert!((f64::from(log_probs[row]) - expected).abs() < 1e-5, "{} {expected}", log_probs[row]);
                let expected = entropy(&all, graph.sizes(), &logits);
                assert!((f64::from(entropies[row]) - expected).abs() < 1e-5, "{} {expected}", entropies[row]);
                let total: f64 =
                    all.iter().map(|options| log_prob(&all, graph.sizes(), &logits, options).exp()).sum();
                assert!((total - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn gradients_equal_those_of_all_legal_actions_and_are_zero_for_illegal_options() {
        type Function<'a> = &'a dyn Fn(&JointActions, &[Vec<i32>], &[i32], &[f64]) -> f64;
        let of_action: Function =
            &|graph, all, options, logits| log_prob(all, graph.sizes(), logits, options);
        let of_entropy: Function = &|graph, all, _, logits| entropy(all, graph.sizes(), logits);
        for case in Case::all() {
            for (output, function) in
                [RowPolicies::log_prob, RowPolicies::entropies].into_iter().zip([of_action, of_entropy])
            {
                let logits = case.logits();
                let policy =
                    Choices::new(case.actions(), &case.tasks, &Case::device()).policies(logits.clone());
                let gradient = host(logits.grad(&output(&policy).sum().backward()).unwrap());
                for (row, (_, options)) in case.rows.iter().enumerate() {
                    let graph = case.graph(row);
                    let all = all_actions(graph);
                    let legal: Vec<usize> = graph.nodes().iter().flatten().map(|edge| edge.column).collect();
                    for column in 0..case.columns {
                        let value = gradient[row * case.columns + column];
                        if !legal.contains(&column) {
                            assert_eq!(value, 0.0);
                            continue;
                        }
                        let at = |step: f64| {
                            let mut logits = wide(case.row(row));
                            logits[column] += step;
                            function(graph, &all, options, &logits)
                        };
                        let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
                        assert!((f64::from(value) - expected).abs() < 1e-5, "{value} {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_policy_on_the_host_is_the_same_and_never_samples_illegal_actions() {
        for mut case in Case::all() {
            let policy = Choices::new(case.actions(), &case.tasks, &Case::device()).policies(case.logits());
            let taken = host(policy.log_prob());
            for (row, &taken) in taken.iter().enumerate() {
                let graph = case.graph(row).clone();
                let policy = JointPolicy::new(&graph, &case.row(row)[..graph.num_outputs()]);
                let all = all_actions(&graph);
                let exact = |options: &[i32]| log_prob(&all, graph.sizes(), &wide(case.row(row)), options);
                assert!((f64::from(taken) - exact(&case.rows[row].1)).abs() < 1e-5);
                let mut rng = case.rng.clone();
                for _ in 0..20 {
                    let (options, log_prob) = policy.sample(&graph, &mut rng);
                    assert!(all.contains(&options) && (f64::from(log_prob) - exact(&options)).abs() < 1e-5);
                }
                let best = all.iter().map(|options| exact(options)).fold(f64::NEG_INFINITY, f64::max);
                assert!((exact(&policy.greedy(&graph)) - best).abs() < 1e-5);
                let log_probs = policy.log_probs(&graph);
                let choices = if graph.factors().is_some() { 1 } else { graph.num_choices() };
                let total: f32 = log_probs.iter().map(|log_prob| log_prob.exp()).sum();
                assert!((total - choices as f32).abs() < 1e-4, "{total} {choices}");
                case.rng = rng;
            }
        }
    }

    #[test]
    fn single_choices_equal_the_plain_computation_bit_for_bit() {
        for seed in 0..50 {
            println!("seed {seed}");
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let tasks = (0..3).map(|index| Task::new(index.to_string(), rng.random_range(1..7))).collect();
            let case = Case::of_tasks(tasks, rng);
            // As the heads mask them.
            let mut masked = case.logits.clone();
            for (row, (task, _)) in case.rows.iter().enumerate() {
                masked[row * case.columns..][..case.columns][case.tasks[*task].actions.num_outputs()..]
                    .fill(ILLEGAL_LOGIT);
            }
            let case = Case { logits: masked, ..case };
            let evaluate = |choices: Choices| {
                let logits = case.logits();
                let policy = choices.policies(logits.clone());
                let (log_prob, entropies) = (policy.log_prob(), policy.entropies());
                let gradient =
                    logits.grad(&(log_prob.clone().exp() + entropies.clone()).sum().backward()).unwrap();
                (host(log_prob), host(entropies), host(gradient))
            };
            let single = Choices::new(case.actions(), &case.tasks, &Case::device());
            assert!(matches!(single, Choices::Single(_)));
            let paths = Paths::new(case.actions(), &case.tasks, &Case::device());
            assert_eq!(evaluate(single), evaluate(Choices::Several(paths)));
            let (mut same, mut again) = (case.rng.clone(), case.rng.clone());
            for row in 0..case.rows.len() {
                let mut log_probs = case.row(row)[..case.graph(row).num_outputs()].to_vec();
                crate::tasks::categorical::log_softmax(&mut log_probs);
                let policy = JointPolicy::new(case.graph(row), case.row(row));
                assert_eq!(policy.log_probs(case.graph(row)), log_probs);
                let action = crate::tasks::categorical::sample(&log_probs, &mut same);
                assert_eq!(
                    policy.sample(case.graph(row), &mut again),
                    (vec![action as i32], log_probs[action])
                );
                assert_eq!(policy.greedy(case.graph(row)), [crate::testing::argmax(&log_probs) as i32]);
            }
        }
    }
}
