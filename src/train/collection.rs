//! How experience is collected: all environments step together, or two halves in turn.

use std::collections::VecDeque;
use std::time::Instant;

use anyhow::Result;
use rl_env::{Actions, Batch, EnvError};

use super::clock::Phases;
use crate::environments::Environments;
use crate::learner::Learner;

/// Who steps when.
pub(super) enum Collection {
    /// All environments step, then actions are chosen for all.
    Together,
    /// Groups take turns: while actions are chosen for one, the others step. The batches are those of groups that rest,
    /// whose last step has been learned from or waits for that, in the order of their turns.
    InTurn(VecDeque<Batch>),
}

impl Collection {
    /// For environments that have just been reset or restored.
    pub(super) fn begin(environments: &mut dyn Environments) -> Result<Self, EnvError> {
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

    /// Lets some environments step, and the learner act in them and observe. Returns what was observed, if anything was.
    pub(super) fn step<'a>(
        &mut self,
        environments: &'a mut dyn Environments,
        learner: &mut dyn Learner,
        phases: &mut Phases,
    ) -> Result<Option<&'a Batch>> {
        match self {
            Self::Together => step_together(environments, learner, phases).map(Some),
            // A group that has completed its part of a rollout rests until all have, and the learner has learned.
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

/// One step of every environment.
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

/// Takes what the group has done whose turn it is, and sends it on, unless it has to wait for an update.
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
