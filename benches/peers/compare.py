"""Compares the rates of ale-train, ale-py, EnvPool and Gymnasium. Started by `benches/peers/run`."""

import argparse
import sys
import time
from pathlib import Path

import kinds
import report
import sides
import work
from measuring import listed, positive, warn_if_busy

HELP = """\
GAME is the id of a game; atari57 stands for its 57 games. The kinds of work:

  together      all games in one vector environment, one environment each, against one AtariVectorEnv
                or EnvPool per game and Gymnasium's AsyncVectorEnv; with as many threads or cores as
                the largest shape has
  emulator      the act loop of one game on one thread, one frame per act
  interpreted   the same, without native code
  single        one environment of gymnasium.make, with RGB, grayscale and RAM, frame skips 4 and 1
  vector        a vector environment of one game in each of the shapes. ENVSxTHREADS waits for all
                environments, ENVSxTHREADS/BATCH for the first BATCH to finish
  xla           100 steps of a vector environment in one program of JAX, by lax.scan; also against
                ale-train's env.step without JAX
  xla-calls     the same with one step in each call of a program
  reset         a reset of one environment, including no-ops
  seeded-reset  a reset with a seed, for which ale-py reloads the ROM

ale-train is driven from Python, as its peers are, and from Rust, as its trainer drives it; its act
loop only from Rust, single environments and JAX only from Python. Vector environments use the standard
preprocessing (frame skip 4, 84x84 grey, max-pool, stack of 4). Actions are drawn at random from the
minimal action set. Rates count emulated frames, or resets. The sides run strictly in turn, round by
round. All environments stay alive between the rounds, so that startup and warm-up are not measured,
and the first round is discarded. Machines are noisy: read the ratios, not the rates.

Examples:
  benches/peers/run pong breakout --seconds 1
  benches/peers/run atari57 --kinds together,emulator,vector --shapes 32x2,1x1 \\
      --rounds 2 --seconds 0.5 --json ratios.json
  benches/peers/run pong --kinds vector --shapes 8x1,8x2,64x2,64x2/16
  benches/peers/run atari57 --kinds together --peers gymnasium
"""


def shapes(text):
    try:
        return [work.Shape.parse(word) for word in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(error) from None


def options():
    parser = argparse.ArgumentParser(
        prog="benches/peers/run",
        description="Compares ale-train with ale-py, EnvPool and Gymnasium.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("games", nargs="*", metavar="GAME", help=f"games to run [default: {' '.join(work.GAMES)}]")
    parser.add_argument(
        "--kinds", type=listed(work.KINDS), default=work.KINDS, help="kinds of work [default: all]"
    )
    parser.add_argument("--shapes", type=shapes, default=shapes("32x2,1x1,32x2/8"), help="[default: 32x2,1x1,32x2/8]")
    parser.add_argument(
        "--drivers", type=listed(work.DRIVERS), default=work.DRIVERS, help="languages that drive ale-train [default: python,rust]"
    )
    parser.add_argument(
        "--peers", type=listed(kinds.NAMES), default=kinds.NAMES, help="packages to compare with [default: all]"
    )
    parser.add_argument("--rounds", type=positive(int), default=5, help="rounds after the discarded first one [default: 5]")
    parser.add_argument("--seconds", type=positive(float), default=2.0, help="duration of each measurement [default: 2]")
    parser.add_argument(
        "--json", metavar="FILE", type=Path, help="write all measurements to FILE"
    )
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.json and not chosen.json.parent.is_dir():
        parser.error(f"argument --json: the directory {chosen.json.parent} does not exist")
    driven = {"python": kinds.OURS, "rust": work.RUST_KINDS}
    chosen.kinds = [kind for kind in chosen.kinds if any(kind in driven[driver] for driver in chosen.drivers)]
    chosen.games = work.atari57() if chosen.games == ["atari57"] else chosen.games or work.GAMES
    return chosen


class Progress:
    """Prints a line on standard error after each piece of work."""

    def __init__(self, total):
        self.start, self.done, self.total = time.monotonic(), 0, total

    def show(self, measured):
        self.done += 1
        elapsed = time.monotonic() - self.start
        ours = measured.ours()[0]
        ratios = ", ".join(f"{ratio.median:.2f} {peer}" for peer, ratio in measured.ratios(ours).items())
        what = f"{measured.work.kind} {measured.work.subject} {measured.work.shape or measured.work.view or ''}".strip()
        whole = elapsed / self.done * self.total
        print(
            f"{self.done}/{self.total} {what}: {ratios}; {clock(elapsed)} of about {clock(whole)}",
            file=sys.stderr,
            flush=True,
        )


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def sides_of(piece, rust, chosen):
    """Returns the sides that do this work, by name. `rust` is ale-train's side in Rust, or None."""
    found = {}
    if "python" in chosen.drivers and piece.kind in kinds.OURS:
        found[report.OURS["python"]] = kinds.OURS[piece.kind](piece)
    if rust:
        found[report.OURS["rust"]] = rust
    return found | {name: side(piece) for name, side in kinds.PEERS[piece.kind].items() if name in chosen.peers}


def measure(piece, chosen_sides, chosen):
    """Returns the rates of all sides in every round but the first."""
    rates = {name: [] for name in chosen_sides}
    for round_ in range(chosen.rounds + 1):
        for name, side in chosen_sides.items():
            rate = side.rate(chosen.seconds)
            if round_ > 0:
                rates[name].append(rate)
    for side in chosen_sides.values():
        side.close()
    return report.Measured(piece, rates)


def main():
    chosen = options()
    warn_if_busy()
    lists = work.plan(chosen.games, chosen.kinds, chosen.shapes)
    progress = Progress(sum(map(len, lists)))
    measured = []
    try:
        for works in lists:
            in_rust = [piece for piece in works if "rust" in chosen.drivers and piece.kind in work.RUST_KINDS]
            process = sides.RustProcess(chosen.program, in_rust) if in_rust else None
            for piece in works:
                rust = sides.RustSide(process, in_rust.index(piece)) if piece in in_rust else None
                measured.append(measure(piece, sides_of(piece, rust, chosen), chosen))
                progress.show(measured[-1])
            if process:
                process.close()
    except KeyboardInterrupt:
        print("interrupted; these are the measurements so far", file=sys.stderr)
    finally:
        # What has been measured before a failure, too.
        report.tables(measured)
        report.summary(measured)
        if chosen.json:
            report.write_json(measured, chosen)


if __name__ == "__main__":
    main()
