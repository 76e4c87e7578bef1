"""The sides: the work implemented with each package. Every side has rate(seconds) and close()."""

import contextlib
import os
import subprocess
import time

import numpy as np

from work import Shape, camel_case

# Batches before the first measurement. The first round, which is discarded, completes the warm-up.
WARM_UP = 10
# Frames of each game, and resets, before ale-train's first measurement, as in envs/vector/examples: hot code is
# translated by then.
WARM_UP_FRAMES = 12_000
WARM_UP_RESETS = 60
# The number of actions drawn in advance for each environment.
DRAWN = 1024


class RustProcess:
    """ale-train driven from Rust: a process that keeps the environments of several pieces of work alive."""

    def __init__(self, program, works):
        command = [program] + [work.argument for work in works]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._answer()

    def rate(self, index, seconds):
        print(index, seconds, file=self.process.stdin, flush=True)
        return float(self._answer())

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args[0]} ended with status {self.process.wait()}")
        return line.strip()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class RustSide:
    """One piece of work of a `RustProcess`."""

    def __init__(self, process, index):
        self.process, self.index = process, index

    def rate(self, seconds):
        return self.process.rate(self.index, seconds)

    def close(self):
        """The process ends with the last piece of its work."""


class Loop:
    """A side in this process: `some()` does some of the work and returns its amount."""

    def rate(self, seconds):
        start, done = time.perf_counter(), 0
        while (elapsed := time.perf_counter() - start) < seconds:
            done += self.some()
        return done / elapsed

    def close(self):
        pass


class AleEmulator(Loop):
    """The act loop of ale-py, with a random minimal action for every frame."""

    FRAMES = 100

    def __init__(self, work):
        import ale_py

        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.setInt("random_seed", 1)
        self.ale.loadROM(ale_py.roms.get_rom_path(work.games[0]))
        actions = self.ale.getMinimalActionSet()
        drawn = np.random.default_rng(1).integers(len(actions), size=(DRAWN, self.FRAMES))
        self.actions = [[actions[index] for index in row] for row in drawn]
        self.turn = 0

    def some(self):
        self.turn += 1
        for action in self.actions[self.turn % DRAWN]:
            self.ale.act(action)
            if self.ale.game_over():
                self.ale.reset_game()
        return self.FRAMES


class Batches(Loop):
    """A vector environment: `step(actions)` sends one batch of actions and waits for the next batch."""

    def __init__(self, action_counts, warm_up=WARM_UP):
        random = np.random.default_rng(1)
        self.actions = random.integers(action_counts, size=(DRAWN, len(action_counts)), dtype=np.int32)
        self.turn = 0
        for _ in range(warm_up):
            self.some()

    def some(self):
        self.turn += 1
        actions = self.actions[self.turn % DRAWN]
        self.step(actions)
        return 4 * len(actions)


class AleTrain(Batches):
    """ale-train's AtariVectorEnv: `num_envs` environments of one game, or one of each of several."""

    def __init__(self, work):
        self.env = ale_train_vector(work)
        self.env.reset(seed=1)
        batch_size = self.env.batch_size
        super().__init__(self.env.num_actions[:batch_size], WARM_UP_FRAMES * len(work.games) // (4 * batch_size) + 1)

    def step(self, actions):
        self.env.step(actions)

    def close(self):
        self.env.close()


class AleVector(Batches):
    """ale-py's AtariVectorEnv."""

    def __init__(self, work):
        shape = work.shape
        self.env = ale_vector(work.games[0], shape.num_envs, shape.num_threads, shape.batch_size)
        self.env.reset()
        super().__init__([self.env.single_action_space.n] * shape.batch_size)

    def step(self, actions):
        self.env.step(actions)


class AleSeveral(Batches):
    """One AtariVectorEnv of ale-py per game, all stepped concurrently, because each runs a single game."""

    def __init__(self, work):
        with cores(work.shape.num_threads):
            self.envs = [ale_vector(game, 1, 1, 0) for game in work.games]
            for env in self.envs:
                env.reset()
        super().__init__([env.single_action_space.n for env in self.envs])

    def step(self, actions):
        for index, env in enumerate(self.envs):
            env.send(actions[index : index + 1])
        for env in self.envs:
            env.recv()


class EnvPool(Batches):
    """EnvPool: step for full batches, send and recv for batches of the first to finish."""

    def __init__(self, work):
        shape = work.shape
        self.env = envpool_of(work.games[0], shape.num_envs, shape.num_threads, shape.batch_size)
        self.first_come = shape.first_come
        if self.first_come:
            self.env.async_reset()
            self._receive()
        else:
            self.env.reset()
        super().__init__([self.env.action_space.n] * shape.batch_size)

    def step(self, actions):
        if self.first_come:
            self.env.send(actions, self.env_ids)
            self._receive()
        else:
            self.env.step(actions)

    def _receive(self):
        *_, info = self.env.recv()
        self.env_ids = info["env_id"]


class EnvPoolSeveral(Batches):
    """One EnvPool per game, all stepped concurrently."""

    def __init__(self, work):
        with cores(work.shape.num_threads):
            self.envs = [envpool_of(game, 1, 1, 1) for game in work.games]
            for env in self.envs:
                env.reset()
        self.env_ids = np.zeros(1, np.int32)
        super().__init__([env.action_space.n for env in self.envs])

    def step(self, actions):
        for index, env in enumerate(self.envs):
            env.send(actions[index : index + 1], self.env_ids)
        for env in self.envs:
            env.recv()


class GymnasiumAsync(Batches):
    """Gymnasium's AsyncVectorEnv with one process per game and its wrappers for the same preprocessing."""

    def __init__(self, work):
        import functools
        import multiprocessing

        import gymnasium

        # A server without threads imports everything once and forks the processes.
        multiprocessing.set_forkserver_preload(["gymnasium_env"])
        from gymnasium_env import action_count, make

        with cores(work.shape.num_threads):
            makers = [functools.partial(make, game) for game in work.games]
            self.env = gymnasium.vector.AsyncVectorEnv(makers, context="forkserver")
        self.env.reset(seed=1)
        super().__init__([action_count(game) for game in work.games])

    def step(self, actions):
        self.env.step(actions)

    def close(self):
        self.env.close()


class Resets(Loop):
    """Resets of one environment, with a new seed each time if `seeded`."""

    def __init__(self, env, seeded, warm_up=1):
        self.env = env
        self.seed = 1 if seeded else None
        for _ in range(warm_up):
            self.some()

    def some(self):
        self.env.reset(seed=self.seed)
        if self.seed is not None:
            self.seed += 1
        return 1


class AleTrainReset(Resets):
    """Resets of ale-train's AtariVectorEnv."""

    def __init__(self, work):
        super().__init__(ale_train_vector(work), work.kind == "seeded-reset", WARM_UP_RESETS)


class AleReset(Resets):
    """Resets of ale-py's AtariVectorEnv. With a seed it reloads the ROM."""

    def __init__(self, work):
        super().__init__(ale_vector(work.games[0], 1, 1, 0), work.kind == "seeded-reset")


class EnvPoolReset(Loop):
    """Resets of EnvPool, which takes seeds only at construction."""

    def __init__(self, work):
        self.env = envpool_of(work.games[0], 1, 1, 1)
        self.some()

    def some(self):
        self.env.reset()
        return 1


def ale_train_vector(work):
    from ale_train.vector_env import AtariVectorEnv

    shape = work.shape or Shape(1, 1, 1)
    sizes = {"num_envs": shape.num_envs // len(work.games), "batch_size": shape.batch_size, "num_threads": shape.num_threads}
    games = {"game": work.games[0]} if len(work.games) == 1 else {"games": work.games}
    return AtariVectorEnv(**games, **sizes)


def ale_vector(game, num_envs, num_threads, batch_size):
    from ale_py.vector_env import AtariVectorEnv

    return AtariVectorEnv(game, num_envs=num_envs, num_threads=num_threads, batch_size=batch_size)


def envpool_of(game, num_envs, num_threads, batch_size):
    import envpool

    sizes = {"num_envs": num_envs, "num_threads": num_threads, "batch_size": batch_size}
    return envpool.make(f"{camel_case(game)}-v5", env_type="gymnasium", **sizes)


@contextlib.contextmanager
def cores(count):
    """Threads and processes that start in this context share `count` cores, if the system supports affinity."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
