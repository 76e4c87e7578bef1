use rl_env::{ActionBuffer, Actions};

use super::random_envs::RandomEnvs;
use super::rule::{LearnerRule, LearnerViolation};
use crate::LearnerError;
use crate::engine::Resumable;

/// A learner and the environments in which it acts.
pub(super) struct TrainingLoop<L> {
    pub(super) learner: L,
    pub(super) envs: RandomEnvs,
}

/// The outcome of a step: the actions, and the metrics of an update if one was due.
pub(super) type Outcome<L> = (ActionBuffer, Option<<L as Resumable>::Metrics>);

impl<L: Resumable> TrainingLoop<L> {
    pub(super) fn new(learner: L) -> Self {
        let envs = RandomEnvs::new(learner.spec().clone());
        Self { learner, envs }
    }

    /// Chooses actions.
    pub(super) fn act(&mut self) -> Result<ActionBuffer, LearnerViolation> {
        let actions = self.learner.act(&self.envs.batch).map_err(failed)?;
        LearnerRule::RespectsMasks.check(self.envs.allow(actions), format!("{actions:?} was chosen"))?;
        Ok(match actions {
            Actions::Discrete(elements) => ActionBuffer::Discrete(elements.to_vec()),
            Actions::Continuous(elements) => ActionBuffer::Continuous(elements.to_vec()),
        })
    }

    /// Steps the environments, and observes the result.
    pub(super) fn observe(&mut self) -> Result<(), LearnerViolation> {
        self.envs.step();
        self.learner.observe(&self.envs.batch).map_err(failed)
    }

    /// Updates the network if an update is due.
    pub(super) fn update(&mut self) -> Result<Option<L::Metrics>, LearnerViolation> {
        if self.learner.is_ready() { self.learner.update_unless(&|| false).map_err(failed) } else { Ok(None) }
    }

    /// Makes a step, with an update if one is due.
    pub(super) fn step(&mut self) -> Result<Outcome<L>, LearnerViolation> {
        let actions = self.act()?;
        self.observe()?;
        Ok((actions, self.update()?))
    }

    /// Makes steps without updates until one is due, with large rewards, so that scales of values change.
    pub(super) fn fill(&mut self) -> Result<(), LearnerViolation> {
        while !self.learner.is_ready() {
            self.act()?;
            self.envs.step();
            self.envs.batch.rewards.iter_mut().for_each(|reward| *reward *= 30.0);
            self.learner.observe(&self.envs.batch).map_err(failed)?;
        }
        Ok(())
    }

    pub(super) fn state(&self) -> Result<Vec<u8>, LearnerViolation> {
        self.learner.state().map_err(failed)
    }
}

/// Returns the violation of a call in order that failed.
#[expect(clippy::needless_pass_by_value, reason = "errors are mapped by value")]
pub(super) fn failed(error: LearnerError) -> LearnerViolation {
    LearnerViolation { rule: LearnerRule::LearnsInItsEnvironments, problem: error.to_string() }
}
