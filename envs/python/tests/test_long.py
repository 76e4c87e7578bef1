"""Equality with ale-py over 5,000 steps of 8 environments in many configurations: ``pytest -m long -s``."""

from __future__ import annotations

from typing import Any

import pytest

from beside import Beside

STEPS, NUM_ENVS = 5000, 8

CONFIGURATIONS: list[tuple[str, dict[str, Any]]] = [
    ("pong", {}),
    ("breakout", {"autoreset_mode": "SameStep"}),
    ("ms_pacman", {"repeat_action_probability": 0.25, "maxpool": False}),
    ("seaquest", {"repeat_action_probability": 0.25, "reward_clipping": False, "autoreset_mode": "SameStep"}),
    ("space_invaders", {"repeat_action_probability": 0.25, "episodic_life": True}),
    ("breakout", {"life_loss_info": True, "autoreset_mode": "SameStep", "use_fire_reset": False}),
    ("qbert", {"episodic_life": True, "autoreset_mode": "SameStep", "full_action_space": True}),
    ("kung_fu_master", {"max_num_frames_per_episode": 1001, "frameskip": 3}),
    ("air_raid", {"grayscale": False, "stack_num": 2, "repeat_action_probability": 0.25}),
    ("enduro", {"img_height": 105, "img_width": 80, "frameskip": 2}),
    ("video_pinball", {"img_height": 64, "img_width": 64, "grayscale": False, "stack_num": 1, "frameskip": 5}),
    ("breakout", {"continuous": True, "continuous_action_threshold": 0.3, "autoreset_mode": "SameStep"}),
    ("montezuma_revenge", {"noop_max": 100, "full_action_space": True, "repeat_action_probability": 0.5}),
    ("freeway", {"frameskip": 1, "img_height": 210, "img_width": 160, "max_num_frames_per_episode": 700}),
]


@pytest.mark.long
@pytest.mark.parametrize(("game", "options"), CONFIGURATIONS)
def test_long(game: str, options: dict[str, Any]) -> None:
    beside = Beside(game, NUM_ENVS, **options)
    beside.run(seed=2026, steps=STEPS)
    terminated, truncated = beside.ends
    print(f"\n{game} {options}: {STEPS} steps x {NUM_ENVS}, {terminated} terminated, {truncated} truncated, all equal")
