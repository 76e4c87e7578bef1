"""A learner for training loops of one's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from ale_train import _native
from ale_train.bridge import Results, mask_rows
from ale_train.conversion import Conversion
from ale_train.program import assignments, masked

__all__ = ["Learner"]

#: The name of the game, which stands for environments that the learner does not know.
_GAME = "python:__vector__:environments"


class Learner:
    """A learner that observes environments of the caller::

        learner = Learner("ppo", env.single_observation_space, env.single_action_space, env.num_envs)
        observations, _ = env.reset(seed=1)
        while not learner.is_complete:
            observations, *results = env.step(learner.act(observations))
            learner.observe(observations, *results)
            metrics = learner.update()

    Attributes:
        num_envs: The number of environments.
    """

    def __init__(
        self,
        algorithm: str,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        num_envs: int,
        *,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        total_steps: int = 1_000_000,
        preset: str | None = None,
        seed: int | None = None,
        **settings: Any,
    ) -> None:
        """Creates a learner with fresh weights.

        Args:
            algorithm: ``"ppo"``, ``"dqn"``, ``"pqn"`` or ``"sac"``.
            observation_space: The space of the observations of a single environment.
            action_space: The space of its actions.
            num_envs: The number of environments.
            autoreset_mode: When the environments are reset: ``NEXT_STEP``, or ``SAME_STEP``, which needs ``final_obs``
                in the infos.
            total_steps: The number of steps of all environments, which schedules depend on.
            preset: The name of a preset.
            seed: The seed of the weights and actions.
            settings: Values of the experiment, as for ``ale_train.PPO``.

        Raises:
            TypeError: A space is not supported.
            ValueError: A setting is unknown or out of range.
        """
        self.num_envs, self._algorithm = num_envs, algorithm
        self._mode = autoreset_mode
        options = {"--preset": preset, "--seed": seed}
        flags = [part for flag, value in options.items() if value is not None for part in (flag, str(value))]
        settings = {"num_envs": num_envs, "total_frames": total_steps, **settings}
        arguments = [algorithm, "--games", _GAME, *flags, *assignments(algorithm, settings)]
        are_masked = masked(json.loads(_native.planned_experiment(arguments)))
        self._conversion = Conversion(observation_space, action_space, num_envs, are_masked=are_masked)
        mode = "SameStep" if autoreset_mode is AutoresetMode.SAME_STEP else "NextStep"
        self._native = _native.NativeLearner(arguments, self._conversion.spaces, num_envs, are_masked, mode)
        # The masks of the current observations, once they are known.
        self._masks: np.ndarray | None = None

    def __repr__(self) -> str:
        """Names the learner."""
        return f"Learner({self._algorithm!r}, num_envs={self.num_envs}, updates={self.updates})"

    def act(self, observations: Any, infos: dict[str, Any] | None = None) -> np.ndarray:
        """Returns an action for each environment.

        Args:
            observations: Those that ``reset`` returned, or that were observed last.
            infos: What ``reset`` returned. Needed after a reset with the setting ``action_masks=True`` only.

        Raises:
            ValueError: The call is out of order, the observations are others, or there are no action masks.
        """
        if infos is not None or self._masks is None:
            self._masks = mask_rows(self._conversion, infos or {}, np.ones(self.num_envs, bool))
        rows = self._conversion.batch_rows(observations)
        return self._conversion.actions(self._native.act(rows, self._masks))

    def observe(
        self,
        observations: Any,
        rewards: np.ndarray,
        terminations: np.ndarray,
        truncations: np.ndarray,
        infos: dict[str, Any],
    ) -> None:
        """Observes what the environments returned for the last actions.

        Raises:
            ValueError: The call is out of order, an array has the wrong length, or an action mask is missing.
        """
        step = (observations, rewards, terminations, truncations, infos)
        results = Results.of_step(self._conversion, self._mode, *step)
        self._native.observe(results)
        self._masks = results.action_masks

    def update(self) -> dict[str, float] | None:
        """Updates the network if an update is due, and returns its metrics. Returns None if none is due."""
        metrics = self._native.update()
        return None if metrics is None else dict(metrics)

    @property
    def updates(self) -> int:
        """The number of updates so far."""
        return self._native.progress()[0]

    @property
    def is_complete(self) -> bool:
        """True once the learner has learned from ``total_steps`` steps."""
        return self._native.progress()[1]

    def state_dict(self) -> dict[str, bytes]:
        """Returns the complete state, from which training continues bit for bit. Not between ``act`` and ``observe``.

        The next call after ``load_state_dict`` is ``act``, with the observations that were observed last, and their
        infos if actions have masks.
        """
        return {"learner": self._native.state()}

    def load_state_dict(self, state: dict[str, bytes]) -> None:
        """Restores a state.

        Raises:
            TypeError: It is not what ``state_dict`` returns.
            ValueError: It is that of another learner.
        """
        if not isinstance(state, Mapping) or not isinstance(state.get("learner"), bytes):
            raise TypeError(f"the state is {state!r:.80}, but must be what state_dict returned")
        self._native.restore(state["learner"])
        self._masks = None
