"""Records one trace file per task in this directory, or for other seeds in another directory.

Needs gymnasium[mujoco] 1.4.0, mujoco 3.17.0 or 4.0.0, and numpy 2.4.6:  python record_traces.py [DIRECTORY SEED]

The traces of MuJoCo 4.0.0 are in a directory with its name, unless they equal those of 3.17.0.

A trace has several cases, with default and with other arguments. Lines are
    make SEED NAME=VALUE ...
    info NAMES
    reset SEED OBSERVATION INFO
    step TERMINATED TRUNCATED REWARD OBSERVATION INFO
where `-` stands for no seed, and digests for observations, rewards and the values of `info`. Actions are drawn from
`numpy.random.default_rng(SEED)`, some of them outside the bounds. To compare the tasks with Gymnasium for another seed:

    python record_traces.py DIRECTORY SEED && ALE_TRAIN_MUJOCO_TRACES=DIRECTORY cargo test -p mujoco traces
"""

import os
import sys
from pathlib import Path

# The last bit of numpy.linalg.norm depends on the processor, unless OpenBLAS is told which kernels to use.
os.environ["OPENBLAS_CORETYPE"] = "Haswell"

import gymnasium
import mujoco
import numpy

RECORDED = Path(__file__).parent
PARTS = ["cinert", "cvel", "qfrc_actuator", "cfrc_ext"]
INCLUDED = {f"include_{part}_in_observation": False for part in PARTS}
SHOW = {"exclude_current_positions_from_observation": False}
WALKER = {"frame_skip": 2, "forward_reward_weight": 0.7, "ctrl_cost_weight": 0.03, "healthy_reward": 0.3}
SURVIVE = {"terminate_when_unhealthy": False}
RUNNER = {"forward_reward_weight": 0.7, "ctrl_cost_weight": 0.3, "reset_noise_scale": 0.2}

# Non-default arguments. Every argument occurs.
CASES = {
    "Ant-v4": [
        {"use_contact_forces": True, "healthy_z_range": (0.3, 0.9), "contact_force_range": (-0.5, 2.0), **SHOW},
        {"ctrl_cost_weight": 0.1, "healthy_reward": 0.3, "contact_cost_weight": 0.01, "reset_noise_scale": 0.3, **SURVIVE},
        {"use_contact_forces": True, "contact_cost_weight": 0.01, "xml_file": "ant.xml"},
    ],
    "HalfCheetah-v4": [{**RUNNER, **SHOW}],
    "Hopper-v4": [
        {"healthy_state_range": (-3.0, 3.0), "healthy_z_range": (0.5, 1.3), "healthy_angle_range": (-0.1, 0.1)},
        {"healthy_reward": 0.3, **RUNNER, **SHOW, **SURVIVE},
    ],
    "Humanoid-v4": [
        {"healthy_reward": 2.5, "healthy_z_range": (1.2, 1.6), **SHOW},
        {**RUNNER, **SURVIVE},
    ],
    "HumanoidStandup-v4": [],
    "InvertedDoublePendulum-v4": [],
    "InvertedPendulum-v4": [],
    "Reacher-v4": [],
    "Swimmer-v4": [{**RUNNER, **SHOW}],
    "Walker2d-v4": [
        {"healthy_z_range": (1.0, 1.3), "healthy_angle_range": (-0.1, 0.1)},
        {"healthy_reward": 0.3, **RUNNER, **SHOW, **SURVIVE},
    ],
    "Ant-v5": [
        {"main_body": "torso", "healthy_z_range": (0.3, 0.9), "contact_force_range": (-0.5, 2.0), **SHOW},
        {"main_body": 4, "frame_skip": 3, "forward_reward_weight": 1.3, "ctrl_cost_weight": 0.1, "healthy_reward": 0.3}
        | {"contact_cost_weight": 0.01, "reset_noise_scale": 0.3, "include_cfrc_ext_in_observation": False, **SURVIVE},
        {"xml_file": "half_cheetah.xml"},
    ],
    "HalfCheetah-v5": [
        {"frame_skip": 2, "forward_reward_weight": 0.7, "ctrl_cost_weight": 0.3, "reset_noise_scale": 0.4, **SHOW},
        {"xml_file": "walker2d_v5.xml"},
    ],
    "Hopper-v5": [
        {"healthy_state_range": (-3.0, 3.0), "healthy_z_range": (0.5, 1.3), "healthy_angle_range": (-0.1, 0.1)},
        {"reset_noise_scale": 0.05, **WALKER, **SHOW, **SURVIVE},
        {"xml_file": "walker2d_v5.xml"},
    ],
    "Humanoid-v5": [
        {"frame_skip": 3, "forward_reward_weight": 0.7, "ctrl_cost_weight": 0.3, "healthy_reward": 2.5, **SHOW},
        {"contact_cost_weight": 1e-4, "contact_cost_range": (0.1, 5.0), "reset_noise_scale": 0.1, **SURVIVE},
        {"healthy_z_range": (1.2, 1.6), "xml_file": "humanoidstandup.xml", **INCLUDED},
    ],
    "HumanoidStandup-v5": [
        {"frame_skip": 3, "uph_cost_weight": 0.5, "ctrl_cost_weight": 0.3, "reset_noise_scale": 0.1, **SHOW},
        {"impact_cost_weight": 1e-4, "impact_cost_range": (0.1, 5.0), "xml_file": "humanoid.xml", **INCLUDED},
    ],
    "InvertedDoublePendulum-v5": [{"frame_skip": 2, "healthy_reward": 3.0, "reset_noise_scale": 0.2}],
    "InvertedPendulum-v5": [{"frame_skip": 3, "reset_noise_scale": 0.1, "xml_file": "inverted_double_pendulum.xml"}],
    "Pusher-v5": [{"frame_skip": 3, "reward_near_weight": 0.3, "reward_dist_weight": 0.7, "reward_control_weight": 0.2}],
    "Reacher-v5": [{"frame_skip": 3, "reward_dist_weight": 0.7, "reward_control_weight": 0.3}],
    "Swimmer-v5": [
        {"frame_skip": 2, "forward_reward_weight": 0.7, "ctrl_cost_weight": 0.3, "reset_noise_scale": 0.4, **SHOW},
    ],
    "Walker2d-v5": [
        {"healthy_z_range": (1.0, 1.3), "healthy_angle_range": (-0.1, 0.1), "xml_file": "hopper.xml"},
        {"reset_noise_scale": 0.05, **WALKER, **SHOW, **SURVIVE},
    ],
}  # fmt: skip
STEPS = [1010, 120, 120, 60]


def digest(values):
    value = 0
    for bits in numpy.asarray(values, numpy.float64).ravel().view(numpy.uint64).tolist():
        value = (value * 6364136223846793005 + bits) % 2**64
    return f"{(value ^ value >> 32) % 2**32:08x}"


def flat(info):
    """Yields names and values, with numbered names for the elements of arrays."""
    for name, value in info.items():
        if numpy.ndim(value):
            yield from ((f"{name}_{index}", element) for index, element in enumerate(value))
        else:
            yield name, value


def text(value):
    if isinstance(value, tuple):
        return ":".join(map(repr, value))
    return repr(value) if isinstance(value, float) else str(value)


def record(id, arguments, steps, seed):
    env, generator = gymnasium.make(id, disable_env_checker=True, **arguments), numpy.random.default_rng(seed)
    low, high = (1.2 * bound.astype(numpy.float64) for bound in (env.action_space.low, env.action_space.high))
    yield " ".join(["make", str(seed), *(f"{name}={text(value)}" for name, value in arguments.items())])

    def reset(seed):
        observation, info = env.reset(seed=seed)
        name = "-" if seed is None else seed
        return f"reset {name} {digest(observation)} {digest([value for _, value in flat(info)])}"

    yield reset(seed)
    for step in range(steps):
        action = generator.uniform(low, high).astype(numpy.float32)
        observation, reward, terminated, truncated, info = env.step(action)
        if step == 0:
            yield " ".join(["info", *(name for name, _ in flat(info))])
        values = [value for _, value in flat(info)]
        flags = f"{int(terminated)} {int(truncated)}"
        yield f"step {flags} {digest([reward])} {digest(observation)} {digest(values)}"
        if terminated or truncated:
            yield reset(None)


def trace(id, cases, seed):
    numbered = enumerate(zip([{}, *cases], STEPS))
    cases = (record(id, arguments, steps, seed + number) for number, (arguments, steps) in numbered)
    return "".join(f"{line}\n" for case in cases for line in case)


def main():
    if sys.argv[1:]:
        directory, seed, equal = Path(sys.argv[1]), int(sys.argv[2]), None
    elif mujoco.__version__ == "3.17.0":
        directory, seed, equal = RECORDED, 0, None
    else:
        directory, seed, equal = RECORDED / mujoco.__version__, 0, RECORDED
    directory.mkdir(exist_ok=True)
    for id, cases in CASES.items():
        text = trace(id, cases, seed)
        if equal is None or (equal / f"{id}.trace").read_text() != text:
            (directory / f"{id}.trace").write_text(text)


main()
