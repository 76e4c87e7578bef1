//! A conformance test for environments, in the manner of Gymnasium's `check_env`.

mod actions;
mod rule;
mod spaces;
mod trace;

use crate::{Env, EnvError};

use actions::{OwnedAction, illegal_actions, sample_actions};
use trace::{Call, Player, Trace};

pub use rule::{Rule, Violation};

/// Seed of all episodes that are compared.
const SEED: u64 = 1;
/// Steps of the reference trace, which may span several episodes.
const NUM_STEPS: usize = 200;
/// The number of steps that illegal actions precede.
const NUM_ILLEGAL_STEPS: usize = 20;
/// Numbers of steps after which a snapshot is taken.
const SNAPSHOT_POINTS: [usize; 4] = [0, 1, 10, NUM_STEPS / 2];

/// Checks that an environment follows every [`Rule`] of [`Env`], by playing random actions.
///
/// A few thousand steps are made. The environment is left in an unspecified state.
///
/// # Errors
///
/// The first [`Violation`] that is found.
///
/// ```
/// use rl_env::{Action, Env, EnvError, Rule, Space, Step, check_env, snapshot};
///
/// /// Counts its resets, which no seed undoes.
/// struct Resets {
///     observation_space: Space,
///     action_space: Space,
///     count: u8,
/// }
///
/// impl Env for Resets {
///     type Info = ();
///
///     fn observation_space(&self) -> &Space {
///         &self.observation_space
///     }
///     fn action_space(&self) -> &Space {
///         &self.action_space
///     }
///     fn reset(&mut self, _seed: Option<u64>, observation: &mut [u8]) {
///         self.count = self.count.wrapping_add(1);
///         self.observe(observation);
///     }
///     fn step(&mut self, action: Action<'_>, observation: &mut [u8]) -> Result<Step, EnvError> {
///         action.to_index(&self.action_space)?;
///         self.observe(observation);
///         Ok(Step { terminated: true, ..Step::reward(1.0) })
///     }
///     fn info(&self) {}
///     fn observe(&self, observation: &mut [u8]) {
///         observation[0] = self.count;
///     }
///     fn snapshot(&self) -> Vec<u8> {
///         snapshot::encode(&self.count)
///     }
///     fn restore(&mut self, snapshot: &[u8]) -> Result<(), EnvError> {
///         self.count = snapshot::decode(snapshot)?;
///         Ok(())
///     }
/// }
///
/// let mut env = Resets { observation_space: Space::bytes([1]), action_space: Space::discrete(2), count: 0 };
/// assert_eq!(check_env(&mut env).unwrap_err().rule, Rule::SeedsDetermineEpisodes);
/// ```
pub fn check_env<E: Env + ?Sized>(env: &mut E) -> Result<(), Violation> {
    spaces::check(env.observation_space(), env.action_space())?;
    let action_space = env.action_space().clone();
    let actions = sample_actions(&action_space, NUM_STEPS);
    let illegal = illegal_actions(&action_space, &actions[0]);
    let mut player = Player::new(env, actions);

    let reference = player.play_from(SEED, Call::Step)?;
    let again = player.play_from(SEED, Call::Step)?;
    reference.expect(&again, 0, Rule::SeedsDetermineEpisodes)?;
    let advanced = player.play_from(SEED, Call::Advance)?;
    reference.expect(&advanced, 0, Rule::AdvanceEqualsStep)?;
    check_illegal_actions(&mut player, &illegal, &reference)?;
    for point in SNAPSHOT_POINTS {
        check_snapshot(&mut player, point, &reference)?;
    }
    Ok(())
}

/// Tries illegal actions between the steps of the reference trace.
fn check_illegal_actions<E: Env + ?Sized>(
    player: &mut Player<'_, E>,
    illegal: &[OwnedAction],
    reference: &Trace,
) -> Result<(), Violation> {
    let mut trace = player.start(SEED)?;
    for index in 0..NUM_ILLEGAL_STEPS {
        for action in illegal {
            for call in [Call::Step, Call::Advance] {
                match player.call(call, action.as_action()) {
                    Err(EnvError::InvalidAction { .. }) => {}
                    Err(error) => {
                        let details = format!("{call} with action {action} returned another error: {error}");
                        return Err(Rule::IllegalActionsAreErrors.violated(details));
                    }
                    Ok(_) => {
                        let details = format!("{call} accepted action {action}");
                        return Err(Rule::IllegalActionsAreErrors.violated(details));
                    }
                }
            }
        }
        player.play(&mut trace, index..index + 1, Call::Step)?;
    }
    reference.expect(&trace, 0, Rule::FailedStepsChangeNothing)
}

/// Restores a snapshot taken after `point` steps of the reference trace, and plays the rest of the trace again.
fn check_snapshot<E: Env + ?Sized>(
    player: &mut Player<'_, E>,
    point: usize,
    reference: &Trace,
) -> Result<(), Violation> {
    let mut trace = player.start(SEED)?;
    player.play(&mut trace, 0..point, Call::Step)?;
    let snapshot = player.env.snapshot();
    player.play(&mut trace, point..NUM_STEPS, Call::Step)?;

    let restored = player.restore(&snapshot)?;
    restored.expect_start(reference.observation_after(point))?;
    let mut trace = restored;
    player.play(&mut trace, point..NUM_STEPS, Call::Step)?;
    reference.expect(&trace, point, Rule::RestoredStatesContinue)?;

    let Some((_, truncated)) = snapshot.split_last() else { return Ok(()) };
    let mut trace = player.restore(&snapshot)?;
    match player.env.restore(truncated) {
        Err(EnvError::BadSnapshot(_)) => {}
        Err(error) => {
            let details = format!("a truncated snapshot gave another error: {error}");
            return Err(Rule::DamagedSnapshotsAreErrors.violated(details));
        }
        Ok(()) => {
            let details = "a snapshot without its last byte was accepted".to_owned();
            return Err(Rule::DamagedSnapshotsAreErrors.violated(details));
        }
    }
    player.play(&mut trace, point..NUM_STEPS, Call::Step)?;
    reference.expect(&trace, point, Rule::FailedRestoresChangeNothing)
}
