"""The bridge from the program to a vector environment of Gymnasium in this process."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from ale_train.conversion import Conversion

__all__ = ["Bridge", "Results", "autoreset_mode", "final_rows"]


def autoreset_mode(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """Returns when a vector environment resets an environment whose episode has ended.

    Raises:
        ValueError: The caller has to reset it.
    """
    mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
    if mode not in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        raise ValueError(f"the autoreset mode of the environments is {mode}; learners need NEXT_STEP or SAME_STEP")
    return AutoresetMode(mode)


def final_rows(conversion: Conversion, infos: dict[str, Any], ended: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Returns the rows of the last observations of the episodes that ended with a step.

    Args:
        conversion: The conversion of the environments.
        infos: What ``step`` returned, with ``final_obs`` if an episode ended.
        ended: True for each environment whose episode ended.
        rows: The rows of the current observations, which stay where none ended.
    """
    if not ended.any():
        return rows
    if "final_obs" not in infos:
        raise ValueError("infos has no final_obs, which vector environments with the mode SAME_STEP provide")
    last = rows.reshape(conversion.num_envs, -1).copy()
    for env in np.flatnonzero(ended):
        last[env] = conversion.row(_of_env(infos["final_obs"], int(env)))
    return last.reshape(-1)


def _of_env(values: Any, env: int) -> Any:
    """Returns the entry of an environment in a structure of arrays."""
    if isinstance(values, dict):
        return {key: _of_env(value, env) for key, value in values.items() if not key.startswith("_")}
    return tuple(_of_env(value, env) for value in values) if isinstance(values, tuple) else values[env]


@dataclasses.dataclass(frozen=True)
class Results:
    """The results of a step: rows of observations as bytes, and a value for each environment."""

    observations: np.ndarray
    final_observations: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


class Bridge:
    """A vector environment as the program uses it.

    Attributes:
        name: The name of the game.
        num_envs: The number of environments.
        same_step: True if an environment is reset in the step that ends its episode.
        spaces: The spaces, in JSON.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self.env = env
        self.num_envs = env.num_envs
        self.same_step = autoreset_mode(env) is AutoresetMode.SAME_STEP
        self._conversion = Conversion(env.single_observation_space, env.single_action_space, env.num_envs)
        self.spaces = self._conversion.spaces
        spec = getattr(env, "spec", None)
        label = type(env.unwrapped).__name__ if spec is None else spec.id
        self.name = f"python:__vector__:{re.sub('[^A-Za-z0-9_.-]', '_', label)}"

    def reset(self, seed: int | None) -> np.ndarray:
        """Resets all environments and returns the rows of their observations."""
        observations, _ = self.env.reset(seed=None if seed is None else seed % 2**31)
        return self._conversion.batch_rows(observations)

    def step(self, elements: np.ndarray) -> Results:
        """Steps all environments."""
        observations, rewards, terminated, truncated, infos = self.env.step(self._conversion.actions(elements))
        rows = self._conversion.batch_rows(observations)
        terminated, truncated = np.asarray(terminated, bool), np.asarray(truncated, bool)
        last = final_rows(self._conversion, infos, terminated | truncated, rows) if self.same_step else rows
        return Results(rows, last, np.asarray(rewards, np.float64), terminated, truncated)
