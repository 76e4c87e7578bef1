//! State shared by the learners with a replay buffer.

use std::io::Write;

use burn::module::Module;
use rand_chacha::ChaCha8Rng;
use rl_env::Batch;
use serde::Serialize;

use crate::cluster::Cluster;
use crate::engine::gradient::{Gradient, GradientVectors, ShardGradient};
use crate::engine::placement::Placement;
use crate::engine::replay_plan::ReplayPlan;
use crate::engine::seeds::Stream;
use crate::engine::training::Training;
use crate::error::ensure_in_order;
use crate::experience::batch_reader::{BatchRow, check_final_observations, check_rewards, rows};
use crate::experience::replay::{
    ActionElement, Draw, Priorities, ReplayBuffer, ReplayOptions, ReplayState, decode_frames,
};
use crate::networks::ObservationLayout;
use crate::state_bytes::{Header, bad, end};
use crate::{LearnerError, VectorSpec};

/// The minimum number of due gradient steps for which an update can be stopped. Fewer steps take so little time that
/// copying the state would noticeably prolong the update.
const MIN_STOPPABLE_STEPS: f64 = 8.0;

/// The largest number of due gradient steps in a state. It is far above that of any training, but an update with more
/// would not end.
const MAX_DUE_GRADIENT_STEPS: f64 = 1e9;

/// Replay buffer, random generators and schedule of an off-policy learner. All of it is the same in every process of
/// its cluster, except that each process stores only the observations of its own environments.
pub struct OffPolicy<E> {
    pub(crate) spec: VectorSpec,
    pub(crate) layout: ObservationLayout,
    plan: ReplayPlan,
    pub(crate) replay: ReplayBuffer<E>,
    pub(crate) action_rng: ChaCha8Rng,
    pub(crate) replay_rng: ChaCha8Rng,
    pub(crate) noise_rng: ChaCha8Rng,
    /// The number of steps observed, over all environments.
    pub(crate) steps: u64,
    /// The number of gradient steps made.
    pub(crate) updates: u64,
    /// The number of gradient steps that are due, including a fraction.
    pub(crate) due_gradient_steps: f64,
    /// The processes that train this learner together.
    pub(crate) cluster: Cluster,
}

/// The fields that an update changes, with their values before the update.
pub(crate) struct BeforeUpdate {
    replay_rng: ChaCha8Rng,
    noise_rng: ChaCha8Rng,
    updates: u64,
    due_gradient_steps: f64,
    priorities: Priorities,
}

/// The rows of a minibatch that come from one shard.
#[derive(Clone, Debug)]
pub(crate) struct ShardRows {
    /// The index of the shard among those of this process.
    shard: usize,
    /// The index of each row in the whole minibatch.
    pub(crate) rows: Vec<usize>,
}

impl ShardRows {
    /// Selects the values of these rows. `values` has one for each row of the whole minibatch.
    pub(crate) fn select<T: Copy>(&self, values: &[T]) -> Vec<T> {
        self.rows.iter().map(|&row| values[row]).collect()
    }
}

impl<E: ActionElement> OffPolicy<E> {
    /// Creates the state before the first step, with an empty replay buffer.
    pub(crate) fn new(
        spec: VectorSpec,
        layout: ObservationLayout,
        options: ReplayOptions,
        plan: ReplayPlan,
        Placement { cluster, storage }: Placement,
        seed: u64,
    ) -> Result<Self, LearnerError> {
        cluster.check_envs(spec.num_envs())?;
        Ok(Self {
            replay: ReplayBuffer::new(&spec, layout, options, &cluster, storage)?,
            action_rng: Stream::Actions.rng(seed),
            replay_rng: Stream::Minibatches.rng(seed),
            noise_rng: Stream::Noise.rng(seed),
            steps: 0,
            updates: 0,
            due_gradient_steps: 0.0,
            spec,
            layout,
            plan,
            cluster,
        })
    }

    /// Returns true once the planned training is done.
    pub(crate) fn is_complete(&self) -> bool {
        self.steps >= self.plan.total_steps
    }

    /// Returns true if a gradient step is due.
    pub(crate) fn is_ready(&self) -> bool {
        self.due_gradient_steps >= 1.0 && !self.replay.is_acting() && self.replay.can_draw()
    }

    pub(crate) fn can_act(&self) -> bool {
        !self.replay.is_acting() && !self.is_ready()
    }

    pub(crate) fn check_act(&self) -> Result<(), LearnerError> {
        ensure_in_order(
            self.can_act(),
            "act was called before the last actions were observed and learned from",
        )
    }

    /// Evaluates the rows of a batch with `evaluate`, each shard separately: the rounding of an output may depend on
    /// the other rows.
    pub(crate) fn evaluate_by_shard<T: Clone>(
        &self,
        batch: &Batch,
        evaluate: impl FnMut(&[BatchRow]) -> Result<Vec<T>, LearnerError>,
    ) -> Result<Vec<T>, LearnerError> {
        let rows = rows(batch);
        let shards = self.cluster.split(&rows, |row| row.env, self.spec.num_envs());
        let parts: Vec<Vec<T>> = shards.into_iter().map(evaluate).collect::<Result<_, _>>()?;
        Ok(parts.concat())
    }

    /// Returns the element of each environment's row, given those of a batch of this process's environments; `None` for
    /// the environments of other processes.
    pub(crate) fn by_env<'a, T>(
        &self,
        of_rows: &'a [T],
    ) -> impl Iterator<Item = Option<&'a T>> + use<'a, T, E> {
        let own_envs = self.replay.own_envs();
        (0..self.spec.num_envs()).map(move |env| of_rows.get(env.checked_sub(own_envs.start)?))
    }

    /// Fails unless `act` was called before.
    pub(crate) fn check_observe(&self) -> Result<(), LearnerError> {
        ensure_in_order(self.replay.is_acting(), "observe was called without a preceding act")
    }

    /// Stores the result of the last actions.
    pub(crate) fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        check_final_observations(batch, self.spec.autoreset_mode)?;
        check_rewards(batch)?;
        let steps = self.replay.end_step(batch, &self.cluster)?;
        self.steps = self.steps.saturating_add(steps);
        // Counts the steps in the replay buffer, so that a lost one is filled again before learning
        // continues.
        if self.replay.written() >= self.plan.learning_starts as u64 {
            self.due_gradient_steps += steps as f64 * self.plan.train_ratio;
        }
        Ok(())
    }

    /// Fails unless a gradient step is due. If many are due, returns the state that [`undo_update`](Self::undo_update)
    /// restores.
    pub(crate) fn begin_update(&self) -> Result<Option<BeforeUpdate>, LearnerError> {
        ensure_in_order(self.is_ready(), "update was called before a gradient step was due")?;
        Ok((self.due_gradient_steps >= MIN_STOPPABLE_STEPS).then(|| BeforeUpdate {
            replay_rng: self.replay_rng.clone(),
            noise_rng: self.noise_rng.clone(),
            updates: self.updates,
            due_gradient_steps: self.due_gradient_steps,
            priorities: self.replay.priorities(),
        }))
    }

    /// Undoes an update.
    pub(crate) fn undo_update(&mut self, before: BeforeUpdate) {
        let BeforeUpdate { replay_rng, noise_rng, updates, due_gradient_steps, priorities } = before;
        (self.replay_rng, self.noise_rng) = (replay_rng, noise_rng);
        (self.updates, self.due_gradient_steps) = (updates, due_gradient_steps);
        self.replay.set_priorities(priorities);
    }

    /// Counts a gradient step. Returns true if an update of the target network follows it.
    pub(crate) fn count_update(&mut self) -> bool {
        self.due_gradient_steps -= 1.0;
        self.updates += 1;
        self.updates.is_multiple_of(self.plan.target_network_frequency)
    }

    /// Returns the task of a draw.
    pub(crate) fn task(&self, draw: &Draw) -> usize {
        self.spec.task_ids[draw.env]
    }

    /// Divides a minibatch into the shards of this process that have rows in it.
    pub(crate) fn shards_of(&self, draws: &[Draw]) -> Vec<ShardRows> {
        let shards = self.cluster.own_shards(self.spec.num_envs()).into_iter().enumerate();
        let rows = shards.map(|(shard, envs)| ShardRows {
            shard,
            rows: (0..draws.len()).filter(|&row| envs.contains(&draws[row].env)).collect(),
        });
        rows.filter(|shard| !shard.rows.is_empty()).collect()
    }

    /// Returns true if the backward pass of a minibatch is [split](crate::engine::backward).
    pub(crate) fn splits_backward_pass(&self) -> bool {
        self.cluster.splits_backward_pass(self.layout)
    }

    /// Computes the gradient of a minibatch from those of its `shards`. `of_shard` returns the gradient of a shard,
    /// given its position in `shards`. `names` are the names of the terms; `details` is the number of details in the
    /// whole minibatch.
    pub(crate) fn gradient<'a, N: Module>(
        &self,
        training: &Training<N>,
        names: &[&'static str],
        details: usize,
        shards: impl Iterator<Item = &'a ShardRows>,
        of_shard: impl Fn(usize) -> ShardGradient,
    ) -> Result<Gradient, LearnerError> {
        if self.cluster.has_single_shard() {
            return Ok(of_shard(0).gradient);
        }
        let vectors = GradientVectors::new(
            &training.network,
            names,
            details,
            self.splits_backward_pass(),
            &training.device,
        );
        let mut shards = shards.enumerate().peekable();
        let own_shards = self.cluster.own_shards(self.spec.num_envs());
        let gradients = (0..own_shards.len()).map(|own_shard| {
            let shard = shards.next_if(|(_, rows)| rows.shard == own_shard);
            Ok(shard.map(|(position, _)| of_shard(position)))
        });
        vectors.sum(&self.cluster, gradients)
    }

    /// Writes the state of a learner: `state` and, if `with_replay` is true, the frames of the replay buffer. The rest
    /// of the replay buffer is part of `state`. Every process of the cluster calls this.
    pub(crate) fn write_state(
        &self,
        header: &Header,
        state: &impl Serialize,
        with_replay: bool,
        out: &mut dyn Write,
    ) -> Result<(), LearnerError> {
        let is_shared = self.cluster.num_processes() > 1;
        ensure_in_order(
            !(self.replay.is_acting() && is_shared),
            "with several processes, the state cannot be written between act and observe",
        )?;
        ensure_in_order(
            with_replay || !self.replay.is_acting(),
            "without the replay buffer, the state cannot be written between act and observe",
        )?;
        let written = header.write(state, out);
        if !with_replay {
            return written;
        }
        match written {
            Ok(()) => self.replay.write_frames(&self.cluster, out),
            // Every process takes part in the exchange of frames, even one that could not write.
            Err(error) => self.replay.write_frames(&self.cluster, &mut std::io::sink()).and(Err(error)),
        }
    }

    /// Restores the replay buffer, whose frames are in `bytes`, and the gradient steps that are due. Without a replay
    /// buffer, the gradient steps that were due are dropped, so that learning waits until it is filled again.
    pub(crate) fn restore(
        &mut self,
        replay: Option<ReplayState<'_, E>>,
        bytes: &[u8],
        due_gradient_steps: f64,
    ) -> Result<(), LearnerError> {
        if !(0.0..=MAX_DUE_GRADIENT_STEPS).contains(&due_gradient_steps) {
            let range = format!("between 0 and {MAX_DUE_GRADIENT_STEPS}");
            return Err(bad(&format!("the number of due gradient steps is not {range}")));
        }
        if let Some(replay) = replay {
            let (frames, rest) = decode_frames(bytes)?;
            end(rest)?;
            self.replay.restore(&self.spec, replay, &frames).map_err(bad)?;
            self.due_gradient_steps = due_gradient_steps;
        } else {
            end(bytes)?;
            self.due_gradient_steps = due_gradient_steps.fract();
        }
        Ok(())
    }
}
