"""Gymnasium ids for ``gymnasium.make`` and ``gymnasium.make_vec``."""

from __future__ import annotations

from typing import Any

import gymnasium

from ale_train import _native
from ale_train.names import camel_case

__all__ = ["register_envs", "register_missing_envs", "register_tasks", "register_v0_v4_envs", "register_v5_envs"]

#: This package, whose name begins the entry points of its environments.
_OWN = "ale_train"

#: The game that ale-py does not have.
_OWN_GAME = "harvest"

#: The games of Gym, which have the versions 0 and 4.
_GAMES_OF_GYM = [
    "adventure", "air_raid", "alien", "amidar", "assault", "asterix", "asteroids", "atlantis", "bank_heist",
    "battle_zone", "beam_rider", "berzerk", "bowling", "boxing", "breakout", "carnival", "centipede",
    "chopper_command", "crazy_climber", "defender", "demon_attack", "double_dunk", "elevator_action", "enduro",
    "fishing_derby", "freeway", "frostbite", "gopher", "gravitar", "hero", "ice_hockey", "jamesbond",
    "journey_escape", "kangaroo", "krull", "kung_fu_master", "montezuma_revenge", "ms_pacman", "name_this_game",
    "phoenix", "pitfall", "pong", "pooyan", "private_eye", "qbert", "riverraid", "road_runner", "robotank",
    "seaquest", "skiing", "solaris", "space_invaders", "star_gunner", "tennis", "time_pilot", "tutankham",
    "up_n_down", "venture", "video_pinball", "wizard_of_wor", "yars_revenge", "zaxxon",
]  # fmt: skip

#: Version, suffix of the name, frame skip and probability of sticky actions of Gym's environments.
_VERSIONS_OF_GYM: tuple[tuple[int, str, int | tuple[int, int], float], ...] = (
    (0, "", (2, 5), 0.25),
    (4, "", (2, 5), 0.0),
    (0, "NoFrameskip", 1, 0.25),
    (4, "NoFrameskip", 1, 0.0),
)


def register_envs(namespace: str = "ALE", package: str = "ale_train") -> None:
    """Registers every game as ``NAMESPACE/Name-v5``, and ale-py's older ids, with the same options as ale-py.

    With the default namespace, ``gymnasium.make("ALE/Pong-v5")``, ``gymnasium.make("PongNoFrameskip-v4")`` and
    ``gymnasium.make_vec("ALE/Pong-v5", num_envs=8)`` create environments of this package, even if ale-py has registered
    the ids. Importing the package already registers those ids that nothing else has registered. Another namespace, as
    in ``OURS/Pong-v5`` and ``OURS/PongNoFrameskip-v4``, leaves the ids of ale-py unchanged.

    As in ale-py, ``repeat_action_probability`` is 0.25 in the versions 5 and 0 (Machado et al., 2018).

    Args:
        namespace: The part of the ids before the slash.
        package: The package that the entry points name: this one, or ``ale_py`` where this one is in its place.
    """
    register_v5_envs(namespace, package)
    register_v0_v4_envs("" if namespace == "ALE" else namespace, package)


def register_missing_envs() -> None:
    """Registers the ids of ``register_envs`` that are not registered yet, so that those of ale-py stay ale-py's.

    This happens when the package is imported.
    """
    taken = dict(gymnasium.registry)
    register_envs()
    gymnasium.registry.update(taken)


def register_v5_envs(namespace: str = "ALE", package: str = "ale_train") -> None:
    """Registers every game as ``NAMESPACE/Name-v5``."""
    for game in _native.games():
        source = _OWN if game == _OWN_GAME else package
        _register(source, namespace, f"{camel_case(game)}-v5", game, 4, 0.25, f"{source}.vector_env:AtariVectorEnv")


def register_v0_v4_envs(namespace: str = "", package: str = "ale_train") -> None:
    """Registers the games of Gym, such as ``Pong-v0`` and ``PongNoFrameskip-v4``."""
    for version, suffix, frameskip, repeat_action_probability in _VERSIONS_OF_GYM:
        for game in _GAMES_OF_GYM:
            name = f"{camel_case(game)}{suffix}-v{version}"
            _register(package, namespace, name, game, frameskip, repeat_action_probability)


def register_tasks() -> None:
    """Registers classic control, toy text and MuJoCo as ``ale_train/Ant-v5`` and so on, for ``gymnasium.make`` and
    ``gymnasium.make_vec``.

    This happens when the package is imported.
    """
    for id, max_episode_steps, reward_threshold in _native.tasks():
        gymnasium.registry.pop(f"ale_train/{id}", None)
        gymnasium.register(
            id=f"ale_train/{id}",
            entry_point="ale_train.task_env:TaskEnv",
            vector_entry_point="ale_train.task_vector_env:TaskVectorEnv",
            max_episode_steps=max_episode_steps,
            reward_threshold=reward_threshold,
            kwargs={"task_id": id},
        )


def _register(
    package: str,
    namespace: str,
    name: str,
    game: str,
    frameskip: int | tuple[int, int],
    repeat_action_probability: float,
    vector_entry_point: str | None = None,
) -> None:
    """Registers an environment, replacing any with the same id."""
    id = f"{namespace}/{name}" if namespace else name
    kwargs: dict[str, Any] = {
        "game": game,
        "repeat_action_probability": repeat_action_probability,
        "full_action_space": False,
        "frameskip": frameskip,
        "max_num_frames_per_episode": 108000,
    }
    gymnasium.registry.pop(id, None)
    gymnasium.register(
        id=id, entry_point=f"{package}.env:AtariEnv", vector_entry_point=vector_entry_point, kwargs=kwargs
    )
