"""Vector environments by id."""

from __future__ import annotations

from typing import Any

from ale_train.errors import GameError
from ale_train.names import game_of, is_task, players_game_of, unknown_environment
from ale_train.players_vector_env import AtariPlayersVectorEnv
from ale_train.task_vector_env import TaskVectorEnv
from ale_train.vector_env import AtariVectorEnv

__all__ = ["make_vec"]


def make_vec(id: str, num_envs: int = 1, num_players: int = 1, **options: Any) -> AtariVectorEnv | TaskVectorEnv:
    """Creates a vector environment of any id: a game or one of ``ale_train.tasks()``.

    Args:
        id: ``"pong"``, ``"Pong-v5"``, ``"ALE/Pong-v5"``, ``"Ant-v5"`` or ``"ale_train/Ant-v5"``. For a game only the
            options determine how it is played, not the version.
        num_envs: Number of environments.
        num_players: Number of players of a game. Each of several players is a row.
        options: Those of ``AtariVectorEnv`` for a game, of ``AtariPlayersVectorEnv`` for one of several players,
            otherwise of ``TaskVectorEnv``.

    Raises:
        GameError: The id is unknown.
        TypeError: An option is unknown or has the wrong type.
        ValueError: An option is out of range, or the game has no such number of players.
        OSError: The ROM, or MuJoCo, is missing and cannot be downloaded.
    """
    if is_task(id):
        if num_players != 1:
            raise ValueError(f"num_players is {num_players}, but {id} is not an Atari game and has one player")
        return TaskVectorEnv(id, num_envs, **options)
    try:
        game = game_of(id) if num_players == 1 else players_game_of(id)
    except GameError:
        raise unknown_environment(id) from None
    if num_players != 1:
        return AtariPlayersVectorEnv(game, num_envs, num_players, **options)
    return AtariVectorEnv(game, num_envs, **options)
