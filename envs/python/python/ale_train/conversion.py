"""Conversions between the observations and actions of Gymnasium and those of learners."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space, iterate

from ale_train import _native
from ale_train.observations import cast_parts
from ale_train.worker_module import worker_module

__all__ = ["Conversion"]


class Conversion:
    """Converts observations to rows of bytes, and elements of actions to actions, as worker processes do.

    Attributes:
        num_envs: The number of environments.
        spaces: The spaces of the learner, in JSON.
        mask_bytes: The bytes of an action mask; 0 if actions have none.
    """

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        num_envs: int,
        *,
        are_masked: bool = False,
    ) -> None:
        """Raises TypeError if learners do not support a space."""
        worker = worker_module()
        self.num_envs = num_envs
        self._observation = _supported(worker.observation_of, observation_space, True)
        self._actions = [_supported(worker.action_of, action_space, are_masked) for _ in range(num_envs)]
        self._space, self._batch_space = observation_space, batch_space(observation_space, num_envs)
        described = {"observation": self._observation.describe(), "action": self._actions[0].describe()}
        self.spaces = json.dumps(described)
        self._mask = worker.ActionMask(self._actions[0].counts) if are_masked else None
        self.mask_bytes: int = 0 if self._mask is None else self._mask.length
        self._row_bytes = _native.row_bytes(self.spaces)
        # Rows start at multiples of eight bytes, as in the memory of learners.
        stride = -(-self._row_bytes // 8) * 8
        self._rows = np.zeros((num_envs, stride), np.uint8)
        self._views = [self._observation.view(self._rows, env * stride) for env in range(num_envs)]
        self._components: np.ndarray | None = None

    def row(self, observation: Any) -> np.ndarray:
        """Returns the row of an observation as bytes. Raises ValueError if it is not in the space."""
        self._write(cast_parts(self._space, observation, ()), 0)
        row: np.ndarray = self._rows[0, : self._row_bytes].copy()
        return row

    def _write(self, observation: Any, env: int) -> None:
        try:
            self._observation.write(observation, self._views[env])
        except worker_module().Rejected as error:
            raise ValueError(str(error)) from None

    def batch_rows(self, observations: Any) -> np.ndarray:
        """Returns the rows of the observations of a vector environment, as ``row`` does."""
        observations = cast_parts(self._space, observations, (self.num_envs,))
        for env, observation in enumerate(iterate(self._batch_space, observations)):
            self._write(observation, env)
        rows: np.ndarray = self._rows[:, : self._row_bytes].reshape(-1).copy()
        return rows

    def mask_rows(self, masks: Iterable[Any]) -> np.ndarray:
        """Returns the rows of action masks as bytes. None stands for a mask that allows everything.

        Raises:
            ValueError: A mask has the wrong length or allows nothing.
        """
        assert self._mask is not None
        parse, everything = self._mask.read, self._mask.everything
        try:
            rows = [everything() if mask is None else parse({"action_mask": mask}) for mask in masks]
        except worker_module().Rejected as error:
            raise ValueError(str(error)) from None
        return np.concatenate(rows)

    def actions(self, elements: np.ndarray) -> np.ndarray:
        """Returns the actions of all environments, given their elements as int32 or float32."""
        if self._components is None:
            self._components = np.empty(elements.nbytes, np.uint8)
            stride = elements.nbytes // self.num_envs
            for env, action in enumerate(self._actions):
                action.bind(self._components, env * stride)
        self._components[:] = elements.view(np.uint8)
        return np.stack([action.read() for action in self._actions])


def _supported(parse: Any, space: gymnasium.Space[Any], *arguments: Any) -> Any:
    try:
        return parse(space, *arguments)
    except TypeError:
        raise TypeError(f"learners do not support the space {space}") from None
