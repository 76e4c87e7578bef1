use std::sync::mpsc::Sender;
use std::thread::sleep;
use std::time::Instant;

use burn::tensor::Device;
use rl_env::{AutoresetMode, Space};

use super::*;
use crate::networks::PolicyConfig;
use crate::ppo::{Ppo, PpoConfig, PpoMetrics};
use crate::testing::{RandomEnvs, spec, spec_of_choices, spec_of_numbers};
use crate::{LearnerError, ValueScale};

const NUM_STEPS: usize = 16;
const UPDATES: u64 = 5;

fn config() -> PpoConfig {
    PpoConfig {
        total_steps: UPDATES * 4 * NUM_STEPS as u64,
        num_steps: NUM_STEPS,
        learning_rate: 1e-2,
        overlap: true,
        ..PpoConfig::default()
    }
}

fn learner(policy: &PolicyConfig, spec: &VectorSpec) -> Ppo {
    Ppo::new(config(), policy.clone(), spec.clone(), &Device::flex(), 7).unwrap()
}

fn overlapped(policy: &PolicyConfig, spec: &VectorSpec) -> Overlapped<Ppo> {
    Overlapped::new(learner(policy, spec), learner(policy, spec))
}

fn restored(bytes: &[u8], policy: &PolicyConfig) -> Overlapped<Ppo> {
    Overlapped::from_state_with(bytes, config(), policy.clone(), &Device::flex()).unwrap()
}

/// Networks and environments whose updates differ: recurrent, with learned scales, several choices, continuous actions.
fn cases() -> Vec<(PolicyConfig, VectorSpec)> {
    let vectors = |mode| spec(Space::floats(3, -1.0, 1.0), mode);
    let recurrent = PolicyConfig { lstm: 6, ..PolicyConfig::default() };
    let scaled = PolicyConfig {
        value_scale: ValueScale::PopArt,
        normalize_observations: true,
        ..PolicyConfig::default()
    };
    vec![
        (PolicyConfig::default(), vectors(AutoresetMode::NextStep)),
        (PolicyConfig::default(), spec(Space::bytes([1, 37, 39]), AutoresetMode::SameStep)),
        (recurrent, vectors(AutoresetMode::NextStep)),
        (scaled, vectors(AutoresetMode::SameStep)),
        (PolicyConfig::default(), spec_of_choices(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep)),
        (PolicyConfig::default(), spec_of_numbers(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep)),
    ]
}

/// Makes the updates that are due. Returns their metrics.
fn update(learner: &mut Overlapped<Ppo>) -> Vec<PpoMetrics> {
    let mut metrics = Vec::new();
    while learner.is_ready() {
        match learner.update_unless(&|| false).unwrap() {
            UpdateOutcome::Completed(of_update) => metrics.push(of_update),
            UpdateOutcome::Started => {}
            UpdateOutcome::Stopped => panic!("nothing stops it"),
        }
    }
    metrics
}

/// One step of learner and environments, and the updates that are due.
fn step(learner: &mut Overlapped<Ppo>, envs: &mut RandomEnvs) -> Vec<PpoMetrics> {
    learner.act(&envs.batch).unwrap();
    envs.step();
    learner.observe(&envs.batch).unwrap();
    update(learner)
}

fn complete(learner: &mut Overlapped<Ppo>, envs: &mut RandomEnvs) -> Vec<PpoMetrics> {
    let mut metrics = Vec::new();
    while !learner.is_complete() {
        metrics.extend(step(learner, envs));
    }
    metrics
}

#[test]
fn it_learns_the_same_as_two_learners_that_take_turns() {
    for (policy, spec) in cases() {
        let (mut overlapped, mut envs) = (overlapped(&policy, &spec), RandomEnvs::new(spec.clone()));
        let metrics = complete(&mut overlapped, &mut envs);
        // The same computation without threads: rollout k + 1 is collected before the update with rollout k begins.
        let (mut actor, mut other) = (learner(&policy, &spec), learner(&policy, &spec));
        let (mut expected, mut envs) = (Vec::new(), RandomEnvs::new(spec.clone()));
        envs.act_until_ready(&mut actor, 1.0);
        for _ in 1..UPDATES {
            other.take_rollout(&mut actor);
            envs.act_until_ready(&mut actor, 1.0);
            expected.push(other.update().unwrap());
            actor.adopt(&other);
        }
        other.take_rollout(&mut actor);
        expected.push(other.update().unwrap());
        actor.adopt(&other);
        assert_eq!(metrics, expected);
        assert_eq!(overlapped.updates(), UPDATES);
        assert_eq!(overlapped.torch_weights().unwrap(), actor.torch_weights().unwrap());
    }
}

#[test]
fn it_learns_in_a_thread_pool_whose_only_thread_is_waiting() {
    let (policy, spec) = cases().remove(1);
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let run = || {
        let (mut learner, mut envs) = (overlapped(&policy, &spec), RandomEnvs::new(spec.clone()));
        (complete(&mut learner, &mut envs), learner.state().unwrap())
    };
    assert!(pool.install(run) == run());
}

#[test]
fn the_first_rollout_is_not_corrected() {
    for (policy, spec) in cases() {
        let policy = PolicyConfig { normalize_observations: false, ..policy };
        let mut learner = [true, false].map(|overlap| {
            let config = PpoConfig { overlap, ..config() };
            Ppo::new(config, policy.clone(), spec.clone(), &Device::flex(), 7).unwrap()
        });
        let [corrected, plain] = learner.each_mut().map(|learner| {
            RandomEnvs::new(spec.clone()).act_until_ready(learner, 1.0);
            learner.update().unwrap()
        });
        let near = |a: f32, b: f32| (a - b).abs() < 1e-4 * (1.0 + b.abs());
        assert!(near(corrected.value_loss, plain.value_loss), "{corrected:?}, {plain:?}");
        assert!(near(corrected.explained_variance, plain.explained_variance), "{corrected:?}, {plain:?}");
        assert!(near(corrected.policy_loss, plain.policy_loss), "{corrected:?}, {plain:?}");
    }
}

#[test]
fn a_later_rollout_is_corrected() {
    let (policy, spec) = cases().remove(0);
    let change = |overlap| {
        let learner = || {
            let config = PpoConfig { overlap, ..config() };
            Ppo::new(config, policy.clone(), spec.clone(), &Device::flex(), 7).unwrap()
        };
        let (mut actor, mut other, mut envs) = (learner(), learner(), RandomEnvs::new(spec.clone()));
        envs.act_until_ready(&mut actor, 1.0);
        other.take_rollout(&mut actor);
        envs.act_until_ready(&mut actor, 1.0);
        other.update().unwrap();
        other.take_rollout(&mut actor);
        other.update().unwrap().value_loss
    };
    assert!((change(true) - change(false)).abs() > 1e-3);
}

#[test]
fn a_restored_learner_continues_bit_for_bit_from_any_moment() {
    for (policy, spec) in cases() {
        // At the start, within the first rollouts, just after an update began, and while the last one is in progress.
        for pause in [0, 5, 16, 20, 32, 75] {
            let (mut learner, mut envs) = (overlapped(&policy, &spec), RandomEnvs::new(spec.clone()));
            for _ in 0..pause {
                step(&mut learner, &mut envs);
            }
            let mut copy = restored(&learner.state().unwrap(), &policy);
            let mut same = envs.clone();
            assert_eq!(complete(&mut learner, &mut envs), complete(&mut copy, &mut same));
            assert!(learner.state().unwrap() == copy.state().unwrap());
        }
    }
}

#[test]
fn writing_a_state_at_any_moment_does_not_affect_training() {
    let (policy, spec) = cases().remove(1);
    let run = |wait: Duration| {
        let (mut learner, mut envs) = (overlapped(&policy, &spec), RandomEnvs::new(spec.clone()));
        let mut metrics = Vec::new();
        for _ in 0..2 * NUM_STEPS {
            metrics.extend(step(&mut learner, &mut envs));
            // The update is in progress, has ended, or was undone by an earlier state.
            sleep(wait);
            let state = learner.state().unwrap();
            let mut copy = restored(&state, &policy);
            let mut same = envs.clone();
            assert_eq!(step(&mut copy, &mut same), step(&mut restored(&state, &policy), &mut envs.clone()));
        }
        metrics.extend(complete(&mut learner, &mut envs));
        (metrics, learner.state().unwrap())
    };
    assert!(run(Duration::ZERO) == run(Duration::from_millis(3)));
}

#[test]
fn waiting_for_an_update_can_be_stopped() {
    let spec = spec(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep);
    // The update is in progress long after the next rollout is complete, because each learner has its own device.
    let learner = || OnDevice {
        spec: spec.clone(),
        device: SimulatedDevice::new(),
        batch: Duration::ZERO,
        update: Duration::from_millis(800),
        steps: 0,
        updates: 0,
    };
    let (mut learner, mut envs) = (Overlapped::new(learner(), learner()), RandomEnvs::new(spec.clone()));
    envs.act_until_ready(&mut learner, 1.0);
    assert_eq!(learner.update_unless(&|| true), Ok(UpdateOutcome::Started), "nothing to wait for");
    envs.act_until_ready(&mut learner, 1.0);
    assert_eq!(learner.update_unless(&|| true), Ok(UpdateOutcome::Stopped));
    assert!(learner.is_ready());
    assert_eq!(learner.updates(), 0);
    assert_eq!(learner.update_unless(&|| false), Ok(UpdateOutcome::Completed(())));
    assert_eq!(learner.updates(), 1);
}

#[test]
fn the_actor_restored_from_a_state_has_the_weights_that_act() {
    let (policy, spec) = cases().remove(0);
    let (mut learner, mut envs) = (overlapped(&policy, &spec), RandomEnvs::new(spec.clone()));
    for _ in 0..2 * NUM_STEPS {
        step(&mut learner, &mut envs);
    }
    let actor = Ppo::actor_from_state(&learner.state().unwrap(), &Device::flex()).unwrap();
    let log_probs = |ppo: &Ppo| ppo.policy(&spec).unwrap().log_probs(&envs.batch).unwrap();
    assert_eq!(log_probs(&actor), log_probs(learner.actor()));
    assert_eq!(actor.torch_weights().unwrap(), learner.torch_weights().unwrap());
}

#[test]
fn weights_of_another_learner_are_refused_once_an_update_has_begun() {
    let (policy, spec) = cases().remove(0);
    let other = Ppo::new(config(), policy.clone(), spec.clone(), &Device::flex(), 8).unwrap();
    let source = TrainedNetwork { description: other.description(), weights: other.torch_weights().unwrap() };
    let (mut learner, mut envs) = (overlapped(&policy, &spec), RandomEnvs::new(spec));
    learner.start_from(&source).unwrap();
    assert_eq!(learner.torch_weights().unwrap(), source.weights);
    envs.act_until_ready(&mut learner, 1.0);
    assert_eq!(learner.update_unless(&|| false), Ok(UpdateOutcome::Started));
    let before = learner.state().unwrap();
    let error = learner.start_from(&source).unwrap_err();
    assert!(matches!(error, TransferError::Learner(LearnerError::OutOfOrder(_))), "{error:?}");
    assert!(learner.state().unwrap() == before);
}

#[test]
fn damaged_states_are_errors() {
    let (policy, spec) = cases().remove(0);
    let (mut learner, mut envs) = (overlapped(&policy, &spec), RandomEnvs::new(spec));
    for _ in 0..20 {
        step(&mut learner, &mut envs);
    }
    let state = learner.state().unwrap();
    let restore =
        |bytes: &[u8]| Overlapped::from_state_with(bytes, config(), policy.clone(), &Device::flex()).err();
    for length in [0, 9, state.len() / 2, state.len() - 1] {
        assert!(matches!(restore(&state[..length]), Some(LearnerError::BadState(_))), "{length}");
    }
    assert!(matches!(restore(&[state.as_slice(), &[0]].concat()), Some(LearnerError::BadState(_))));
    let mut mixed = Vec::new();
    let other = Ppo::new(config(), policy.clone(), cases().remove(1).1, &Device::flex(), 7).unwrap();
    Ppo::write_both(learner.actor(), &other, None, &mut mixed).unwrap();
    assert!(matches!(restore(&mixed), Some(LearnerError::BadState(_))));
    let plain = learner.actor().state().unwrap();
    assert!(matches!(restore(&plain), Some(LearnerError::BadState(_))));
}

#[test]
fn the_error_of_an_update_is_returned_by_all_later_calls() {
    let (policy, spec) = cases().remove(0);
    let infinite = || {
        let config = PpoConfig { learning_rate: 1e38, ..config() };
        Ppo::new(config, policy.clone(), spec.clone(), &Device::flex(), 7).unwrap()
    };
    let (mut learner, mut envs) = (Overlapped::new(infinite(), infinite()), RandomEnvs::new(spec.clone()));
    envs.act_until_ready(&mut learner, 1.0);
    assert_eq!(learner.update_unless(&|| false), Ok(UpdateOutcome::Started));
    envs.act_until_ready(&mut learner, 1.0);
    let error = learner.update_unless(&|| false).unwrap_err();
    assert!(matches!(error, LearnerError::Diverged(_)));
    assert_eq!(learner.state(), Err(error.clone()));
    assert_eq!(learner.update_unless(&|| false), Err(error));
}

/// The number of updates of a simulation: many, because the last one has nothing to overlap with.
const SIMULATED_UPDATES: u64 = 10;

/// A device that does one thing after another, in the order of the requests.
#[derive(Clone)]
struct SimulatedDevice {
    work: Sender<(Duration, Sender<()>)>,
    /// The total time for which it was busy.
    worked: Arc<Mutex<Duration>>,
}

impl SimulatedDevice {
    fn new() -> Self {
        let (work, told) = channel::<(Duration, Sender<()>)>();
        let worked = Arc::new(Mutex::new(Duration::ZERO));
        let device = Self { work, worked: Arc::clone(&worked) };
        thread::spawn(move || {
            for (time, done) in told {
                let began = Instant::now();
                sleep(time);
                *worked.lock().unwrap() += began.elapsed();
                done.send(()).unwrap();
            }
        });
        device
    }

    /// Keeps the device busy for the given time and waits for the result.
    fn work(&self, time: Duration) {
        let (done, result) = channel();
        self.work.send((time, done)).unwrap();
        result.recv().unwrap();
    }
}

/// A learner on a device that takes a given time for each batch and for each update.
struct OnDevice {
    spec: VectorSpec,
    device: SimulatedDevice,
    batch: Duration,
    update: Duration,
    steps: usize,
    updates: u64,
}

impl Learner for OnDevice {
    fn spec(&self) -> &VectorSpec {
        &self.spec
    }

    fn act(&mut self, _: &Batch) -> Result<Actions<'_>, LearnerError> {
        self.device.work(self.batch);
        Ok(Actions::Discrete(&[0; 4]))
    }

    fn observe(&mut self, _: &Batch) -> Result<(), LearnerError> {
        self.steps += 1;
        Ok(())
    }

    fn can_act(&self, _: &Batch) -> bool {
        !self.is_ready()
    }

    fn is_ready(&self) -> bool {
        self.steps == NUM_STEPS
    }

    fn is_idle(&self) -> bool {
        self.steps == 0
    }

    fn updates(&self) -> u64 {
        self.updates
    }

    fn is_complete(&self) -> bool {
        self.updates == SIMULATED_UPDATES
    }

    fn write_state(&self, _: &mut dyn Write) -> Result<(), LearnerError> {
        Ok(())
    }

    fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        Ok(Vec::new())
    }

    fn description(&self) -> NetworkDescription {
        unreachable!("nothing asks for it")
    }

    fn start_from(&mut self, _: &TrainedNetwork) -> Result<Transferred, TransferError> {
        unreachable!("nothing asks for it")
    }
}

impl Resumable for OnDevice {
    type Metrics = ();

    fn from_state(_: &[u8], _: &Device) -> Result<Self, LearnerError> {
        unreachable!("nothing asks for it")
    }

    fn update_unless(&mut self, _: &dyn Fn() -> bool) -> Result<Option<()>, LearnerError> {
        // In minibatches, between which the other thread gets the device.
        (0..8).for_each(|_| self.device.work(self.update / 8));
        (self.steps, self.updates) = (0, self.updates + 1);
        Ok(Some(()))
    }
}

impl Overlap for OnDevice {
    fn planned_updates(&self) -> u64 {
        SIMULATED_UPDATES
    }

    fn adopt(&mut self, learner: &Self) {
        self.updates = learner.updates;
    }

    fn take_rollout(&mut self, actor: &mut Self) {
        std::mem::swap(&mut self.steps, &mut actor.steps);
    }

    fn write_both(_: &Self, _: &Self, _: Option<&()>, _: &mut dyn Write) -> Result<(), LearnerError> {
        Ok(())
    }
}

/// Returns the fraction of the time for which a device is idle, without and with overlap.
fn waiting(batch: Duration, update: Duration, environments: Duration) -> [f64; 2] {
    let spec = spec(Space::floats(3, -1.0, 1.0), AutoresetMode::SameStep);
    let device = SimulatedDevice::new();
    let learner =
        || OnDevice { spec: spec.clone(), device: device.clone(), batch, update, steps: 0, updates: 0 };
    let envs = RandomEnvs::new(spec.clone());
    let collect = |learner: &mut dyn Learner| {
        while !learner.is_ready() {
            learner.act(&envs.batch).unwrap();
            sleep(environments);
            learner.observe(&envs.batch).unwrap();
        }
    };
    let share = |began: Instant| {
        let worked = std::mem::take(&mut *device.worked.lock().unwrap());
        1.0 - worked.as_secs_f64() / began.elapsed().as_secs_f64()
    };
    let (mut plain, began) = (learner(), Instant::now());
    while !plain.is_complete() {
        collect(&mut plain);
        plain.update_unless(&|| false).unwrap();
    }
    let of_plain = share(began);
    let (mut overlapped, began) = (Overlapped::new(learner(), learner()), Instant::now());
    while !overlapped.is_complete() {
        collect(&mut overlapped);
        overlapped.update_unless(&|| false).unwrap();
    }
    [of_plain, share(began)]
}

#[test]
fn a_device_waits_less_if_it_updates_while_environments_step() {
    // A batch takes 2 ms, a step of all environments 8 ms: a rollout of 16 steps takes 160 ms.
    let [batch, environments] = [2, 8].map(Duration::from_millis);
    for update in [80, 160].map(Duration::from_millis) {
        let found = waiting(batch, update, environments);
        println!("an update of {update:?}: the device waits {:.2}, with overlap {:.2}", found[0], found[1]);
        // A busy machine prolongs steps and calls alike.
        assert!(found[1] < found[0] - 0.05, "{found:?}");
    }
}
