"""Records one trace file per environment in this directory, including resets and time limits.

Needs gymnasium 1.4.0 and numpy 2.4.6:  python record_traces.py

A line is `reset SEED | OBSERVATION` or `step ACTION | REWARD TERMINATED TRUNCATED | OBSERVATION`. `-` stands for no
seed, and floats are the bits of a float32 in hexadecimal.
"""

from pathlib import Path

import gymnasium
import numpy

HERE = Path(__file__).parent


def bits(values):
    return " ".join(f"{value:08x}" for value in numpy.asarray(values, numpy.float32).ravel().view(numpy.uint32))


def along_the_velocity(observation, generator):
    """Usually pushes the car in the direction of its velocity."""
    return int(generator.integers(3)) if generator.random() < 0.1 else (2 if observation[1] >= 0 else 0)


def throttle(observation, generator):
    # Sometimes above the limit, sometimes nearly zero.
    return numpy.array([numpy.copysign(generator.choice([0.02, 0.7, 1.0, 1.7]), observation[1])], numpy.float32)


def weak_throttle(observation, generator):
    return numpy.array([generator.uniform(-0.1, 0.1)], numpy.float32)


def constant(force):
    return lambda observation, generator: numpy.array([force], numpy.float32)


def torque(observation, generator):
    return numpy.array([generator.uniform(-2.6, 2.6)], numpy.float32)


def swing(observation, generator):
    """Usually drives the lower link against the motion of the upper one."""
    return int(generator.integers(3)) if generator.random() < 0.2 else (0 if observation[4] > 0 else 2)


def rest(observation, generator):
    return 1


def balance(observation, generator):
    return int(observation @ numpy.array([0.02, 0.05, 1.0, 0.3]) > 0)


def at_random(n):
    return lambda observation, generator: int(generator.integers(n))


# Environment, policy, seeds, steps per seed.
TRACES = [
    ("CartPole-v0", balance, [3], 250),
    ("CartPole-v1", at_random(2), [0, 1, 2**40 + 5], 120),
    ("CartPole-v1", balance, [3], 520),
    ("MountainCar-v0", along_the_velocity, [0, 1], 330),
    ("MountainCar-v0", at_random(3), [2], 210),
    ("MountainCarContinuous-v0", throttle, [0, 1], 300),
    ("MountainCarContinuous-v0", weak_throttle, [2], 1010),
    # The position would differ if the velocity were rounded to a float32 before the first step adds it.
    ("MountainCarContinuous-v0", constant(1.7), [223, 739], 2),
    ("MountainCarContinuous-v0", constant(-1.7), [1525], 2),
    ("Pendulum-v1", torque, [0, 1, 2], 210),
    ("Acrobot-v1", swing, [0, 1, 2, 3], 250),
    ("Acrobot-v1", rest, [4], 510),
    # Their last observations would differ if squares were products instead of powers.
    ("Acrobot-v1", swing, [1318, 2032], 180),
]


def record(id, policy, seed, steps):
    env, generator = gymnasium.make(id), numpy.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    yield f"reset {seed} | {bits(observation)}"
    for _ in range(steps):
        action = policy(observation, generator)
        observation, reward, terminated, truncated, _ = env.step(action)
        name = action if isinstance(action, int) else bits(action)
        yield f"step {name} | {bits(reward)} {int(terminated)} {int(truncated)} | {bits(observation)}"
        if terminated or truncated:
            observation, _ = env.reset()
            yield f"reset - | {bits(observation)}"


def main():
    lines = {}
    for id, policy, seeds, steps in TRACES:
        for seed in seeds:
            lines.setdefault(id, []).extend(record(id, policy, seed, steps))
    for id, trace in lines.items():
        (HERE / f"{id}.trace").write_text("\n".join(trace) + "\n")


main()
