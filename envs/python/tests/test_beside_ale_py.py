"""Bytes, dtypes, shapes and infos equal those of ale-py's AtariVectorEnv."""

from __future__ import annotations

import numpy as np
import pytest

from beside import Beside

#: Games with flicker, paddles, PAL timing, unusual colours, different screen heights and ways of counting lives.
GAMES = [
    "adventure", "air_raid", "alien", "asterix", "atlantis", "beam_rider", "bowling", "boxing", "breakout", "enduro",
    "freeway", "frostbite", "gravitar", "hero", "kaboom", "krull", "kung_fu_master", "ms_pacman", "pitfall", "pong",
    "private_eye", "qbert", "seaquest", "skiing", "space_invaders", "tennis", "venture", "video_pinball",
]  # fmt: skip
MODES = ["NextStep", "SameStep"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("game", GAMES)
def test_games(game: str, mode: str) -> None:
    # One environment: creating and seeding those of ale-py takes longer than the steps.
    beside = Beside(game, 1, autoreset_mode=mode, repeat_action_probability=0.25, max_num_frames_per_episode=200)
    beside.run(seed=len(game), steps=120)
    assert beside.ends.sum() >= 2


OPTIONS = {
    "no maxpool": ("ms_pacman", {"maxpool": False}),
    "one frame a step is never pooled": ("seaquest", {"frameskip": 1}),
    "two frames a step": ("seaquest", {"frameskip": 2}),
    "seven frames a step": ("seaquest", {"frameskip": 7}),
    "raw rewards": ("seaquest", {"reward_clipping": False}),
    "full action space": ("pong", {"full_action_space": True}),
    "full action space of a game without all actions": ("skiing", {"full_action_space": True}),
    "no FIRE at the start": ("breakout", {"use_fire_reset": False}),
    "no no-ops": ("pong", {"noop_max": 0}),
    "neither FIRE nor no-ops": ("pong", {"noop_max": 0, "use_fire_reset": False}),
    "negative noop_max means none": ("pong", {"noop_max": -3}),
    "many no-ops": ("space_invaders", {"noop_max": 200, "repeat_action_probability": 0.25}),
    "episodic life": ("breakout", {"episodic_life": True}),
    "lost lives reported": ("breakout", {"life_loss_info": True}),
    "both ways with lives": ("kung_fu_master", {"episodic_life": True, "life_loss_info": True}),
    "limit within a step, before the last but one frame": ("pong", {"max_num_frames_per_episode": 37}),
    "limit within a step, before the last frame": ("pong", {"max_num_frames_per_episode": 38}),
    "limit at the end of a step": ("pong", {"max_num_frames_per_episode": 40}),
    "limit of one frame": ("pong", {"max_num_frames_per_episode": 1}),
    "colour": ("ms_pacman", {"grayscale": False}),
    "colour, high PAL screen": ("air_raid", {"grayscale": False}),
    "stack of one": ("pong", {"stack_num": 1}),
    "stack of six": ("pong", {"stack_num": 6}),
    "continuous, a joystick": ("seaquest", {"continuous": True}),
    "continuous, a paddle": ("breakout", {"continuous": True, "continuous_action_threshold": 0.1}),
    "always sticky": ("pong", {"repeat_action_probability": 1.0}),
    "probability above one": ("pong", {"repeat_action_probability": 2.0}),
    "negative probability": ("pong", {"repeat_action_probability": -1.0}),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OPTIONS)
def test_options(name: str, mode: str) -> None:
    game, options = OPTIONS[name]
    Beside(game, 1, autoreset_mode=mode, **options).run(seed=7, steps=60)


@pytest.mark.parametrize("grayscale", [True, False])
@pytest.mark.parametrize(
    "size",
    [(84, 84), (105, 80), (210, 80), (70, 80), (42, 40), (250, 160), (300, 200), (100, 161), (210, 160), (33, 57)],
)
def test_sizes(size: tuple[int, int], grayscale: bool) -> None:
    height, width = size
    Beside("ms_pacman", 1, img_height=height, img_width=width, grayscale=grayscale).run(seed=1, steps=40)


def test_episodic_life_restores_the_lives() -> None:
    beside = Beside("breakout", 2, episodic_life=True)
    beside.run(seed=3, steps=250)
    assert beside.ends[0] > 8
    lives = beside.step(beside.random_actions(np.random.default_rng(0)))[4]["lives"]
    assert set(lives) <= {4, 5}


def test_lost_lives_are_reported_without_a_reset() -> None:
    beside = Beside("breakout", 2, life_loss_info=True, autoreset_mode="SameStep")
    random = np.random.default_rng(1)
    beside.reset(seed=1)
    seen = 0
    for _ in range(250):
        _, _, terminated, _, info = beside.step(beside.random_actions(random))
        seen += int((terminated & (info["lives"] > 0) & (info["lives"] < 5)).sum())
    assert seen > 3


@pytest.mark.parametrize("mode", MODES)
def test_seeds(mode: str) -> None:
    beside = Beside("pong", 2, autoreset_mode=mode)
    assert beside.reset(seed=1)["frame_number"].tolist() == [12, 13]
    assert beside.reset(seed=np.array([5, 5]))["frame_number"].tolist() == [6, 6]
    assert beside.reset(seed=True)["frame_number"].tolist() == [12, 13]
    beside.run(seed=0, steps=20)
    beside.reset(seed=2**31 - 2)
    # A negative seed continues the random number generator.
    beside.reset(seed=np.array([-1, 9]))
    beside.reset(seed=np.array([4, 2], np.uint8))
    beside.reset()
    beside.reset(seed=-2)
    beside.reset(seed=-1)


def test_frame_numbers_of_short_starts() -> None:
    for options, frames in (
        ({"use_fire_reset": False}, [12, 13]),
        ({"noop_max": 0, "use_fire_reset": False}, [0, 0]),
        ({"noop_max": 0}, [1, 1]),
    ):
        assert Beside("pong", 2, **options).reset(seed=1)["frame_number"].tolist() == frames


@pytest.mark.parametrize("game", ["freeway", "boxing", "kaboom"])
def test_a_seeded_reset_loads_and_resets(game: str) -> None:
    beside = Beside(game, 2)
    for seed in (1, 2, 1):
        beside.reset(seed=seed)


def test_an_unseeded_reset_continues_the_frame_count() -> None:
    beside = Beside("pong", 2)
    first = beside.reset(seed=1)["frame_number"]
    second = beside.reset()["frame_number"]
    assert (second > first).all()


@pytest.mark.parametrize("mode", MODES)
def test_reset_mask(mode: str) -> None:
    beside = Beside("pong", 2, autoreset_mode=mode)
    beside.reset(seed=1)
    for _ in range(6):
        beside.step(np.array([2, 3]))
    info = beside.reset(seed=1, options={"reset_mask": np.array([True, False])})
    assert info["frame_number"].tolist() == [12, 37]
    beside.step(np.array([0, 1]))
    beside.reset(seed=np.array([8]), options={"reset_mask": np.array([False, True])})
    beside.reset(options={"reset_mask": np.array([False, False])})
    beside.reset(options={})
    beside.run(seed=4, steps=20)


@pytest.mark.parametrize("mode", MODES)
def test_reset_mask_leaves_autoresets_waiting(mode: str) -> None:
    beside = Beside("pong", 3, autoreset_mode=mode, max_num_frames_per_episode=40)
    beside.reset(seed=5)
    for step in range(60):
        if step % 7 == 3:
            beside.reset(options={"reset_mask": np.array([step % 2 == 0, False, step % 3 == 0])})
        beside.step(np.array([1, 2, 3]))
    assert beside.ends[1] > 3


def test_the_action_of_each_position_of_the_stick() -> None:
    beside = Beside("pong", 1)
    our, their = beside.ours.map_action_idx, beside.theirs.map_action_idx
    assert our.dtype == their.dtype and np.array_equal(our, their)


def test_actions_of_both_integer_types_in_any_layout() -> None:
    beside = Beside("pong", 3)
    beside.reset(seed=5)
    for actions in (np.array([1, 2, 3], np.int32), np.array([1, 2, 3]), np.array([1, 9, 2, 9, 3, 9])[::2]):
        beside.step(actions)
    # In packed records, the distance of actions is not a multiple of their size.
    for fields in ([("action", "i4"), ("done", "?")], [("action", "i8"), ("reward", "f4")]):
        records = np.zeros(3, fields)
        records["action"] = [3, 1, 2]
        beside.step(records["action"], records["action"].copy())
    misaligned = np.zeros(3 * 4 + 1, np.uint8)[1:].view(np.int32)
    misaligned[:] = [2, 3, 1]
    beside.step(misaligned, misaligned.copy())


def test_ignored_actions_may_be_out_of_range() -> None:
    beside = Beside("pong", 1, max_num_frames_per_episode=4)
    beside.reset(seed=5)
    beside.step(np.array([0]))
    _, rewards, terminated, truncated, _ = beside.step(np.array([99]))
    assert not rewards.any() and not terminated.any() and not truncated.any()


def test_continuous_thresholds_are_strict_and_paddles_turn_by_the_radius() -> None:
    beside = Beside("breakout", 2, continuous=True)
    beside.reset(seed=1)
    for radius, angle, fire in ((0.6, 0, 1), (0.6, 3, 0), (0.5, 0, 0.5), (4.347826e-05, 0, 0), (1, 2, 1), (0.6, -1, 0)):
        for _ in range(5):
            beside.step(np.array([[radius, angle, fire], [fire, angle, radius]], np.float32))


def test_continuous_actions_in_any_layout() -> None:
    beside = Beside("seaquest", 4, continuous=True)
    beside.reset(seed=1)
    records = np.zeros(4, [("action", "f4", 3), ("done", "?")])
    records["done"] = True
    for actions in np.random.default_rng(1).uniform(-1, 1, (50, 4, 3)).astype(np.float32):
        beside.step(np.asfortranarray(actions))
        records["action"] = actions
        beside.step(records["action"], actions)
