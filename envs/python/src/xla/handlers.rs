//! The functions that XLA calls.

use rl_env::{VectorEnv, VectorError};

use super::api::{CallFrame, Code, Error};
use super::call::{self, Argument, Arguments, Failure, Flag, Results};
use super::open::find;
use super::outputs::{put_reset, put_step};
use crate::actions::OwnActions;
use crate::columns::Rows;
use crate::environments::{Environments, State};
use crate::errors;

/// The seed that stands for no seed.
pub(super) const NO_SEED: i32 = i32::MIN;

impl From<VectorError> for Failure {
    fn from(error: VectorError) -> Self {
        let code = if errors::is_invalid_argument(&error) {
            Code::InvalidArgument
        } else {
            Code::FailedPrecondition
        };
        Self { code, message: error.to_string() }
    }
}

/// Defines a handler with this documentation and body.
macro_rules! handlers {
    ($($(#[$doc:meta])* $name:ident => $body:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// Only XLA may call it.
        #[allow(unsafe_code)]
        pub(super) unsafe extern "C" fn $name(frame: *mut CallFrame) -> *mut Error {
            // SAFETY: this is a handler that XLA calls.
            unsafe { call::answer(frame, $body) }
        }
    )*};
}

handlers! {
    /// `(handle, seeds, mask) -> (handle, results of a reset)`. `seeds` is a scalar, the seed of the first environment
    /// to be reset, or has one entry for each environment to be reset.
    reset => |arguments, results| with_envs(arguments, results, |envs, state, results| {
        let mask = arguments.get(2, "reset_mask")?.elements::<Flag>()?;
        let mask: Vec<bool> = mask.iter().map(|flag| flag.get()).collect();
        let selected = mask.iter().filter(|&&selected| selected).count();
        if !state.was_reset() && selected < mask.len() {
            return Err(first_of_some(selected, mask.len()));
        }
        state.reset(&seeds(&arguments.get(1, "seed")?, selected)?, Some(&mask))?;
        put_reset(envs, &Rows::last_batch(&state.env), results)
    });

    /// `(handle, actions) -> (handle, results of a step)`.
    step => |arguments, results| with_envs(arguments, results, |envs, state, results| {
        state.env.step(actions(&arguments.get(1, "actions")?)?.as_actions())?;
        put_step(envs, &Rows::last_batch(&state.env), results)
    });

    /// `(handle, actions, env_ids) -> (handle,)`. Empty `env_ids` stand for those of the last batch.
    send => |arguments, results| with_envs(arguments, results, |_, state, _| {
        let env_ids = arguments.get(2, "env_ids")?.elements::<i32>()?.iter();
        let env_ids: Vec<usize> = env_ids.map(|&id| usize::try_from(id).unwrap_or(usize::MAX)).collect();
        let actions = actions(&arguments.get(1, "actions")?)?;
        match &*env_ids {
            [] => state.env.send(actions.as_actions())?,
            env_ids => state.env.send_to(actions.as_actions(), env_ids)?,
        }
        Ok(())
    });

    /// `(handle,) -> (handle, results of a step)`.
    recv => |arguments, results| with_envs(arguments, results, |envs, state, results| {
        state.env.recv()?;
        put_step(envs, &Rows::last_batch(&state.env), results)
    });
}

/// Calls `body` with the environments that the first argument names, and returns the handle as the first result.
fn with_envs(
    arguments: &Arguments<'_>,
    results: &mut Results<'_>,
    body: impl FnOnce(&Environments, &mut State, &mut Results<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (handle, envs) = find(&arguments.get(0, "handle")?)?;
    results.write(handle.len(), handle.into_iter())?;
    let mut state = envs.lock_detached();
    body(&envs, &mut state, results)
}

fn first_of_some(selected: usize, num_envs: usize) -> Failure {
    let message = format!("The first reset() must reset every environment (got {selected} of {num_envs})");
    Failure { code: Code::FailedPrecondition, message }
}

/// Returns the seeds of the environments to be reset.
fn seeds(argument: &Argument<'_>, selected: usize) -> Result<Vec<Option<u64>>, Failure> {
    let given = argument.elements::<i32>()?;
    let seeds: Vec<i64> = match (argument.shape(), given) {
        ([], [NO_SEED]) => vec![-1; selected],
        ([], [first]) => (i64::from(*first)..).take(selected).collect(),
        ([len], given) if usize::try_from(*len) == Ok(selected) => {
            given.iter().map(|&seed| seed.into()).collect()
        }
        (shape, _) => {
            return Err(Failure::invalid(format!(
                "`seed` must have one entry per sub-environment being reset, expected shape ({selected},), got {shape:?}"
            )));
        }
    };
    let largest = seeds.iter().copied().max().unwrap_or(0);
    if largest > i32::MAX.into() {
        return Err(Failure::invalid(format!("seeds must be at most {}, got {largest}", i32::MAX)));
    }
    Ok(seeds.into_iter().map(|seed| u64::try_from(seed).ok()).collect())
}

/// Returns a copy of the actions.
fn actions(argument: &Argument<'_>) -> Result<OwnActions, Failure> {
    Ok(if argument.is::<f32>() {
        OwnActions::Continuous(argument.elements::<f32>()?.to_vec())
    } else if argument.is::<i64>() {
        OwnActions::saturated(argument.elements()?)
    } else {
        OwnActions::Discrete(argument.elements()?.to_vec())
    })
}
