"""The sound of AtariEnv and ALEInterface equals that of ale-py."""

from __future__ import annotations

import pickle
from typing import Any

import ale_py
import gymnasium
import numpy as np
import pytest

import ale_train
from test_ale_interface import PACKAGES, load
from test_env_beside_ale_py import GAMES, Pair, assert_same

#: Games whose resets perform acts, which continue the sound.
RESETS_WITH_ACTS = ["berzerk", "elevator_action"]
#: The games that have no rules for one player.
MULTI_PLAYER_ONLY = {"combat", "joust", "maze_craze", "warlords"}
ALL_GAMES = sorted(set(ale_py.roms.get_all_rom_ids()) - MULTI_PLAYER_ONLY)


def load_both(game: str, **settings: Any) -> list[Any]:
    return [load(package, game, sound_obs=True, **settings) for package in PACKAGES]


def play(ours: Any, theirs: Any, acts: int, seed: int = 0) -> set[bytes]:
    """Performs random actions on both, resets games that are over, and compares the sound. Returns all sounds."""
    sounds = set()
    for act, action in enumerate(np.random.default_rng(seed).integers(18, size=acts)):
        assert ours.act(action) == theirs.act(action)
        sound = theirs.getAudio()
        assert_same(ours.getAudio(), sound, f"act {act}")
        sounds.add(sound.tobytes())
        if theirs.game_over():
            for ale in (ours, theirs):
                ale.reset_game()
            assert_same(ours.getAudio(), theirs.getAudio(), f"reset after act {act}")
    return sounds


@pytest.mark.parametrize("game", GAMES + RESETS_WITH_ACTS)
def test_games(game: str) -> None:
    both = load_both(game)
    play(*both, acts=150)
    for ale in both:
        ale.reset_game()
    play(*both, acts=150, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("frame_skip", [1, 3])
@pytest.mark.parametrize("game", ALL_GAMES)
def test_all_games(game: str, frame_skip: int) -> None:
    both = load_both(game, frame_skip=frame_skip)
    sounds = play(*both, acts=2000, seed=2026)
    print(f"\n{game}, frame skip {frame_skip}: 2000 acts equal, {len(sounds)} different sounds")


def test_other_acts() -> None:
    both = load_both("space_invaders", max_num_frames_per_episode=20)
    for _ in range(40):
        for ale in both:
            ale.act(1)
        assert_same(both[0].getAudio(), both[1].getAudio(), "act, also after the end of the episode")
    for ale, package in zip(both, PACKAGES):
        ale.loadROM(package.roms.get_rom_path("pong"))
    assert_same(both[0].getAudio(), both[1].getAudio(), "loadROM")
    play(*both, acts=100)


def test_states() -> None:
    """A restored state leaves the sound as it is, in the same emulator and in another."""
    both, others = load_both("pong"), load_both("pong")
    sounds = play(*both, acts=120)
    states = [ale.cloneState() for ale in both]
    play(*both, acts=37, seed=1)
    for emulators in (both, others):
        for ale, state in zip(emulators, states):
            ale.restoreState(state)
        assert_same(emulators[0].getAudio(), emulators[1].getAudio(), "restoreState")
        sounds |= play(*emulators, acts=120, seed=2)
    for ale in both:
        ale.restoreSystemState(ale.cloneSystemState())
    sounds |= play(*both, acts=60, seed=3)
    assert len(sounds) > 20


def test_sound_is_set_before_loading() -> None:
    for package in PACKAGES:
        ale = load(package, "pong")
        ale.setBool("sound_obs", True)
        ale.act(0)
        assert (ale.getAudioSize(), ale.getBool("sound_obs"), set(ale.getAudio())) == (512, True, {0})
        ale.loadROM(package.roms.get_rom_path("pong"))
        assert set(ale.getAudio()) == {0}
        ale.setBool("sound_obs", False)
        ale.act(0)
        assert set(ale.getAudio()) == {128}


def test_buffers() -> None:
    both = load_both("pong")
    play(*both, acts=70)
    for ale in both:
        buffer = np.zeros(1024, np.uint8)[:512]
        assert ale.getAudio(buffer) is None
        assert np.array_equal(buffer, ale.getAudio())
        for wrong in (np.zeros(511, np.uint8), np.zeros(512, np.int8), np.zeros(1024, np.uint8)[::2]):
            with pytest.raises(TypeError):
                ale.getAudio(wrong)


OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "grayscale": {"obs_type": "grayscale"},
    "RAM, random frame skip": {"obs_type": "ram", "frameskip": (2, 5)},
    "continuous": {"continuous": True, "max_num_frames_per_episode": 100},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("game", ["pong", "breakout", "adventure"])
def test_observations(game: str, name: str) -> None:
    pair = Pair(game, sound_obs=True, **OPTIONS[name])
    pair.run(seed=5, steps=100)
    pair.run(seed=6, steps=20)
    assert pair.ours.clone_state().getFrameNumber() == pair.theirs.clone_state().getFrameNumber()


def test_gymnasium() -> None:
    ale_train.register_envs("Ours")
    gymnasium.register_envs(ale_py)
    for id in ("Pong-v5", "PongNoFrameskip-v4"):
        theirs = gymnasium.make(id if id.endswith("v4") else f"ALE/{id}", sound_obs=True)
        ours = gymnasium.make(f"Ours/{id}", sound_obs=True)
        assert ours.observation_space == theirs.observation_space
        assert_same(ours.reset(seed=1), theirs.reset(seed=1), "reset")
        for _ in range(60):
            assert_same(ours.step(1), theirs.step(1), "step")
    assert ours.unwrapped.ale.getString("sound_obs") == "1"  # type: ignore[attr-defined]
    copy = pickle.loads(pickle.dumps(ours.unwrapped))
    assert list(copy.observation_space) == ["image", "sound"]


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_sound_obs_is_a_bool(value: Any) -> None:
    for package in PACKAGES:
        with pytest.raises(TypeError):
            package.AtariEnv("pong", sound_obs=value)
