//! Errors of environments and workers, with the name and the seed of the environment.

use std::fmt::Write as _;

use rl_env::{EnvError, VectorError, VectorPhase};

use super::WorkerVectorEnv;
use crate::protocol::EnvFault;
use crate::workers::Fault;

impl WorkerVectorEnv {
    /// Notes a fault during a call, and returns the error to report.
    pub(super) fn record_fault(&mut self, fault: Fault) -> VectorError {
        let is_fatal = matches!(fault, Fault::Ended { .. });
        let error = self.to_vector_error(fault);
        self.phase = if is_fatal { VectorPhase::Broken(error.clone()) } else { VectorPhase::Failed };
        error
    }

    /// Returns the error to report for a fault.
    pub(super) fn to_vector_error(&self, fault: Fault) -> VectorError {
        match fault {
            Fault::Interrupted => VectorError::Interrupted,
            Fault::Env { fault, output } => self.env_error(fault.env, &describe(&fault), &output),
            Fault::Ended { env, reason, output } => {
                self.env_error(env, &format!("its worker process {reason}"), &output)
            }
        }
    }

    /// Returns an error of an environment.
    pub(super) fn env_error(&self, env: usize, message: &str, output: &str) -> VectorError {
        let mut text = self.task_of(env).to_owned();
        if let Some(seed) = self.envs[env].seed {
            _ = write!(text, " (seed {seed})");
        }
        _ = write!(text, ": {message}");
        if !output.is_empty() {
            _ = write!(text, "\nThe worker printed last:\n{output}");
        }
        VectorError::Env { env, error: EnvError::Failed(text) }
    }
}

/// Describes an error of an environment.
fn describe(fault: &EnvFault) -> String {
    let EnvFault { stage, step, error, traceback, .. } = fault;
    let place = match stage.as_str() {
        "step" => format!("step {step} of the episode failed: "),
        stage => format!("{stage} failed: "),
    };
    let traceback = traceback.as_ref().map_or_else(String::new, |traceback| format!("\n{traceback}"));
    format!("{place}{error}{traceback}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_step_and_end_with_the_traceback() {
        let fault = EnvFault {
            env: 3,
            stage: "step".to_owned(),
            step: 7,
            error: "ValueError: no".to_owned(),
            traceback: Some("Traceback".to_owned()),
        };
        assert_eq!(describe(&fault), "step 7 of the episode failed: ValueError: no\nTraceback");
        let fault = EnvFault { stage: "reset".to_owned(), traceback: None, ..fault };
        assert_eq!(describe(&fault), "reset failed: ValueError: no");
    }
}
