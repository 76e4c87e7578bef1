//! A run of a sweep, in a process of its own.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::pruning::{Pruned, Pruning};
use super::{COMPLETE, PRUNED, Variant, stopped};
use crate::checkpoint;
use crate::cli::{Global, Launcher, SweepArgs};
use crate::durable;
use crate::interrupt::Interrupt;
use crate::output::notice;
use crate::program;
use crate::signal::{self, Signal};
use crate::threads::cores;

/// The time between two looks at the curves of a run that may be pruned.
const LOOK: Duration = Duration::from_millis(500);

/// The outcome of a run.
pub(super) enum Outcome {
    Completed,
    Pruned,
    Failed,
}

/// Trains a run, resuming it if it has begun.
pub(super) fn train_run(
    args: &SweepArgs,
    variant: &Variant<'_>,
    seed: u64,
    global: &Global,
    pruning: Option<&Pruning>,
    interrupt: &Interrupt,
) -> Result<Outcome> {
    let run_dir = variant.run_dir(&args.run_dir, seed);
    let mut command = command(args, variant, seed, global)?;
    let cannot = || format!("cannot start a run with {}", command_name(args));
    let mut child = command.spawn().with_context(cannot)?;
    let id = child.id();
    let (status, pruned) = thread::scope(|scope| {
        let (ended, ending) = mpsc::channel::<()>();
        let supervision = pruning.map(|pruning| {
            let (run_dir, signal) = (&run_dir, stop_signal(args));
            scope.spawn(move || supervise(pruning, run_dir, &ending, || signal::send(signal, id)))
        });
        let status = interrupt.wait_for(&mut child);
        drop(ended);
        let pruned = supervision.and_then(|thread| thread.join().ok().flatten());
        status.map(|status| (status, pruned))
    })
    .context("cannot wait for a run")?;
    if status.success() {
        return durable::write_inside(&args.run_dir, &run_dir.join(COMPLETE), b"")
            .map(|()| Outcome::Completed);
    }
    // If this process was asked to stop, the exit status is ignored: the signal may have arrived before the run handled
    // signals.
    if let Some(signal) = interrupt.signal() {
        return Err(stopped(signal));
    }
    if let Some(pruned) = pruned {
        if !global.quiet {
            notice(format_args!("{} was ended early: {pruned}", variant.run_name(seed)));
        }
        let reason = format!("{pruned}\n");
        durable::write_inside(&args.run_dir, &run_dir.join(PRUNED), reason.as_bytes())?;
        return Ok(Outcome::Pruned);
    }
    if let Some(signal) = status.code().and_then(Signal::from_exit_status) {
        return Err(stopped(signal));
    }
    // The run has already reported its error, unless the system ended it.
    if status.code().is_none() {
        notice(format_args!("{} was ended: {status}", run_dir.display()));
    }
    Ok(Outcome::Failed)
}

/// Looks at the curves of a run until it has `ended`. Calls `stop` once if it is to end early, and returns the reason.
fn supervise(pruning: &Pruning, run_dir: &Path, ended: &Receiver<()>, stop: impl FnOnce()) -> Option<Pruned> {
    while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        // Curves that cannot be read now may be readable later.
        if let Ok(Some(pruned)) = pruning.judge(run_dir) {
            stop();
            return Some(pruned);
        }
    }
    None
}

/// Returns the signal after which a run writes a checkpoint and ends.
fn stop_signal(args: &SweepArgs) -> Signal {
    // `mpirun` ends its processes at once after SIGTERM.
    if args.launcher.is_some() { Signal::Warning } else { Signal::Terminate }
}

/// Returns the command that trains a run.
fn command(args: &SweepArgs, variant: &Variant<'_>, seed: u64, global: &Global) -> Result<Command> {
    let run_dir = variant.run_dir(&args.run_dir, seed);
    let program = program::file()?;
    let mut command = match &args.launcher {
        None => Command::new(program),
        Some(Launcher { program: launcher, arguments }) => {
            let mut command = Command::new(launcher);
            command.args(arguments).arg(program);
            command
        }
    };
    if run_dir.join(checkpoint::CONFIG).exists() {
        command.arg("resume").arg(&run_dir);
    } else {
        command.arg(variant.algorithm.name()).arg("--config").arg(variant.file(&args.run_dir));
        command.args(["--seed", &seed.to_string(), "--run-dir"]).arg(&run_dir);
    }
    if let Some(rom_dir) = &global.rom_dir {
        command.arg("--rom-dir").arg(rom_dir);
    }
    // Parallel progress lines would overwrite each other.
    let is_quiet = global.quiet || args.jobs > 1;
    command.args(global.offline.then_some("--offline")).args(is_quiet.then_some("--quiet"));
    if let Some(threads) = threads(args) {
        command.args(["--num-threads", &threads.to_string()]);
    }
    // In its own process group, so that Ctrl-C reaches it only once, forwarded by this process.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // A launcher such as srun reads standard input. From a terminal, that would stop a background process group for
    // ever.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Ok(command)
}

/// Returns the name of the program that starts the runs.
fn command_name(args: &SweepArgs) -> &str {
    args.launcher.as_ref().map_or("ale-train", |launcher| &launcher.program)
}

/// Returns the number of threads of a run: the requested number, or an equal share of the cores if several runs are
/// parallel on this machine. It does not affect the results.
fn threads(args: &SweepArgs) -> Option<usize> {
    let share_cores = args.jobs > 1 && args.launcher.is_none();
    args.experiment.num_threads.or_else(|| share_cores.then(|| (cores() / args.jobs).max(1)))
}
