use std::io::Write;

use anyhow::{Result, bail};

use super::{checkpoint, config, export, games, man, presets, roms, trace, zoo};
use crate::cli::{self, Cli, Command};
use crate::{bench, cluster, contest, evaluation, play, record, report, runs, sweep, tracking, train, watch};

/// Runs a command. Results go to `out`, everything else to standard error.
pub(crate) fn run(cli: Cli, out: &mut impl Write) -> Result<()> {
    let Cli { command, global } = cli;
    if let (Some(peers), false) = (cluster::peers(), command.may_have_peers()) {
        bail!(
            "a launcher has started {} processes, but only training, `resume` and `bench cluster` use several",
            peers.size()
        );
    }
    match command {
        Command::Train(command) => train::start(&command, &global, out),
        Command::Resume(args) => train::resume(&args, &global, out),
        Command::Checkpoint(args) => checkpoint::run(&args, &global, out),
        Command::Sweep(args) => sweep::run(&args, &global, out),
        Command::Runs(args) => runs::run(&args, out),
        Command::Eval(args) => evaluation::run(&args, &global, out),
        Command::Match(args) => contest::run(&args, &global, out),
        Command::Export(args) => export::run(&args, &global, out),
        Command::Record(args) => record::run(&args, &global, out),
        Command::Play(args) => play::run(&args, &global, out),
        Command::Watch(args) => watch::run(&args, &global, out),
        Command::Report(args) => report::run(&args, &global, out),
        Command::Sync(args) => tracking::run(&args, &global, out),
        Command::Roms(args) => roms::run(args, &global, out),
        Command::Games(args) => games::run(&args, out),
        Command::Presets(args) => presets::run(&args, out),
        Command::Zoo(args) => zoo::run(&args, out),
        Command::Trace(args) => trace::run(&args, &global, out),
        Command::Config(args) => config::run(&args, out),
        Command::Bench(args) => bench::run(&args, &global, out),
        Command::Completions(args) => Ok(out.write_all(&cli::complete::script(args.shell)?)?),
        Command::Man(args) => man::run(&args),
    }
}
