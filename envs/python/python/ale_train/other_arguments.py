"""Arguments of Stable-Baselines3 that learners do not have, and what takes their place."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

__all__ = ["explained", "reject"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_CURVES = "curves for TensorBoard are always written to run_dir"

_INSTEAD = {
    "policy_kwargs": "the environment determines the network, which policy={...} changes",
    "progress_bar": "verbose=True shows the progress",
    "reset_num_timesteps": "further calls of learn always continue the run",
    "tb_log_name": _CURVES,
    "tensorboard_log": _CURVES,
    "total_timesteps": "learn has total_steps, the number of steps of all environments together",
}


def reject(names: Iterable[str]) -> None:
    """Raises TypeError for an argument of Stable-Baselines3."""
    for name in names:
        if name in _INSTEAD:
            raise TypeError(f"{name} is an argument of Stable-Baselines3, not of ale-train; {_INSTEAD[name]}")


def explained(call: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Lets a method reject arguments of Stable-Baselines3 instead of Python."""

    @functools.wraps(call)
    def checked(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        reject(kwargs)
        return call(*args, **kwargs)

    return checked
