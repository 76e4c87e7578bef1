//! Every game compared with ale-py, and its snapshots, with a test for each game.

mod checkpoints;
mod golden;
mod players;
mod snapshots;
mod sound;

use libtest_mimic::Arguments;

fn main() {
    let trials =
        [golden::trials(), players::trials(), checkpoints::trials(), snapshots::trials(), sound::trials()];
    libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit();
}
