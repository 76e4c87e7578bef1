"""Vector environments by id."""

from __future__ import annotations

from typing import Any

from ale_train.errors import GameError
from ale_train.names import game_of, is_task, unknown_environment
from ale_train.task_vector_env import TaskVectorEnv
from ale_train.vector_env import AtariVectorEnv

__all__ = ["make_vec"]


def make_vec(id: str, num_envs: int = 1, **options: Any) -> AtariVectorEnv | TaskVectorEnv:
    """Creates a vector environment of any id: a game or one of ``ale_train.tasks()``.

    Args:
        id: ``"pong"``, ``"Pong-v5"``, ``"ALE/Pong-v5"``, ``"Ant-v5"`` or ``"ale_train/Ant-v5"``. For a game only the
            options determine how it is played, not the version.
        num_envs: Number of environments.
        options: Those of ``AtariVectorEnv`` for a game, otherwise of ``TaskVectorEnv``.

    Raises:
        GameError: The id is unknown.
        TypeError: An option is unknown or has the wrong type.
        ValueError: An option is out of range.
        OSError: The ROM, or MuJoCo, is missing and cannot be downloaded.
    """
    if is_task(id):
        return TaskVectorEnv(id, num_envs, **options)
    try:
        game = game_of(id)
    except GameError:
        raise unknown_environment(id) from None
    return AtariVectorEnv(game, num_envs, **options)
