"""Vector environments in programs that JAX compiles."""

import jax
import numpy as np

from sides import DRAWN, WARM_UP, WARM_UP_FRAMES, Loop, ale_train_vector, ale_vector


class Xla(Loop):
    """A program of JAX that performs random actions. `program(step)` returns it."""

    # The number of steps in a call of the program.
    steps = 1

    def __init__(self, env, action_count, num_envs, warm_up_frames):
        self.env = env
        handle, reset, step = env.xla()
        self.handle, _ = reset(handle)
        self.program = jax.jit(self.program_of(step))
        drawn = np.random.default_rng(1).integers(action_count, size=(DRAWN, self.steps, num_envs), dtype=np.int32)
        self.actions = drawn if self.steps > 1 else drawn[:, 0]
        self.frames = 4 * self.steps * num_envs
        self.turn = 0
        for _ in range(warm_up_frames // self.frames + 1):
            self.some()

    def some(self):
        self.turn += 1
        self.handle, results = self.program(self.handle, self.actions[self.turn % DRAWN])
        jax.block_until_ready(results)
        return self.frames

    def close(self):
        self.env.close()


class Scan(Xla):
    """Many steps in one program, which returns their rewards."""

    steps = 100

    @staticmethod
    def program_of(step):
        def act(handle, actions):
            handle, (_, rewards, *_) = step(handle, actions)
            return handle, rewards

        return lambda handle, actions: jax.lax.scan(act, handle, actions)


class Calls(Xla):
    """Calls of a program of one step, which returns everything."""

    @staticmethod
    def program_of(step):
        return step


def of_ale_train(work):
    env = ale_train_vector(work)
    return env, env.num_actions[0], work.shape.num_envs, WARM_UP_FRAMES


def of_ale(work):
    shape = work.shape
    env = ale_vector(work.games[0], shape.num_envs, shape.num_threads, shape.batch_size)
    return env, env.single_action_space.n, shape.num_envs, 4 * shape.num_envs * WARM_UP


class AleTrainScan(Scan):
    def __init__(self, work):
        super().__init__(*of_ale_train(work))


class AleTrainCalls(Calls):
    def __init__(self, work):
        super().__init__(*of_ale_train(work))


class AleScan(Scan):
    def __init__(self, work):
        super().__init__(*of_ale(work))


class AleCalls(Calls):
    def __init__(self, work):
        super().__init__(*of_ale(work))
