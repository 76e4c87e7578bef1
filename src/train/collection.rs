//! Collection of experience: all environments step together, or two halves take turns.

use std::collections::VecDeque;
use std::time::Instant;

use anyhow::Result;
use rl_env::{Actions, Batch, VectorError};

use super::clock::Phases;
use crate::environments::Environments;
use crate::learner::Learner;

/// The order in which environments step.
pub(super) enum Collection {
    /// All environments step, then the actions of all are computed.
    Together,
    /// Groups take turns: while the actions of one are computed, the others step. Holds the batches of the groups that
    /// wait for actions or for an update, in the order of their turns.
    InTurn(VecDeque<Batch>),
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
        Ok(Self::InTurn(resting))
    }

    /// Lets some environments step and the learner act and observe. Returns the observed batch, if there is one.
    pub(super) fn step<'a>(
        &mut self,
        environments: &'a mut dyn Environments,
        learner: &mut dyn Learner,
        phases: &mut Phases,
    ) -> Result<Option<&'a Batch>> {
        match self {
            Self::Together => step_together(environments, learner, phases).map(Some),
            // A group that has completed its part of a rollout waits for the others and for the update.
            Self::InTurn(resting) => match resting.pop_front_if(|batch| learner.can_act(batch)) {
                Some(batch) => {
                    let began = Instant::now();
                    environments.send_to(Actions::Discrete(learner.act(&batch)?), &batch.env_ids)?;
                    phases.acting += began.elapsed();
                    Ok(None)
                }
                None => step_in_turn(resting, environments, learner, phases).map(Some),
            },
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
    let batch = environments.step(Actions::Discrete(actions))?;
    let stepped = Instant::now();
    learner.observe(batch)?;
    phases.environments += stepped - acted;
    phases.acting += (acted - began) + stepped.elapsed();
    Ok(batch)
}

/// Receives the batch of the next group and sends its actions, unless it has to wait for an update.
fn step_in_turn<'a>(
    resting: &mut VecDeque<Batch>,
    environments: &'a mut dyn Environments,
    learner: &mut dyn Learner,
    phases: &mut Phases,
) -> Result<&'a Batch> {
    let began = Instant::now();
    environments.recv()?;
    let received = Instant::now();
    let batch = environments.batch();
    learner.observe(batch)?;
    if learner.can_act(batch) {
        environments.send(Actions::Discrete(learner.act(batch)?))?;
    } else {
        resting.push_back(batch.clone());
    }
    phases.environments += received - began;
    phases.acting += received.elapsed();
    Ok(environments.batch())
}
