//! Training: environments, learner, telemetry and checkpoints, with an evaluation at the end.

mod amended_run;
mod clock;
mod closing;
mod collection;
mod divergence;
mod evaluations;
mod faults;
mod follower;
mod game_overrides;
mod health;
mod hyperparameters;
mod measurement;
mod plan;
mod plan_line;
pub(crate) mod processes;
mod run;
mod saving;
mod services;
mod tally;
mod team;
mod training;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};

use crate::agent::StoredAgent;
use crate::checkpoint::{self, Progress};
use crate::cli::{Global, ResumeArgs, TrainCommand};
use crate::cluster;
use crate::config::{self, Chosen, Experiment, Layers};
use crate::device::DeviceName;
use crate::enclosure;
use crate::environments::{Builder, CommandOverrides};
use crate::failure::sentence;
use crate::files::limit;
use crate::initial_weights::{self, Source};
use crate::provenance::Provenance;
use crate::runs;
use crate::telemetry::Printer;
use crate::threads::{set_threads, threads_or_cores, too_many_threads};
use crate::zoo_agents;

use run::{InitialState, OutputOptions, Run};

/// The experiment of a new run, and where it comes from.
pub(crate) struct Planned {
    pub(crate) experiment: Experiment,
    /// The preset that it starts from.
    preset: Option<Chosen>,
    /// The agent whose weights the run starts from.
    source: Option<Source>,
    /// A clause about the keys that have its values.
    inherited: Option<String>,
}

impl Planned {
    /// Returns the experiment of a training command, with everything settled that depends on this process.
    pub(crate) fn of(command: &TrainCommand, printer: &Printer) -> Result<Self> {
        let (args, algorithm) = (&command.args, command.algorithm);
        let source = args.init_from.as_deref().map(|path| Source::open(path, printer)).transpose()?;
        let inherited = source.as_ref().map(|source| source.network_keys(algorithm)).transpose()?;
        let own = args.experiment.layers();
        let layers = Layers { inherited: inherited.unwrap_or_default(), ..own.clone() };
        let config = config::from_layers(&layers, Some(algorithm))?;
        let preset = config.preset.clone();
        let inherited = source.as_ref().and_then(|source| inherited_from(source, &config.inherited));
        let mut experiment = match (config.resolve(), &inherited) {
            (Err(error), Some(inherited)) => {
                // Most mistakes have nothing to do with the keys of the agent.
                config::from_layers(&own, Some(algorithm))?.resolve()?;
                return Err(error.context(inherited.clone()));
            }
            (resolved, _) => resolved?,
        };
        processes::settle_shards(&mut experiment);
        experiment.settle_halves(cluster::peers().is_none());
        experiment.settle_popart_floor();
        processes::settle_bf16_arithmetic(&mut experiment)?;
        Ok(Self { experiment, preset, source, inherited })
    }
}

/// Returns a clause about keys that have the values of an agent; none if there are none.
fn inherited_from(source: &Source, settings: &[String]) -> Option<String> {
    let path = source.origin.path.display();
    (!settings.is_empty()).then(|| format!("{} from {path}", settings.join(", ")))
}

/// Runs `ale-train ppo` and the other training commands: starts a run. Writes nothing until the experiment has been
/// checked.
pub(crate) fn start(command: &TrainCommand, global: &Global, out: &mut impl Write) -> Result<()> {
    let printer = Printer::new(global.quiet);
    let Planned { experiment, preset, source, inherited } = Planned::of(command, &printer)?;
    let args = &command.args;
    experiment.warnings().iter().for_each(|line| printer.warn(line));
    if let Some(chosen) = &preset {
        printer.say(&chosen.sentence());
    }
    if let Some(inherited) = &inherited {
        printer.say(inherited);
    }
    let device = experiment.device;
    let run_dir = args.run_dir.clone().unwrap_or_else(|| default_run_dir(&experiment));
    let mut run = fresh(experiment, run_dir, &CommandOverrides::default(), device, source.as_ref(), global)?;
    if let Some(source) = &source {
        printer.say(&source.transfer_to(run.learner.as_mut(), &run.experiment, global)?);
        run.initial_state = InitialState::Transferred;
    }
    if !cluster::is_follower() {
        let origin = source.as_ref().map(|source| &source.origin);
        if args.run_dir.is_none() {
            // Another run may have started in the same second.
            run.directory = checkpoint::create_unused(&run.directory)?;
        }
        checkpoint::create_run(
            &run.directory,
            &run.experiment.to_toml()?,
            &Provenance::of_run(&run.builder, preset.as_ref(), origin).to_json()?,
        )?;
    }
    run.execute(&OutputOptions { quiet: global.quiet, json: args.json, per_game: args.per_game }, out)
}

/// Returns a run that has not begun. It may have the network of `source`, whose observations then are those of the run.
fn fresh(
    experiment: Experiment,
    directory: PathBuf,
    overrides: &CommandOverrides,
    device: DeviceName,
    source: Option<&Source>,
    global: &Global,
) -> Result<Run> {
    set_threads(overrides.num_threads.unwrap_or_else(|| experiment.num_threads()))?;
    let cluster = processes::cluster_of(&experiment)?;
    let builder = cluster::leader_first(|| Builder::new(&experiment, overrides, global))?;
    let (environments, spec) = builder.build_share(&cluster)?;
    let (policy, device, seed) = (experiment.policy.clone(), device.open()?, experiment.run.seed);
    let observations = spec.observation_space.to_string();
    let learner = experiment.algorithm.create(policy, spec, cluster, &device, seed).or_else(|error| {
        // If the observations differ, they are the reason why the run cannot have the network.
        source.map_or(Ok(()), |source| source.check_observations(observations, &experiment, global))?;
        Err(error)
    })?;
    Ok(Run {
        experiment,
        directory,
        lock: None,
        builder,
        environments,
        learner,
        device,
        initial_state: InitialState::Fresh,
        progress: Progress::default(),
        changes: Vec::new(),
        scores: Vec::new(),
    })
}

/// Runs `ale-train resume`: continues a run from its last checkpoint, or from the beginning if it has none yet.
pub(crate) fn resume(args: &ResumeArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    ensure!(
        zoo_agents::find(&args.run_dir)?.is_none(),
        "{} is an agent, not a run; start a run from it with --init-from {0}",
        args.run_dir.display()
    );
    let printer = Printer::new(global.quiet);
    // Only now, because processes that train together share the cores, and they have only just connected.
    let num_threads = args.num_threads.map(threads_or_cores);
    if let Some(line) = num_threads.and_then(too_many_threads) {
        printer.warn(&line);
    }
    let overrides = CommandOverrides { num_threads, ..CommandOverrides::default() };
    let device = args.device.as_deref().map(DeviceName::parse).transpose()?;
    let output = OutputOptions { quiet: global.quiet, json: args.json, per_game: args.per_game };
    let run_dir = checkpoint::run_at(&args.run_dir)?;
    // Before the newest checkpoint is chosen: another process may still write a newer one.
    let is_lockable = !cluster::is_follower() && run_dir.join(checkpoint::CONFIG).exists();
    let lock = is_lockable.then(|| checkpoint::lock(&run_dir)).transpose()?;
    if checkpoint::is_before_first_checkpoint(&args.run_dir) {
        let amendments = checkpoint::published(&args.run_dir)?;
        initial_weights::check_absent(&args.run_dir)?;
        let (experiment, changes) = amended_run::configured(&args.run_dir, args, &printer)?;
        let device = device.unwrap_or(experiment.device);
        let mut run = fresh(experiment, args.run_dir.clone(), &overrides, device, None, global)?;
        run.progress.amendments = amendments;
        let directory = args.run_dir.display();
        printer.say(&format!("the run {directory} has no checkpoint yet: it starts from the beginning"));
        return Run { lock, changes, ..run }.execute(&output, out);
    }
    let agent = StoredAgent::open_newest(&args.run_dir, |line| printer.warn(line))?;
    if checkpoint::are_published(&run_dir, &agent.checkpoint.progress.amendments)? {
        warn_of_changes(&run_dir, &agent.checkpoint.config, &printer);
    }
    let run = restored(agent, args, run_dir, &overrides, device, global)?;
    Run { lock, ..run }.execute(&output, out)
}

/// Returns the run that continues from a checkpoint with the changes of `args`, on `device` or else the device of the
/// run.
fn restored(
    mut agent: StoredAgent,
    args: &ResumeArgs,
    run_dir: PathBuf,
    overrides: &CommandOverrides,
    device: Option<DeviceName>,
    global: &Global,
) -> Result<Run> {
    let was_complete = agent.experiment.is_complete(&agent.checkpoint.progress.moment);
    let changes = amended_run::amend(&mut agent, args, &Printer::new(global.quiet))?;
    let device = device.unwrap_or(agent.experiment.device).open()?;
    set_threads(overrides.num_threads.unwrap_or_else(|| agent.experiment.num_threads()))?;
    let cluster = processes::cluster_of(&agent.experiment)?;
    let builder = cluster::leader_first(|| Builder::new(&agent.experiment, overrides, global))?;
    let (environments, spec) = builder.build_share(&cluster)?;
    let Experiment { algorithm, policy, .. } = &agent.experiment;
    let learner = algorithm.restore(&agent.checkpoint.learner, policy.clone(), &spec, cluster, &device);
    let learner = learner.with_context(|| agent.unusable())?;
    ensure!(
        *learner.spec() == spec,
        "{}: its learner was trained in environments that differ from those of its configuration",
        agent.unusable()
    );
    let StoredAgent { mut checkpoint, experiment, directory, .. } = agent;
    if learner.is_complete() {
        if was_complete {
            amended_run::check_finished(&run_dir, &changes)?;
        }
        if changes.iter().any(amended_run::affects_evaluation) {
            // It is repeated with the new settings, also by a process that resumes after an interruption.
            checkpoint.progress.evaluation = None;
        }
    }
    Ok(Run {
        experiment,
        directory: run_dir,
        lock: None,
        builder,
        environments,
        learner,
        device,
        initial_state: InitialState::Restored {
            environments: checkpoint.environments,
            checkpoint: directory,
        },
        progress: checkpoint.progress,
        changes,
        scores: Vec::new(),
    })
}

/// Warns about changes to the configuration file of a run, which have no effect: the configuration of the checkpoint
/// is used.
fn warn_of_changes(run_dir: &Path, config: &str, printer: &Printer) {
    let path = run_dir.join(checkpoint::CONFIG);
    let text = enclosure::read_text(run_dir, &path, limit::EXPERIMENT);
    if text.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return;
    }
    let text = text.map_err(anyhow::Error::from);
    let changed = match text.and_then(|text| config::changed_keys(config, &text)) {
        Ok(keys) if keys.is_empty() => return,
        Ok(keys) => format!("changes {}", keys.join(", ")),
        Err(error) => format!("cannot be read ({})", sentence(&error)),
    };
    printer.warn(&format!(
        "{} {changed}; the run continues with the configuration of its checkpoint",
        path.display()
    ));
}

/// Returns `checkpoints/pong__ppo__1__1767225600`, the naming scheme of `CleanRL`.
fn default_run_dir(experiment: &Experiment) -> PathBuf {
    let names = experiment.games.names();
    let games =
        if names.len() > 3 { format!("{}-games", names.len()) } else { names.join("-").replace(':', "-") };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Path::new(runs::DIRECTORY)
        .join(format!("{games}__{}__{}__{now}", experiment.run.algorithm, experiment.run.seed))
}
