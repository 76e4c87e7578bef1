"""Prints the steps per second of Gymnasium's vector environments, as lines of JSON.

    python worker_throughput.py ID NUM_ENVS SECONDS

`examples/worker_throughput` measures worker processes in the same way.
"""

import json
import sys
import time

import gymnasium
import numpy as np

WARM_UP, BATCHES = 500, 1024


def rate(envs, seconds):
    """Returns the steps per second of all environments together."""
    generator = np.random.default_rng(0)
    actions = generator.integers(envs.single_action_space.n, size=(BATCHES, envs.num_envs))
    envs.reset(seed=0)
    for step in range(WARM_UP):
        envs.step(actions[step % BATCHES])
    begin, steps = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        envs.step(actions[steps % BATCHES])
        steps += 1
    return steps * envs.num_envs / (time.perf_counter() - begin)


def main():
    id, num_envs, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    for mode, kwargs in [("sync", {}), ("async", {"shared_memory": True})]:
        envs = gymnasium.make_vec(id, num_envs, vectorization_mode=mode, vector_kwargs=kwargs)
        result = {"name": id, "num_envs": num_envs, "mode": mode, "steps_per_second": round(rate(envs, seconds))}
        print(json.dumps(result), flush=True)
        envs.close()


if __name__ == "__main__":
    main()
