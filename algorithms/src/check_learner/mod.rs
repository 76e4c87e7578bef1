//! A conformance test for learners, beside [`rl_env::check_env`] for environments.

mod random_envs;
mod rule;
mod training_loop;

use std::cell::Cell;

use burn::tensor::Device;
use rl_env::{AutoresetMode, Batch};

use crate::LearnerError;
use crate::engine::Resumable;
use crate::state_bytes::{HEADER_BYTES, MAGIC_BYTES};
use training_loop::{TrainingLoop, failed};

pub(crate) use random_envs::RandomEnvs;
pub use rule::{LearnerRule, LearnerViolation};

/// The number of steps of the training that is repeated.
const STEPS: usize = 40;
/// The numbers of steps after which a learner is restored.
const PAUSES: [usize; 5] = [0, 1, 5, 16, STEPS];
/// The number of steps that a restored learner continues.
const CONTINUED: usize = 20;
/// The number of updates that are stopped at each of their polls of `stop`.
const STOPPED_UPDATES: usize = 2;

/// Checks that a learner follows every [`LearnerRule`], in random environments like those of its spec. `new` returns
/// the same new learner each time.
///
/// Makes a few hundred steps and the updates that become due, so the networks should be small, the rollouts short, and
/// learning should start soon. Returns the number of times that an update was stopped: 0 if none of them can be
/// stopped.
///
/// # Errors
///
/// The first [`LearnerViolation`] that is found.
///
/// ```
/// use algorithms::networks::PolicyConfig;
/// use algorithms::ppo::{Ppo, PpoConfig};
/// use algorithms::{Task, VectorSpec, check_learner};
/// use burn::tensor::Device;
/// use rl_env::{AutoresetMode, Space};
///
/// let spec = VectorSpec {
///     observation_space: Space::floats(4, -1.0, 1.0),
///     tasks: vec![Task::new("cart pole", 2)],
///     task_ids: vec![0; 4],
///     shared_outputs: 2,
///     autoreset_mode: AutoresetMode::NextStep,
/// };
/// let (config, device) = (PpoConfig { num_steps: 16, ..PpoConfig::default() }, Device::flex());
/// let new = || {
///     let policy = PolicyConfig { hidden_size: Some(8), ..PolicyConfig::default() };
///     Ppo::new(config.clone(), policy, spec.clone(), &device, 1).expect("valid settings")
/// };
/// // Both updates poll `stop` three times for each minibatch.
/// assert!(check_learner(new, &device)? >= 2 * 3 * config.update_epochs * config.num_minibatches);
/// # Ok::<(), algorithms::LearnerViolation>(())
/// ```
pub fn check_learner<L: Resumable>(new: impl Fn() -> L, device: &Device) -> Result<usize, LearnerViolation> {
    check_seed(&new)?;
    check_order(new())?;
    check_batches(new())?;
    for pause in PAUSES {
        check_states(new(), pause, device)?;
    }
    check_damaged_states(new(), device)?;
    check_stopped_updates([new(), new()])
}

/// Trains two learners.
fn check_seed<L: Resumable>(new: &impl Fn() -> L) -> Result<(), LearnerViolation> {
    let mut loops = [TrainingLoop::new(new()), TrainingLoop::new(new())];
    for step in 0..STEPS {
        let [first, second] = loops.each_mut().map(TrainingLoop::step);
        LearnerRule::SeedDeterminesTraining.check(first? == second?, format!("step {step} differs"))?;
    }
    let [first, second] = loops.each_ref().map(TrainingLoop::state);
    LearnerRule::SeedDeterminesTraining.check(first? == second?, "the states differ")
}

/// Calls every method when it is not its turn.
fn check_order<L: Resumable>(learner: L) -> Result<(), LearnerViolation> {
    let mut training = TrainingLoop::new(learner);
    for _ in 0..STEPS {
        refused_out_of_order(&mut training, "observe", |TrainingLoop { learner, envs }| {
            learner.observe(&envs.batch)
        })?;
        refused_out_of_order(&mut training, "update", |training| {
            training.learner.update_unless(&|| false).map(drop)
        })?;
        training.act()?;
        refused_out_of_order(&mut training, "act", |TrainingLoop { learner, envs }| {
            learner.act(&envs.batch).map(drop)
        })?;
        training.observe()?;
        training.update()?;
    }
    Ok(())
}

/// Expects that a call fails and changes nothing.
fn refused_out_of_order<L: Resumable>(
    training: &mut TrainingLoop<L>,
    method: &str,
    call: impl FnOnce(&mut TrainingLoop<L>) -> Result<(), LearnerError>,
) -> Result<(), LearnerViolation> {
    let (rule, before) = (LearnerRule::RefusesCallsOutOfOrder, training.state()?);
    let result = call(training);
    let is_refused = matches!(result, Err(LearnerError::OutOfOrder(_)));
    rule.check(is_refused, format!("{method} returned {result:?}"))?;
    rule.check(training.state()? == before, format!("{method} changed the learner"))
}

/// Observes batches from other environments, and one with a reward that is not finite.
fn check_batches<L: Resumable>(learner: L) -> Result<(), LearnerViolation> {
    let mut training = TrainingLoop::new(learner);
    training.act()?;
    let before = training.state()?;
    for (difference, batch) in invalid_batches(&training.envs) {
        let (rule, result) = (LearnerRule::RefusesInvalidBatches, training.learner.observe(&batch));
        rule.check(result.is_err(), format!("a batch with {difference} was observed"))?;
        rule.check(training.state()? == before, format!("a batch with {difference} changed the learner"))?;
    }
    training.observe()
}

/// Returns batches that differ from a valid one in one respect.
fn invalid_batches(envs: &RandomEnvs) -> Vec<(&'static str, Batch)> {
    let batch = &envs.batch;
    let (rows, row_bytes) = (batch.len(), batch.observations.row_bytes());
    let is_same_step = envs.spec.autoreset_mode == AutoresetMode::SameStep;
    let mut infinite = batch.clone();
    infinite.rewards[rows - 1] = f32::INFINITY;
    let mut batches = vec![
        ("a row more", Batch::new(rows + 1, row_bytes, is_same_step)),
        ("larger observations", Batch::new(rows, row_bytes + 4, is_same_step)),
        ("other final observations", Batch::new(rows, row_bytes, !is_same_step)),
        ("an infinite reward", infinite),
    ];
    if batch.has_action_masks() {
        let mut unmasked = Batch::new(rows, row_bytes, is_same_step);
        unmasked.observations.clone_from(&batch.observations);
        unmasked.final_observations.clone_from(&batch.final_observations);
        batches.push(("no action masks", unmasked.clone()));
        batches.push(("shorter action masks", unmasked.with_action_masks(1)));
    }
    if rows > 1 {
        let mut disordered = batch.clone();
        disordered.env_ids.reverse();
        batches.push(("rows in another order", disordered));
    }
    batches
}

/// Restores a learner before each call of the step after `pause` steps.
fn check_states<L: Resumable>(learner: L, pause: usize, device: &Device) -> Result<(), LearnerViolation> {
    let mut training = TrainingLoop::new(learner);
    for _ in 0..pause {
        training.step()?;
    }
    let mut before_act = restored(&training, device)?;
    training.act()?;
    let mut before_observe = restored(&training, device)?;
    training.observe()?;
    let mut before_update = restored(&training, device)?;
    training.update()?;

    before_update.update()?;
    before_observe.observe()?;
    before_observe.update()?;
    before_act.step()?;
    let rule = LearnerRule::StatesContinue;
    for (call, copy) in [("act", &before_act), ("observe", &before_observe), ("update", &before_update)] {
        let problem = format!("restored before {call} after {pause} steps, the states differ");
        rule.check(training.state()? == copy.state()?, problem)?;
    }
    for step in 0..CONTINUED {
        let problem = format!("restored after {pause} steps, step {step} differs");
        rule.check(training.step()? == before_act.step()?, problem)?;
    }
    rule.check(
        training.state()? == before_act.state()?,
        format!("restored after {pause} steps, the states differ"),
    )
}

/// Returns a copy of a training loop whose learner is restored from its state.
fn restored<L: Resumable>(
    training: &TrainingLoop<L>,
    device: &Device,
) -> Result<TrainingLoop<L>, LearnerViolation> {
    let state = training.state()?;
    let learner = L::from_state(&state, device).map_err(failed)?;
    let copy = TrainingLoop { learner, envs: training.envs.clone() };
    LearnerRule::StatesContinue.check(copy.state()? == state, "a restored learner has another state")?;
    Ok(copy)
}

/// Restores truncated and changed states.
fn check_damaged_states<L: Resumable>(learner: L, device: &Device) -> Result<(), LearnerViolation> {
    let mut training = TrainingLoop::new(learner);
    training.step()?;
    let state = training.state()?;
    let lengths = [0, HEADER_BYTES - 1, HEADER_BYTES, state.len() / 2, state.len() - 1];
    let mut damaged: Vec<(String, Vec<u8>)> =
        lengths.map(|length| (format!("the first {length} bytes"), state[..length].to_vec())).into();
    damaged.push(("a byte more".to_owned(), [&state[..], &[0]].concat()));
    for (difference, index) in [("another name", 0), ("another version", MAGIC_BYTES)] {
        let mut changed = state.clone();
        changed[index] ^= 0x40;
        damaged.push((difference.to_owned(), changed));
    }
    for (damage, bytes) in damaged {
        let result = L::from_state(&bytes, device).map(drop);
        let is_refused = matches!(result, Err(LearnerError::BadState(_)));
        LearnerRule::RefusesDamagedStates.check(is_refused, format!("{damage}: {result:?}"))?;
    }
    Ok(())
}

/// Stops updates of the first learner at each of their polls of `stop`; the second learner is never stopped. Returns
/// the number of stops.
fn check_stopped_updates<L: Resumable>(learners: [L; 2]) -> Result<usize, LearnerViolation> {
    let rule = LearnerRule::StoppedUpdatesAreUndone;
    let [mut stopped, mut undisturbed] = learners.map(TrainingLoop::new);
    let mut stops = 0;
    for _ in 0..STOPPED_UPDATES {
        stopped.fill()?;
        undisturbed.fill()?;
        let (metrics, stops_of_update) = stop_until_complete(&mut stopped)?;
        stops += stops_of_update;
        let expected = undisturbed.update()?;
        rule.check(Some(&metrics) == expected.as_ref(), format!("{metrics:?} instead of {expected:?}"))?;
        rule.check(stopped.state()? == undisturbed.state()?, "the states after the update differ")?;
    }
    Ok(stops)
}

/// Makes an update that is due. Before it may complete, it is stopped at its first poll of `stop`, then at its second
/// one, and so on. Returns its metrics and the number of times that it was stopped.
fn stop_until_complete<L: Resumable>(
    training: &mut TrainingLoop<L>,
) -> Result<(L::Metrics, usize), LearnerViolation> {
    let before = training.state()?;
    let mut stops = 0;
    loop {
        let polls = Cell::new(0);
        let stop = || polls.replace(polls.get() + 1) == stops;
        if let Some(metrics) = training.learner.update_unless(&stop).map_err(failed)? {
            return Ok((metrics, stops));
        }
        let is_undone = training.learner.is_ready() && training.state()? == before;
        let problem = format!("an update that was stopped at poll {stops} changed the learner");
        LearnerRule::StoppedUpdatesAreUndone.check(is_undone, problem)?;
        stops += 1;
    }
}
