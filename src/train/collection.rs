//! Collection of experience: all environments step together, or groups of them take turns.

use std::collections::VecDeque;
use std::time::Instant;

use anyhow::Result;
use rl_env::{Batch, VectorError};

use super::clock::Phases;
use crate::environments::Environments;
use crate::learner::Learner;

/// The order in which environments step.
pub(super) enum Collection {
    /// All environments step, then the actions of all are computed.
    Together,
    /// Groups take turns: while the actions of one are computed, the others step.
    InTurn(Turns),
}

/// The turns of the groups. In a round every group acts once, always in the same order.
pub(super) struct Turns {
    groups: usize,
    /// The number of groups that have acted in the current round.
    acted: usize,
    /// The batches of the groups that wait for actions or for an update, in the order of their turns.
    resting: VecDeque<Batch>,
}

impl Collection {
    /// Starts with environments that have just been reset or restored.
    pub(super) fn begin(environments: &mut dyn Environments) -> Result<Self, VectorError> {
        let groups = environments.num_envs() / environments.batch_size();
        if groups == 1 {
            return Ok(Self::Together);
        }
        let mut resting = VecDeque::from([environments.batch().clone()]);
        for _ in 1..groups {
            resting.push_back(environments.recv()?.clone());
        }
        Ok(Self::InTurn(Turns { groups, acted: 0, resting }))
    }

    /// Returns true if all environments have made the same number of steps and none is stepping. Only then can a run
    /// stop: a resumed run begins the next round with the first group.
    pub(super) fn is_at_rest(&self) -> bool {
        match self {
            Self::Together => true,
            Self::InTurn(turns) => turns.acted == 0 && turns.resting.len() == turns.groups,
        }
    }

    /// Steps some environments, and lets the learner act and observe. Returns the observed batch, if there is one. If
    /// `stops` is true, no new round begins.
    pub(super) fn step<'a>(
        &mut self,
        environments: &'a mut dyn Environments,
        learner: &mut dyn Learner,
        phases: &mut Phases,
        stops: bool,
    ) -> Result<Option<&'a Batch>> {
        match self {
            Self::Together => step_together(environments, learner, phases).map(Some),
            Self::InTurn(turns) => turns.step(environments, learner, phases, stops),
        }
    }

    /// Lets the learner observe the end of a step in progress, after a [failure](Environments::has_failed) of the
    /// environments, until they are [at rest](Self::is_at_rest).
    pub(super) fn end_step<'a>(
        &mut self,
        environments: &'a mut dyn Environments,
        learner: &mut dyn Learner,
        phases: &mut Phases,
    ) -> Result<Option<&'a Batch>> {
        match self {
            Self::Together => {
                let batch = environments.recv()?;
                learner.observe(batch)?;
                Ok(Some(batch))
            }
            Self::InTurn(turns) => turns.step(environments, learner, phases, true),
        }
    }
}

/// Steps every environment once.
fn step_together<'a>(
    environments: &'a mut dyn Environments,
    learner: &mut dyn Learner,
    phases: &mut Phases,
) -> Result<&'a Batch> {
    let began = Instant::now();
    let actions = learner.act(environments.batch())?;
    let acted = Instant::now();
    let batch = environments.step(actions)?;
    let stepped = Instant::now();
    learner.observe(batch)?;
    phases.environments += stepped - acted;
    phases.acting += (acted - began) + stepped.elapsed();
    Ok(batch)
}

impl Turns {
    /// Sends the actions of a resting group, or else receives the batch of the next group and sends its actions.
    fn step<'a>(
        &mut self,
        environments: &'a mut dyn Environments,
        learner: &mut dyn Learner,
        phases: &mut Phases,
        stops: bool,
    ) -> Result<Option<&'a Batch>> {
        let began = Instant::now();
        let is_over = stops && self.acted == 0;
        // A group that has completed its part of a rollout waits for the others and for the update.
        if let Some(batch) = self.resting.pop_front_if(|batch| !is_over && learner.can_act(batch)) {
            environments.send_to(learner.act(&batch)?, &batch.env_ids)?;
            self.count();
            phases.acting += began.elapsed();
            return Ok(None);
        }
        environments.recv()?;
        let received = Instant::now();
        let batch = environments.batch();
        learner.observe(batch)?;
        if !is_over && learner.can_act(batch) {
            environments.send(learner.act(batch)?)?;
            self.count();
        } else {
            self.resting.push_back(batch.clone());
        }
        phases.environments += received - began;
        phases.acting += received.elapsed();
        Ok(Some(environments.batch()))
    }

    /// Counts a turn.
    fn count(&mut self) {
        self.acted = (self.acted + 1) % self.groups;
    }
}

#[cfg(test)]
mod tests;
