"""Environments of a trained agent, with the settings of its training."""

from __future__ import annotations

from typing import Any

from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from ale_train.by_id import make_vec
from ale_train.names import is_python_env, is_task
from ale_train.training_env import definition_of, make_env, read_definitions

__all__ = ["ATARI_OPTIONS", "atari_options", "make_agent_envs"]

#: The settings of training that ``AtariVectorEnv`` has too, and their names there. Clipped rewards and episodes that
#: end with a life are for training only.
ATARI_OPTIONS = {
    "frame_skip": "frameskip",
    "repeat_action_probability": "repeat_action_probability",
    "img_height": "img_height",
    "img_width": "img_width",
    "stack_num": "stack_num",
    "maxpool": "maxpool",
    "noop_max": "noop_max",
    "use_fire_reset": "use_fire_reset",
    "fire_after_lost_life": "fire_after_lost_life",
    "full_action_space": "full_action_space",
    "max_num_frames_per_episode": "max_num_frames_per_episode",
    "mode": "mode",
    "difficulty": "difficulty",
}


def atari_options(game: str, experiment: dict[str, Any]) -> dict[str, Any]:
    """Returns the options of ``AtariVectorEnv`` with which an agent plays its game."""
    settings = experiment["environments"]
    settings = {**settings, **settings.get("game", {}).get(game, {})}
    evaluation = experiment.get("evaluation", {})
    if "repeat_action_probability" in evaluation:
        settings["repeat_action_probability"] = evaluation["repeat_action_probability"]
    options = {option: settings[name] for name, option in ATARI_OPTIONS.items() if name in settings}
    return {**options, "reward_clipping": False, "episodic_life": False}


def make_agent_envs(
    game: str, experiment: dict[str, Any], num_envs: int, options: dict[str, Any]
) -> VectorEnv[Any, Any, Any]:
    """Creates environments of a game with the settings of an experiment.

    Raises:
        ValueError: The environments were an object of another process, or have several players.
    """
    if is_python_env(game):
        return _in_python(game, experiment["environments"].get("gymnasium", {}), num_envs, options)
    if is_task(game):
        return make_vec(game, num_envs, **options)
    name, mode = _mode_of(game)
    return make_vec(name, num_envs, **{**atari_options(game, experiment), **mode, **options})


def _mode_of(task: str) -> tuple[str, dict[str, int]]:
    """Returns the game of a task such as ``"breakout@12.1"``, and the mode and the difficulty that it names."""
    game, _, mode = task.partition("@")
    if not mode:
        return game, {}
    if mode.partition("@")[0].endswith("p"):
        raise ValueError(
            f"{task} is a game of several players, of which an agent plays one; `ale-train match` lets two agents play"
        )
    mode, _, difficulty = mode.partition(".")
    return game, {"mode": int(mode), "difficulty": int(difficulty or 0)}


def _in_python(game: str, settings: dict[str, Any], num_envs: int, options: dict[str, Any]) -> VectorEnv[Any, Any, Any]:
    definition = definition_of(game, read_definitions(settings.get("definitions")))
    kwargs = {**settings.get("kwargs", {}), **options}
    return SyncVectorEnv([lambda: make_env(definition, kwargs)] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
