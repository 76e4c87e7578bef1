"""The work to measure, which every side implements in its own way."""

import dataclasses
import pathlib
import tomllib

ROOT = pathlib.Path(__file__).parents[2]
# Slow and fast games, with few and with many objects.
GAMES = ["pong", "breakout", "space_invaders", "ms_pacman", "seaquest", "qbert", "beam_rider", "enduro"]
# The languages from which ale-train is driven. The peers are always driven from Python.
DRIVERS = ["python", "rust"]
KINDS = ["together", "emulator", "interpreted", "single", "vector", "xla", "xla-calls", "reset", "seeded-reset"]
# The kinds that ale-train does in Rust, too.
RUST_KINDS = ["together", "emulator", "interpreted", "vector", "reset", "seeded-reset"]


@dataclasses.dataclass(frozen=True)
class Shape:
    """The numbers of environments, threads and rows in a batch. A smaller batch holds the first environments to finish."""

    num_envs: int
    num_threads: int
    batch_size: int

    @classmethod
    def parse(cls, text):
        try:
            sizes, _, batch_size = text.partition("/")
            num_envs, num_threads = map(int, sizes.split("x"))
            shape = cls(num_envs, num_threads, int(batch_size) if batch_size else num_envs)
        except ValueError:
            message = f"invalid shape {text}: 32x2 is 32 environments on 2 threads, 32x2/8 the same in batches of 8"
            raise ValueError(message) from None
        if min(num_envs, num_threads, shape.batch_size) < 1 or shape.batch_size > num_envs:
            raise ValueError(f"invalid shape {text}: all numbers must be at least 1, and the batch at most the number of environments")
        return shape

    @property
    def first_come(self):
        return self.batch_size < self.num_envs

    def __str__(self):
        batch = f"/{self.batch_size}" if self.first_come else ""
        return f"{self.num_envs}x{self.num_threads}{batch}"


@dataclasses.dataclass(frozen=True)
class View:
    """The observations and the frame skip of a single environment."""

    obs_type: str
    frameskip: int

    def __str__(self):
        return f"{self.obs_type}, frame skip {self.frameskip}"


VIEWS = [View(obs_type, frameskip) for frameskip in (4, 1) for obs_type in ("rgb", "grayscale", "ram")]


@dataclasses.dataclass(frozen=True)
class Work:
    kind: str
    games: tuple
    shape: Shape | None = None
    view: View | None = None

    @property
    def argument(self):
        """The work as an argument of ale-train's side."""
        if self.kind == "together":
            return f"vector:{','.join(self.games)}:1x{self.shape.num_threads}"
        parts = [self.kind, self.games[0]] + ([str(self.shape)] if self.shape else [])
        return ":".join(parts)

    @property
    def unit(self):
        return "resets/s" if "reset" in self.kind else "frames/s"

    @property
    def title(self):
        """A title for the work of this kind and shape."""
        return {
            "together": lambda: f"all games in one vector environment, {self.shape.num_threads} threads",
            "emulator": lambda: "act loop of one game on one thread",
            "interpreted": lambda: "act loop of one game on one thread, without native code",
            "single": lambda: f"single environment of gymnasium.make, {self.view}",
            "vector": lambda: f"vector environment of one game, {self.shape}",
            "xla": lambda: f"steps in one program of JAX, {self.shape}",
            "xla-calls": lambda: f"step compiled by JAX, {self.shape}",
            "reset": lambda: "reset of one environment",
            "seeded-reset": lambda: "reset of one environment with a seed",
        }[self.kind]()

    @property
    def subject(self):
        return self.games[0] if len(self.games) == 1 else f"{len(self.games)} games"


def plan(games, kinds, shapes):
    """Returns the work as a list per game; ale-train keeps the environments of one list alive at a time."""
    lists = []
    if "together" in kinds and len(games) > 1:
        threads = max(shape.num_threads for shape in shapes)
        lists.append([Work("together", tuple(games), Shape(len(games), threads, len(games)))])
    for game in games:
        works = []
        for kind in kinds:
            if kind == "single":
                works += [Work(kind, (game,), view=view) for view in VIEWS]
            elif kind == "vector":
                works += [Work(kind, (game,), shape) for shape in shapes]
            elif kind in ("xla", "xla-calls"):
                works += [Work(kind, (game,), shape) for shape in shapes if not shape.first_come]
            elif kind != "together":
                works.append(Work(kind, (game,)))
        if works:
            lists.append(works)
    return lists


def camel_case(game):
    """Returns the name of a game as in Gymnasium's ids: `MsPacman` for `ms_pacman`."""
    return "".join(map(str.capitalize, game.split("_")))


def atari57():
    with open(ROOT / "envs/ale/src/games/games.toml", "rb") as rows:
        return [row["id"] for row in tomllib.load(rows)["game"] if row.get("atari57")]
