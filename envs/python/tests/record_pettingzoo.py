"""Records the checksums of PettingZoo's Atari games in pettingzoo.jsonl, which test_pettingzoo.py compares.

pip install pettingzoo==1.27.0 multi-agent-ale-py==0.1.12 ale-py==0.12.1    # on CPython 3.11
python record_pettingzoo.py
"""

import importlib
import json
import shutil
import tempfile
import zlib
from pathlib import Path

import numpy as np

PATH = Path(__file__).with_name("pettingzoo.jsonl")
STEPS = 2000
FEW_STEPS = 300

#: The names of all games and of their options.
OPTIONS = {
    "basketball_pong_v3": {"num_players": 4},
    "boxing_v2": {"obs_type": "grayscale_image"},
    "combat_plane_v2": {"game_version": "jet", "guided_missile": False},
    "combat_tank_v2": {"has_maze": False, "is_invisible": True, "billiard_hit": False},
    "double_dunk_v3": {"full_action_space": True},
    "entombed_competitive_v3": {"max_cycles": 100},
    "entombed_cooperative_v3": {"obs_type": "ram"},
    "flag_capture_v2": {"full_action_space": True},
    "foozpong_v3": {"num_players": 2},
    "ice_hockey_v2": {"obs_type": "ram"},
    "joust_v3": {"max_cycles": 70},
    "mario_bros_v3": {"obs_type": "grayscale_image"},
    "maze_craze_v3": {"game_version": "capture", "visibilty_level": 3},
    "othello_v3": {"full_action_space": True},
    "pong_v3": {"num_players": 4, "game_version": "soccer"},
    "quadrapong_v4": {"full_action_space": True},
    "space_invaders_v2": {"alternating_control": True, "moving_shields": False, "fast_bomb": True},
    "surround_v2": {"obs_type": "ram"},
    "tennis_v3": {"max_cycles": 50},
    "video_checkers_v4": {"obs_type": "ram"},
    "volleyball_pong_v3": {"num_players": 2},
    "warlords_v3": {"obs_type": "grayscale_image"},
    "wizard_of_wor_v3": {"full_action_space": True},
}


def runs():
    """Yields the name, the options, the seed and the number of steps of each run."""
    for seed, (name, options) in enumerate(OPTIONS.items(), 1):
        # Screens take the most time, so the ends of long games are compared by RAM.
        yield name, {}, seed, FEW_STEPS
        yield name, {"obs_type": "ram"}, seed, STEPS
        yield name, options, seed + 100, FEW_STEPS


def play(env, seed, steps):
    """Returns the checksum of everything that a player sees in games with random actions, and the number of ends."""
    random = np.random.RandomState(seed)
    observations, infos = env.reset(seed=seed)
    crc, ends = checksum(0, observations, infos), 0
    for _ in range(steps):
        if not env.agents:
            observations, infos = env.reset()
            crc = checksum(crc, observations, infos)
        actions = {agent: int(random.randint(env.action_space(agent).n)) for agent in sorted(env.agents)}
        observations, rewards, terminations, truncations, infos = env.step(actions)
        ends += sum(terminations.values()) + sum(truncations.values())
        rewards = {agent: int(reward) for agent, reward in rewards.items()}
        crc = checksum(crc, observations, infos, rewards, terminations, truncations, sorted(env.agents))
    return f"{crc:08x}", ends


def checksum(crc, observations, *values):
    for agent in sorted(observations):
        crc = zlib.crc32(np.ascontiguousarray(observations[agent]), crc)
    return zlib.crc32(json.dumps(values, sort_keys=True).encode(), crc)


def main():
    import ale_py.roms

    with tempfile.TemporaryDirectory() as directory:
        for game in ale_py.roms.get_all_rom_ids():
            shutil.copy(ale_py.roms.get_rom_path(game), Path(directory) / f"{game}.bin")
        lines = []
        for name, options, seed, steps in runs():
            module = importlib.import_module(f"pettingzoo.atari.{name}")
            env = module.parallel_env(auto_rom_install_path=directory, **options)
            crc, ends = play(env, seed, steps)
            lines.append(json.dumps([name, options, seed, steps, crc, ends]))
            print(lines[-1], flush=True)
    PATH.write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
