"""Commands of the program in this process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ale_train import _native
from ale_train.bridge import Bridge

__all__ = ["assignments", "masked", "run"]


def run(
    arguments: Sequence[str | os.PathLike[str]],
    bridge: Bridge | None = None,
    observer: Callable[[str], bool] | None = None,
) -> bytes:
    """Runs a command and returns what it writes to standard output.

    Args:
        arguments: The arguments, without the name of the program.
        bridge: The environments of a run whose game has the name of the bridge.
        observer: Called with each record of a run in JSON; true ends the run with a checkpoint.

    Raises:
        ValueError: An argument is invalid.
        RuntimeError: The command failed.
        KeyboardInterrupt: Ctrl-C, after a run has written a checkpoint.
    """
    return _native.run_command([os.fspath(argument) for argument in arguments], bridge, observer)


def assignments(algorithm: str, settings: Mapping[str, Any]) -> list[str]:
    """Returns the flags that set keys of an experiment.

    Args:
        algorithm: The algorithm, in whose section a name without a section is looked for first.
        settings: Values by short names such as ``learning_rate`` or by keys such as ``policy.lstm``. A dictionary has
            the keys of a section.

    Raises:
        TypeError: A value has no type of TOML.
        ValueError: A name is unknown.
    """
    flags = []
    for name, value in settings.items():
        if isinstance(value, Mapping):
            inner = {f"{name}.{key}": entry for key, entry in value.items()}
            flags += assignments(algorithm, inner)
        else:
            flags += ["--set", f"{_native.key_of_setting(name, algorithm)}={_toml(name, value)}"]
    return flags


def masked(experiment: Mapping[str, Any]) -> bool:
    """Returns true if the environments of an experiment have action masks."""
    return bool(experiment["environments"].get("gymnasium", {}).get("action_masks", False))


def _toml(name: str, value: Any) -> str:
    """Returns the value of a setting in TOML, which shares the syntax of these types with JSON."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    try:
        # NumPy's scalars and arrays have the method tolist.
        text = json.dumps(value, default=lambda value: value.tolist())
    except (AttributeError, TypeError):
        text = "null"
    if text == "null":
        raise TypeError(f"{name} is {value!r}, but must be a number, a string, true, false or a list of these")
    return text.replace("Infinity", "inf").replace("NaN", "nan")
