"""Steps environments with `gymnasium.vector.SyncVectorEnv`, for comparison.

Reads a request in JSON from standard input, and writes a line in JSON for the reset and for each step.
"""

import functools
import importlib
import json
import sys

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import iterate

KEPT = ("uint8", "int8", "int64", "float32")


def make(name, options):
    """Makes an environment as its name says."""
    source, _, target = name.partition(":")
    kwargs = dict(options["kwargs"])
    if source in ("gym", "gymnasium"):
        env = gymnasium.make(target, max_episode_steps=options["max_episode_steps"], **kwargs)
    else:
        module, _, attribute = target.rpartition(":")
        env = getattr(importlib.import_module(module), attribute)(**kwargs)
    for wrapper in options["wrappers"]:
        module, _, attribute = wrapper["name"].rpartition(".")
        env = getattr(importlib.import_module(module), attribute)(env, **wrapper["kwargs"])
    return env


def row(space, observation, flatten, axes):
    """Returns an observation as bytes in hexadecimal digits. Images have the order of `axes`."""
    if isinstance(axes, dict):
        images = [np.transpose(observation[key], order).tobytes() for key, order in axes.items()]
        others = spaces.Dict({key: part for key, part in space.items() if key not in axes})
        flat = spaces.flatten(others, {key: observation[key] for key in others}).astype(np.float32)
        images = b"".join(images)
        return (images + bytes(-len(images) % 4) + flat.tobytes()).hex()
    if axes is not None:
        array = np.transpose(observation, axes).astype(np.uint8)
    elif isinstance(space, spaces.Box):
        array = np.asarray(observation, space.dtype)
        keeps = space.dtype.name == "uint8" and array.ndim == 1 if flatten else space.dtype.name in KEPT
        if not keeps:
            array = array.astype(np.float32)
    else:
        array = spaces.flatten(space, observation).astype(np.float32)
    return np.ascontiguousarray(array).tobytes().hex()


def convert(space, flat, count):
    """Returns the actions of `count` environments, which are counted from 0 in `flat`."""
    if isinstance(space, spaces.Discrete):
        return np.array(flat, space.dtype) + space.start
    array = np.array(flat, space.dtype).reshape(count, *space.shape)
    return array + space.start if isinstance(space, spaces.MultiDiscrete) else array


def main():
    request = json.load(sys.stdin)
    sys.path[:0] = request["paths"]
    makers = [
        functools.partial(make, group["name"], group["options"])
        for group in request["groups"]
        for _ in range(group["num_envs"])
    ]
    mode = {"NextStep": AutoresetMode.NEXT_STEP, "SameStep": AutoresetMode.SAME_STEP}[request["mode"]]
    envs = SyncVectorEnv(makers, autoreset_mode=mode)
    space, count = envs.single_observation_space, envs.num_envs

    def to_row(observation):
        return row(space, observation, request["flatten"], request["axes"])

    def rows(observations):
        return [to_row(value) for value in iterate(envs.observation_space, observations)]

    def write(observations, rewards, terminated, truncated, infos):
        final = [None] * count
        for env in np.flatnonzero(infos.get("_final_obs", [])):
            final[env] = to_row(infos["final_obs"][env])
        result = {
            "observations": rows(observations),
            "final": final,
            "rewards": [float(reward) for reward in rewards],
            "terminated": [bool(flag) for flag in terminated],
            "truncated": [bool(flag) for flag in truncated],
        }
        print(json.dumps(result))

    observations, infos = envs.reset(seed=request["seed"])
    write(observations, np.zeros(count), np.zeros(count), np.zeros(count), infos)
    for flat in request["actions"]:
        write(*envs.step(convert(envs.single_action_space, flat, count)))


main()
