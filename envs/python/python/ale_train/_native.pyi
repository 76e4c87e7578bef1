"""The compiled part of the package."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ale_train.actions import Action
from ale_train.bridge import Bridge, Results
from ale_train.env import AtariEnvStepMetadata
from ale_train.logger_mode import LoggerMode

__version__: str

def games() -> list[str]:
    """Returns the ids of all games."""

def players_games() -> dict[str, list[int]]:
    """Returns the ids of the games for several players, each with its numbers of players."""

def game_named(name: str) -> str | None:
    """Returns the id of the game that a name means, if there is one."""

def limits() -> dict[str, int]:
    """Returns the largest values of options by their names."""

def variants(game: str) -> dict[str, list[int]]:
    """Returns the modes and the difficulties of a game, by the names of the options."""

def tasks() -> list[tuple[str, int | None, float | None]]:
    """Returns the id, the step limit and the reward threshold of each environment that is not an Atari game."""

# The program and the learners. A module that was built without them lacks these names.

def main(program: str, arguments: list[str]) -> int:
    """Runs the program, whose file is ``program``, with these arguments, the first of which is its name."""

def run_command(
    arguments: list[str], environments: Bridge | None = None, observer: Callable[[str], bool] | None = None
) -> bytes:
    """Runs a command of the program and returns what it writes to standard output."""

def key_of_setting(name: str, algorithm: str) -> str:
    """Returns the key that a short name of a setting means for an algorithm."""

def planned_experiment(arguments: list[str]) -> str:
    """Returns the experiment that a training command describes, in JSON."""

def progress(run_dir: str) -> tuple[int, int, int] | None:
    """Returns the frames, the steps and the updates of a run at its newest checkpoint. None if it has none."""

def experiment(run_dir: str) -> str:
    """Returns the experiment of a run in JSON."""

def row_bytes(spaces: str) -> int:
    """Returns the size of an observation of the spaces that worker.py describes in JSON."""

def worker_source() -> str:
    """Returns the program of the workers that step environments of Gymnasium."""

class Player:
    """A player of an agent, with its state."""

class NativeAgent:
    """A trained agent, without the conversions of observations and actions."""

    def __new__(cls, path: str, best: bool = False) -> NativeAgent: ...
    @property
    def tasks(self) -> list[str]: ...
    @property
    def experiment(self) -> str: ...
    @property
    def frames(self) -> int: ...
    @property
    def is_recurrent(self) -> bool: ...
    @property
    def is_masked(self) -> bool: ...
    @property
    def observation(self) -> tuple[list[int], str]: ...
    def action(self, task: int) -> tuple[list[int], str]: ...
    def player(self, task: int, num_envs: int, greedy: bool, seed: int) -> Player: ...
    def remove(self, player: Player) -> None: ...
    def act(
        self,
        player: Player,
        observations: npt.NDArray[np.uint8],
        starts: npt.NDArray[np.bool_],
        masks: npt.NDArray[np.uint8],
    ) -> npt.NDArray[np.int32] | npt.NDArray[np.float32]: ...
    def outputs(
        self,
        player: Player,
        observations: npt.NDArray[np.uint8],
        starts: npt.NDArray[np.bool_],
        masks: npt.NDArray[np.uint8],
    ) -> tuple[npt.NDArray[np.float32], bool, npt.NDArray[np.float32]]: ...

class NativeLearner:
    """A learner, without the conversions of observations and actions."""

    def __new__(
        cls, arguments: list[str], spaces: str, num_envs: int, are_masked: bool, autoreset_mode: str
    ) -> NativeLearner: ...
    def act(
        self, observations: npt.NDArray[np.uint8], masks: npt.NDArray[np.uint8]
    ) -> npt.NDArray[np.int32] | npt.NDArray[np.float32]: ...
    def observe(self, results: Results) -> None: ...
    def update(self) -> list[tuple[str, float]] | None: ...
    def progress(self) -> tuple[int, bool]: ...
    def state(self) -> bytes: ...
    def restore(self, state: bytes) -> None: ...

_Actions = npt.NDArray[np.int32] | npt.NDArray[np.int64] | npt.NDArray[np.float32]
_ResetBatch = tuple[npt.NDArray[np.uint8], dict[str, Any]]
_StepBatch = tuple[
    npt.NDArray[np.uint8], npt.NDArray[np.int32], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]
]

_XlaResult = tuple[list[str], str, list[int]]

class AtariPool:
    """Atari environments on a work-stealing pool."""

    def __new__(cls, settings: dict[str, Any], python: str) -> AtariPool: ...
    @property
    def action_codes(self) -> list[bytes]: ...
    @property
    def in_flight(self) -> list[int]: ...
    @property
    def observation_shape(self) -> list[int]: ...
    @property
    def was_reset(self) -> bool: ...
    @property
    def xla_handle(self) -> bytes: ...
    def xla_results(self) -> tuple[list[_XlaResult], list[_XlaResult]]: ...
    def reset(self, seeds: list[int | None], mask: npt.NDArray[np.bool_] | None = None) -> _ResetBatch: ...
    def send(
        self,
        actions: _Actions,
        env_ids: list[int] | None = None,
        lengths: list[int] | None = None,
    ) -> None: ...
    def send_reset(self, env_ids: list[int], seeds: list[int | None]) -> None: ...
    def send_report(self) -> None: ...
    def recv(self) -> _StepBatch: ...
    def step(self, actions: _Actions) -> _StepBatch: ...
    def snapshot(self, env_ids: list[int] | None = None) -> bytes: ...
    def restore(self, snapshot: bytes, env_ids: list[int] | None = None) -> _ResetBatch: ...
    def render(self, env_id: int) -> npt.NDArray[np.uint8]: ...
    def ram(self) -> npt.NDArray[np.uint8]: ...
    def emulator(self, env_id: int) -> ALEInterface: ...

class PlayersPool:
    """Atari environments of several players on a work-stealing pool. Each player is a row of a batch."""

    def __new__(cls, settings: dict[str, Any], players: int, python: str) -> PlayersPool: ...
    @property
    def action_codes(self) -> list[bytes]: ...
    @property
    def in_flight(self) -> list[int]: ...
    @property
    def observation_shape(self) -> list[int]: ...
    @property
    def was_reset(self) -> bool: ...
    def reset(self, seeds: list[int | None], mask: npt.NDArray[np.bool_] | None = None) -> _ResetBatch: ...
    def send(self, actions: _Actions, env_ids: list[int] | None = None) -> None: ...
    def send_reset(self, env_ids: list[int], seeds: list[int | None]) -> None: ...
    def send_report(self) -> None: ...
    def recv(self) -> _StepBatch: ...
    def step(self, actions: _Actions) -> _StepBatch: ...
    def snapshot(self) -> bytes: ...
    def restore(self, snapshot: bytes) -> _ResetBatch: ...
    def render(self, env_id: int) -> npt.NDArray[np.uint8]: ...

class PlayersGame:
    """An emulated game whose players act together, without sticky actions."""

    def __new__(
        cls,
        game: str,
        players: int,
        mode: int | None,
        seed: int | None,
        rom: bytes | None,
        python: str,
    ) -> PlayersGame: ...
    @property
    def screen_size(self) -> tuple[int, int]: ...
    def action_codes(self, full_action_space: bool) -> bytes: ...
    def reset(self, seed: int | None) -> None: ...
    def act(self, codes: list[int]) -> list[int]: ...
    def lives(self) -> list[int]: ...
    def game_over(self) -> bool: ...
    def observe(self, view: str) -> npt.NDArray[np.uint8]: ...
    def snapshot(self) -> bytes: ...
    def restore(self, snapshot: bytes) -> None: ...

_TaskReset = tuple[Any, dict[str, Any]]
_TaskStep = tuple[Any, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]

class TaskPool:
    """Environments of Gymnasium other than Atari games, on a work-stealing pool."""

    def __new__(cls, settings: dict[str, Any], python: str) -> TaskPool: ...
    @property
    def bounds(self) -> list[str]: ...
    @property
    def fields(self) -> list[tuple[str, str, list[int]]]: ...
    @property
    def in_flight(self) -> list[int]: ...
    @property
    def spaces(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]: ...
    @property
    def was_reset(self) -> bool: ...
    def reset(
        self,
        seeds: list[int | None],
        mask: npt.NDArray[np.bool_] | None = None,
        bounds: list[tuple[str, float]] = ...,
    ) -> _TaskReset: ...
    def send(self, actions: _Actions, env_ids: list[int] | None = None) -> None: ...
    def send_reset(self, env_ids: list[int], seeds: list[int | None]) -> None: ...
    def send_report(self) -> None: ...
    def recv(self) -> _TaskStep: ...
    def step(self, actions: _Actions) -> _TaskStep: ...
    def snapshot(self) -> bytes: ...
    def restore(self, snapshot: bytes) -> _TaskReset: ...

def xla_targets() -> list[tuple[str, Any]]:
    """Returns the name and address of each function that XLA calls."""

def rom_store() -> tuple[Path | None, list[str], str | None]:
    """Returns the ROM directory, if one is known, the ids of the games whose ROM is found, and the reason why there is
    no directory."""

def mujoco_installation() -> tuple[Path | None, str | None]:
    """Returns the directory of MuJoCo, if one is known, and the reason why it cannot be used, if any."""

def processor() -> tuple[str, list[str]]:
    """Returns the architecture of the processor, and its features for which there are kernels."""

def rom_path(game: str, python: str) -> Path:
    """Returns the path of a game's ROM. A missing ROM is downloaded with the pip of ``python``."""

_Bytes = npt.NDArray[np.uint8]

class ALEState:
    """A saved state of an ``ALEInterface``, which can be pickled. The bytes are not those of ale-py."""

    def __new__(cls, serialized: bytes | None = None) -> ALEState:
        """Creates an empty state, or one from the bytes of ``serialize``.

        Raises:
            ValueError: The bytes are not those of a state.
        """
    def serialize(self) -> bytes:
        """Returns the state as bytes."""
    def equals(self, other: ALEState) -> bool:
        """Returns true if both states are the same. As in ale-py, screens are not compared."""
    def __eq__(self, other: ALEState) -> bool: ...  # type: ignore[override]
    def __ne__(self, other: ALEState) -> bool: ...  # type: ignore[override]
    def __hash__(self) -> int: ...
    def getFrameNumber(self) -> int:
        """Returns the number of frames since the game was loaded."""
    def getEpisodeFrameNumber(self) -> int:
        """Returns the number of frames since the last reset."""
    def getCurrentMode(self) -> int:
        """Returns the game's mode."""
    def getDifficulty(self) -> int:
        """Returns the difficulty switches."""
    def __getstate__(self) -> bytes: ...
    def __setstate__(self, serialized: bytes) -> None: ...

class ALEInterface:
    """One emulated Atari 2600 game: the counterpart of ale-py's ``ALEInterface``, with the same methods.

    Settings take effect when a game is loaded. Threads may share it: calls are serialised, and release the GIL while
    they emulate.
    """

    def __new__(cls) -> ALEInterface:
        """Creates an emulator without a game."""
    @staticmethod
    def setLoggerMode(mode: LoggerMode | int) -> None:
        """Selects one of ale-py's message levels for all emulators.

        The only message is the warning about an unknown ROM, which ``Error`` hides.
        """
    @staticmethod
    def isSupportedROM(rom: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str | None:
        """Returns the id of a ROM's game, or None if it is not supported.

        ROMs are recognised by their MD5 only, not by the name of the file.

        Raises:
            RuntimeError: The file cannot be read.
        """
    def setInt(self, key: str, value: int) -> None:
        """Sets an integer.

        Integers are ``random_seed``, ``frame_skip``, ``max_num_frames_per_episode``, ``reward_min``, ``reward_max``,
        ``paddle_min`` and ``paddle_max``.

        Raises:
            RuntimeError: There is no such setting, it has another type, or it is not available.
        """
    def setFloat(self, key: str, value: float) -> None:
        """Sets a number, which is rounded to six significant digits as in ale-py.

        The number is ``repeat_action_probability``.

        Raises:
            RuntimeError: There is no such setting, it has another type, or it is not available.
        """
    def setBool(self, key: str, value: bool) -> None:
        """Sets a boolean.

        Booleans are ``color_averaging`` and ``truncate_on_loss_of_life``.

        Raises:
            RuntimeError: There is no such setting, it has another type, or it is not available.
        """
    def setString(self, key: str, value: str) -> None:
        """Sets a string.

        Raises:
            RuntimeError: There is no such setting, it has another type, or it is not available.
        """
    def getInt(self, key: str) -> int:
        """Returns a setting as an integer, or -1 if there is no setting of this name."""
    def getFloat(self, key: str) -> float:
        """Returns a setting as a number, or -1 if there is no setting of this name."""
    def getBool(self, key: str) -> bool:
        """Returns a setting as a boolean, or False if there is no setting of this name."""
    def getString(self, key: str) -> str:
        """Returns a setting as a string, empty if there is no setting of this name."""
    def loadROM(self, rom: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> None:
        """Loads the ROM of a file and resets the game.

        ROMs are recognised by their MD5. A ROM with an unknown MD5 is loaded, with a warning, if its file has the name
        of a supported game, such as ``pong.bin``.

        Raises:
            OSError: The file cannot be read, such as FileNotFoundError.
            RuntimeError: The ROM is not that of a supported game, or the file is longer than any ROM.
        """
    def act(self, action: Action | int, paddle_strength: float = 1.0) -> int:
        """Performs an action and returns its reward.

        Args:
            action: A code of ``Action``. Codes above 17 do nothing.
            paddle_strength: How far a paddle turns, from 0 to 1.

        Raises:
            RuntimeError: No game is loaded.
            TypeError: The action is negative.
        """
    def reset_game(self) -> None:
        """Starts a new episode.

        Raises:
            RuntimeError: No game is loaded.
        """
    def game_over(self, with_truncation: bool = True) -> bool:
        """Returns true if the episode is over, by the game's rules or its frame limit."""
    def game_truncated(self) -> bool:
        """Returns true if the episode has reached its frame limit."""
    def lives(self) -> int:
        """Returns the remaining lives."""
    def getFrameNumber(self) -> int:
        """Returns the number of frames since the game was loaded."""
    def getEpisodeFrameNumber(self) -> int:
        """Returns the number of frames since the last reset."""
    def getLegalActionSet(self) -> list[Action]:
        """Returns the actions that the game accepts."""
    def getMinimalActionSet(self) -> list[Action]:
        """Returns the actions that have an effect in the game."""
    def getAvailableModes(self) -> list[int]:
        """Returns the game's modes."""
    def getAvailableDifficulties(self) -> list[int]:
        """Returns the game's difficulties."""
    def setMode(self, mode: int) -> None:
        """Sets the mode, from the next reset on.

        Raises:
            RuntimeError: The game has no such mode.
            TypeError: The mode is negative.
        """
    def setDifficulty(self, difficulty: int) -> None:
        """Sets the difficulty switches.

        Raises:
            RuntimeError: The game has no such difficulty.
            TypeError: The difficulty is negative.
        """
    def getScreenDims(self) -> tuple[int, int]:
        """Returns the height and the width of the screen."""
    @overload
    def getScreen(self) -> _Bytes:
        """Returns the palette bytes of the screen, or writes them to ``buffer``.

        Args:
            buffer: uint8, ``(height, width)``; by default a new array.

        Raises:
            RuntimeError: No game is loaded, or the buffer has another shape.
            TypeError: The buffer is not of uint8, or not C-contiguous.
        """
    @overload
    def getScreen(self, buffer: _Bytes) -> None: ...
    @overload
    def getScreenRGB(self) -> _Bytes:
        """Returns the screen in colour, or writes it to ``buffer``.

        Args:
            buffer: uint8, ``(height, width, 3)``; by default a new array.

        Raises:
            RuntimeError: No game is loaded, or the buffer has another shape.
            TypeError: The buffer is not of uint8, or not C-contiguous.
        """
    @overload
    def getScreenRGB(self, buffer: _Bytes) -> None: ...
    @overload
    def getScreenGrayscale(self) -> _Bytes:
        """Returns the luminance of the screen, or writes it to ``buffer``.

        Args:
            buffer: uint8, ``(height, width)``; by default a new array.

        Raises:
            RuntimeError: No game is loaded, or the buffer has another shape.
            TypeError: The buffer is not of uint8, or not C-contiguous.
        """
    @overload
    def getScreenGrayscale(self, buffer: _Bytes) -> None: ...
    def saveScreenPNG(self, path: str | os.PathLike[str]) -> None:
        """Writes the screen to a PNG file, with pixels of double width.

        Raises:
            OSError: The file cannot be written.
            RuntimeError: No game is loaded.
        """
    @overload
    def getRAM(self) -> _Bytes:
        """Returns the 128 bytes of RAM, or writes them to ``buffer``.

        Args:
            buffer: uint8, ``(128,)``; by default a new array.

        Raises:
            RuntimeError: No game is loaded.
            TypeError: The buffer has another type or shape, or is not C-contiguous.
        """
    @overload
    def getRAM(self, buffer: _Bytes) -> None: ...
    def getRAMSize(self) -> int:
        """Returns the number of bytes of RAM."""
    def setRAM(self, index: int, value: int) -> None:
        """Writes a byte of RAM.

        Args:
            index: The address, 0 to 127.
            value: The byte.

        Raises:
            RuntimeError: There is no such address.
            TypeError: The index is negative, or the value is not a byte.
        """
    @overload
    def getAudio(self) -> _Bytes:
        """Returns the sound of the last act, or writes it to ``buffer``.

        It has 512 mono samples: 128 is silence, 248 the loudest sound. All are 0 before the first act, or unless
        ``sound_obs`` was set before the game was loaded.

        Args:
            buffer: uint8, ``(512,)``; by default a new array.

        Raises:
            RuntimeError: No game is loaded.
            TypeError: The buffer has another type or shape, or is not C-contiguous.
        """
    @overload
    def getAudio(self, buffer: _Bytes) -> None: ...
    def getAudioSize(self) -> int:
        """Returns the number of samples of an act."""
    def cloneState(self, include_rng: bool = False) -> ALEState:
        """Saves the state, with the generator of sticky actions if ``include_rng``."""
    def cloneSystemState(self) -> ALEState:
        """Saves the state with the generator of sticky actions."""
    def restoreState(self, state: ALEState) -> None:
        """Restores a saved state.

        As in ale-py, the screen does not change until the next frame, which shows the old screen where it draws
        nothing, and a sticky frame repeats the last action performed before the call. From the second frame on, screens
        are those of the saved game.

        Raises:
            RuntimeError: The state is empty or belongs to another game.
        """
    def restoreSystemState(self, state: ALEState) -> None:
        """Restores a saved state, like ``restoreState``.

        Raises:
            RuntimeError: The state is empty or belongs to another game.
        """
    def _load_game(self, game: str, python: str) -> None: ...
    def _step(
        self, action: int, strength: float, acts: int, view: str
    ) -> tuple[_Bytes, float, bool, bool, AtariEnvStepMetadata]: ...
    def _observe(self, view: str) -> _Bytes: ...
    def _info(self) -> AtariEnvStepMetadata: ...
