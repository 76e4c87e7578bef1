"""Environments of Atari 2600, classic control, toy text and MuJoCo on a work-stealing pool, bit for bit equal to those
of ale-py and Gymnasium.

``AtariEnv``, ``AtariVectorEnv`` and ``ALEInterface`` are drop-in replacements for the classes of ``ale_py``, and
``make_vec`` makes vector environments of every id. The book describes the other entry points.
"""

from ale_train import roms
from ale_train._native import ALEInterface, ALEState, __version__, games
from ale_train.actions import Action
from ale_train.agents import Agent, Scores, load_agent
from ale_train.as_ale_py import install_as_ale_py
from ale_train.by_id import make_vec
from ale_train.env import AtariEnv
from ale_train.envpool import make
from ale_train.learner import Learner
from ale_train.learners import DQN, PPO, PQN, SAC
from ale_train.logger_mode import LoggerMode
from ale_train.names import tasks
from ale_train.other_names import VectorAtariEnv, make_atari_vector_env
from ale_train.players_vector_env import AtariPlayersVectorEnv
from ale_train.registration import register_envs, register_missing_envs, register_tasks
from ale_train.task_vector_env import TaskVectorEnv
from ale_train.vector_env import AtariVectorEnv

__all__ = [
    "ALEInterface",
    "ALEState",
    "Action",
    "Agent",
    "AtariEnv",
    "AtariPlayersVectorEnv",
    "AtariVectorEnv",
    "DQN",
    "Learner",
    "LoggerMode",
    "PPO",
    "PQN",
    "SAC",
    "Scores",
    "TaskVectorEnv",
    "VectorAtariEnv",
    "__version__",
    "games",
    "install_as_ale_py",
    "load_agent",
    "make",
    "make_atari_vector_env",
    "make_vec",
    "register_envs",
    "register_tasks",
    "roms",
    "tasks",
]


def __dir__() -> list[str]:
    """Returns the public names."""
    return __all__


register_missing_envs()
register_tasks()
