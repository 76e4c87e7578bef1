"""Single environments of `gymnasium.make`."""

import gymnasium
import numpy as np

from sides import DRAWN, WARM_UP, WARM_UP_FRAMES, Loop
from work import camel_case


class Single(Loop):
    """One environment, which performs random actions and is reset after each episode."""

    STEPS = 100

    def __init__(self, work, namespace, warm_up):
        view = work.view
        name = f"{namespace}/{camel_case(work.games[0])}-v5"
        self.env = gymnasium.make(name, obs_type=view.obs_type, frameskip=view.frameskip)
        self.env.reset(seed=1)
        # NumPy integers, like samples of the action space.
        drawn = np.random.default_rng(1).integers(self.env.action_space.n, size=(DRAWN, self.STEPS))
        self.actions = [list(row) for row in drawn]
        self.frames = self.STEPS * view.frameskip
        self.turn = 0
        for _ in range(warm_up):
            self.some()

    def some(self):
        self.turn += 1
        for action in self.actions[self.turn % DRAWN]:
            _, _, terminated, truncated, _ = self.env.step(action)
            if terminated or truncated:
                self.env.reset()
        return self.frames

    def close(self):
        self.env.close()


class AleTrainSingle(Single):
    """ale-train's AtariEnv."""

    def __init__(self, work):
        import ale_train

        ale_train.register_envs("Ours")
        super().__init__(work, "Ours", WARM_UP_FRAMES // (self.STEPS * work.view.frameskip) + 1)


class AleSingle(Single):
    """ale-py's AtariEnv."""

    def __init__(self, work):
        import ale_py

        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        gymnasium.register_envs(ale_py)
        super().__init__(work, "ALE", WARM_UP)
