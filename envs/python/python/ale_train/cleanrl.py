"""Atari environments for CleanRL's scripts, whose infos are those of Gymnasium 0.29."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from ale_train import arguments
from ale_train.names import game_of
from ale_train.vector_env import AtariVectorEnv

__all__ = ["CleanRLVectorEnv"]


class CleanRLVectorEnv(AtariVectorEnv):
    """The vector environment that CleanRL's Atari scripts build with ``make_env``, on the work-stealing pool.

    Episodes end with each lost life, after which the game continues with NOOP, FIRE and the third action, as with the
    wrappers of Stable-Baselines3 that the scripts use. The step that ends an episode returns the first observation of
    the next. Its info has the entries of Gymnasium 0.29: ``final_observation``, and ``final_info``, a dictionary with
    ``lives`` and, if the whole game is over, ``episode``. Their rows are None where no episode ended.
    The final observation of a lost life is the one from which the game continues.
    """

    def __init__(self, env_id: str, num_envs: int, **options: Any) -> None:
        """Creates the environments.

        Args:
            env_id: ``"BreakoutNoFrameskip-v4"``, ``"ALE/Breakout-v5"`` or ``"breakout"``. Only the options determine
                how the game is played.
            num_envs: Number of environments.
            options: Other parameters of ``AtariVectorEnv``; by default ``fill_stack=True``, ``life_loss_info=True``,
                ``fire_after_lost_life=True`` and ``extra_info=True``. ``autoreset_mode`` must be ``"SameStep"``, its
                default here.

        Raises:
            GameError: The game is unknown.
            ValueError: ``autoreset_mode`` is not ``"SameStep"``.
        """
        mode = arguments.autoreset_mode(options.pop("autoreset_mode", AutoresetMode.SAME_STEP))
        if mode is not AutoresetMode.SAME_STEP:
            raise ValueError(f"autoreset_mode is {mode.value}, but CleanRLVectorEnv requires SameStep")
        as_the_scripts_do = {
            "autoreset_mode": mode,
            "fill_stack": True,
            "life_loss_info": True,
            "fire_after_lost_life": True,
            "extra_info": True,
        }
        super().__init__(game_of(env_id), num_envs, **{**as_the_scripts_do, **options})

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Performs one action in each environment.

        Args:
            actions: As for ``AtariVectorEnv.step``.

        Returns:
            Observations, rewards, terminations, truncations and info.
        """
        return _with_lists(*super().step(actions))

    def recv(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Waits for the next batch; see ``step``.

        Raises:
            RuntimeError: Too few environments are in flight, or an environment failed.
        """
        return _with_lists(*super().recv())


def _with_lists(
    observations: np.ndarray,
    rewards: np.ndarray,
    terminations: np.ndarray,
    truncations: np.ndarray,
    info: dict[str, Any],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """Replaces the infos of episodes that ended with those of Gymnasium 0.29."""
    over = terminations | truncations
    if over.any():
        episodes, complete = info.pop("episode", {}), info.pop("_episode", np.zeros(len(over), bool))
        final_lives, final_observations = info.pop("final_info", info)["lives"], info.pop("final_obs")
        last_infos, last_observations = (np.full(len(over), None, object) for _ in range(2))
        for row in np.flatnonzero(over):
            last_observations[row] = final_observations[row]
            last_infos[row] = {"lives": int((final_lives if complete[row] else info["lives"])[row])}
            if complete[row]:
                last_infos[row]["episode"] = {name: values[row].item() for name, values in episodes.items()}
        info.update(
            final_observation=last_observations,
            _final_observation=over,
            final_info=last_infos,
            _final_info=over,
        )
    return observations, rewards, terminations, truncations, info
