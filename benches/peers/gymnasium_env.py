"""A Gymnasium environment with the standard preprocessing, for the processes of AsyncVectorEnv."""

import ale_py
import gymnasium
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation, TransformAction

from work import camel_case

ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
gymnasium.register_envs(ale_py)

# AsyncVectorEnv requires one action space for all games; each game receives only its own actions.
MOST_ACTIONS = 18


def make(game):
    stacked = FrameStackObservation(AtariPreprocessing(_plain(game)), 4)
    return TransformAction(stacked, lambda action: action, gymnasium.spaces.Discrete(MOST_ACTIONS))


def action_count(game):
    env = _plain(game)
    count = env.action_space.n
    env.close()
    return count


def _plain(game):
    return gymnasium.make(f"ALE/{camel_case(game)}-v5", frameskip=1, repeat_action_probability=0.0)
