"""Records the batches of ale-py's AtariVectorEnv for random actions, as checksums.

Usage: python record_atari.py > atari.jsonl              the runs in this directory
       python record_atari.py --long > atari_long.jsonl  the long runs in this directory
       python record_atari.py --random COUNT > FILE      random games, options and seeds
       python record_atari.py --long SEED > FILE         the long runs with other seeds
Needs ale-py 0.12.1 and numpy.

Comparison with ale-py on new runs:
       python record_atari.py --random 50 > runs.jsonl
       GOLDEN_ATARI_RUNS=$PWD/runs.jsonl cargo test -p vector --test atari
"""

import json
import math
import random
import sys
import zlib

import numpy as np
from ale_py import roms
from ale_py.vector_env import AtariVectorEnv

GAMES = ["pong", "breakout", "space_invaders", "ms_pacman", "seaquest", "qbert"]
# Games without single-player rules.
NOT_PLAYABLE = {"combat", "joust", "maze_craze", "warlords"}
CHECK_EVERY = 25
LONG_STEPS, LONG_ENVS, LONG_CHECK_EVERY = 5000, 8, 500

# Options about the end of episodes, recorded in both autoreset modes.
ENDS = [
    {},
    {"episodic_life": True},
    {"life_loss_info": True},
    {"episodic_life": True, "life_loss_info": True, "frameskip": 3},
    {"max_num_frames_per_episode": 37},
    {"max_num_frames_per_episode": 38, "maxpool": False},
    {"max_num_frames_per_episode": 39, "life_loss_info": True},
    {"max_num_frames_per_episode": 150, "repeat_action_probability": 0.25, "grayscale": False},
]
OTHERS = [
    {"repeat_action_probability": 0.25, "full_action_space": True, "reward_clipping": False},
    {"frameskip": 1, "episodic_life": True},
    {"frameskip": 2, "use_fire_reset": False},
    {"maxpool": False, "noop_max": 0},
    {"maxpool": False, "grayscale": False, "stack_num": 2},
    {"grayscale": False, "stack_num": 1, "noop_max": 1, "use_fire_reset": False},
    {"img_height": 105, "img_width": 80},
    {"img_height": 64, "img_width": 64, "grayscale": False},
    {"img_height": 210, "img_width": 160, "stack_num": 1},
    {"img_height": 100, "img_width": 161, "stack_num": 1},
    {"img_height": 84, "img_width": 160, "reward_clipping": False, "noop_max": 7},
]
# Continuous actions: games with paddles, whose speed depends on the radius, and games without.
STICKS = [
    ("breakout", {}),
    ("breakout", {"continuous_action_threshold": 0.2, "repeat_action_probability": 0.25}),
    ("pong", {"frameskip": 1}),
    ("kaboom", {"episodic_life": True}),
    ("ms_pacman", {}),
    ("boxing", {"continuous_action_threshold": 0.8}),
    ("seaquest", {"use_fire_reset": False, "continuous_action_threshold": -0.1}),
]
# Recorded for 5,000 steps of 8 environments.
LONG = [
    ("pong", "NextStep", {}),
    ("breakout", "SameStep", {"episodic_life": True}),
    ("breakout", "NextStep", {"life_loss_info": True, "continuous": True}),
    ("space_invaders", "NextStep", {"repeat_action_probability": 0.25}),
    ("ms_pacman", "SameStep", {"repeat_action_probability": 0.25, "full_action_space": True}),
    ("seaquest", "SameStep", {"life_loss_info": True, "reward_clipping": False}),
    ("qbert", "NextStep", {"episodic_life": True, "stack_num": 2, "img_height": 96, "img_width": 96}),
    ("beam_rider", "SameStep", {"frameskip": 3, "maxpool": False}),
    ("enduro", "NextStep", {"max_num_frames_per_episode": 2000, "noop_max": 0}),
    ("montezuma_revenge", "SameStep", {"grayscale": False, "img_height": 64, "img_width": 64}),
    ("air_raid", "NextStep", {"use_fire_reset": False, "frameskip": 2}),
    ("kung_fu_master", "SameStep", {"episodic_life": True, "max_num_frames_per_episode": 1001}),
    ("up_n_down", "NextStep", {"img_height": 210, "img_width": 160, "stack_num": 1}),
    ("freeway", "SameStep", {"max_num_frames_per_episode": 4001, "repeat_action_probability": 0.5}),
]


def splitmix(seed):
    """The generator SplitMix64."""
    mask = 2**64 - 1
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


def discrete(env, numbers):
    """An action for each environment."""
    return np.array([next(numbers) % int(count) for count in env.action_space.nvec], np.int64)


def stick(numbers):
    """Radius, which may slightly exceed the space, angle and button, in single precision."""
    radius, angle, button = (np.float32(next(numbers) % 2001) for _ in range(3))
    thousand = np.float32(1000)
    return [radius / np.float32(1800), (angle - thousand) / thousand * np.float32(math.pi), button / np.float32(2000)]


def run(game, options, autoreset_mode, seed, steps, num_envs=2, check_every=CHECK_EVERY):
    """Records a run: its parameters, a running CRC-32 every `check_every` steps, and totals, as one line."""
    env = AtariVectorEnv(game, num_envs=num_envs, autoreset_mode=autoreset_mode, **options)
    numbers = splitmix(seed)
    crc, checks, total_reward, ends, last_frames = 0, [], 0, 0, None
    for step in range(steps + 1):
        if step == 0:
            obs, info = env.reset(seed=seed)
            reward = np.zeros(num_envs, np.int32)
            terminated = truncated = np.zeros(num_envs, bool)
        else:
            if options.get("continuous"):
                action = np.array([stick(numbers) for _ in range(num_envs)], np.float32)
            else:
                action = discrete(env, numbers)
            obs, reward, terminated, truncated, info = env.step(action)
        frames = info["episode_frame_number"]
        crc = zlib.crc32(obs.tobytes(), crc)
        for values in (reward, info["lives"], info["frame_number"], frames):
            crc = zlib.crc32(values.astype("<i4").tobytes(), crc)
        crc = zlib.crc32(terminated.tobytes() + truncated.tobytes(), crc)
        if last_frames is not None:
            reset = frames < last_frames
            ends += int(reset.sum())
            if autoreset_mode == "SameStep":
                for row in np.flatnonzero(reset):
                    crc = zlib.crc32(info["final_obs"][row].tobytes(), crc)
        last_frames = frames.copy()
        total_reward += int(reward.sum())
        if step % check_every == 0:
            checks.append(f"{crc:08x}")
    line = {"game": game, "autoreset_mode": autoreset_mode, "seed": seed, "num_envs": num_envs, "steps": steps}
    line |= {"check_every": check_every} if check_every != CHECK_EVERY else {}
    line |= {"options": options, "resets": ends, "total_reward": total_reward, "crc": checks}
    print(json.dumps(line), flush=True)


def recorded():
    seed = 0
    for game in GAMES:
        for options in ENDS:
            for mode in ("NextStep", "SameStep"):
                seed += 1
                run(game, options, mode, seed, 100 if "max_num_frames_per_episode" in options else 250)
        for options in OTHERS:
            seed += 1
            run(game, options, "NextStep", seed, 100)
    for game in sorted(set(roms.get_all_rom_ids()) - NOT_PLAYABLE - set(GAMES)):
        for mode in ("NextStep", "SameStep"):
            seed += 1
            run(game, {"repeat_action_probability": 0.25, "max_num_frames_per_episode": 157}, mode, seed, 60)
    for game, options in STICKS:
        for mode in ("NextStep", "SameStep"):
            seed += 1
            run(game, {"continuous": True, **options}, mode, seed, 250)


def long_runs(seed):
    for number, (game, mode, options) in enumerate(LONG):
        run(game, options, mode, seed + number, LONG_STEPS, LONG_ENVS, LONG_CHECK_EVERY)


def random_runs(count):
    for _ in range(count):
        chance = random.random
        options = {
            "img_height": random.choice([84, 84, 96, 105, 210, random.randint(1, 300)]),
            "img_width": random.choice([84, 84, 96, 80, 160, random.randint(1, 250)]),
            "grayscale": chance() < 0.7,
            "stack_num": random.randint(1, 5),
            "frameskip": random.randint(1, 6),
            "maxpool": chance() < 0.8,
            "noop_max": random.randint(0, 40),
            "episodic_life": chance() < 0.5,
            "life_loss_info": chance() < 0.3,
            "reward_clipping": chance() < 0.5,
            "use_fire_reset": chance() < 0.5,
            "max_num_frames_per_episode": random.choice([108000, random.randint(1, 500)]),
            "repeat_action_probability": random.choice([0.0, 0.25, 0.5]),
            "full_action_space": chance() < 0.3,
        }
        if chance() < 0.2:
            options |= {"continuous": True, "continuous_action_threshold": round(random.uniform(-0.2, 1.1), 3)}
        # With continuous actions ale-py confuses codes and indices in games without all eighteen actions.
        not_playable = NOT_PLAYABLE | ({"skiing", "lost_luggage"} if "continuous" in options else set())
        game = random.choice(sorted(set(roms.get_all_rom_ids()) - not_playable))
        run(game, options, random.choice(["NextStep", "SameStep"]), random.randrange(2**31 - 10), 300, 3)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--random"]:
        random_runs(int(sys.argv[2]))
    elif sys.argv[1:2] == ["--long"]:
        long_runs(int(sys.argv[2]) if sys.argv[2:] else 1000)
    else:
        recorded()
