use std::ffi::OsString;

use algorithms::cluster::Cluster;
use algorithms::{Task, TaskActions, VectorSpec};
use anyhow::{Context, Result, ensure};
use burn::tensor::Device;
use rl_env::{ActionBuffer, Actions, AutoresetMode, Batch, Space};
use serde::{Deserialize, Serialize};

use super::error::CallError;
use super::own_thread::OwnThread;
use super::rows::fill;
use super::run::training_command;
use crate::config::Experiment;
use crate::learner;
use crate::telemetry::Printer;
use crate::threads::set_threads;
use crate::train::Planned;

/// A learner that observes the environments of the caller, in a loop of [`act`](Self::act), [`observe`](Self::observe)
/// and [`update`](Self::update).
pub struct Learner {
    on_thread: OwnThread<Learning>,
}

/// The result of one step of all environments. Each field has an entry for each environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transition {
    /// The next observations, one after the other.
    pub observations: Vec<u8>,
    /// The rewards.
    pub rewards: Vec<f32>,
    /// True if the episode terminated.
    pub terminated: Vec<bool>,
    /// True if the episode was truncated.
    pub truncated: Vec<bool>,
    /// With [`AutoresetMode::SameStep`], the last observations of the episodes that ended, one after the other; the
    /// other rows are arbitrary.
    pub final_observations: Vec<u8>,
    /// The [action masks](Batch::action_masks) of the next observations; empty without masks.
    pub action_masks: Vec<u8>,
    /// The action masks of the final observations; empty without masks or without final observations.
    pub final_action_masks: Vec<u8>,
}

/// The environments of a [`Learner`].
#[derive(Clone, Debug, PartialEq)]
pub struct LearnerEnvs {
    /// The number of environments.
    pub num_envs: usize,
    /// The space of their observations.
    pub observation_space: Space,
    /// The space of their actions.
    pub action_space: Space,
    /// True if their actions have masks.
    pub are_masked: bool,
    /// When they are reset.
    pub autoreset_mode: AutoresetMode,
}

/// The part on the learner's thread.
struct Learning {
    experiment: Experiment,
    device: Device,
    learner: Box<dyn learner::Learner>,
    batch: Batch,
    /// True if an action was chosen and its result is still to be observed.
    has_acted: bool,
    /// True once the learner has observed the current observations.
    is_observed: bool,
    /// The environments whose next step is an autoreset.
    is_over: Vec<bool>,
}

impl Learner {
    /// Creates a learner for these environments. `arguments` are those of a training command with one game, whose name
    /// alone is used.
    pub fn new(arguments: Vec<OsString>, envs: LearnerEnvs) -> Result<Self, CallError> {
        let on_thread = OwnThread::new(move || {
            let experiment = Planned::of(&training_command(arguments)?, &Printer::Quiet)?.experiment;
            Ok(Learning::new(experiment, envs)?)
        })?;
        Ok(Self { on_thread })
    }

    /// Returns an action for each environment, given their observations one after the other. `masks` are their action
    /// masks, which are needed only with observations that were not observed.
    pub fn act(&self, observations: Vec<u8>, masks: Vec<u8>) -> Result<ActionBuffer, CallError> {
        self.on_thread.call(move |learning| Ok(learning.act(&observations, &masks)?))
    }

    /// Observes the results of the last actions.
    pub fn observe(&self, transition: Transition) -> Result<(), CallError> {
        self.on_thread.call(move |learning| Ok(learning.observe(transition)?))
    }

    /// Updates the network if an update is due, and returns its metrics. Returns nothing if none is due.
    pub fn update(&self) -> Result<Option<Vec<(String, f64)>>, CallError> {
        self.on_thread.call(|learning| Ok(learning.update()?))
    }

    /// Returns the number of updates so far, and true if the planned training is complete.
    pub fn progress(&self) -> Result<(u64, bool), CallError> {
        self.on_thread.call(|learning| Ok((learning.learner.updates(), learning.learner.is_complete())))
    }

    /// Returns the complete state, from which [`restore`](Self::restore) continues bit for bit. Possible between
    /// `observe` and `act` only.
    pub fn state(&self) -> Result<Vec<u8>, CallError> {
        self.on_thread.call(|learning| Ok(learning.state()?))
    }

    /// Restores a state. The next call is `act`, with the observations that follow.
    pub fn restore(&self, state: Vec<u8>) -> Result<(), CallError> {
        self.on_thread.call(move |learning| Ok(learning.restore(&state)?))
    }
}

impl Learning {
    fn new(experiment: Experiment, envs: LearnerEnvs) -> Result<Self> {
        let LearnerEnvs { num_envs, observation_space, action_space, are_masked, autoreset_mode } = envs;
        let name = experiment.games.names()[0];
        let actions = TaskActions::of_space(&action_space)
            .with_context(|| format!("learners do not support the action space {action_space}"))?;
        let actions = if are_masked { actions.masked() } else { actions };
        let task = Task::of_actions(name, actions);
        let row_bytes = observation_space.byte_len();
        let spec = VectorSpec {
            observation_space,
            shared_outputs: task.shared.len(),
            tasks: vec![task],
            task_ids: vec![0; num_envs],
            autoreset_mode,
        };
        set_threads(experiment.num_threads())?;
        let batch = Batch::new(num_envs, row_bytes, autoreset_mode == AutoresetMode::SameStep);
        let batch = match spec.mask_bytes() {
            0 => batch,
            bytes => batch.with_action_masks(bytes),
        };
        let (policy, device, seed) =
            (experiment.policy.clone(), experiment.device.open()?, experiment.run.seed);
        let learner = experiment.algorithm.create(policy, spec, Cluster::default(), &device, seed)?;
        let is_over = vec![false; num_envs];
        Ok(Self { experiment, device, learner, batch, has_acted: false, is_observed: false, is_over })
    }

    fn act(&mut self, observations: &[u8], masks: &[u8]) -> Result<ActionBuffer> {
        ensure!(!self.has_acted, "observe the results of the last actions before the next act");
        ensure!(!self.learner.is_ready(), "an update is due: call update before the next act");
        ensure!(!self.learner.is_complete(), "the planned training is complete");
        if self.is_observed {
            ensure!(
                rows_equal(&self.batch, observations),
                "act was given observations other than those that were observed last"
            );
        } else {
            fill(&mut self.batch.observations, observations, "observations")?;
            fill(&mut self.batch.action_masks, masks, "action masks")?;
        }
        let actions = match self.learner.act(&self.batch)? {
            Actions::Discrete(actions) => ActionBuffer::Discrete(actions.to_vec()),
            Actions::Continuous(actions) => ActionBuffer::Continuous(actions.to_vec()),
        };
        self.has_acted = true;
        Ok(actions)
    }

    fn observe(&mut self, transition: Transition) -> Result<()> {
        ensure!(self.has_acted, "act before you observe");
        let Transition { rewards, terminated, truncated, .. } = transition;
        let num_envs = self.batch.len();
        let lengths = [rewards.len(), terminated.len(), truncated.len()];
        ensure!(
            lengths == [num_envs; 3],
            "{lengths:?} rewards, terminations and truncations are not those of {num_envs} environments"
        );
        fill(&mut self.batch.observations, &transition.observations, "observations")?;
        fill(&mut self.batch.action_masks, &transition.action_masks, "action masks")?;
        if self.batch.final_observations.rows() > 0 {
            fill(&mut self.batch.final_observations, &transition.final_observations, "final observations")?;
            fill(&mut self.batch.final_action_masks, &transition.final_action_masks, "final action masks")?;
        }
        let has_ended =
            || terminated.iter().zip(&truncated).map(|(&terminated, &truncated)| terminated || truncated);
        if self.learner.spec().autoreset_mode == AutoresetMode::NextStep {
            let ended = has_ended().collect();
            self.batch.autoreset = std::mem::replace(&mut self.is_over, ended);
        }
        self.batch.steps = self.batch.autoreset.iter().map(|&autoreset| u32::from(!autoreset)).collect();
        self.batch.raw_rewards.clone_from(&rewards);
        (self.batch.rewards, self.batch.terminated, self.batch.truncated) = (rewards, terminated, truncated);
        self.learner.observe(&self.batch)?;
        (self.has_acted, self.is_observed) = (false, true);
        Ok(())
    }

    fn update(&mut self) -> Result<Option<Vec<(String, f64)>>> {
        if !self.learner.is_ready() {
            return Ok(None);
        }
        let samples = self.learner.update_unless(&|| false)?;
        let samples = samples.unwrap_or_default().into_iter();
        Ok(Some(samples.map(|sample| (sample.tag(), sample.value)).collect()))
    }

    fn state(&self) -> Result<Vec<u8>> {
        ensure!(!self.has_acted, "observe the results of the last actions before you save the state");
        let Self { batch, is_over, .. } = self;
        let state = State {
            terminated: batch.terminated.clone(),
            truncated: batch.truncated.clone(),
            autoreset: batch.autoreset.clone(),
            is_over: is_over.clone(),
            learner: self.learner.state()?,
        };
        Ok(postcard::to_stdvec(&state)?)
    }

    fn restore(&mut self, state: &[u8]) -> Result<()> {
        let state: State = postcard::from_bytes(state).context("the bytes are not the state of a learner")?;
        let Experiment { algorithm, policy, .. } = &self.experiment;
        let spec = self.learner.spec().clone();
        let learner =
            algorithm.restore(&state.learner, policy.clone(), &spec, Cluster::default(), &self.device)?;
        ensure!(
            *learner.spec() == spec && state.is_over.len() == spec.num_envs(),
            "the state is that of a learner for other environments"
        );
        let State { terminated, truncated, autoreset, is_over, learner: _ } = state;
        self.batch = Batch { terminated, truncated, autoreset, ..self.batch.clone() };
        (self.learner, self.is_over) = (learner, is_over);
        (self.has_acted, self.is_observed) = (false, false);
        Ok(())
    }
}

/// The state of a learner between two steps, without the observations, which the next call of `act` brings.
#[derive(Serialize, Deserialize)]
struct State {
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    autoreset: Vec<bool>,
    is_over: Vec<bool>,
    learner: Vec<u8>,
}

/// Returns true if the observations of a batch are these.
fn rows_equal(batch: &Batch, observations: &[u8]) -> bool {
    let row_bytes = batch.observations.row_bytes();
    observations.len() == batch.len() * row_bytes
        && observations
            .chunks(row_bytes.max(1))
            .enumerate()
            .all(|(row, given)| batch.observations.row(row) == given)
}
