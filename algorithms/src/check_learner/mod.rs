//! A conformance test for learners, beside [`rl_env::check_env`] for environments.

mod player;
mod random_envs;
mod rule;

use std::cell::Cell;

use burn::tensor::Device;
use rl_env::{AutoresetMode, Batch};

use crate::LearnerError;
use crate::engine::Resumable;
use player::{Player, failed};

pub(crate) use random_envs::RandomEnvs;
pub use rule::{LearnerRule, LearnerViolation};

/// The number of steps of the training that is repeated.
const STEPS: usize = 40;
/// The numbers of steps after which a learner is restored.
const PAUSES: [usize; 5] = [0, 1, 5, 16, STEPS];
/// The number of steps that a restored learner continues.
const CONTINUED: usize = 20;
/// The number of updates that are stopped at every moment.
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
/// // Three moments for each minibatch of both updates.
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
    let mut players = [Player::new(new()), Player::new(new())];
    for step in 0..STEPS {
        let [first, second] = players.each_mut().map(Player::step);
        LearnerRule::SeedDeterminesTraining.expect(first? == second?, format!("step {step} differs"))?;
    }
    let [first, second] = players.each_ref().map(Player::state);
    LearnerRule::SeedDeterminesTraining.expect(first? == second?, "the states differ")
}

/// Calls every method when it is not its turn.
fn check_order<L: Resumable>(learner: L) -> Result<(), LearnerViolation> {
    let mut player = Player::new(learner);
    for _ in 0..STEPS {
        refused_out_of_order(&mut player, "observe", |Player { learner, envs }| {
            learner.observe(&envs.batch)
        })?;
        refused_out_of_order(&mut player, "update", |player| {
            player.learner.update_unless(&|| false).map(drop)
        })?;
        player.act()?;
        refused_out_of_order(&mut player, "act", |Player { learner, envs }| {
            learner.act(&envs.batch).map(drop)
        })?;
        player.observe()?;
        player.update()?;
    }
    Ok(())
}

/// Expects that a call fails and changes nothing.
fn refused_out_of_order<L: Resumable>(
    player: &mut Player<L>,
    method: &str,
    call: impl FnOnce(&mut Player<L>) -> Result<(), LearnerError>,
) -> Result<(), LearnerViolation> {
    let (rule, before) = (LearnerRule::RefusesCallsOutOfOrder, player.state()?);
    let result = call(player);
    let is_refused = matches!(result, Err(LearnerError::OutOfOrder(_)));
    rule.expect(is_refused, format!("{method} returned {result:?}"))?;
    rule.expect(player.state()? == before, format!("{method} changed the learner"))
}

/// Observes batches that are not of the environments.
fn check_batches<L: Resumable>(learner: L) -> Result<(), LearnerViolation> {
    let mut player = Player::new(learner);
    player.act()?;
    let before = player.state()?;
    for (what, batch) in foreign_batches(&player.envs) {
        let (rule, result) = (LearnerRule::RefusesForeignBatches, player.learner.observe(&batch));
        rule.expect(result.is_err(), format!("a batch with {what} was observed"))?;
        rule.expect(player.state()? == before, format!("a batch with {what} changed the learner"))?;
    }
    player.observe()
}

/// Returns batches that differ from those of environments in one respect.
fn foreign_batches(envs: &RandomEnvs) -> Vec<(&'static str, Batch)> {
    let own = &envs.batch;
    let (rows, row_bytes) = (own.len(), own.observations.row_bytes());
    let is_same_step = envs.spec.autoreset_mode == AutoresetMode::SameStep;
    let mut infinite = own.clone();
    infinite.rewards[rows - 1] = f32::INFINITY;
    let mut batches = vec![
        ("a row more", Batch::new(rows + 1, row_bytes, is_same_step)),
        ("larger observations", Batch::new(rows, row_bytes + 4, is_same_step)),
        ("other final observations", Batch::new(rows, row_bytes, !is_same_step)),
        ("an infinite reward", infinite),
    ];
    if own.has_action_masks() {
        let mut unmasked = Batch::new(rows, row_bytes, is_same_step);
        unmasked.observations.clone_from(&own.observations);
        unmasked.final_observations.clone_from(&own.final_observations);
        batches.push(("no action masks", unmasked.clone()));
        batches.push(("shorter action masks", unmasked.with_action_masks(1)));
    }
    if rows > 1 {
        let mut disordered = own.clone();
        disordered.env_ids.reverse();
        batches.push(("rows in another order", disordered));
    }
    batches
}

/// Restores a learner before each call of the step after `pause` steps.
fn check_states<L: Resumable>(learner: L, pause: usize, device: &Device) -> Result<(), LearnerViolation> {
    let mut player = Player::new(learner);
    for _ in 0..pause {
        player.step()?;
    }
    let mut before = restored(&player, device)?;
    player.act()?;
    let mut acted = restored(&player, device)?;
    player.observe()?;
    let mut observed = restored(&player, device)?;
    player.update()?;
    observed.update()?;
    acted.observe()?;
    acted.update()?;
    before.step()?;
    let rule = LearnerRule::StatesContinue;
    for (moment, other) in [("act", &mut before), ("observe", &mut acted), ("update", &mut observed)] {
        let problem = format!("restored before {moment} after {pause} steps, the states differ");
        rule.expect(player.state()? == other.state()?, problem)?;
    }
    for step in 0..CONTINUED {
        let problem = format!("restored after {pause} steps, step {step} differs");
        rule.expect(player.step()? == before.step()?, problem)?;
    }
    rule.expect(
        player.state()? == before.state()?,
        format!("restored after {pause} steps, the states differ"),
    )
}

/// Returns a restored copy.
fn restored<L: Resumable>(player: &Player<L>, device: &Device) -> Result<Player<L>, LearnerViolation> {
    let state = player.state()?;
    let learner = L::from_state(&state, device).map_err(failed)?;
    let copy = Player { learner, envs: player.envs.clone() };
    LearnerRule::StatesContinue.expect(copy.state()? == state, "a restored learner has another state")?;
    Ok(copy)
}

/// Restores truncated and changed states.
fn check_damaged_states<L: Resumable>(learner: L, device: &Device) -> Result<(), LearnerViolation> {
    let mut player = Player::new(learner);
    player.step()?;
    let state = player.state()?;
    let mut damaged: Vec<(String, Vec<u8>)> = [0, 9, 10, state.len() / 2, state.len() - 1]
        .map(|length| (format!("the first {length} bytes"), state[..length].to_vec()))
        .into();
    damaged.push(("a byte more".to_owned(), [&state[..], &[0]].concat()));
    for (part, index) in [("another name", 0), ("another version", 8)] {
        let mut changed = state.clone();
        changed[index] ^= 0x40;
        damaged.push((part.to_owned(), changed));
    }
    for (what, bytes) in damaged {
        let result = L::from_state(&bytes, device).map(drop);
        let is_refused = matches!(result, Err(LearnerError::BadState(_)));
        LearnerRule::RefusesDamagedStates.expect(is_refused, format!("{what}: {result:?}"))?;
    }
    Ok(())
}

/// Stops updates of the first learner at every possible moment; the second is never stopped. Returns the number of
/// stops.
fn check_stopped_updates<L: Resumable>(learners: [L; 2]) -> Result<usize, LearnerViolation> {
    let (rule, mut stops) = (LearnerRule::StoppedUpdatesAreUndone, 0);
    let [mut stopped, mut other] = learners.map(Player::new);
    for _ in 0..STOPPED_UPDATES {
        stopped.fill()?;
        other.fill()?;
        let before = stopped.state()?;
        let mut moments = 0;
        let metrics = loop {
            let asked = Cell::new(0);
            let stop = || asked.replace(asked.get() + 1) == moments;
            if let Some(metrics) = stopped.learner.update_unless(&stop).map_err(failed)? {
                break metrics;
            }
            let is_undone = stopped.learner.is_ready() && stopped.state()? == before;
            rule.expect(
                is_undone,
                format!("an update that was stopped at moment {moments} changed the learner"),
            )?;
            moments += 1;
        };
        let expected = other.update()?;
        rule.expect(Some(&metrics) == expected.as_ref(), format!("{metrics:?} instead of {expected:?}"))?;
        rule.expect(stopped.state()? == other.state()?, "the states after the update differ")?;
        stops += moments;
    }
    Ok(stops)
}
