"""The bridge from the program to a vector environment of Gymnasium in this process."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from ale_train.conversion import Conversion

__all__ = ["Bridge", "Results", "action_masks", "autoreset_mode", "mask_rows", "vector_env"]


def vector_env(env: Any) -> VectorEnv[Any, Any, Any]:
    """Returns a vector environment, which contains ``env`` if that is a single one.

    Raises:
        TypeError: It is something else.
    """
    if isinstance(env, VectorEnv):
        return env
    if not isinstance(env, gymnasium.Env):
        raise TypeError(f"env is {env!r}, but must be a vector environment")
    return SyncVectorEnv([lambda: env], autoreset_mode=AutoresetMode.SAME_STEP)


def autoreset_mode(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """Returns when a vector environment resets an environment whose episode has ended.

    Raises:
        ValueError: The caller has to reset it.
    """
    mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
    if mode not in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        raise ValueError(f"the autoreset mode of the environments is {mode}; learners need NEXT_STEP or SAME_STEP")
    return AutoresetMode(mode)


@dataclasses.dataclass(frozen=True)
class Results:
    """The results of a step: rows of observations and of action masks as bytes, and a value for each environment."""

    observations: np.ndarray
    final_observations: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    action_masks: np.ndarray
    final_action_masks: np.ndarray

    @classmethod
    def of_step(
        cls,
        conversion: Conversion,
        mode: AutoresetMode,
        observations: Any,
        rewards: Any,
        terminations: Any,
        truncations: Any,
        infos: dict[str, Any],
    ) -> Results:
        """Converts what ``step`` of a vector environment returned.

        Raises:
            ValueError: An observation is not in the space, an array has the wrong length, or infos lacks a last
                observation or an action mask.
        """
        for name, values in {"rewards": rewards, "terminations": terminations, "truncations": truncations}.items():
            if np.shape(values) != (conversion.num_envs,):
                raise ValueError(
                    f"{name} has the shape {np.shape(values)}, but must have a value for each of the "
                    f"{conversion.num_envs} environments"
                )
        rows = conversion.batch_rows(observations)
        terminated, truncated = np.asarray(terminations, bool), np.asarray(truncations, bool)
        # With the mode NEXT_STEP, no action follows a terminated step; with the other, infos are those of a reset.
        masks = mask_rows(conversion, infos, ~terminated | (mode is AutoresetMode.SAME_STEP))
        last, last_masks = rows, masks
        if mode is AutoresetMode.SAME_STEP:
            ended = terminated | truncated
            last = _final_rows(conversion, infos, ended, rows)
            of_ends = mask_rows(conversion, infos.get("final_info", {}), ended & ~terminated)
            last_masks = np.where(np.repeat(ended, conversion.mask_bytes), of_ends, masks)
        return cls(rows, last, np.asarray(rewards, np.float64), terminated, truncated, masks, last_masks)


def mask_rows(conversion: Conversion, infos: dict[str, Any], needed: np.ndarray) -> np.ndarray:
    """Returns the rows of the action masks in the infos of a vector environment; none if actions have no masks.

    Args:
        conversion: The conversion of the environments.
        infos: What ``reset`` or ``step`` returned.
        needed: False for each environment whose mask is not read, and allows everything.
    """
    return conversion.mask_rows(action_masks(infos, needed)) if conversion.mask_bytes else np.zeros(0, np.uint8)


def action_masks(infos: dict[str, Any], needed: np.ndarray) -> list[Any]:
    """Returns the action mask of each environment in the infos of a vector environment; None where none is needed.

    Raises:
        ValueError: A mask is missing.
    """
    present = infos.get("_action_mask", np.full(len(needed), "action_mask" in infos))
    for env in np.flatnonzero(needed & ~np.asarray(present, bool)):
        raise ValueError(f"infos has no action_mask of environment {env}, which the setting action_masks requires")
    return [_of_env(infos["action_mask"], env) if is_needed else None for env, is_needed in enumerate(needed)]


def _final_rows(conversion: Conversion, infos: dict[str, Any], ended: np.ndarray, rows: np.ndarray) -> np.ndarray:
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


class Bridge:
    """A vector environment as the program uses it.

    Attributes:
        name: The name of the game.
        num_envs: The number of environments.
        same_step: True if an environment is reset in the step that ends its episode.
        spaces: The spaces, in JSON.
        mask_bytes: The bytes of an action mask; 0 if actions have none.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], *, are_masked: bool = False) -> None:
        self.env = env
        self.num_envs = env.num_envs
        self._mode = autoreset_mode(env)
        self.same_step = self._mode is AutoresetMode.SAME_STEP
        self._conversion = Conversion(
            env.single_observation_space, env.single_action_space, env.num_envs, are_masked=are_masked
        )
        self.spaces, self.mask_bytes = self._conversion.spaces, self._conversion.mask_bytes
        spec = getattr(env, "spec", None)
        label = type(env.unwrapped).__name__ if spec is None else spec.id
        self.name = f"python:__vector__:{re.sub('[^A-Za-z0-9_.-]', '_', label)}"

    def reset(self, seed: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Resets all environments and returns the rows of their observations and of their action masks."""
        observations, infos = self.env.reset(seed=None if seed is None else seed % 2**31)
        masks = mask_rows(self._conversion, infos, np.ones(self.num_envs, bool))
        return self._conversion.batch_rows(observations), masks

    def step(self, elements: np.ndarray) -> Results:
        """Steps all environments."""
        return Results.of_step(self._conversion, self._mode, *self.env.step(self._conversion.actions(elements)))
