"""A Gymnasium environment of one's own: walk to the end of a corridor."""

import gymnasium
import numpy as np


class Corridor(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length=10):
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position = int(self.np_random.integers(self.length))
        self.steps = 0
        return self._observe(), {}

    def step(self, action):
        self.position = max(self.position + (1 if action == 1 else -1), 0)
        self.steps += 1
        terminated = self.position >= self.length
        return self._observe(), 10.0 if terminated else -1.0, terminated, self.steps >= 5 * self.length, {}

    def _observe(self):
        return np.array([self.position / self.length], np.float32)
