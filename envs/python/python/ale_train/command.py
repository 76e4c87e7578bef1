"""The command line of the package."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
from collections.abc import Sequence
from typing import Any

from ale_train import _native

__all__ = ["information", "main"]

#: Packages whose versions are worth reporting with a problem.
_PACKAGES = ("gymnasium", "numpy")


def main(arguments: Sequence[str]) -> int:
    """Runs a command and returns the exit status.

    ``info``, the only command and the default, prints versions, processor features, ROMs and MuJoCo.
    """
    parser = argparse.ArgumentParser(
        prog="python -m ale_train",
        description="``info``, the only command and the default, prints versions, processor features, ROMs and MuJoCo.",
    )
    parser.add_argument("command", nargs="?", choices=["info"], default="info")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--version", action="version", version=f"ale_train {_native.__version__}")
    chosen = parser.parse_args(arguments)
    info = information()
    print(json.dumps(info, indent=2) if chosen.json else "\n".join(_lines(info)))
    return 0


def information() -> dict[str, Any]:
    """Returns what ``python -m ale_train`` prints, as data that JSON can represent."""
    directory, roms, no_directory = _native.rom_store()
    mujoco, reason = _native.mujoco_installation()
    architecture, features = _native.processor()
    return {
        "versions": {
            "ale_train": _native.__version__,
            "python": platform.python_version(),
            **{package: importlib.metadata.version(package) for package in _PACKAGES},
        },
        "processor": {"architecture": architecture, "features": features},
        "roms": {
            "directory": None if directory is None else str(directory),
            "found": roms,
            "missing": [game for game in _native.games() if game not in roms],
            "problem": no_directory,
        },
        "mujoco": {"directory": None if mujoco is None else str(mujoco), "problem": reason},
    }


def _lines(info: dict[str, Any]) -> list[str]:
    """Returns the information as text."""
    versions, processor, roms, mujoco = (info[part] for part in ("versions", "processor", "roms", "mujoco"))
    missing = f"; missing: {', '.join(roms['missing'])}" if roms["missing"] else ""
    sources = f"{roms['directory'] or 'the package'} and installed packages"
    features = ", ".join(processor["features"]) or "portable code"
    return [
        ", ".join(f"{name} {version}" for name, version in versions.items()),
        f"processor: {processor['architecture']} ({features})",
        f"ROMs: {len(roms['found'])} of {len(_native.games())} games in {sources}{missing}",
        *([f"ROM directory: {roms['problem']}"] if roms["problem"] else []),
        f"MuJoCo: {mujoco['problem'] or mujoco['directory']}",
    ]
