"""ALEInterface equals that of ale-py: settings, acting, screens, RAM, states and errors."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import ale_py
import cv2
import numpy as np
import pytest

import ale_train
from ale_train.vector_env import AtariVectorEnv
from test_env_beside_ale_py import assert_same

ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)

#: Packages and their names in messages.
PACKAGES = (ale_train, ale_py)

GAMES = [
    "adventure", "air_raid", "asterix", "breakout", "carnival", "freeway", "ice_hockey", "kaboom", "lost_luggage",
    "pitfall2",
    "pong", "qbert", "skiing", "wizard_of_wor",
]  # fmt: skip


def load(package: Any, game: str, **settings: Any) -> Any:
    """Returns an emulator with a game, after applying settings of the types of their values."""
    ale = package.ALEInterface()
    for name, value in {"random_seed": 1, **settings}.items():
        kind = {int: "Int", float: "Float", bool: "Bool", str: "String"}[type(value)]
        getattr(ale, f"set{kind}")(name, value)
    ale.loadROM(package.roms.get_rom_path(game))
    return ale


def observe(ale: Any) -> tuple[Any, ...]:
    """Returns everything that can be seen of a game."""
    return (
        ale.getRAM(), ale.getScreen(), ale.getScreenRGB(), ale.getScreenGrayscale(), ale.getScreenDims(), ale.lives(),
        ale.game_over(), ale.game_over(with_truncation=False), ale.game_truncated(), ale.getFrameNumber(),
        ale.getEpisodeFrameNumber(),
    )  # fmt: skip


def play(ours: Any, theirs: Any, acts: int, seed: int = 0) -> None:
    """Performs random actions of all eighteen codes on both and compares everything."""
    for action in np.random.default_rng(seed).integers(18, size=acts):
        assert_same(ours.act(action), theirs.act(action), "reward")
        assert_same(observe(ours), observe(theirs), f"act({action})")


@pytest.mark.parametrize("game", GAMES)
def test_games(game: str) -> None:
    ours, theirs = (load(package, game) for package in PACKAGES)
    for properties in ("getAvailableModes", "getAvailableDifficulties", "getRAMSize"):
        assert_same(getattr(ours, properties)(), getattr(theirs, properties)())
    for actions in ("getLegalActionSet", "getMinimalActionSet"):
        names = [[(action.name, action.value) for action in getattr(ale, actions)()] for ale in (ours, theirs)]
        assert names[0] == names[1]
    play(ours, theirs, 80)
    mode, difficulty = theirs.getAvailableModes()[-1], theirs.getAvailableDifficulties()[-1]
    for ale in (ours, theirs):
        ale.setMode(mode)
        ale.setDifficulty(difficulty)
    play(ours, theirs, 5)
    for ale in (ours, theirs):
        ale.reset_game()
    play(ours, theirs, 40, seed=1)
    for ale, package in zip((ours, theirs), PACKAGES):
        ale.loadROM(str(package.roms.get_rom_path(game)))
    play(ours, theirs, 20, seed=2)


SETTINGS = {
    "frame skip": {"frame_skip": 3},
    "no frame skip": {"frame_skip": 0},
    "frame limit": {"max_num_frames_per_episode": 25, "frame_skip": 4},
    "negative frame limit": {"max_num_frames_per_episode": -5},
    "another seed": {"random_seed": 77},
    "negative seed": {"random_seed": -2},
    "never sticky": {"repeat_action_probability": 0.0},
    "mostly sticky": {"repeat_action_probability": 0.9},
    "largest reward": {"reward_max": 5, "frame_skip": 4},
    "sound settings without effect": {"volume": 30, "freq": 44100},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_take_effect(name: str) -> None:
    ours, theirs = (load(package, "space_invaders", **SETTINGS[name]) for package in PACKAGES)
    play(ours, theirs, 60)


def test_settings_take_effect_when_a_game_is_loaded() -> None:
    both = [load(package, "pong") for package in PACKAGES]
    for ale in both:
        ale.setInt("frame_skip", 4)
        ale.setInt("max_num_frames_per_episode", 3)
        ale.setFloat("repeat_action_probability", 0.0)
    play(*both, 30)
    assert both[0].getFrameNumber() == 30
    for ale, package in zip(both, PACKAGES):
        ale.loadROM(package.roms.get_rom_path("pong"))
    play(*both, 10)
    assert both[0].getFrameNumber() == 3


SOUND = ["volume", "freq", "tiafreq", "fragsize", "clipvol"]
NAMES = [
    "random_seed", "repeat_action_probability", "frame_skip", "max_num_frames_per_episode", "reward_min",
    "reward_max", "system_random_seed", "max_num_frames", "color_averaging", "truncate_on_loss_of_life",
    "display_screen", "sound_obs", "sound", "record_screen_dir", "record_sound_filename", "palette", "volume",
    "freq", "tiafreq", "fragsize", "clipvol", "cpu", "rom_file", "send_rgb", "restricted_action_set",
    "run_length_encoding", "paddle_min", "paddle_max", "no_such_setting",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_values_of_settings(name: str) -> None:
    def values(ale: Any) -> list[Any]:
        return [getattr(ale, f"get{kind}")(name) for kind in ("Int", "Float", "Bool", "String")]

    ours, theirs = ale_train.ALEInterface(), ale_py.ALEInterface()
    assert_same(values(ours), values(theirs))
    # ale-py replaces values of sound that it cannot use.
    values_of_sound = [("Int", 7)]
    anything = [("Int", 7), ("Int", -3), ("Float", 0.5), ("Bool", True), ("String", "12abc"), ("String", "true")]
    for kind, value in values_of_sound if name in SOUND else anything:
        set_name = f"set{kind}"
        try:
            getattr(theirs, set_name)(name, value)
        except RuntimeError:
            with pytest.raises(RuntimeError, match=r"is a setting of type|there is no setting"):
                getattr(ours, set_name)(name, value)
            continue
        try:
            getattr(ours, set_name)(name, value)
        except RuntimeError as error:
            assert "is not available in ale_train" in str(error)  # noqa: PT017 - most settings raise nothing
            return
        assert_same(values(ours), values(theirs))


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1 / 3, 0.1234567, 1e-7, 0.0001, 0.00009999999, 999999.5, 1000005.0, 1000015.0, -2.5, 1e38]
)
def test_numbers_have_six_digits(value: float) -> None:
    def values(ale: Any) -> list[Any]:
        return [getattr(ale, f"get{kind}")("repeat_action_probability") for kind in ("Int", "Float", "String")]

    both = [package.ALEInterface() for package in PACKAGES]
    for ale in both:
        ale.setFloat("repeat_action_probability", value)
    assert_same(values(both[0]), values(both[1]))


def test_the_probability_of_an_environment_has_six_digits() -> None:
    both = [package.AtariEnv("breakout", repeat_action_probability=1 / 3).ale for package in PACKAGES]
    ours, theirs = (ale.getString("repeat_action_probability") for ale in both)
    assert ours == theirs == "0.333333"


def test_values_of_the_wrong_python_type() -> None:
    for package in PACKAGES:
        ale = package.ALEInterface()
        for call in (
            lambda: ale.setInt("random_seed", "abc"),  # noqa: B023
            lambda: ale.setInt("random_seed", 1.0),  # noqa: B023
            lambda: ale.setBool("send_rgb", 1),  # noqa: B023
            lambda: ale.setString("cpu", 1),  # noqa: B023
            lambda: ale.setInt(1, 1),  # noqa: B023
            lambda: package.ALEInterface.setLoggerMode("error"),  # noqa: B023
        ):
            with pytest.raises(TypeError):
                call()


def test_a_random_seed_of_minus_one_differs_each_time() -> None:
    first, second = (load(ale_train, "pong", random_seed=-1) for _ in range(2))
    rams = []
    for action in range(400):
        first.act(action % 7 % 5)
        second.act(action % 7 % 5)
        rams.append((bytes(first.getRAM()), bytes(second.getRAM())))
    assert any(one != other for one, other in rams)


def test_buffers() -> None:
    ours, theirs = (load(package, "seaquest") for package in PACKAGES)
    for method, shape in (
        ("getScreen", (210, 160)), ("getScreenGrayscale", (210, 160)), ("getScreenRGB", (210, 160, 3)), ("getRAM",
        (128,)),
    ):  # fmt: skip
        buffers = [np.zeros(shape, np.uint8) for _ in range(2)]
        for ale, buffer in zip((ours, theirs), buffers):
            assert getattr(ale, method)(buffer) is None
        assert buffers[0].any()
        assert_same(*buffers)
        assert np.array_equal(buffers[0], getattr(ours, method)())
        for wrong in (np.zeros(shape), np.zeros(shape[::-1], np.uint8)[..., None], np.zeros((7,), np.uint8), [1, 2]):
            for ale in (ours, theirs):
                with pytest.raises((TypeError, RuntimeError)):
                    getattr(ale, method)(wrong)
    # Arrays are copies.
    ours.getRAM()[0] += 1
    ours.getScreen()[0] += 1
    assert_same(observe(ours), observe(theirs))


def test_actions_of_other_codes_do_nothing() -> None:
    ours, theirs = (load(package, "pong", repeat_action_probability=0.0) for package in PACKAGES)
    for action in (18, 40, 100, True, np.int64(3), 2):
        assert_same(ours.act(action), theirs.act(action))
        assert_same(observe(ours), observe(theirs))
    for ale, package in ((ours, ale_train), (theirs, ale_py)):
        ale.act(package.Action.RIGHT)
        ale.act(action=3, paddle_strength=0.5)
        for wrong in (-1, 1.0, "x", None):
            with pytest.raises(TypeError):
                ale.act(wrong)
    assert_same(observe(ours), observe(theirs))


@pytest.mark.parametrize("strength", [0.0, 0.3, 1.0, 2.5])
def test_paddle_strengths(strength: float) -> None:
    ours, theirs = (load(package, "breakout") for package in PACKAGES)
    for action in np.random.default_rng(1).integers(18, size=60):
        assert ours.act(action, strength) == theirs.act(action, strength)
        assert_same(observe(ours), observe(theirs))


@pytest.mark.parametrize("game", ["breakout", "ms_pacman", "pong", "seaquest"])
def test_ram_can_be_set(game: str) -> None:
    both = [load(package, game) for package in PACKAGES]
    for index, value in np.random.default_rng(5).integers((128, 256), size=(12, 2)).tolist():
        for ale in both:
            ale.setRAM(index, value)
            assert ale.getRAM()[index] == value
        assert_same(observe(both[0]), observe(both[1]))
        play(*both, 6, seed=index)
    for ale in both:
        with pytest.raises(RuntimeError):
            ale.setRAM(128, 0)
        for index, value in ((0, 256), (0, -1), (-1, 0)):
            with pytest.raises(TypeError):
                ale.setRAM(index, value)


@pytest.mark.parametrize("system", [False, True])
@pytest.mark.parametrize(
    "game", ["adventure", "asterix", "breakout", "carnival", "freeway", "kaboom", "pong", "wizard_of_wor"]
)
def test_states(game: str, system: bool) -> None:
    both = [load(package, game, repeat_action_probability=0.3) for package in PACKAGES]
    play(*both, 30)
    states = [ale.cloneSystemState() if system else ale.cloneState() for ale in both]
    play(*both, 50, seed=1)
    for ale, state in zip(both, states):
        (ale.restoreSystemState if system else ale.restoreState)(state)
    assert_same(observe(both[0]), observe(both[1]))
    for method in ("getFrameNumber", "getEpisodeFrameNumber", "getCurrentMode", "getDifficulty"):
        assert_same(getattr(states[0], method)(), getattr(states[1], method)())
    play(*both, 50, seed=2)
    # A state stays valid, and a reset after restoring draws the same numbers.
    for ale, state in zip(both, states):
        ale.restoreState(state)
        ale.reset_game()
    play(*both, 30, seed=3)


@pytest.mark.parametrize("game", ["amidar", "koolaid", "trondead"])
def test_the_first_frame_after_a_restore_is_drawn_over_the_old_screen(game: str) -> None:
    # In these games the frame after a reset does not cover the screen.
    both = [load(package, game, repeat_action_probability=0.0) for package in PACKAGES]
    differs = 0
    for acts in (0, 1, 7):
        play(*both, acts)
        states = [ale.cloneState() for ale in both]
        play(*both, 1, seed=1)
        screen = both[0].getScreen()
        play(*both, 50, seed=2)
        for ale, state in zip(both, states):
            ale.restoreState(state)
        play(*both, 1, seed=1)
        differs += not np.array_equal(both[0].getScreen(), screen)
        play(*both, 20, seed=3)
    assert differs


def test_restoring_the_mode_and_the_difficulty() -> None:
    both = [load(package, "breakout") for package in PACKAGES]
    for ale in both:
        ale.setMode(4)
        ale.setDifficulty(1)
        state = ale.cloneState()
        ale.setMode(0)
        ale.setDifficulty(0)
        ale.restoreState(state)
        ale.reset_game()
    play(*both, 40)
    assert both[0].cloneState().getCurrentMode() == 4


def test_comparisons_of_states() -> None:
    for package in PACKAGES:
        ale = load(package, "pong")
        state, system = ale.cloneState(), ale.cloneState(include_rng=True)
        assert state == ale.cloneState() and state.equals(ale.cloneState())
        assert state != system and system == ale.cloneSystemState()
        assert package.ALEState(state.serialize()) == state
        assert {state: 1}[state] == 1 and not ale.game_over(False)
        for acts in (1, 2):
            for _ in range(acts):
                ale.act(0)
            assert state != ale.cloneState()
            ale.restoreState(state)
            assert state == ale.cloneState()


def test_pngs_show_the_screen(tmp_path: pathlib.Path) -> None:
    images = []
    for package in PACKAGES:
        ale, path = load(package, "seaquest"), tmp_path / f"{package.__name__}.png"
        ale.saveScreenPNG(str(path))
        images.append(cv2.imread(str(path)))
    assert_same(*images)
    with pytest.raises(FileNotFoundError):
        load(ale_train, "seaquest").saveScreenPNG(tmp_path / "no" / "such" / "directory.png")
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="No space left"):
            load(ale_train, "seaquest").saveScreenPNG("/dev/full")


@pytest.mark.parametrize("package", PACKAGES)
def test_subclasses_have_their_own_arguments(package: Any) -> None:
    class Game(package.ALEInterface):  # type: ignore[misc]
        def __init__(self, rom: str, *, seed: int) -> None:
            super().__init__()
            self.seed = seed

    assert Game("pong", seed=3).seed == 3

    class Plain(package.ALEInterface):  # type: ignore[misc]
        pass

    for kind in (package.ALEInterface, Plain):
        with pytest.raises(TypeError):
            kind("pong")


def test_files_of_roms(tmp_path: pathlib.Path) -> None:
    ours, theirs = ale_train.roms, ale_py.roms
    two_players = {"combat", "joust", "maze_craze", "warlords"}
    assert set(ours.get_all_rom_ids()) == set(theirs.get_all_rom_ids()) - two_players | {"harvest"}
    for game in ("pong", "harvest"):
        path = ours.get_rom_path(game)
        assert isinstance(path, os.PathLike)
        assert ale_train.ALEInterface.isSupportedROM(path) == ale_train.ALEInterface.isSupportedROM(str(path)) == game
    # ROMs of ale-py's wheel are the same.
    assert ale_train.ALEInterface.isSupportedROM(theirs.get_rom_path("pong")) == "pong"
    combat = theirs.get_rom_path("combat")
    assert ale_train.ALEInterface.isSupportedROM(combat) is None
    with pytest.raises(RuntimeError, match="not the ROM of a supported game"):
        ale_train.ALEInterface().loadROM(combat)
    for module in (ours, theirs):
        with pytest.warns(UserWarning, match="Rom nope not supported."):
            assert module.get_rom_path("nope") is None
    other = tmp_path / "other.bin"
    other.write_bytes(b"abcd" * 1024)
    assert ale_train.ALEInterface.isSupportedROM(other) is None
    with pytest.raises(RuntimeError, match="not the ROM of a supported game"):
        ale_train.ALEInterface().loadROM(other)
    with pytest.raises(FileNotFoundError, match="missing.bin"):
        ale_train.ALEInterface().loadROM(tmp_path / "missing.bin")
    # A sparse file, which would fill the memory, and a device without an end.
    with other.open("wb") as file:
        file.truncate(2**40)
    assert ale_train.ALEInterface.isSupportedROM(other) is None
    with pytest.raises(RuntimeError, match="other.bin: it is longer than 1 MiB, larger than any ROM"):
        ale_train.ALEInterface().loadROM(other)
    with pytest.raises(OSError, match="/dev/zero: it is not a regular file"):
        ale_train.ALEInterface().loadROM("/dev/zero")
    for package in PACKAGES:
        for unreadable in (tmp_path / "missing.bin", b"missing.bin", tmp_path):
            with pytest.raises(RuntimeError):
                package.ALEInterface.isSupportedROM(unreadable)


def test_the_path_of_a_rom_may_be_bytes_and_is_a_setting_afterwards(tmp_path: pathlib.Path) -> None:
    rom = tmp_path / "pong.bin"
    rom.write_bytes(ale_py.roms.get_rom_path("pong").read_bytes())
    for package in PACKAGES:
        ale = package.ALEInterface()
        for path in (rom, str(rom), bytes(rom)):
            assert package.ALEInterface.isSupportedROM(path) == "pong"
            ale.setString("rom_file", "other")
            ale.loadROM(path)
            assert ale.getString("rom_file") == str(rom)


def with_settings(game: str, **settings: bool | int) -> list[Any]:
    """Returns ALEInterfaces of both packages with these settings and without sticky actions."""
    both = []
    for package in PACKAGES:
        ale = package.ALEInterface()
        ale.setInt("random_seed", 1)
        ale.setFloat("repeat_action_probability", 0.0)
        for name, value in settings.items():
            (ale.setBool if isinstance(value, bool) else ale.setInt)(name, value)
        ale.loadROM(package.roms.get_rom_path(game))
        both.append(ale)
    return both


@pytest.mark.parametrize("frame_skip", [1, 3])
@pytest.mark.parametrize("game", ["breakout", "demon_attack", "asteroids"])
def test_averaged_colours_equal_those_of_ale_py(game: str, frame_skip: int) -> None:
    both = with_settings(game, color_averaging=True, frame_skip=frame_skip)
    plain, _ = with_settings(game, frame_skip=frame_skip)
    random, differs = np.random.default_rng(1), False
    actions = [int(action.value) for action in both[1].getMinimalActionSet()]
    saved = None
    for act in range(120):
        if act == 50:
            saved = [ale.cloneState() for ale in both]
        if act == 80:
            for ale, state in zip(both, saved or []):
                ale.restoreState(state)
        if act == 100:
            for ale in both:
                ale.reset_game()
        for name in ("getScreen", "getScreenRGB", "getScreenGrayscale", "getRAM"):
            assert np.array_equal(*[getattr(ale, name)() for ale in both]), f"{name} before act {act}"
        differs |= not np.array_equal(both[0].getScreen(), plain.getScreen())
        action = actions[random.integers(len(actions))]
        for ale in (*both, plain):
            ale.act(action)
    assert differs


# Amidar and Bank Heist start with fewer lives than their rules set, and so truncated.
@pytest.mark.parametrize(
    ("game", "acts"),
    [("breakout", 500), ("seaquest", 1500), ("pong", 100), ("amidar", 9), ("bank_heist", 9)],
)
def test_episodes_are_truncated_when_a_life_is_lost(game: str, acts: int) -> None:
    both = with_settings(game, truncate_on_loss_of_life=True)
    random, ends = np.random.default_rng(2), 0
    actions = [int(action.value) for action in both[1].getMinimalActionSet()]
    for _ in range(acts):
        action = actions[random.integers(len(actions))]
        ours, theirs = [
            (ale.act(action), ale.lives(), ale.game_over(), ale.game_over(with_truncation=False), ale.game_truncated())
            + (ale.getFrameNumber(), ale.getEpisodeFrameNumber())
            for ale in both
        ]
        assert ours == theirs
        if ours[2]:
            ends += 1
            for ale in both:
                ale.reset_game()
    assert ends > 0 or game == "pong"


@pytest.mark.parametrize(
    "limits",
    [
        {"paddle_min": 200_000},
        {"paddle_max": 500_000},
        {"paddle_min": 0, "paddle_max": 300_000},
        {"paddle_min": -1, "paddle_max": -1},
        {"paddle_min": -7},
        {"paddle_max": 2_000_000},
    ],
)
@pytest.mark.parametrize("game", ["breakout", "kaboom", "pong"])
def test_limits_of_paddles_equal_those_of_ale_py(game: str, limits: dict[str, int]) -> None:
    play(*with_settings(game, **limits), 200)


def test_the_limit_of_all_frames_has_no_effect() -> None:
    for ale in with_settings("pong", max_num_frames=5):
        for _ in range(9):
            ale.act(0)
        assert (ale.getFrameNumber(), ale.game_over(), ale.getInt("max_num_frames")) == (9, False, 5)


def test_integers_that_do_not_fit_raise_the_types_of_ale_py() -> None:
    for module in (ale_train, ale_py):
        ale = load(module, "pong")
        for call in (
            lambda ale=ale: ale.setMode(-1),
            lambda ale=ale: ale.setDifficulty(-1),
            lambda ale=ale: ale.setInt("random_seed", 2**31),
        ):
            with pytest.raises(TypeError):
                call()


def read_png(path: pathlib.Path) -> np.ndarray:
    """Returns the pixels of a picture in RGB."""
    pixels = cv2.imread(str(path))
    assert pixels is not None
    return pixels[..., ::-1]


def test_screens_of_copies_of_vector_environments(tmp_path: pathlib.Path) -> None:
    env = AtariVectorEnv("pong", 1)
    env.reset(seed=1)
    env.step(np.zeros(1, int))
    emulator = env.ale.emulator(0)
    assert emulator.getScreenDims() == (210, 160)
    emulator.saveScreenPNG(tmp_path / "screen.png")
    assert np.array_equal(read_png(tmp_path / "screen.png"), emulator.getScreenRGB().repeat(2, axis=1))


def test_saved_screens_are_those_of_the_last_frame(tmp_path: pathlib.Path) -> None:
    env = ale_train.AtariEnv("breakout", obs_type="ram")
    env.reset(seed=1)
    for action in (1, 2, 3) * 10:
        env.step(action)
    env.ale.saveScreenPNG(tmp_path / "screen.png")
    assert np.array_equal(read_png(tmp_path / "screen.png"), env.ale.getScreenRGB().repeat(2, axis=1))


def test_nothing_works_before_a_game_is_loaded() -> None:
    ale = ale_train.ALEInterface()
    for call in (
        lambda: ale.act(0), ale.reset_game, ale.lives, ale.game_over, ale.getScreen, ale.getRAM, ale.cloneState,
        ale.getMinimalActionSet, ale.getAvailableModes, lambda: ale.setMode(0), lambda: ale.setRAM(0, 0),
        ale.getScreenDims, ale.getAudio,
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="ROM not set"):
            call()


def test_unavailable_features_raise_errors() -> None:
    ale = load(ale_train, "harvest")
    with pytest.raises(RuntimeError, match="display_screen is not available in ale_train and must keep its default"):
        ale.setBool("display_screen", True)
    ale.setBool("display_screen", False)
    with pytest.raises(RuntimeError, match="did you mean frame_skip"):
        ale.setInt("frameskip", 4)
    with pytest.raises(RuntimeError, match="harvest has no mode 9; its modes are"):
        ale.setMode(9)
