"""Names of games and other tasks: ids such as ``ms_pacman``, and Gymnasium's ``ALE/MsPacman-v5`` and ``Ant-v5``."""

from __future__ import annotations

import difflib
import functools

from ale_train import _native
from ale_train.errors import GameError

__all__ = [
    "camel_case",
    "game_of",
    "is_python_env",
    "is_task",
    "players_game_of",
    "task_of",
    "tasks",
    "unknown_environment",
    "unknown_game",
]


def camel_case(game: str) -> str:
    """Returns the name in Gymnasium's ids: ``"MsPacman"`` for ``"ms_pacman"``."""
    return game.title().replace("_", "")


def game_of(name: str) -> str:
    """Returns the id of a game given in any common spelling.

    ``"ms_pacman"``, ``"MsPacman"``, ``"MsPacman-v5"``, ``"ALE/MsPacman-v5"``, ``"MsPacmanNoFrameskip-v4"`` and
    ``"MsPacmanDeterministic-v0"`` are equivalent.

    Raises:
        GameError: The game is unknown.
    """
    game = _native.game_named(name)
    if game is None:
        raise unknown_game(name, name.removeprefix("ALE/").removesuffix("-v5"))
    return game


def players_game_of(name: str) -> str:
    """Returns the id of a game given in any common spelling, including the games that only several players can play.

    Raises:
        GameError: The game is unknown.
    """
    key = name.removeprefix("ALE/").partition("-v")[0].replace("_", "").lower()
    return {game.replace("_", ""): game for game in _native.players_games()}.get(key) or game_of(name)


def unknown_game(name: str, spelling: str) -> GameError:
    """Returns the error for the unknown name of a game, which suggests the ids nearest to ``spelling``."""
    return _unknown("game", name, spelling, _native.games(), "ale_train.games() lists")


def tasks() -> list[str]:
    """Returns the ids of all environments that are not Atari games: classic control, toy text and MuJoCo."""
    return [task for task, _, _ in _native.tasks()]


def is_task(name: str) -> bool:
    """Returns true for the id of an environment that is not an Atari game."""
    return _bare_task(name) in _tasks()


def is_python_env(name: str) -> bool:
    """Returns true for an environment made by Python code: ``gymnasium:``, ``gym:`` or ``python:`` and its name."""
    return name.startswith(("gymnasium:", "gym:", "python:"))


def task_of(name: str) -> str:
    """Returns the id of a task given with or without the prefix ``ale_train/``, in upper or lower case.

    Raises:
        GameError: The task is unknown, or an Atari game.
    """
    task = _tasks().get(_bare_task(name))
    if task is None:
        try:
            game = game_of(name)
        except GameError:
            raise unknown_environment(name) from None
        raise GameError(f"{name!r} is the Atari game {game}; ale_train.make and make_vec accept games and tasks")
    return task


def unknown_environment(name: str) -> GameError:
    """Returns the error for a name that is neither a game's nor a task's."""
    known = [*tasks(), *(f"{camel_case(game)}-v5" for game in _native.games())]
    spelling = str(name).removeprefix("ale_train/").removeprefix("ALE/")
    return _unknown("environment", name, spelling, known, "ale_train.tasks() and ale_train.games() list")


def _unknown(kind: str, name: str, spelling: str, known: list[str], listed_by: str) -> GameError:
    by_lower_case = {other.lower(): other for other in known}
    near = [by_lower_case[key] for key in difflib.get_close_matches(spelling.lower(), by_lower_case)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"{listed_by} the known ones"
    return GameError(f"unknown {kind} {name!r}; {hint}")


def _bare_task(name: str) -> str:
    return str(name).removeprefix("ale_train/").lower()


@functools.cache
def _tasks() -> dict[str, str]:
    """Returns the ids of tasks by their ids in lower case."""
    return {task.lower(): task for task in tasks()}
