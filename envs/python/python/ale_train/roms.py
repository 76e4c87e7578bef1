"""Files of ROMs, in the directory that the package shares with the application or in installed packages."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from ale_train import _native

__all__ = ["get_all_rom_ids", "get_rom_path"]


def get_all_rom_ids() -> list[str]:
    """Returns the ids of all games in alphabetical order."""
    return sorted(_native.games())


def get_rom_path(name: str) -> Path | None:
    """Returns the path of a game's ROM, or None with a warning if the game is unknown.

    A missing ROM is downloaded with pip.

    Args:
        name: Id of the game, such as ``"ms_pacman"``.

    Raises:
        OSError: The ROM is missing and cannot be downloaded.
    """
    if name not in _native.games():
        warnings.warn(f"Rom {name} not supported.", stacklevel=2)
        return None
    return Path(_native.rom_path(name, sys.executable))
