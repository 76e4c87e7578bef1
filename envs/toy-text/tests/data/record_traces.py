"""Records one trace file per environment in this directory, including resets and time limits.

Needs gymnasium 1.4.0 and numpy 2.4.6:  python record_traces.py

A line is `reset SEED | OBSERVATION | INFO` or `step ACTION | REWARD TERMINATED TRUNCATED | OBSERVATION | INFO`. `-`
stands for no seed. Rewards are the bits of a float32 in hexadecimal. INFO is the transition's probability and, for Taxi,
the action mask.
"""

from pathlib import Path

import gymnasium
import numpy

HERE = Path(__file__).parent


def optimal(env):
    """The optimal policy with some random actions. Random actions alone never reach half of Taxi's states."""
    table = env.unwrapped.P
    values = numpy.zeros(len(table))

    def worth(outcomes):
        return sum(p * (reward + (0 if terminated else 0.99 * values[next])) for p, next, reward, terminated in outcomes)

    for _ in range(200):
        values = numpy.array([max(worth(outcomes) for outcomes in actions.values()) for actions in table.values()])
    best = {state: max(actions, key=lambda action: worth(actions[action])) for state, actions in table.items()}
    return lambda state, generator: best[state] if generator.random() < 0.8 else int(generator.integers(len(table[state])))


def at_random(env):
    return lambda state, generator: int(generator.integers(env.action_space.n))


# File, environment, arguments, policy, seeds, steps per seed.
TRACES = [
    ("FrozenLake-v1", "FrozenLake-v1", {}, at_random, [0, 1], 200),
    ("FrozenLake-v1", "FrozenLake-v1", {}, optimal, [2], 200),
    ("FrozenLake8x8-v1", "FrozenLake8x8-v1", {}, optimal, [0, 1], 250),
    ("FrozenLake-dry", "FrozenLake-v1", {"is_slippery": False}, optimal, [0], 150),
    ("FrozenLake-dry", "FrozenLake-v1", {"is_slippery": False}, lambda env: lambda state, generator: 3, [1], 110),
    ("FrozenLake-rewards", "FrozenLake-v1", {"success_rate": 0.7, "reward_schedule": (10, -5, -1)}, at_random, [0], 200),
    ("CliffWalking-v1", "CliffWalking-v1", {}, optimal, [0], 150),
    ("CliffWalking-v1", "CliffWalking-v1", {}, at_random, [1], 250),
    ("CliffWalkingSlippery-v1", "CliffWalkingSlippery-v1", {}, optimal, [0, 1], 250),
    ("Taxi-v4", "Taxi-v4", {}, optimal, [0, 1], 200),
    ("Taxi-v4", "Taxi-v4", {}, at_random, [2], 210),
    ("Taxi-rainy-fickle", "Taxi-v4", {"is_rainy": True, "fickle_passenger": True}, optimal, [0, 1, 2], 200),
    ("Blackjack-v1", "Blackjack-v1", {}, at_random, [0, 1], 250),
    ("Blackjack-natural", "Blackjack-v1", {"sab": False, "natural": True}, at_random, [0, 1], 250),
    ("Blackjack-plain", "Blackjack-v1", {"sab": False, "natural": False}, at_random, [0, 1], 250),
]


def words(observation):
    return " ".join(str(value) for value in (observation if isinstance(observation, tuple) else (observation,)))


def told(info):
    parts = [str(float(info["prob"]))] if "prob" in info else []
    parts += ["".join(map(str, info["action_mask"]))] if "action_mask" in info else []
    return "".join(f" | {part}" for part in parts)


def record(id, arguments, make_policy, seed, steps):
    env, generator = gymnasium.make(id, **arguments), numpy.random.default_rng(seed)
    policy = make_policy(env)
    observation, info = env.reset(seed=seed)
    yield f"reset {seed} | {words(observation)}{told(info)}"
    for _ in range(steps):
        action = policy(observation, generator)
        observation, reward, terminated, truncated, info = env.step(action)
        bits = f"{numpy.float32(reward).view(numpy.uint32):08x}"
        yield f"step {action} | {bits} {int(terminated)} {int(truncated)} | {words(observation)}{told(info)}"
        if terminated or truncated:
            observation, info = env.reset()
            yield f"reset - | {words(observation)}{told(info)}"


def main():
    lines = {}
    for file, id, arguments, make_policy, seeds, steps in TRACES:
        for seed in seeds:
            lines.setdefault(file, []).extend(record(id, arguments, make_policy, seed, steps))
    for file, trace in lines.items():
        (HERE / f"{file}.trace").write_text("\n".join(trace) + "\n")


main()
