//! The implementation of [`OnPolicyAlgorithm`] for PPO.

use std::io::Write;
use std::ops::Range;

use burn::tensor::Device;
use kernels::PackedRows;
use rand_chacha::ChaCha8Rng;
use rl_env::{AutoresetMode, Batch};
use serde::{Deserialize, Serialize};
use settings::Settings;

use super::learner::{Ppo, PpoAgent};
use super::metrics::{self, MinibatchMetrics};
use super::minibatch::Minibatch;
use super::objective;
use super::policy::{Evaluation, Inputs};
use super::recurrent::RecurrentRollout;
use super::rnd::{self, Frames, Rnd, RndState};
use super::row_policy::RowPolicy;
use super::targets::Targets;
use super::{Policy, PpoConfig, PpoMetrics};
use crate::cluster::Cluster;
use crate::engine::OnPolicyAlgorithm;
use crate::engine::backward::SplitPoint;
use crate::engine::halt::Halt;
use crate::engine::loss::Loss;
use crate::engine::minibatch_rows::MinibatchRows;
use crate::engine::on_policy_learner::{Successors, Update};
use crate::engine::optimizer_step::StepResult;
use crate::engine::rollout_plan::RolloutPlan;
use crate::experience::batch_reader::BatchReader;
use crate::experience::rollout::{Decision, Rollout};
use crate::networks::observation_statistics::ObservationStatistics;
use crate::networks::value_scale::TaskScales;
use crate::networks::{
    ActorCritic, ExplorationSizes, NamedWeights, NetworkDescription, ObservationLayout, PolicyConfig,
    TrainedNetwork, TransferError, layout_of,
};
use crate::state_bytes::{Header, bad};
use crate::{ConfigError, FixedSetting, LearnerError, SpecError, TaskActions, VectorSpec};

/// The state of what acts.
#[derive(Serialize, Deserialize)]
pub struct State {
    scales: TaskScales,
    recurrent: RecurrentRollout,
    statistics: Option<ObservationStatistics>,
    /// Written behind the rest.
    #[serde(skip)]
    rnd: Option<RndState>,
}

impl OnPolicyAlgorithm for PpoAgent {
    type Config = PpoConfig;
    type Network = ActorCritic;
    type Policy = Policy;
    type Evaluation = Evaluation;
    type Targets = Targets;
    type Minibatch = Minibatch;
    type StepMetrics = MinibatchMetrics;
    type Metrics = PpoMetrics;
    type State = State;

    const HEADER: Header = Header { magic: b"PPOSTATE", version: 13 };
    const NAME: (&'static str, &'static str) = ("ppo", "a policy and values");
    /// As in `CleanRL` and the original implementation.
    const ADAM_EPSILON: f32 = 1e-5;

    fn validate(config: &PpoConfig, policy: &PolicyConfig, num_envs: usize) -> Result<(), ConfigError> {
        config.validate(num_envs).map_err(|error| error.within("ppo"))?;
        config.validate_rnd(policy)?;
        let of_policy = policy.validate();
        let of_policy =
            of_policy.and_then(|()| policy.validate_minibatches(config.num_minibatches, num_envs));
        of_policy.map_err(|error| error.within("policy"))
    }

    fn checked_layout(
        config: &PpoConfig,
        policy: &PolicyConfig,
        spec: &VectorSpec,
    ) -> Result<ObservationLayout, LearnerError> {
        let layout = layout_of(&spec.observation_space)?;
        policy.validate_observations(layout)?;
        config.validate_frames(layout)?;
        if policy.squash_actions {
            spec.check_bounded()?;
        }
        Ok(layout)
    }

    fn check_change(config: &PpoConfig, before: &PpoConfig) -> Result<(), FixedSetting> {
        config.check_change(before)?;
        config.rnd.check_change(&before.rnd)
    }

    fn check_cluster(config: &PpoConfig, cluster: &Cluster) -> Result<(), ConfigError> {
        config.validate_cluster(cluster)
    }

    fn terms(config: &PpoConfig) -> &'static [&'static str] {
        objective::terms(config)
    }

    fn plan(config: &PpoConfig) -> RolloutPlan {
        config.plan()
    }

    fn network(
        config: &PpoConfig,
        policy: &PolicyConfig,
        spec: &VectorSpec,
        layout: ObservationLayout,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> ActorCritic {
        let network = ActorCritic::new(layout, spec, policy, rng, device);
        if !config.rnd.enabled {
            return network;
        }
        let frames = Frames::of(layout, config.rnd.channels).layout;
        let sizes = ExplorationSizes { frames, features: config.rnd.features };
        network.exploring(sizes, policy, rng, device)
    }

    fn new(
        network: ActorCritic,
        config: &PpoConfig,
        policy: &PolicyConfig,
        spec: &VectorSpec,
        layout: ObservationLayout,
        device: &Device,
    ) -> Self {
        let reader = BatchReader::new(spec, layout, device.clone());
        let scales = policy.scales(spec.tasks.len());
        let statistics = || ObservationStatistics::new(spec.tasks.len(), layout.length());
        let frames = Frames::of(layout, config.rnd.channels);
        let rnd = || Rnd::new(frames, config.num_steps, spec);
        let mut agent = Self {
            actor: Policy::new(network, reader, scales, policy.lstm),
            recurrent: RecurrentRollout::new(spec.num_envs(), policy.lstm),
            statistics: None,
            rnd: config.rnd.enabled.then(rnd),
        };
        agent.set_statistics(policy.normalize_observations.then(statistics));
        agent
    }

    fn policy(&self, spec: &VectorSpec) -> Result<Policy, SpecError> {
        self.actor.for_envs(spec)
    }

    fn set_network(&mut self, network: ActorCritic) {
        self.actor.set_network(network);
    }

    fn scales(&self) -> &TaskScales {
        &self.actor.scales
    }

    fn scales_mut(&mut self) -> &mut TaskScales {
        &mut self.actor.scales
    }

    fn is_recurrent(&self) -> bool {
        self.recurrent.is_recurrent()
    }

    fn check_batch(&self, batch: &Batch) -> Result<(), LearnerError> {
        self.actor.check(batch)
    }

    fn evaluate(ppo: &Ppo, batch: &Batch) -> Result<(Evaluation, Option<PackedRows>), LearnerError> {
        ppo.evaluate(batch)
    }

    fn begin_steps(ppo: &mut Ppo, batch: &Batch, evaluation: &Evaluation) {
        let step_of = |env| ppo.on_policy.rollout.steps(env);
        ppo.agent.recurrent.record(&batch.env_ids, &evaluation.state, step_of);
        if let Some(rnd) = &mut ppo.agent.rnd {
            rnd.begin_steps(&batch.env_ids, &evaluation.intrinsic_values);
        }
    }

    /// Samples an action. Draws one random number per choice or two per component.
    fn choose(evaluation: &Evaluation, row: usize, actions: &TaskActions, rng: &mut ChaCha8Rng) -> Decision {
        let (action, log_prob) = evaluation.policies[row].sample(actions, rng);
        Decision { action, log_prob, value: evaluation.values[row] }
    }

    fn skip(actions: &TaskActions, rng: &mut ChaCha8Rng) {
        RowPolicy::skip(actions, rng);
    }

    fn observe(&mut self, batch: &Batch, mode: AutoresetMode) -> Result<(), LearnerError> {
        self.recurrent.observe(batch, mode);
        let Self { actor, recurrent, rnd: Some(rnd), .. } = self else { return Ok(()) };
        rnd.end_steps(batch, mode, || Ok(actor.evaluate_batch(batch, &recurrent.current())?.intrinsic_values))
    }

    fn values(&self, successors: &[Successors<'_>]) -> Result<Vec<f32>, LearnerError> {
        // The recurrent state is reset where an episode begins, which its final observation precedes.
        let next_state = self.recurrent.current();
        let inputs = successors.iter().map(|&Successors { observed, rows, are_final }| {
            Inputs::new(observed, rows, if are_final { &self.recurrent.state } else { &next_state })
        });
        let inputs = inputs.reduce(|mut all, more| {
            all.extend(more);
            all
        });
        self.actor.values_of(&inputs.expect("at least one group of observations"))
    }

    fn exchange(&mut self, cluster: &Cluster, envs: Range<usize>) -> Result<(), LearnerError> {
        self.recurrent.exchange(cluster, envs)
    }

    fn targets(ppo: &mut Ppo, transitions: &[usize], stop: &dyn Fn() -> bool) -> Result<Targets, Halt> {
        ppo.compute_targets(transitions, stop)
    }

    fn columns<'a>(targets: &'a Targets, rollout: &'a Rollout) -> Vec<(&'static str, &'a [f32])> {
        targets.columns(rollout)
    }

    fn gather(ppo: &Ppo, minibatch: &MinibatchRows, shard: &MinibatchRows, targets: &Targets) -> Minibatch {
        Minibatch::gather(ppo, minibatch, shard, targets)
    }

    fn loss(config: &PpoConfig, network: &ActorCritic, minibatch: Minibatch, split: &mut SplitPoint) -> Loss {
        objective::loss(config, network, minibatch, split)
    }

    fn details(ppo: &Ppo, rows: &MinibatchRows) -> Vec<(usize, usize)> {
        metrics::details(ppo.on_policy.spec.tasks.len(), rows)
    }

    fn read(ppo: &Ppo, rows: &MinibatchRows, result: &StepResult) -> MinibatchMetrics {
        MinibatchMetrics::new(ppo, rows, result)
    }

    fn epochs(ppo: &Ppo) -> usize {
        if ppo.is_initializing() { 0 } else { ppo.config.update_epochs }
    }

    fn may_end_early(config: &PpoConfig) -> bool {
        config.target_kl.is_some()
    }

    fn ends_early(config: &PpoConfig, last: &MinibatchMetrics) -> bool {
        last.has_moved_too_far(config)
    }

    fn finish(ppo: &mut Ppo, targets: Targets, update: Update<MinibatchMetrics>) -> PpoMetrics {
        let num_tasks = ppo.on_policy.spec.tasks.len();
        let metrics = PpoMetrics::new(&ppo.config, num_tasks, &targets, &update);
        ppo.agent.set_statistics(targets.next_statistics);
        ppo.agent.rnd.iter_mut().for_each(Rnd::clear);
        metrics
    }

    fn state(&self) -> State {
        State {
            scales: self.actor.scales.clone(),
            recurrent: self.recurrent.clone(),
            statistics: self.statistics.clone(),
            rnd: self.rnd.as_ref().map(|rnd| rnd.state.clone()),
        }
    }

    fn restore(&mut self, State { scales, recurrent, statistics, rnd }: State) -> Result<(), LearnerError> {
        self.actor.scales.restore(scales)?;
        if !recurrent.has_shape_of(&self.recurrent) {
            return Err(bad("the recurrent state does not match the environments and the network"));
        }
        self.recurrent = recurrent;
        if !ObservationStatistics::are_alike(statistics.as_ref(), self.statistics.as_ref()) {
            return Err(bad("the statistics of the observations do not match the environments"));
        }
        self.set_statistics(statistics);
        let fits = match (&mut self.rnd, rnd) {
            (Some(own), Some(state)) => own.restore(state),
            (own, state) => own.is_none() && state.is_none(),
        };
        if fits { Ok(()) } else { Err(bad("the state of intrinsic rewards does not match the environments")) }
    }

    fn write_optional(config: &PpoConfig, state: &State, out: &mut dyn Write) -> Result<(), LearnerError> {
        rnd::write(&config.rnd, state.rnd.as_ref(), out)
    }

    fn read_optional<'a>(
        config: &mut PpoConfig,
        state: &mut State,
        bytes: &'a [u8],
    ) -> Result<&'a [u8], LearnerError> {
        let (optional, rest) = rnd::read(bytes)?;
        if let Some((settings, rnd)) = optional {
            (config.rnd, state.rnd) = (settings, Some(rnd));
        }
        Ok(rest)
    }

    fn further_weights(&self) -> Vec<NamedWeights> {
        self.statistics.iter().flat_map(ObservationStatistics::weights).collect()
    }

    fn start_from(&mut self, source: &TrainedNetwork, own: &NetworkDescription) -> Result<(), TransferError> {
        let statistics = self.statistics.clone();
        let started = statistics.map(|statistics| statistics.started_from(source, &own.tasks));
        self.set_statistics(started.transpose()?);
        Ok(())
    }
}
