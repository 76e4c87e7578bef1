"""Observations, rewards, flags, infos and random draws equal those of ale-py's AtariEnv."""

from __future__ import annotations

from typing import Any

import ale_py
import gymnasium
import numpy as np
import pytest

import ale_train

ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)

#: Games with flicker, paddles, PAL timing, unusual colours, different screen heights and ways of counting lives.
GAMES = [
    "adventure", "air_raid", "beam_rider", "breakout", "carnival", "enduro", "freeway", "kaboom", "ms_pacman",
    "pitfall",
    "pong", "private_eye", "seaquest", "skiing", "space_invaders", "venture",
]  # fmt: skip
#: The methods that return what each observation type shows. A pair observes only one of them.
READINGS = ["getScreenRGB", "getScreenGrayscale", "getRAM"]


def assert_same(ours: Any, theirs: Any, where: str = "") -> None:
    """Requires equal values of equal types, and equal bytes, dtypes and shapes of arrays."""
    if isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray) and ours.flags.writeable, where
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), where
        assert np.array_equal(ours, theirs), where
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key, value in theirs.items():
            assert_same(ours[key], value, f"{where}[{key!r}]")
    elif isinstance(theirs, tuple):
        assert len(ours) == len(theirs), where
        for index, value in enumerate(theirs):
            assert_same(ours[index], value, f"{where}[{index}]")
    else:
        assert type(ours) is type(theirs), where
        assert ours == theirs, where


class Pair:
    """The same environment of both packages."""

    def __init__(self, game: str, **options: Any) -> None:
        self.ours = ale_train.AtariEnv(game, **options)
        self.theirs = ale_py.AtariEnv(game, **options)
        assert self.ours.action_space == self.theirs.action_space
        assert self.ours.observation_space == self.theirs.observation_space
        assert self.ours.metadata == self.theirs.metadata
        self.episodes = 0

    def reset(self, **arguments: Any) -> dict[str, Any]:
        """Resets both and returns the info."""
        ours, theirs = self.ours.reset(**arguments), self.theirs.reset(**arguments)
        assert_same(ours, theirs, f"reset({arguments})")
        return ours[1]

    def step(self, action: Any) -> tuple[Any, ...]:
        """Steps both."""
        ours, theirs = self.ours.step(action), self.theirs.step(action)
        assert_same(ours, theirs, f"step({action})")
        for name in READINGS:
            assert_same(getattr(self.ours.ale, name)(), getattr(self.theirs.ale, name)(), f"{name} of step({action})")
        return ours

    def run(self, seed: int | None, steps: int) -> None:
        """Resets both, unless the seed is None, and performs random actions."""
        random = np.random.default_rng(seed)
        if seed is not None:
            self.reset(seed=seed)
        space = self.ours.action_space
        for _ in range(steps):
            if self.ours.continuous:
                action = random.uniform(space.low, space.high).astype(np.float32)
            else:
                action = random.integers(space.n)
            _, _, terminated, truncated, _ = self.step(action)
            if terminated or truncated:
                self.episodes += 1
                self.reset()


@pytest.mark.parametrize("game", GAMES)
def test_games(game: str) -> None:
    pair = Pair(game, max_num_frames_per_episode=300)
    pair.run(seed=len(game), steps=160)
    assert pair.episodes >= 2


OPTIONS = {
    "default": {},
    "grayscale": {"obs_type": "grayscale"},
    "RAM": {"obs_type": "ram"},
    "one frame a step": {"frameskip": 1},
    "seven frames a step": {"frameskip": 7},
    "random frame skip": {"frameskip": (2, 5)},
    "frame skip of one or two": {"frameskip": (1, 3)},
    "no sticky actions": {"repeat_action_probability": 0.0},
    "always sticky": {"repeat_action_probability": 1.0},
    "full action space": {"full_action_space": True},
    "limit within a step": {"max_num_frames_per_episode": 37},
    "limit at the end of a step": {"max_num_frames_per_episode": 40},
    "no limit": {"max_num_frames_per_episode": 0},
    "continuous": {"continuous": True},
    "continuous, low threshold": {"continuous": True, "continuous_action_threshold": 0.1, "frameskip": (2, 5)},
    "difficulty": {"difficulty": 1},
    "everything": {
        "obs_type": "grayscale",
        "frameskip": (3, 9),
        "repeat_action_probability": 0.4,
        "full_action_space": True,
        "max_num_frames_per_episode": 200,
        "render_mode": "rgb_array",
    },
}


@pytest.mark.parametrize("game", ["pong", "breakout", "space_invaders"])
@pytest.mark.parametrize("name", OPTIONS)
def test_options(name: str, game: str) -> None:
    pair = Pair(game, **OPTIONS[name])
    pair.run(seed=3, steps=80)
    assert pair.ours.np_random.random() == pair.theirs.np_random.random()


@pytest.mark.parametrize("game", ["skiing", "lost_luggage"])
@pytest.mark.parametrize("options", [{"full_action_space": True}, {"continuous": True}], ids=["full", "continuous"])
def test_games_without_all_actions(game: str, options: dict[str, Any]) -> None:
    Pair(game, **options).run(seed=3, steps=80)


@pytest.mark.parametrize(
    ("game", "mode", "difficulty"),
    [
        ("adventure", 2, 1), ("asteroids", 4, 3), ("breakout", 20, 1), ("enduro", None, 0), ("freeway", 3, 1),
        ("hero", 2, None),
        ("ms_pacman", 2, None), ("pong", 1, 3), ("qbert", None, 1), ("space_invaders", 9, 1), ("tennis", 2, 2),
    ],
)  # fmt: skip
def test_modes_and_difficulties(game: str, mode: int | None, difficulty: int | None) -> None:
    pair = Pair(game, mode=mode, difficulty=difficulty, obs_type="ram", max_num_frames_per_episode=120)
    pair.run(seed=2, steps=90)
    state = pair.ours.clone_state()
    theirs = pair.theirs.clone_state()
    assert state.getCurrentMode() == theirs.getCurrentMode() == (mode or 0) or mode is None
    assert state.getDifficulty() == theirs.getDifficulty() == (difficulty or 0)


def test_seeds() -> None:
    pair = Pair("pong", frameskip=(2, 5))
    for seed in (0, 1, 2**31 - 1, 2**31, 2**40, 2**70, True):
        assert len(pair.reset(seed=seed)["seeds"]) == 2
        pair.run(None, steps=12)
        assert pair.ours.np_random_seed == pair.theirs.np_random_seed
    # A reset without a seed continues the generators.
    pair.reset()
    pair.run(None, steps=12)
    assert pair.ours.seed_game(5) == pair.theirs.seed_game(5)
    assert pair.ours.np_random.random() == pair.theirs.np_random.random()
    # The seed of sticky actions is used by the next loading.
    pair.ours.load_game()
    pair.theirs.load_game()
    pair.reset()
    pair.run(None, steps=40)
    for wrong in (-1, 1.5, "x", np.int64(3)):
        for env in (pair.ours, pair.theirs):
            with pytest.raises(gymnasium.error.Error):
                env.reset(seed=wrong)


def test_unseeded_environments_differ() -> None:
    envs = [ale_train.AtariEnv("pong", obs_type="ram") for _ in range(2)]
    for env in envs:
        env.reset()
    actions = np.random.default_rng(0).integers(6, size=400)
    assert any(not np.array_equal(*(env.step(action)[0] for env in envs)) for action in actions)


@pytest.mark.parametrize("include_rng", [False, True])
@pytest.mark.parametrize(
    "game",
    ["adventure", "asterix", "beam_rider", "breakout", "carnival", "freeway", "ms_pacman", "pong", "seaquest",
     "venture",
     "video_pinball"],
)  # fmt: skip
def test_clone_and_restore(game: str, include_rng: bool) -> None:
    pair = Pair(game, repeat_action_probability=0.4)
    pair.run(seed=7, steps=30)
    ours, theirs = pair.ours.clone_state(include_rng), pair.theirs.clone_state(include_rng)
    for _ in range(3):
        pair.run(None, steps=25)
        pair.ours.restore_state(ours)
        pair.theirs.restore_state(theirs)
        # RAM is restored, but the screen still shows the old frame.
        assert_same(pair.ours._get_obs(), pair.theirs._get_obs())
        assert_same(pair.ours.ale.getRAM(), pair.theirs.ale.getRAM())
        assert_same(pair.ours._get_info(), pair.theirs._get_info())
        assert ours.equals(pair.ours.clone_state(include_rng)) == theirs.equals(pair.theirs.clone_state(include_rng))
    pair.run(None, steps=60)


def test_restoring_over_the_end_of_an_episode_and_a_reset() -> None:
    pair = Pair("breakout")
    pair.run(seed=1, steps=20)
    ours, theirs = pair.ours.clone_state(), pair.theirs.clone_state()
    pair.run(None, steps=400)
    assert pair.episodes
    pair.reset(seed=4)
    pair.ours.restore_state(ours)
    pair.theirs.restore_state(theirs)
    pair.run(None, steps=60)


def test_continuous_actions_at_the_thresholds() -> None:
    for game in ("breakout", "seaquest"):
        pair = Pair(game, continuous=True)
        pair.reset(seed=1)
        for radius, angle, fire in (
            (0.6, 0, 1), (0.6, 3, 0), (0.5, 0, 0.5), (4.347826e-05, 0, 0), (1, 2, 1), (0.6, -1, 0), (1, 1.5707964,
            0.51),
            (0.5000001, 0, 0.50000006), (1, np.pi / 3, 0), (1, np.pi / 6, 0), (0.70710677, np.pi / 4, 0),
        ):  # fmt: skip
            for _ in range(4):
                pair.step(np.array([radius, angle, fire], np.float32))


@pytest.mark.parametrize("game", ["breakout", "seaquest"])
def test_continuous_actions_outside_the_space(game: str) -> None:
    pair = Pair(game, continuous=True)
    pair.reset(seed=1)
    for action in ([1, 4, 1], [2, 0.5, 1], [1, 0.5, -1], [-1, 0.5, 1], [-3, 9, 7]) * 3:
        for _ in range(4):
            pair.step(np.array(action, np.float32))
            assert_same(pair.ours.ale.getRAM(), pair.theirs.ale.getRAM())


def test_the_analogue_stick_has_the_same_positions() -> None:
    for position in [(x, y, fire) for x in (-1, 0, 1) for y in (-1, 0, 1) for fire in (False, True)]:
        assert ale_train.AtariEnv.map_action_idx(*position).name == ale_py.AtariEnv.map_action_idx(*position).name
    for wrong in ((-2, 0, False), (0, 2, True)):
        for package in (ale_train, ale_py):
            with pytest.raises(LookupError):
                package.AtariEnv.map_action_idx(*wrong)


@pytest.mark.parametrize("game", ["pong", "skiing", "seaquest", "breakout"])
@pytest.mark.parametrize("full_action_space", [False, True])
def test_meanings_and_keys_of_actions(game: str, full_action_space: bool) -> None:
    pair = Pair(game, full_action_space=full_action_space)
    assert pair.ours.get_action_meanings() == pair.theirs.get_action_meanings()
    assert pair.ours.get_keys_to_action() == pair.theirs.get_keys_to_action()
    assert list(pair.ours.get_keys_to_action()) == list(pair.theirs.get_keys_to_action())


def test_actions_that_ale_py_accepts() -> None:
    pair = Pair("pong")
    pair.reset(seed=1)
    for action in (3, -1, -6, np.int64(2), np.int32(2), np.array(4), True, ale_train.Action.FIRE.value):
        pair.step(action)
    for wrong, exception in ((6, IndexError), (-7, IndexError), (1.0, TypeError), ("x", TypeError), (None, TypeError)):
        for env in (pair.ours, pair.theirs):
            with pytest.raises(exception):
                env.step(wrong)
    pair.run(None, steps=5)


def test_rendering() -> None:
    pair = Pair("seaquest", render_mode="rgb_array", obs_type="ram")
    pair.run(seed=1, steps=20)
    assert_same(pair.ours.render(), pair.theirs.render())
    pair.step(1)
    assert_same(pair.ours.render(), pair.theirs.render())


WRONG = {
    "unknown observation type": {"obs_type": "x"},
    "unknown render mode": {"render_mode": "x"},
    "frame skip 0": {"frameskip": 0},
    "negative frame skip": {"frameskip": -1},
    "fraction as frame skip": {"frameskip": 1.5},
    "bool as frame skip": {"frameskip": True},
    "list as frame skip": {"frameskip": [2, 5]},
    "three bounds": {"frameskip": (1, 2, 3)},
    "empty range": {"frameskip": (2, 2)},
    "backward range": {"frameskip": (3, 2)},
    "range from 0": {"frameskip": (0, 2)},
    "unknown mode": {"mode": 77},
    "unknown difficulty": {"difficulty": 77},
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_raise_the_same_exceptions(name: str) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: B017, PT011 - the type is compared
        ale_py.AtariEnv("pong", **WRONG[name])
    with pytest.raises(theirs.type):
        ale_train.AtariEnv("pong", **WRONG[name])
