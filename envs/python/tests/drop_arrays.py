"""Steps vector environments and drops their arrays in every order, for a run under valgrind (see tests/memcheck)."""

from __future__ import annotations

import random
import threading

import numpy as np

from ale_train.vector_env import AtariVectorEnv


def make(**options: object) -> AtariVectorEnv:
    """The smallest environments: three rows of 8 by 8 pixels."""
    return AtariVectorEnv("harvest", 3, num_threads=2, img_height=8, img_width=8, stack_num=1, noop_max=0, **options)


def received(env: AtariVectorEnv, steps: int) -> list[np.ndarray]:
    """Observations of a reset and of some steps."""
    observations = [env.reset(seed=1)[0]]
    return observations + [env.step(np.array([0, 1, 2]))[0] for _ in range(steps)]


def drop_in(order: str) -> None:
    env = make()
    arrays: list[np.ndarray | None] = list(received(env, 6))
    indices = list(range(len(arrays)))
    if order == "reverse":
        indices.reverse()
    elif order == "shuffled":
        random.Random(1).shuffle(indices)
    for index in indices:
        arrays[index].fill(index)
        arrays[index] = None
        env.step(np.array([2, 1, 0]))


def outlive_the_environment() -> None:
    env = make()
    arrays = received(env, 4)
    env.close()
    del env
    views = [array[1:, ..., ::2] for array in arrays]
    del arrays
    assert all(view.shape == (2, 1, 8, 4) for view in views)
    views[0].fill(1)
    assert int(views[0].sum()) == views[0].size


def drop_in_another_thread() -> None:
    env = make()
    arrays = received(env, 4)
    thread = threading.Thread(target=arrays.clear)
    thread.start()
    env.step(np.array([0, 1, 2]))
    thread.join()
    env.step(np.array([0, 1, 2]))


def main() -> None:
    for order in ("forward", "reverse", "shuffled"):
        drop_in(order)
    outlive_the_environment()
    drop_in_another_thread()
    # Nine pixels a row: rows are padded, and observations copied.
    padded = AtariVectorEnv("harvest", 3, img_height=3, img_width=3, stack_num=1, noop_max=0)
    assert [array.shape for array in received(padded, 2)] == [(3, 1, 3, 3)] * 3
    print("all arrays dropped")


main()
