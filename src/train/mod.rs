//! The experiment: environments -> learner -> telemetry -> checkpoints, and an evaluation at the end.

mod run;
mod tally;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use algorithms::EnvSpec;
use algorithms::ppo::Ppo;
use anyhow::{Context, Result};

use crate::checkpoint::{self, Progress};
use crate::cli::{Global, ResumeArgs, TrainArgs};
use crate::config::{self, Experiment};
use crate::environments::{Builder, Purpose};

use run::{Beginning, Run};

/// `ale-train ppo`: a new run. Nothing is written before everything that was asked for is known to be possible.
pub(crate) fn start(args: &TrainArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let experiment = config::from_args(args)?.resolve()?;
    experiment.set_threads()?;
    let builder = Builder::new(&experiment, global)?;
    let environments = builder.build(Purpose::Training)?;
    let spec = EnvSpec::of(environments.as_ref())?;
    let learner = Ppo::new(experiment.ppo.clone(), spec, &experiment.device.device(), experiment.seed)?;
    let run_dir = args.run_dir.clone().unwrap_or_else(|| default_run_dir(&experiment));
    checkpoint::create_run(&run_dir, &experiment.to_toml()?)?;
    let run = Run {
        experiment,
        folder: run_dir,
        builder,
        environments,
        learner,
        beginning: Beginning::Fresh,
        progress: Progress::default(),
    };
    run.execute(global.quiet, out)
}

/// `ale-train resume`: a run goes on from its last checkpoint.
pub(crate) fn resume(args: &ResumeArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let folder = checkpoint::latest(&args.run_dir)?;
    let checkpoint = checkpoint::load(&folder)?;
    let unusable = || format!("the checkpoint {} cannot be used", folder.display());
    let experiment = config::from_toml(&checkpoint.config)?.resolve().with_context(unusable)?;
    experiment.set_threads()?;
    let builder = Builder::new(&experiment, global)?;
    let environments = builder.build(Purpose::Training)?;
    let learner = Ppo::from_state(&checkpoint.learner, &experiment.device.device()).with_context(unusable)?;
    let run = Run {
        experiment,
        folder: run_of(&folder),
        builder,
        environments,
        learner,
        beginning: Beginning::Restored(checkpoint.environments),
        progress: checkpoint.progress,
    };
    run.execute(global.quiet, out)
}

/// The run that a checkpoint belongs to.
fn run_of(checkpoint: &Path) -> PathBuf {
    let run = checkpoint.parent().and_then(Path::parent);
    run.filter(|run| !run.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

/// `checkpoints/pong__ppo__1__1767225600`, in the manner of `CleanRL`.
fn default_run_dir(experiment: &Experiment) -> PathBuf {
    let names = experiment.games.names();
    let games = if names.len() > 3 { format!("{}-games", names.len()) } else { names.join("-") };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Path::new("checkpoints").join(format!("{games}__ppo__{}__{now}", experiment.seed))
}
