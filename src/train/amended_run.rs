//! Changes of the settings of a run that is resumed.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};

use super::hyperparameters;
use super::run::{InitialState, Run};
use super::team::SharedState;
use crate::agent::StoredAgent;
use crate::checkpoint::{self, Amendment, Checkpoint, CheckpointWriter};
use crate::cli::ResumeArgs;
use crate::cluster;
use crate::config::{self, Change, Config, Experiment};
use crate::enclosure;
use crate::failure::sentence;
use crate::files::limit;
use crate::telemetry::{Printer, Telemetry};
use crate::version::COMMIT;

/// Applies the settings of the flags to an agent that is about to continue training. Returns the keys that change.
pub(super) fn amend(agent: &mut StoredAgent, args: &ResumeArgs, printer: &Printer) -> Result<Vec<Change>> {
    let (config, changes) = config::amended(&agent.checkpoint.config, &args.set, args.total_frames)?;
    if !changes.is_empty() {
        let experiment = config.resolve()?;
        let (total, trained) = (experiment.run.total_frames, agent.checkpoint.progress.moment.frames);
        // The last steps of all environments may exceed the total that training began with.
        ensure!(
            total >= trained || total == agent.experiment.run.total_frames,
            "experiment.total_frames = {total} is not possible: the run has been trained for {trained} frames already"
        );
        print_new_warnings(&agent.experiment, &experiment, printer);
        agent.experiment = experiment;
    }
    Ok(changes)
}

/// Returns true if a change affects the scores of the same agent.
pub(super) fn affects_evaluation(change: &Change) -> bool {
    change.key.starts_with("evaluation.")
}

/// Fails unless the changes of a finished run concern only its evaluation and its checkpoints. Others would be recorded
/// as settings with which nothing was trained.
pub(super) fn check_finished(run_dir: &Path, changes: &[Change]) -> Result<()> {
    let has_effect = |change: &&Change| affects_evaluation(change) || change.key.starts_with("checkpoints.");
    match changes.iter().find(|change| !has_effect(change)) {
        None => Ok(()),
        Some(change) => bail!(
            "the run {} is finished, so {change} would have no effect; to train further, add a larger --total-frames",
            run_dir.display()
        ),
    }
}

/// Reads the configuration file of a run that has no checkpoint and applies the settings of the flags. Also returns the
/// keys that change.
pub(super) fn configured(
    run_dir: &Path,
    args: &ResumeArgs,
    printer: &Printer,
) -> Result<(Experiment, Vec<Change>)> {
    let path = run_dir.join(checkpoint::CONFIG);
    let unusable = || format!("the configuration {} cannot be used", path.display());
    let text = enclosure::read_text(run_dir, &path, limit::EXPERIMENT).with_context(unusable)?;
    let before = config::from_toml(&text).and_then(Config::resolve).with_context(unusable)?;
    let (config, changes) = config::amended(&text, &args.set, args.total_frames)?;
    let experiment = config.resolve()?;
    print_new_warnings(&before, &experiment, printer);
    Ok((experiment, changes))
}

/// Prints the warnings that a change of settings adds to those of the experiment.
fn print_new_warnings(before: &Experiment, after: &Experiment, printer: &Printer) {
    let known = before.warnings();
    let warnings = after.warnings().into_iter().chain(after.unused_precision());
    warnings.filter(|line| !known.contains(line)).for_each(|line| printer.warn(&line));
}

impl Run {
    /// Records the changes of settings: first in a checkpoint, with which they take effect, then in the files of the
    /// run. A run without checkpoints starts with its configuration file.
    pub(super) fn record_changes(
        &mut self,
        telemetry: &mut Telemetry,
        writer: &mut CheckpointWriter,
        printer: &Printer,
    ) -> Result<()> {
        for change in &self.changes {
            printer.say(&format!("from now on, {change}"));
        }
        if !self.changes.is_empty() {
            ensure!(
                cluster::peers().is_none() || self.learner.is_idle(),
                "the run stopped in the middle of a rollout, where several processes cannot change its settings; resume it \
                 without changes, or with a single process"
            );
            self.progress.amendments.push(Amendment {
                time: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
                commit: COMMIT.to_owned(),
                frames: self.progress.moment.frames,
                changes: self.changes.clone(),
            });
            if let InitialState::Restored { environments, .. } = &self.initial_state {
                telemetry.show(&self.progress.moment, &hyperparameters::text(&self.experiment)?);
                self.progress.telemetry = telemetry.positions();
                writer.write(&Checkpoint {
                    config: self.experiment.to_toml()?,
                    progress: self.progress.clone(),
                    learner: &SharedState::new(self.learner.as_ref()),
                    environments: environments.clone(),
                })?;
                if let Err(error) = writer.remove_old() {
                    printer.warn(&sentence(&error));
                }
            }
        }
        self.publish_changes()
    }

    /// Records the changes of settings in the files of the run, unless they are already there.
    pub(super) fn publish_changes(&self) -> Result<()> {
        checkpoint::publish(&self.directory, &self.experiment.to_toml()?, &self.progress.amendments)
    }
}
