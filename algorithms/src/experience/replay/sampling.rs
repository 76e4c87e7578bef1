//! Draws of steps, uniformly or by priority.

use std::ops::Range;

use rand::Rng;

use super::ReplayBuffer;
use super::action_element::ActionElement;
use super::sum_tree::SumTree;

/// Added to every error before it becomes a priority, so that every step can be drawn again.
pub(super) const PRIORITY_EPSILON: f64 = 1e-6;

/// A step that was drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Draw {
    pub(crate) env: usize,
    /// The index of the step in its environment.
    pub(crate) step_id: u64,
    /// The importance weight, which corrects the sampling bias to the degree set by `beta`: at most 1, and always 1
    /// without priorities.
    pub(crate) weight: f32,
    /// The probability of this step without priorities, divided by its probability with them.
    pub(crate) correction: f32,
}

/// A snapshot of the priorities of all steps.
pub(crate) struct Priorities {
    trees: Vec<SumTree>,
    largest: Vec<f64>,
}

impl<E: ActionElement> ReplayBuffer<E> {
    /// Returns a copy of the priorities.
    pub(crate) fn priorities(&self) -> Priorities {
        Priorities { trees: self.priorities.clone(), largest: self.max_priorities.clone() }
    }

    /// Restores the [priorities](Self::priorities) from before the last draws.
    pub(crate) fn set_priorities(&mut self, Priorities { trees, largest }: Priorities) {
        (self.priorities, self.max_priorities) = (trees, largest);
    }

    /// Returns true if steps can be drawn.
    pub(crate) fn can_draw(&self) -> bool {
        self.drawable_tasks().next().is_some()
    }

    /// Returns the tasks with steps that can be drawn. A task whose environments had used up their steps when the
    /// replay buffer was lost never has any.
    fn drawable_tasks(&self) -> impl Iterator<Item = usize> {
        (0..self.envs_of.len()).filter(|&task| self.ready_steps(task) > 0)
    }

    /// Draws `count` steps. The numbers of steps of the tasks that have any differ by at most one. `beta` is the
    /// exponent of the importance weights, from 0 (no correction) to 1 (full correction).
    pub(crate) fn draw(&self, count: usize, beta: f32, rng: &mut impl Rng) -> Vec<Draw> {
        let drawable: Vec<usize> = self.drawable_tasks().collect();
        let tasks = drawable.len();
        let first = if tasks > 1 { rng.random_range(0..tasks) } else { 0 };
        let mut draws = Vec::with_capacity(count);
        for turn in 0..tasks.min(count) {
            let task = drawable[(first + turn) % tasks];
            let share = count / tasks + usize::from(turn < count % tasks);
            if self.options.alpha.is_some() {
                self.draw_by_priority(task, share, beta, rng, &mut draws);
            } else {
                self.draw_uniformly(task, share, rng, &mut draws);
            }
        }
        let largest = draws.iter().map(|draw| draw.weight).fold(0.0, f32::max);
        for draw in &mut draws {
            draw.weight /= largest;
        }
        draws
    }

    fn draw_uniformly(&self, task: usize, count: usize, rng: &mut impl Rng, draws: &mut Vec<Draw>) {
        let total = self.ready_steps(task);
        for _ in 0..count {
            let mut index = rng.random_range(0..total);
            for &env in &self.envs_of[task] {
                let steps = self.histories[env].ready_steps();
                if index < steps {
                    let step_id = self.histories[env].step_id(index);
                    draws.push(Draw { env, step_id, weight: 1.0, correction: 1.0 });
                    break;
                }
                index -= steps;
            }
        }
    }

    /// Draws one step from each of `count` equal parts of the cumulative priorities. The weights are
    /// `(number of steps * probability)^-beta`, as in the paper.
    pub(super) fn draw_by_priority(
        &self,
        task: usize,
        count: usize,
        beta: f32,
        rng: &mut impl Rng,
        draws: &mut Vec<Draw>,
    ) {
        let tree = &self.priorities[task];
        let steps = self.ready_steps(task) as f64;
        for part in 0..count {
            let position = (part as f64 + rng.random::<f64>()) / count as f64 * tree.total();
            let entry = tree.find(position);
            let (env, step_id) = self.step_of(task, entry);
            let probability = tree.priority(entry) / tree.total();
            let correction = (steps * probability).recip();
            let weight = correction.powf(beta.into()) as f32;
            draws.push(Draw { env, step_id, weight, correction: correction as f32 });
        }
    }

    /// Returns a step as if it had been drawn uniformly. `index` counts the steps of the environment that can be drawn.
    #[cfg(test)]
    pub(crate) fn draw_of(&self, env: usize, index: usize) -> Draw {
        Draw { env, step_id: self.histories[env].step_id(index), weight: 1.0, correction: 1.0 }
    }

    /// Returns the number of steps of an environment that can be drawn.
    #[cfg(test)]
    pub(crate) fn ready_steps_of(&self, env: usize) -> usize {
        self.histories[env].ready_steps()
    }

    /// Returns the priority of a drawn step, after the exponent was applied.
    #[cfg(test)]
    pub(crate) fn priority(&self, draw: &Draw) -> f64 {
        self.priorities[self.task_positions[draw.env].0].priority(self.entry(draw.env, draw.step_id))
    }

    /// Gives steps that can now be drawn their first priority, and evicted ones none.
    pub(super) fn update_priorities(&mut self, env: usize, evicted: Range<u64>, ready: Range<u64>) {
        let Some(alpha) = self.options.alpha else { return };
        let (task, _) = self.task_positions[env];
        let first_priority = self.max_priorities[task].powf(alpha.into());
        for (steps, priority) in [(evicted, 0.0), (ready, first_priority)] {
            for step_id in steps {
                let entry = self.entry(env, step_id);
                self.priorities[task].set(entry, priority);
            }
        }
    }

    /// Updates the priorities of drawn steps from the errors of the network.
    pub(crate) fn set_errors(&mut self, draws: &[Draw], errors: &[f32]) {
        let Some(alpha) = self.options.alpha else { return };
        for (draw, &error) in draws.iter().zip(errors) {
            if self.histories[draw.env].is_ready(draw.step_id) {
                let priority = f64::from(error.abs()) + PRIORITY_EPSILON;
                let (task, _) = self.task_positions[draw.env];
                self.max_priorities[task] = self.max_priorities[task].max(priority);
                let entry = self.entry(draw.env, draw.step_id);
                self.priorities[task].set(entry, priority.powf(alpha.into()));
            }
        }
    }

    /// Returns the number of steps of a task that can be drawn.
    pub(super) fn ready_steps(&self, task: usize) -> usize {
        self.envs_of[task].iter().map(|&env| self.histories[env].ready_steps()).sum()
    }

    /// Returns the index of a step in its task's priorities.
    pub(super) fn entry(&self, env: usize, step_id: u64) -> usize {
        let (_, position) = self.task_positions[env];
        position * self.histories[env].capacity() + self.histories[env].slot(step_id)
    }

    /// Returns the step at an index of its task's priorities. Environments of a task have equal shares.
    fn step_of(&self, task: usize, entry: usize) -> (usize, u64) {
        let envs = &self.envs_of[task];
        let capacity = self.histories[envs[0]].capacity();
        let env = envs[entry / capacity];
        (env, self.histories[env].step_in_slot(entry % capacity))
    }
}
