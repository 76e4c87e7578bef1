use algorithms::cluster::Cluster;
use algorithms::networks::PolicyConfig;
use algorithms::ppo::{Policy, Ppo, PpoAgent, PpoConfig, PpoMetrics, RecurrentState, RndConfig, RndMetrics};
use algorithms::{Learner as _, LearnerError, Overlapped, SpecError, UpdateOutcome, VectorSpec};
use anyhow::{Result, ensure};
use burn::tensor::Device;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_env::{ActionBuffer, ActionKind, Batch};
use settings::Section;

use super::algorithm::{Descriptor, Learner};
use super::on_policy::{RolloutAlgorithm, RolloutSections};
use super::player::{Player, Reading};
use crate::statistics::median;
use crate::telemetry::{Metric, Sample};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    title: "PPO",
    about: "Train an agent with Proximal Policy Optimization",
    actions: &[ActionKind::Discrete, ActionKind::Continuous],
    learning_rate: "learning_rate",
    examples: &[
        "ale-train ppo",
        "ale-train ppo --games pong --set ppo.learning_rate=5e-4",
        "ale-train ppo --games pong,breakout,seaquest",
        "ale-train ppo --games atari57,-skiing",
        "ale-train ppo --games Acrobot-v1",
        "ale-train ppo --preset machado-ppo --games seaquest --seed 3",
        "ale-train ppo --preset rnd-ppo --games venture",
        "ale-train ppo --games pong --set evaluation.interval_frames=1M --json --quiet > curves.jsonl",
    ],
    sections: &[Section::of::<PpoConfig>("ppo")],
    read: RolloutSections::<PpoAgent>::read,
};

impl RolloutAlgorithm for PpoAgent {
    const SECTION: &str = "ppo";

    fn with_total_steps(config: &PpoConfig, total_steps: u64) -> PpoConfig {
        PpoConfig { total_steps, ..config.clone() }
    }

    fn for_trial(config: &PpoConfig, num_steps: usize) -> PpoConfig {
        let config = Self::with_total_steps(config, u64::MAX);
        let rnd = RndConfig { num_iterations_obs_norm_init: 0, ..config.rnd.clone() };
        PpoConfig { num_steps, num_minibatches: 1, update_epochs: 1, overlap: false, rnd, ..config }
    }

    fn has_intrinsic_rewards(config: &PpoConfig) -> bool {
        config.rnd.enabled
    }

    fn further_step_bytes(config: &PpoConfig, spec: &VectorSpec) -> usize {
        config.rnd.step_bytes(&spec.observation_space)
    }

    fn clips_values(config: &PpoConfig) -> bool {
        config.clip_vloss
    }

    fn overlaps(config: &PpoConfig) -> bool {
        config.overlap
    }

    fn create(
        config: PpoConfig,
        policy: PolicyConfig,
        spec: VectorSpec,
        cluster: Cluster,
        device: &Device,
        seed: u64,
    ) -> Result<Box<dyn Learner>> {
        let new = || Ppo::new(config.clone(), policy.clone(), spec.clone(), device, seed);
        if config.overlap {
            check_alone(&cluster)?;
            return Ok(Box::new(Overlapped::new(new()?, new()?)));
        }
        let mut learner = new()?;
        learner.join(cluster)?;
        Ok(Box::new(learner))
    }

    fn resume(
        state: &[u8],
        config: PpoConfig,
        policy: PolicyConfig,
        cluster: Cluster,
        device: &Device,
    ) -> Result<Box<dyn Learner>> {
        if config.overlap {
            check_alone(&cluster)?;
            return Ok(Box::new(Overlapped::from_state_with(state, config, policy, device)?));
        }
        let mut learner = Ppo::from_state_with(state, config, policy, device)?;
        learner.join(cluster)?;
        Ok(Box::new(learner))
    }

    fn resume_to_act(state: &[u8], config: &PpoConfig, device: &Device) -> Result<Box<dyn Learner>> {
        let restore = if config.overlap { Ppo::actor_from_state } else { Ppo::from_state };
        Ok(Box::new(restore(state, device)?))
    }

    fn samples(spec: &VectorSpec, metrics: &PpoMetrics) -> Vec<Sample> {
        if metrics.epochs == 0 {
            // Only statistics were initialised.
            return Vec::new();
        }
        let of_rnd = metrics.rnd.iter().flat_map(samples_of_rnd);
        samples(metrics).chain(of_rnd).chain(samples_of_tasks(metrics, spec)).collect()
    }

    fn player(ppo: &Ppo, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError> {
        let rng = ChaCha8Rng::seed_from_u64(seed);
        let policy = ppo.policy(spec)?;
        let state = policy.initial_state();
        Ok(Box::new(PolicyPlayer { policy, state, greedy, rng }))
    }
}

/// Fails if the gradients are computed by several processes or in several shards.
fn check_alone(cluster: &Cluster) -> Result<()> {
    ensure!(
        cluster.has_single_shard(),
        "ppo.overlap = true is not possible with several processes or shards: set ppo.overlap = false"
    );
    Ok(())
}

impl Learner for Overlapped<Ppo> {
    fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<Vec<Sample>>, LearnerError> {
        Ok(match self.update_unless(stop)? {
            UpdateOutcome::Stopped => None,
            UpdateOutcome::Started => Some(Vec::new()),
            UpdateOutcome::Completed(metrics) => Some(PpoAgent::samples(self.spec(), &metrics)),
        })
    }

    fn player(&self, spec: &VectorSpec, greedy: bool, seed: u64) -> Result<Box<dyn Player>, SpecError> {
        PpoAgent::player(self.actor(), spec, greedy, seed)
    }
}

/// Samples actions from a policy, or takes the most probable ones.
struct PolicyPlayer {
    policy: Policy,
    /// The recurrent state after the last action.
    state: RecurrentState,
    greedy: bool,
    rng: ChaCha8Rng,
}

impl Player for PolicyPlayer {
    fn act(&mut self, batch: &Batch) -> Result<ActionBuffer, LearnerError> {
        self.policy.act(batch, &mut self.state, self.greedy, &mut self.rng)
    }

    fn reseed(&mut self, seed: u64) {
        self.rng = ChaCha8Rng::seed_from_u64(seed);
    }

    fn readings(&self, batch: &Batch) -> Result<Vec<Reading>, LearnerError> {
        let (log_probs, values) = self.policy.log_probs_and_values(batch, &self.state)?;
        let reading = |(log_probs, value): (Vec<f32>, f32)| {
            let probabilities = log_probs.into_iter().map(f32::exp).collect();
            Reading::Policy { probabilities, value }
        };
        Ok(log_probs.into_iter().zip(values).map(reading).collect())
    }
}

fn samples(metrics: &PpoMetrics) -> impl Iterator<Item = Sample> {
    let values = [
        (Metric::LearningRate, metrics.learning_rate),
        (Metric::ValueLoss, f64::from(metrics.value_loss)),
        (Metric::PolicyLoss, f64::from(metrics.policy_loss)),
        (Metric::Entropy, f64::from(metrics.entropy)),
        (Metric::OldApproxKl, f64::from(metrics.old_approx_kl)),
        (Metric::ApproxKl, f64::from(metrics.approx_kl)),
        (Metric::Clipfrac, f64::from(metrics.clipfrac)),
        (Metric::ExplainedVariance, explained_variance(metrics)),
        (Metric::GradientNorm, f64::from(metrics.grad_norm)),
        (Metric::DeadUnits, f64::from(metrics.dead_units)),
    ];
    values.into_iter().map(|(metric, value)| Sample::new(metric, value))
}

fn samples_of_rnd(metrics: &RndMetrics) -> [Sample; 4] {
    [
        (Metric::IntrinsicReward, metrics.reward),
        (Metric::PredictorLoss, metrics.predictor_loss),
        (Metric::IntrinsicValueLoss, metrics.value_loss),
        (Metric::IntrinsicExplainedVariance, metrics.explained_variance),
    ]
    .map(|(metric, value)| Sample::new(metric, f64::from(value)))
}

/// Returns the explained variance of the returns. With several games, the median over those whose returns differ: over
/// the returns of all games together, one with large returns would hide the others.
fn explained_variance(metrics: &PpoMetrics) -> f64 {
    if metrics.tasks.is_empty() {
        return f64::from(metrics.explained_variance);
    }
    let of_games = metrics.tasks.iter().map(|task| f64::from(task.explained_variance));
    let known: Vec<f64> = of_games.filter(|variance| !variance.is_nan()).collect();
    if known.is_empty() { f64::NAN } else { median(known) }
}

fn samples_of_tasks(metrics: &PpoMetrics, spec: &VectorSpec) -> impl Iterator<Item = Sample> {
    spec.tasks.iter().zip(&metrics.tasks).flat_map(|(task, metrics)| {
        let values = [
            (Metric::ValueLoss, metrics.value_loss),
            (Metric::Entropy, metrics.entropy),
            (Metric::ApproxKl, metrics.approx_kl),
            (Metric::Clipfrac, metrics.clipfrac),
            (Metric::ExplainedVariance, metrics.explained_variance),
            (Metric::GradientShare, metrics.gradient_share),
        ];
        // A game whose environments rest has no samples, and nothing to report.
        let known = values.into_iter().filter(|(_, value)| !value.is_nan());
        known.map(|(metric, value)| Sample::of_task(metric, &task.name, f64::from(value)))
    })
}

#[cfg(test)]
mod tests {
    use algorithms::Task;
    use algorithms::ppo::TaskMetrics;
    use rl_env::{AutoresetMode, Space};

    use super::*;

    /// The metrics of an update in which the values explained shares of the returns of several games.
    fn metrics(explained: &[f32]) -> PpoMetrics {
        let of_task = |&explained_variance: &f32| TaskMetrics {
            value_loss: 0.0,
            entropy: 0.0,
            approx_kl: 0.0,
            clipfrac: 0.0,
            explained_variance,
            gradient_share: 0.0,
        };
        PpoMetrics {
            policy_loss: 0.0,
            value_loss: 0.0,
            entropy: 0.0,
            old_approx_kl: 0.0,
            approx_kl: 0.0,
            clipfrac: 0.0,
            explained_variance: 0.997,
            learning_rate: 0.0,
            grad_norm: 0.0,
            dead_units: 0.0,
            epochs: 1,
            transitions: 1,
            tasks: explained.iter().map(of_task).collect(),
            rnd: None,
        }
    }

    #[test]
    fn the_explained_variance_of_several_games_is_their_median() {
        let of = |explained: &[f32]| explained_variance(&metrics(explained)) as f32;
        assert_eq!(of(&[]), 0.997);
        assert_eq!(of(&[0.999, 0.25, -26.0]), 0.25);
        // A game whose returns are all equal has none.
        assert_eq!(of(&[0.5, f32::NAN, 0.25]), 0.375);
        assert!(of(&[f32::NAN; 2]).is_nan());
    }

    #[test]
    fn readings_of_a_recurrent_agent_belong_to_the_next_action() {
        let tasks = vec![Task::new("task", 5)];
        let spec = VectorSpec {
            observation_space: Space::floats(3, -1.0, 1.0),
            shared_outputs: 5,
            tasks,
            task_ids: vec![0; 4],
            autoreset_mode: AutoresetMode::SameStep,
        };
        let policy = PolicyConfig { lstm: 8, ..PolicyConfig::default() };
        let ppo = Ppo::new(PpoConfig::default(), policy, spec.clone(), &Device::flex(), 3).unwrap();
        let mut player = Learner::player(&ppo, &spec, true, 1).unwrap();
        let mut batch = Batch::new(4, spec.observation_space.byte_len(), true);
        for step in 0..40 {
            for (row, bytes) in batch.observations.rows_mut().enumerate() {
                for (column, number) in bytes.as_chunks_mut().0.iter_mut().enumerate() {
                    let angle = (step * 7 + row * 3 + column * 5) as f32;
                    *number = angle.sin().to_ne_bytes();
                }
            }
            let readings = player.readings(&batch).unwrap();
            let actions = player.act(&batch).unwrap();
            for (reading, &action) in readings.iter().zip(actions.discrete().unwrap()) {
                let Reading::Policy { probabilities, .. } = reading else { panic!("{reading:?}") };
                let chosen = probabilities[action as usize];
                assert!(probabilities.iter().all(|&other| other <= chosen), "{probabilities:?}, {action}");
            }
        }
    }
}
