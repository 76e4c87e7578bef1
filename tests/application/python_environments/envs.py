"""Environments that cannot be pickled, that fail, that print, and that render frames."""

import os
import time

import gymnasium
import numpy as np
from corridor import Corridor


class Unsaved(Corridor):
    def __init__(self):
        super().__init__()
        self.unsaved = lambda: None


class Failing(Corridor):
    def step(self, action):
        if self.steps == 7 and os.path.exists("fault"):
            fault = open("fault").read()
            if fault == "raise":
                raise RuntimeError("the corridor collapsed")
            if fault == "hang":
                time.sleep(10_000)
            if fault == "nan":
                return np.array([np.nan], np.float32), 0.0, False, False, {}
            os._exit(3)
        return super().step(action)


class Evaluated(Corridor):
    def reset(self, *, seed=None, options=None):
        # Seeds of evaluations are large.
        if seed is not None and seed > 1000 and not os.path.exists("repaired"):
            raise RuntimeError("the evaluation collapsed")
        return super().reset(seed=seed, options=options)


class Images(Corridor):
    observation_space = gymnasium.spaces.Box(0, 255, (3, 40, 40), np.uint8)

    def _observe(self):
        return np.full((3, 40, 40), self.position, np.uint8)


class Printing(Corridor):
    def step(self, action):
        print("one step")
        return super().step(action)


class Doors(gymnasium.Env):
    """Doors, of which some are locked. One of the others has a reward."""

    def __init__(self, keys=0):
        self.observation_space = gymnasium.spaces.MultiBinary(4)
        self.action_space = gymnasium.spaces.MultiDiscrete([4, keys]) if keys else gymnasium.spaces.Discrete(4)
        self.keys = keys

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.observe(), self.info()

    def observe(self):
        self.goal = int(self.np_random.integers(4))
        self.open = self.np_random.integers(2, size=4).astype(np.int8)
        self.open[self.goal] = 1
        return np.eye(4, dtype=np.int8)[self.goal]

    def info(self):
        if not self.keys:
            return {"action_mask": self.open.copy()}
        # The key with the number of the goal is the only one.
        return {"action_mask": (self.open.copy(), np.arange(self.keys) == self.goal % self.keys)}

    def step(self, action):
        door = int(action[0]) if self.keys else int(action)
        if not self.open[door] or self.keys and action[1] != self.goal % self.keys:
            raise RuntimeError(f"the door {action} is locked")
        reward = float(door == self.goal)
        self.steps += 1
        return self.observe(), reward, False, self.steps == 10, self.info()


class Grid(gymnasium.Env):
    """A small image with the channels last."""

    def __init__(self):
        self.observation_space = gymnasium.spaces.Box(0, 255, (7, 7, 3), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observe(), {}

    def observe(self):
        return self.np_random.integers(11, size=(7, 7, 3), dtype=np.uint8)

    def step(self, action):
        return self.observe(), 1.0, bool(self.np_random.random() < 0.1), False, {}


class Shown(Corridor):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}

    def __init__(self, render_mode=None):
        super().__init__()
        self.render_mode = render_mode

    def render(self):
        colour = [20 * self.position, self.steps, 7]
        return np.full((30, 60, 3), colour, np.uint8)
