use std::collections::BTreeMap;
use std::path::PathBuf;

use algorithms::{Task, VectorSpec};
use anyhow::{Context, Result, ensure};
use rl_env::{ActionBuffer, AutoresetMode, Batch, Space};

use super::error::CallError;
use super::own_thread::OwnThread;
use super::rows::fill;
use super::run::json_of;
use crate::agent::TrainedAgent;
use crate::cli::CheckpointArgs;
use crate::learner::{self, Player, Reading};
use crate::telemetry::Printer;
use crate::threads::set_threads;

/// A trained agent that acts on observations of the caller.
pub struct Agent {
    on_thread: OwnThread<Acting>,
    /// The games that it was trained on.
    pub tasks: Vec<AgentTask>,
    /// The space of its observations.
    pub observation_space: Space,
    /// Its experiment as JSON.
    pub experiment: String,
    /// The number of emulated frames of its training.
    pub frames: u64,
    /// True if its network is recurrent: then its players have a state.
    pub is_recurrent: bool,
    /// The bytes of an action mask, which [`act`](Self::act) then needs; 0 if the agent was trained without masks.
    pub mask_bytes: usize,
}

/// A game that an agent plays.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentTask {
    /// The name.
    pub name: String,
    /// The action space.
    pub action_space: Space,
}

/// The outputs of an agent's network for some observations.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentOutputs {
    /// For each observation, the probability of each action, or with `are_values` its value. `MultiDiscrete` actions
    /// have those of the options of each choice. Empty if actions are continuous.
    pub actions: Vec<Vec<f32>>,
    /// True if the network learns the values of actions.
    pub are_values: bool,
    /// The value of each observation: an estimate of the discounted sum of future rewards as the learner sees them.
    pub values: Vec<f32>,
}

/// Identifies a player of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlayerId(u64);

/// The part on the agent's thread.
struct Acting {
    learner: Box<dyn learner::Learner>,
    players: BTreeMap<PlayerId, Playing>,
    next: u64,
}

struct Playing {
    player: Box<dyn Player>,
    batch: Batch,
}

impl Agent {
    /// Opens an agent: the directory of a run or of a checkpoint, a file of `ale-train export`, or `zoo:NAME`. `best`
    /// chooses the best checkpoint of a run instead of the last one.
    pub fn open(path: PathBuf, best: bool) -> Result<Self, CallError> {
        let args = CheckpointArgs { checkpoint: path, best };
        let trained = TrainedAgent::open(&args, &Printer::Quiet)?;
        let (frames, is_recurrent) = (trained.frames, trained.experiment.policy.lstm > 0);
        let experiment = json_of(&trained.experiment.to_toml()?)?;
        // Opened again on the thread, because networks stay on the thread that creates them.
        let on_thread = OwnThread::new(move || {
            let trained = TrainedAgent::open(&args, &Printer::Quiet)?;
            set_threads(trained.experiment.num_threads())?;
            Ok(Acting { learner: trained.restore()?, players: BTreeMap::new(), next: 0 })
        })?;
        let spec = on_thread.call(|acting| Ok(acting.learner.spec().clone()))?;
        let mask_bytes = spec.mask_bytes();
        let tasks = spec.tasks.iter();
        let tasks =
            tasks.map(|task| AgentTask { name: task.name.clone(), action_space: task.actions.space() });
        Ok(Self {
            on_thread,
            tasks: tasks.collect(),
            observation_space: spec.observation_space,
            experiment,
            frames,
            is_recurrent,
            mask_bytes,
        })
    }

    /// Creates a player for `num_envs` environments of the game with this index in `tasks`. It takes the best actions
    /// if `greedy` is true, and samples them with `seed` otherwise.
    pub fn player(
        &self,
        task: usize,
        num_envs: usize,
        greedy: bool,
        seed: u64,
    ) -> Result<PlayerId, CallError> {
        self.on_thread.call(move |acting| Ok(acting.player(task, num_envs, greedy, seed)?))
    }

    /// Removes a player.
    pub fn remove(&self, player: PlayerId) -> Result<(), CallError> {
        self.on_thread.call(move |acting| {
            acting.players.remove(&player);
            Ok(())
        })
    }

    /// Returns an action for each observation. `observations` are the rows of all environments, one after the other,
    /// `starts` is true where an episode starts, and `masks` are the [action masks](Batch::action_masks), empty if the
    /// agent was trained without them.
    pub fn act(
        &self,
        player: PlayerId,
        observations: Vec<u8>,
        starts: Vec<bool>,
        masks: Vec<u8>,
    ) -> Result<ActionBuffer, CallError> {
        self.on_thread.call(move |acting| Ok(acting.act(player, &observations, starts, &masks)?))
    }

    /// Returns the outputs of the network on which [`act`](Self::act) would base its actions. The state of the player
    /// does not change.
    pub fn outputs(
        &self,
        player: PlayerId,
        observations: Vec<u8>,
        starts: Vec<bool>,
        masks: Vec<u8>,
    ) -> Result<AgentOutputs, CallError> {
        self.on_thread.call(move |acting| Ok(acting.outputs(player, &observations, starts, &masks)?))
    }
}

impl AgentOutputs {
    fn new(readings: Vec<Reading>) -> Self {
        let values = readings.iter().map(Reading::value).collect();
        let are_values = readings.iter().any(|reading| matches!(reading, Reading::Values(_)));
        let of_actions = |reading| match reading {
            Reading::Policy { probabilities, .. } => probabilities,
            Reading::Values(values) => values,
        };
        Self { actions: readings.into_iter().map(of_actions).collect(), are_values, values }
    }
}

impl Acting {
    fn player(&mut self, task: usize, num_envs: usize, greedy: bool, seed: u64) -> Result<PlayerId> {
        let trained = self.learner.spec();
        let task: Task = trained.tasks.get(task).context("the agent has no such game")?.clone();
        let spec = VectorSpec {
            tasks: vec![task],
            task_ids: vec![0; num_envs],
            autoreset_mode: AutoresetMode::SameStep,
            ..trained.clone()
        };
        let player = self.learner.player(&spec, greedy, seed)?;
        let batch = Batch::new(num_envs, spec.observation_space.byte_len(), true);
        let batch = match spec.mask_bytes() {
            0 => batch,
            bytes => batch.with_action_masks(bytes),
        };
        let id = PlayerId(self.next);
        self.next += 1;
        self.players.insert(id, Playing { player, batch });
        Ok(id)
    }

    fn act(
        &mut self,
        player: PlayerId,
        observations: &[u8],
        starts: Vec<bool>,
        masks: &[u8],
    ) -> Result<ActionBuffer> {
        let Playing { player, batch } = self.observed(player, observations, starts, masks)?;
        Ok(player.act(batch)?)
    }

    fn outputs(
        &mut self,
        player: PlayerId,
        observations: &[u8],
        starts: Vec<bool>,
        masks: &[u8],
    ) -> Result<AgentOutputs> {
        let Playing { player, batch } = self.observed(player, observations, starts, masks)?;
        Ok(AgentOutputs::new(player.readings(batch)?))
    }

    /// Returns a player with the observations in its batch.
    fn observed(
        &mut self,
        player: PlayerId,
        observations: &[u8],
        starts: Vec<bool>,
        masks: &[u8],
    ) -> Result<&mut Playing> {
        let playing = self.players.get_mut(&player).context("the player was removed")?;
        let batch = &mut playing.batch;
        let rows = batch.len();
        ensure!(starts.len() == rows, "{} starts are not those of {rows} environments", starts.len());
        fill(&mut batch.observations, observations, "observations")?;
        fill(&mut batch.action_masks, masks, "action masks")?;
        // A row after the end of an episode is the first of the next one.
        batch.terminated = starts;
        Ok(playing)
    }
}
