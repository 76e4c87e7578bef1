//! Regression targets of a gradient step, and the value scales that their returns change.

use burn::module::Module;
use kernels::host::columns_to_host;

use super::Dqn;
use super::minibatch::{Minibatch, StepNoise};
use crate::LearnerError;
use crate::action_values::{greedy, mask_values};
use crate::networks::value_scale::TaskReturn;
use crate::networks::{Noise, QNetwork, TaskNetwork};

/// The outputs of the successors of a minibatch.
struct NextOutputs {
    /// The output columns of each row's next action, one per choice.
    columns: Vec<Vec<usize>>,
    /// The outputs of the target network, `[rows, max_outputs, atoms]`.
    values: Vec<f32>,
    /// Values per row: `max_outputs * atoms`.
    width: usize,
    /// Values per column.
    atoms: usize,
}

impl NextOutputs {
    /// Returns the outputs of each choice of the next action of a row.
    fn of_next_action(&self, row: usize) -> Vec<&[f32]> {
        let of_column = |column: &usize| &self.values[row * self.width + column * self.atoms..][..self.atoms];
        self.columns[row].iter().map(of_column).collect()
    }
}

impl Dqn {
    /// Computes the regression targets of each minibatch, and updates the value scales with the returns behind them.
    /// The targets of a minibatch consist of one set of outputs for each row's action, row by row.
    ///
    /// The next action is the legal one with the largest sum of values. It may consist of several choices, each with a
    /// column of outputs; the target is their mean.
    pub(super) fn targets(
        &mut self,
        minibatches: &[Minibatch],
        noise: &StepNoise,
    ) -> Result<Vec<Vec<f32>>, LearnerError> {
        let next: Vec<NextOutputs> = minibatches
            .iter()
            .map(|minibatch| self.next_outputs(minibatch, noise))
            .collect::<Result<_, _>>()?;
        // By minibatch, row and atom.
        let returns: Vec<Vec<Vec<f32>>> = minibatches
            .iter()
            .zip(&next)
            .map(|(minibatch, next)| {
                let rows = minibatch.tasks.iter().zip(&minibatch.returns).enumerate();
                rows.map(|(row, (&task, n_step))| {
                    self.agent.actor.head().returns(task, n_step, &next.of_next_action(row))
                })
                .collect()
            })
            .collect();
        self.rescale(minibatches, &returns)?;
        let head = self.agent.actor.head();
        let targets = minibatches.iter().zip(&returns).zip(&next).map(|((minibatch, returns), next)| {
            let rows = minibatch.tasks.iter().zip(returns).enumerate();
            rows.flat_map(|(row, (&task, returns))| head.target(task, returns, &next.of_next_action(row)))
                .collect()
        });
        Ok(targets.collect())
    }

    /// Evaluates the successors of a minibatch and selects the next actions.
    fn next_outputs(&self, minibatch: &Minibatch, noise: &StepNoise) -> Result<NextOutputs, LearnerError> {
        let outputs = |network: &QNetwork, noise: &Option<Noise>| {
            let (successors, rows) = (minibatch.successors.clone(), &minibatch.successor_rows);
            network.forward(successors, rows, noise.as_ref()).flatten::<2>(1, 2)
        };
        let mut outputs_of_networks = vec![outputs(&self.agent.target, &noise.target)];
        if self.config.double {
            outputs_of_networks.push(outputs(&self.agent.training.network.valid(), &noise.selection));
        }
        let mut outputs_of_networks = columns_to_host(outputs_of_networks)?.into_iter();
        let values = outputs_of_networks.next().expect("the outputs of the target network");
        let online_values = outputs_of_networks.next();
        let (head, spec) = (self.agent.actor.head(), &self.off_policy.spec);
        let atoms = head.num_atoms();
        let width = spec.max_outputs() * atoms;
        let columns = minibatch.tasks.iter().enumerate().map(|(row, &task)| {
            let selecting_outputs = &online_values.as_ref().unwrap_or(&values)[row * width..][..width];
            let actions = spec.tasks[task].actions.expect_joint();
            let action_values = head.values(task, selecting_outputs, actions.num_outputs());
            let options = greedy(actions, &mask_values(action_values, &minibatch.successor_masks[row]));
            actions.columns(&options).collect()
        });
        Ok(NextOutputs { columns: columns.collect(), values, width, atoms })
    }

    /// Updates the value scales with the returns of each row, without changing the predictions of either network. Rows
    /// that are drawn more often because of their priorities have less weight, so that the scales reflect the whole
    /// replay buffer.
    fn rescale(&mut self, minibatches: &[Minibatch], returns: &[Vec<Vec<f32>>]) -> Result<(), LearnerError> {
        if !self.agent.actor.head().scales.are_learned() {
            return Ok(());
        }
        let of_minibatch =
            |(minibatch, returns): (&Minibatch, &Vec<Vec<f32>>)| -> Vec<(usize, Vec<TaskReturn>)> {
                let rows = minibatch.tasks.iter().zip(&minibatch.draws).zip(returns);
                let rows = rows.map(|((&task, draw), returns)| {
                    let weight = draw.correction / returns.len() as f32;
                    returns.iter().map(|&value| TaskReturn { task, value, weight }).collect()
                });
                minibatch.shard.rows.iter().copied().zip(rows).collect()
            };
        // Every process updates its scales with the returns of all rows of the minibatch.
        let own_returns: Vec<_> = minibatches.iter().zip(returns).flat_map(of_minibatch).collect();
        let mut rows = self.off_policy.cluster.all_gather_values(&own_returns)?.concat();
        // The rounding of the statistics depends on the order.
        rows.sort_unstable_by_key(|(row, _)| *row);
        let returns: Vec<TaskReturn> = rows.into_iter().flat_map(|(_, returns)| returns).collect();
        let changes = self.agent.actor.update_scales(&returns);
        self.agent.training.network = self.agent.training.network.clone().rescale_values(&changes);
        self.agent.target = self.agent.target.clone().rescale_values(&changes);
        Ok(())
    }
}
