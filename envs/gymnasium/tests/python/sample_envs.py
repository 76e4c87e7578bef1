"""Environments for tests: one for each kind of space, and some that misbehave."""

import os
import signal
import sys
import time

import gymnasium
import numpy as np
from gymnasium import spaces


class Random(gymnasium.Env):
    """Episodes of random length with random observations, which depend on the actions."""

    metadata = {"render_modes": ["rgb_array"]}

    def __init__(self, observation_space, action_space, render_mode=None):
        self.observation_space, self.action_space = observation_space, action_space
        self.render_mode = render_mode
        self.left, self.steps, self.seed = 0, 0, None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.seed = seed
        self.left, self.steps = int(self.np_random.integers(1, 12)), 0
        return self.observe(), {}

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
        self.left, self.steps = self.left - 1, self.steps + 1
        for part in np.asarray(action).ravel():
            self.np_random.random(int(abs(part) * 3) % 4)
        reward = float(self.np_random.normal())
        over = self.left <= 0
        truncated = over and bool(self.np_random.integers(2))
        return self.observe(), reward, over and not truncated, truncated, {}

    def observe(self):
        self.observation_space.seed(int(self.np_random.integers(2**31)))
        return self.observation_space.sample()

    def render(self):
        frame = np.zeros((4, 6, 3), np.uint8)
        frame[:, :, 0], frame[0, 1, 2] = self.steps, 255
        return frame


def corridor(**kwargs):
    """Discrete observations and actions that do not start at 0."""
    return Random(spaces.Discrete(5, start=-2), spaces.Discrete(3, start=4), **kwargs)


def mixed():
    """A dictionary of all kinds of observations, and actions of several choices that do not start at 0."""
    parts = {
        "position": spaces.Box(-3, 3, (2, 2), np.float64),
        "gear": spaces.Discrete(3, start=1),
        "bits": spaces.MultiBinary((2, 3)),
        "levels": spaces.MultiDiscrete([3, 4], start=[1, -2]),
        "pair": spaces.Tuple((spaces.Discrete(2), spaces.Box(0, 255, (3,), np.uint8))),
    }
    return Random(spaces.Dict(parts), spaces.MultiDiscrete([3, 2], start=[1, -1]))


def pixels():
    """Images of bytes, and binary actions."""
    return Random(spaces.Box(0, 255, (5, 7, 3), np.uint8), spaces.MultiBinary(4))


def image(shape, dtype="uint8"):
    """Images of bytes or bits."""
    return Random(spaces.Box(0, 255 if dtype == "uint8" else 1, tuple(shape), np.dtype(dtype)), spaces.Discrete(2))


def seen():
    """Images beside other observations."""
    parts = {
        "direction": spaces.Discrete(4),
        "image": spaces.Box(0, 255, (7, 7, 3), np.uint8),
        "map": spaces.Box(0, 255, (40, 41), np.uint8),
        "position": spaces.Box(-1, 1, (2,), np.float64),
    }
    return Random(spaces.Dict(parts), spaces.Discrete(2))


def doubles():
    """Observations and actions of double precision in a matrix."""
    return Random(spaces.Box(-2, 2, (2, 3), np.float64), spaces.Box(-1, 1, (2, 2), np.float64))


def integers():
    """Observations of 64-bit integers."""
    return Random(spaces.Box(-5, 5, (3,), np.int64), spaces.Box(-1, 1, (1,), np.float32))


def bits():
    """Observations of bits, and one action."""
    return Random(spaces.MultiBinary(3), spaces.Discrete(2))


def levels():
    """Observations of levels, in a matrix."""
    return Random(spaces.MultiDiscrete([[2, 3], [4, 2]]), spaces.Discrete(2))


def one_of_two():
    """Observations of one of two values."""
    return Random(spaces.Discrete(2), spaces.Discrete(2))


def sixteen():
    """As many observations as FrozenLake has."""
    return Random(spaces.Discrete(16), spaces.MultiDiscrete([3, 2]))


def text():
    """Observations that no network can read."""
    return Random(spaces.Tuple((spaces.Text(4), spaces.Discrete(2))), spaces.Discrete(2))


def whole_numbers():
    """Actions that are not supported."""
    return Random(spaces.Discrete(2), spaces.Box(0, 5, (2,), np.int32))


def not_an_environment():
    return object()


def two_floats():
    """Continuous actions."""
    return Random(spaces.Discrete(2), spaces.Box(-1, 1, (2,), np.float32))


def never_made():
    time.sleep(10_000)


def raises_when_made():
    raise ValueError("no such level")


class Faulty(Random):
    """Misbehaves at a step, if its seed is `at_seed`."""

    def __init__(self, fault, at_step=3, at_seed=None):
        super().__init__(spaces.Box(-np.inf, np.inf, (3,), np.float32), spaces.Discrete(2))
        self.fault, self.at_step, self.at_seed = fault, at_step, at_seed

    def reset(self, *, seed=None, options=None):
        self.action_space = spaces.Discrete(2)
        observation, info = super().reset(seed=seed)
        self.left = 1000
        return observation, info

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        if self.steps != self.at_step or self.at_seed not in (None, self.seed):
            return observation, reward, terminated, truncated, info
        return getattr(self, self.fault)(observation), *self.other_results(reward), terminated, truncated, info

    def other_results(self, reward):
        return ({"no_reward": None, "text_reward": "much", "nan_reward": np.nan}.get(self.fault, reward),)

    def no_reward(self, observation):
        return observation

    text_reward = nan_reward = no_reward

    def raises(self, observation):
        print("about to fail")
        raise ValueError("the wall is missing")

    def exits(self, observation):
        sys.exit(3)

    def ends(self, observation):
        print("the last words", flush=True)
        os._exit(3)

    def crashes(self, observation):
        os.kill(os.getpid(), signal.SIGSEGV)

    def sleeps(self, observation):
        time.sleep(10_000)

    def naps(self, observation):
        time.sleep(0.4)
        return observation

    def nan(self, observation):
        return np.array([1.0, np.nan, 1.0], np.float32)

    def infinite(self, observation):
        return np.array([1.0, 1.0, -np.inf], np.float32)

    def shape(self, observation):
        return observation[:2]

    def dtype(self, observation):
        return np.array(["a", "b", "c"])

    def complex(self, observation):
        return observation.astype(np.complex64)

    def action_space_changes(self, observation):
        self.action_space = spaces.Discrete(3)
        return observation


class Masked(Random):
    """Observations of bits that are also the action mask. Other actions are errors."""

    SPACES = {
        "int8": spaces.Discrete(5),
        "bool": spaces.Discrete(5, start=3),
        "short": spaces.Discrete(3),
        "tuple": spaces.MultiDiscrete([2, 3]),
        "joined": spaces.MultiDiscrete([2, 3], start=[1, -1]),
        "binary": spaces.MultiBinary(2),
    }

    def __init__(self, kind, fault=None, at_step=0, at_seed=None):
        space = self.SPACES[kind]
        super().__init__(spaces.MultiBinary(4 if kind == "binary" else 5), space)
        self.kind, self.fault, self.at_step, self.at_seed = kind, fault, at_step, at_seed
        self.counts = {"short": [3], "tuple": [2, 3], "joined": [2, 3], "binary": [2, 2]}.get(kind, [5])

    def observe(self):
        bits = super().observe()
        start = 0
        for count in self.counts:
            bits[start + self.np_random.integers(count)] = 1
            start += count
        self.bits = bits
        return bits.copy()

    def info(self, terminated=False):
        mask = self.bits[: sum(self.counts)].copy()
        if self.fault and self.steps == self.at_step and self.seed == self.at_seed:
            mask = {"empty": mask * [0, 0, 1, 1, 1], "long": np.ones(6, np.int8), "numbers": mask * 2, "text": "all"}.get(
                self.fault
            )
            return {} if self.fault == "missing" else {"action_mask": mask}
        if terminated:
            # No action is possible at the end of a game.
            return {"action_mask": mask * 0}
        if self.kind == "tuple":
            mask = (mask[:2], mask[2:])
        return {"action_mask": mask.astype(bool) if self.kind == "bool" else mask}

    def reset(self, *, seed=None, options=None):
        observation, _ = super().reset(seed=seed)
        if self.fault:
            self.left = 1000
        return observation, self.info()

    def step(self, action):
        first = np.ravel(getattr(self.action_space, "start", 0))
        options = np.ravel(action) - first
        starts = np.cumsum(self.counts) - self.counts
        if not self.bits[starts + options].all():
            raise ValueError(f"{action} is not allowed by {self.bits}")
        observation, reward, terminated, truncated, _ = super().step(action)
        return observation, reward, terminated, truncated, self.info(terminated)


class Slow(Random):
    """Takes half a second for each step if its seed is even."""

    def __init__(self):
        super().__init__(spaces.Discrete(2), spaces.Discrete(2))

    def step(self, action):
        if self.seed % 2 == 0:
            time.sleep(0.5)
        return super().step(action)


class Printing(Random):
    """Prints to standard output and standard error, also from other programs."""

    def __init__(self):
        super().__init__(spaces.Discrete(2), spaces.Discrete(2))

    def step(self, action):
        print("x" * 10_000)
        print("y" * 10_000, file=sys.stderr)
        os.system("echo from a shell; echo and its errors >&2")
        return super().step(action)


class Closing(Random):
    """Creates a file when it is closed."""

    def __init__(self, path):
        super().__init__(spaces.Discrete(2), spaces.Discrete(2))
        self.path = path

    def close(self):
        open(self.path, "x").close()


class Unpicklable(Random):
    """Has a part that cannot be pickled."""

    def __init__(self):
        super().__init__(spaces.Discrete(2), spaces.Discrete(2))
        self.callback = lambda: None


class Forgetful(Random, gymnasium.utils.EzPickle):
    """Pickles only the arguments of its constructor."""

    def __init__(self):
        Random.__init__(self, spaces.Discrete(2), spaces.Discrete(2))
        gymnasium.utils.EzPickle.__init__(self)


class Negated(gymnasium.Wrapper):
    """Negates rewards and multiplies them."""

    def __init__(self, env, factor=1):
        super().__init__(env)
        self.factor = factor

    def step(self, action):
        observation, reward, *others = self.env.step(action)
        return observation, -reward * self.factor, *others


gymnasium.register("samples/Corridor-v0", entry_point="sample_envs:corridor", max_episode_steps=7)
