"""Vector environments of Atari games with several players, each of whom is a row."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ale_train import _native, arguments
from ale_train.vector_env import AtariVectorEnv

__all__ = ["AtariPlayersVectorEnv"]


class AtariPlayersVectorEnv(AtariVectorEnv):
    """Atari games of several players. Each player is a row with an action, an observation, a reward and an end, so that
    programs for one player train all of them with one policy, as SuperSuit's vector environments do.

    Row ``num_players * i + p`` is player ``p`` of game ``i``; ``info["env_id"]`` and ``info["player"]`` name them. The
    players of a game step together. All see the same screen. The game ends for all at the same time, but a player who
    has lost the last life is terminated before, and gets no more rewards until then.

    Attributes:
        num_envs: The number of rows: games times players.
        batch_size: The number of rows of a batch.
        num_players: The number of players of each game.
    """

    def __init__(self, game: str, num_envs: int, num_players: int = 2, **options: Any) -> None:
        """Creates the games.

        Args:
            game: Id of the game, such as ``"pong"``.
            num_envs: Number of games.
            num_players: Number of players of each game.
            options: Those of ``AtariVectorEnv``, in which ``batch_size`` counts games. ``continuous``,
                ``episodic_life``, ``life_loss_info``, ``fire_after_lost_life`` and ``games`` are for one player only.
                ``extra_info`` is true by default.

        Raises:
            GameError: The id of the game is unknown.
            ValueError: The game has no such number of players, or an option is out of range.
            TypeError: An option has the wrong type.
            OSError: The ROM is missing and cannot be downloaded.
        """
        self.num_players = arguments.integer("num_players", num_players, 1)
        for name in ("continuous", "games", "pin_memory"):
            if options.get(name):
                raise ValueError(f"{name} is {options[name]!r}, but is available for one player only")
        super().__init__(game, num_envs, **{"extra_info": True, **options})
        # It gives access to emulators of one player.
        del self.ale

    @staticmethod
    def _check_games(ids: Sequence[str]) -> None:
        for game in ids:
            if game not in _native.players_games():
                arguments.check_games([game])

    def _create_pool(self, settings: dict[str, Any]) -> Any:
        pool: Any = _native.PlayersPool(settings, self.num_players, sys.executable)
        self.num_envs *= self.num_players
        self.batch_size *= self.num_players
        return pool

    @property
    def _num_emulators(self) -> int:
        return self.num_envs // self.num_players

    def send(  # type: ignore[override]
        self, actions: np.ndarray, env_ids: Sequence[int] | np.ndarray | None = None
    ) -> None:
        """Sends actions without waiting; ``recv`` returns the results.

        Args:
            actions: An action for each player of each game, game by game.
            env_ids: The games, which must not be in flight; by default those of the last batch.

        Raises:
            ActionError: The type, dtype or shape is wrong; nothing is sent.
            ValueError: An index is out of range; nothing is sent.
            RuntimeError: There was no ``reset``, or a game is in flight.
        """
        pool = self._open_pool()
        ids = None if env_ids is None else arguments.indices("env_ids", env_ids, self._num_emulators)
        arguments.check_actions(actions, False, self.batch_size if ids is None else len(ids) * self.num_players)
        pool.send(actions, ids)

    def snapshot(self) -> bytes:  # type: ignore[override]
        """Returns the complete state of all games, under the conditions of ``AtariVectorEnv.snapshot``."""
        return self._open_pool().snapshot()

    def restore(self, state: bytes) -> tuple[np.ndarray, dict[str, Any]]:  # type: ignore[override]
        """Restores a state from ``snapshot``, to games with the same options, and returns it as ``reset`` does.

        Raises:
            ValueError: The state is damaged or belongs to other games; nothing changes.
        """
        return self._open_pool().restore(state)

    def ram(self) -> np.ndarray:
        """Raises NotImplementedError: with ``extra_info``, ``info["ram"]`` is the RAM of each row."""
        raise NotImplementedError("ram() is available for one player only; info['ram'] has the RAM of each row")

    def xla(self) -> Any:
        """Raises NotImplementedError: JAX can step games of one player only."""
        raise NotImplementedError("xla() is available for games of one player only")
