"""The names of games: ids such as ``ms_pacman``, and Gymnasium's ``ALE/MsPacman-v5``."""

from __future__ import annotations

import difflib
import functools

from ale_train import _native
from ale_train.errors import GameError

__all__ = ["camel_case", "game_of", "unknown"]


def camel_case(game: str) -> str:
    """The name of a game in Gymnasium's ids: ``"MsPacman"`` for ``"ms_pacman"``."""
    return game.title().replace("_", "")


def game_of(name: str) -> str:
    """The id of a game that is named in any of the usual ways.

    ``"ms_pacman"``, ``"MsPacman"``, ``"MsPacman-v5"`` and ``"ALE/MsPacman-v5"`` are all the same.

    Raises:
        GameError: No game has this name.
    """
    bare = name.removeprefix("ALE/").removesuffix("-v5")
    found = _games().get(bare.replace("_", "").lower())
    if found is None:
        raise unknown(name, bare)
    return found


def unknown(name: str, bare: str) -> GameError:
    """The error about a name, with the ids that look most like what is left of it without decoration."""
    near = difflib.get_close_matches(bare.lower(), _native.games())
    hint = f"did you mean {' or '.join(near)}?" if near else "ale_train.games() lists the known ones"
    return GameError(f"unknown game {name!r}; {hint}")


@functools.cache
def _games() -> dict[str, str]:
    """The ids by their letters alone."""
    return {game.replace("_", ""): game for game in _native.games()}
