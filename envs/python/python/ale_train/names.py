"""Names of games: ids such as ``ms_pacman``, and Gymnasium's ``ALE/MsPacman-v5``."""

from __future__ import annotations

import difflib
import functools

from ale_train import _native
from ale_train.errors import GameError

__all__ = ["camel_case", "game_of", "unknown"]


def camel_case(game: str) -> str:
    """Returns the name in Gymnasium's ids: ``"MsPacman"`` for ``"ms_pacman"``."""
    return game.title().replace("_", "")


def game_of(name: str) -> str:
    """Returns the id of a game given in any common spelling.

    ``"ms_pacman"``, ``"MsPacman"``, ``"MsPacman-v5"`` and ``"ALE/MsPacman-v5"`` are equivalent.

    Raises:
        GameError: The game is unknown.
    """
    bare = name.removeprefix("ALE/").removesuffix("-v5")
    found = _games().get(bare.replace("_", "").lower())
    if found is None:
        raise unknown(name, bare)
    return found


def unknown(name: str, bare: str) -> GameError:
    """Returns the error for an unknown name, which suggests the ids nearest to ``bare``."""
    near = difflib.get_close_matches(bare.lower(), _native.games())
    hint = f"did you mean {' or '.join(near)}?" if near else "ale_train.games() lists the known ones"
    return GameError(f"unknown game {name!r}; {hint}")


@functools.cache
def _games() -> dict[str, str]:
    """Returns the ids by their names without underscores."""
    return {game.replace("_", ""): game for game in _native.games()}
