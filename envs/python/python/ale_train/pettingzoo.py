"""PettingZoo's Atari games: ``from ale_train.pettingzoo import pong_v3`` takes the place of
``from pettingzoo.atari import pong_v3``.

Names, versions, arguments and results are those of PettingZoo 1.27.0, with the emulator of this package. Each game is a
module with ``env``, ``raw_env`` and ``parallel_env``. ``space_war_v2`` is missing.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from gymnasium.utils import EzPickle, seeding

from ale_train import _native
from ale_train.arguments import one_of
from ale_train.errors import ActionError
from ale_train.names import camel_case
from ale_train.window import Window

try:
    from pettingzoo import AECEnv, ParallelEnv
    from pettingzoo.utils.conversions import parallel_to_aec_wrapper
    from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper
except ImportError:
    raise gymnasium.error.DependencyNotInstalled("pettingzoo is not installed; run `pip install pettingzoo`") from None

#: The names of the players.
_AGENTS = ("first_0", "second_0", "third_0", "fourth_0")

#: The views of the emulator by the names of the observation types.
_VIEWS = {"rgb_image": "rgb", "grayscale_image": "grayscale", "ram": "ram"}

#: The largest seed of the emulator.
_LARGEST_SEED = 2**32 - 1


class ParallelAtariEnv(ParallelEnv[str, np.ndarray, Any], EzPickle):  # type: ignore[misc]
    """An Atari game whose players act at the same time, one frame in each step.

    Every player sees the whole screen. A player who has lost the last life is terminated, while the others play on.

    Attributes:
        possible_agents: ``"first_0"``, ``"second_0"`` and so on.
        agents: The players who are still in the game. The attribute does not exist before ``reset``, as in PettingZoo.
    """

    def __init__(
        self,
        game: str,
        num_players: int,
        mode_num: int | None = None,
        seed: int | None = None,
        obs_type: str = "rgb_image",
        full_action_space: bool = False,
        env_name: str | None = None,
        max_cycles: int = 100_000,
        render_mode: str | None = None,
        auto_rom_install_path: str | None = None,
    ) -> None:
        """Loads a game.

        Args:
            game: Id of the game, such as ``"pong"``.
            num_players: Number of players.
            mode_num: Mode of the game; None for the first one for this number of players.
            seed: Seed of the emulator; None draws one.
            obs_type: ``"rgb_image"``, ``"grayscale_image"`` or ``"ram"``.
            full_action_space: Use all legal actions instead of the minimal set.
            env_name: The name in ``metadata``; None for the id of the game.
            max_cycles: Steps after which the game is truncated.
            render_mode: ``"rgb_array"``, or ``"human"`` for a window, which needs pygame.
            auto_rom_install_path: A directory with the ROM, as ``pong.bin`` or ``ROM/pong/pong.bin``. None looks in the
                ROM directory and in installed packages, and downloads a missing ROM.

        Raises:
            ValueError: The game has no such number of players or mode, or an argument is outside its range.
            OSError: The ROM is missing.
        """
        EzPickle.__init__(
            self,
            game=game,
            num_players=num_players,
            mode_num=mode_num,
            seed=seed,
            obs_type=obs_type,
            full_action_space=full_action_space,
            env_name=env_name,
            max_cycles=max_cycles,
            render_mode=render_mode,
            auto_rom_install_path=auto_rom_install_path,
        )
        self._view = _VIEWS[one_of("obs_type", obs_type, tuple(_VIEWS))]
        if render_mode is not None:
            one_of("render_mode", render_mode, ("human", "rgb_array"))
        rom = None if auto_rom_install_path is None else _rom_in(Path(auto_rom_install_path), game)
        self._game = _native.PlayersGame(game, num_players, mode_num, _seed(seed), rom, sys.executable)
        self._codes = self._game.action_codes(full_action_space)
        self.max_cycles, self.render_mode = max_cycles, render_mode
        self.metadata: dict[str, Any] = {
            "render_modes": ["human", "rgb_array"],
            "name": game if env_name is None else env_name,
            "render_fps": 60,
            "is_parallelizable": True,
        }
        self.possible_agents = list(_AGENTS[:num_players])
        screen = self._game.screen_size
        shape = {"rgb": (*screen, 3), "grayscale": (*screen, 1), "ram": (128,)}[self._view]
        agents = self.possible_agents
        self.observation_spaces: dict[str, Space[Any]] = {agent: Box(0, 255, shape, np.uint8) for agent in agents}
        self.action_spaces: dict[str, Space[Any]] = {agent: Discrete(len(self._codes)) for agent in agents}
        #: For wrappers that need random numbers.
        self.np_random, _ = seeding.np_random(seed)
        self._frame = 0
        self._window: Window | None = None

    def observation_space(self, agent: str) -> Space[Any]:
        """Returns the space of the observations of a player."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """Returns the space of the actions of a player."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]:
        """Starts a game.

        Args:
            seed: With a seed the game is loaded again, so that equal seeds give equal games.
            options: Not used.

        Returns:
            The observation and the info, which is empty, of each player.
        """
        self._game.reset(_seed(seed))
        if seed is not None:
            self.np_random, _ = seeding.np_random(seed)
        self._frame = 0
        self.agents = list(self.possible_agents)
        return self._observations(), {agent: {} for agent in self.agents}

    def step(
        self, actions: Mapping[str, int]
    ) -> tuple[dict[str, np.ndarray], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Performs an action of each player who is still in the game.

        Args:
            actions: The action of each player.

        Returns:
            Observation, reward, termination, truncation and info of each of these players.

        Raises:
            ActionError: The action of a player is missing or not in the action space, or there is no such player.
            gymnasium.error.ResetNeeded: The game has not been reset.
        """
        if not hasattr(self, "agents"):
            raise gymnasium.error.ResetNeeded("reset must be called before step")
        codes = self._codes_of(actions)
        if not self.agents:
            return {}, {}, {}, {}, {}
        rewards: dict[str, float] = dict(zip(self.possible_agents, self._game.act(codes)))
        self._frame += 1
        is_over, truncates = self._game.game_over(), self._frame >= self.max_cycles
        lives = dict(zip(self.possible_agents, self._game.lives()))
        players = self.agents
        # As in multi-agent ALE, a player who is out has -1 lives.
        terminations = {agent: is_over or lives[agent] < 0 for agent in players}
        truncations = {agent: truncates for agent in players}
        results = (self._observations(), {agent: rewards[agent] for agent in players}, terminations, truncations)
        self.agents = [agent for agent in players if not (terminations[agent] or truncates)]
        return (*results, {agent: {} for agent in players})

    def _codes_of(self, actions: Mapping[str, int]) -> list[int]:
        """Returns the code of each player's action; those who have left do nothing."""
        for agent in actions:
            if agent not in self.possible_agents:
                known = ", ".join(self.possible_agents)
                raise ActionError(f"there is no player {agent!r}; the players are {known}")
        codes = [0] * len(self.possible_agents)
        for agent in self.agents:
            if agent not in actions:
                raise ActionError(f"the action of {agent} is missing, but all players act together")
            if not self.action_spaces[agent].contains(actions[agent]):
                raise ActionError(
                    f"the action of {agent} is {actions[agent]!r}, but must be in {self.action_spaces[agent]}"
                )
            codes[self.possible_agents.index(agent)] = self._codes[actions[agent]]
        return codes

    def _observations(self) -> dict[str, np.ndarray]:
        """Returns the observation of each player, which is the same array."""
        view = self._game.observe(self._view)
        return dict.fromkeys(self.agents, view[..., np.newaxis] if self._view == "grayscale" else view)

    def render(self) -> np.ndarray | None:
        """Returns the screen if ``render_mode`` is ``"rgb_array"``, and shows it in a window if it is ``"human"``."""
        if self.render_mode is None:
            gymnasium.logger.warn("render does nothing, because the environment has no render_mode.")
            return None
        screen = self._game.observe("rgb")
        if self.render_mode == "rgb_array":
            return screen
        if self._window is None:
            self._window = Window(camel_case(self.metadata["name"]))
        self._window.show(screen)
        return None

    def close(self) -> None:
        """Closes the window."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def clone_state(self) -> bytes:
        """Returns the state of the emulator, for ``restore_state``."""
        return self._game.snapshot()

    def restore_state(self, state: bytes) -> None:
        """Restores a state from ``clone_state``. The players who are in the game and the number of steps stay.

        Raises:
            ValueError: The state is damaged or belongs to another game.
        """
        self._game.restore(state)

    #: As in ale-py; ``clone_state`` already includes everything.
    clone_full_state = clone_state
    restore_full_state = restore_state


def _seed(seed: int | None) -> int | None:
    """Returns a seed that the emulator accepts."""
    if seed is not None and not 0 <= seed <= _LARGEST_SEED:
        raise ValueError(f"seed is {seed}, but must be between 0 and {_LARGEST_SEED}")
    return None if seed is None else int(seed)


def _rom_in(directory: Path, game: str) -> bytes:
    """Returns the ROM of a game in a directory."""
    files = [directory / f"{game}.bin", directory / "ROM" / game / f"{game}.bin"]
    for file in files:
        if file.is_file():
            return file.read_bytes()
    raise FileNotFoundError(f"the ROM of {game} is missing; neither {files[0]} nor {files[1]} exists")


class Variant(NamedTuple):
    """A game with its number of players and its mode; None is the first mode for this number of players."""

    game: str
    num_players: int
    mode: int | None = None


class AtariModule(ModuleType):
    """The functions of one of PettingZoo's games."""

    def __init__(self, name: str, variant: Callable[..., Variant]) -> None:
        """Creates the module.

        Args:
            name: PettingZoo's name, such as ``"pong_v3"``.
            variant: Chooses the mode, given the arguments that only this game has.
        """
        super().__init__(f"{__name__}.{name}", f"PettingZoo's {name}")
        self._env_name, self._variant = name, variant

    def parallel_env(self, **options: Any) -> ParallelAtariEnv:
        """Creates the game for players who act at the same time.

        Args:
            options: Arguments of ``ParallelAtariEnv``, and those that only this game has.

        Raises:
            TypeError: The game has no such option.
            ValueError: An option is outside its range.
            OSError: The ROM is missing.
        """
        parameters = inspect.signature(self._variant).parameters
        game_options = {name: options.pop(name) for name in parameters if name in options}
        game, num_players, mode = self._variant(**game_options)
        return ParallelAtariEnv(game, num_players, mode, env_name=self._env_name, **options)

    def raw_env(self, **options: Any) -> AECEnv[str, np.ndarray, Any]:
        """Creates the game for players who act in turn, without checks of the order of calls.

        Args:
            options: As for ``parallel_env``.
        """
        return parallel_to_aec_wrapper(self.parallel_env(**options))

    def env(self, **options: Any) -> AECEnv[str, np.ndarray, Any]:
        """Creates the game for players who act in turn.

        Args:
            options: As for ``parallel_env``.
        """
        return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(self.raw_env(**options)))


#: The modes of pong by version, for two and for four players.
_VERSIONS_OF_PONG = {
    "classic": (4, 6),
    "two_paddles": (10, 11),
    "soccer": (14, 16),
    "foozpong": (19, 21),
    "hockey": (27, 29),
    "handball": (35, 37),
    "volleyball": (39, 41),
    "basketball": (45, 49),
}

#: The modes of tanks by ``has_maze``, ``is_invisible`` and ``billiard_hit``.
_TANKS = {
    (False, False, False): 1,
    (True, False, False): 2,
    (False, False, True): 8,
    (True, False, True): 9,
    (False, True, False): 10,
    (True, True, False): 11,
    (False, True, True): 13,
    (True, True, True): 14,
}

#: The modes of planes with guided missiles, which the modes with machine guns follow.
_PLANES = {"bi-plane": 15, "jet": 21}
#: The modes of fully visible mazes, which those with lower visibility follow.
_MAZES = {"race": 0, "robbers": 4, "capture": 44}

#: The first mode of space invaders for two players, to which each switch adds a bit.
_SPACE_INVADERS = 33


def _pong(num_players: int = 2, game_version: str = "classic") -> Variant:
    if num_players not in (2, 4):
        raise ValueError(f"num_players is {num_players}, but must be 2 or 4")
    one_of("game_version", game_version, tuple(_VERSIONS_OF_PONG))
    return Variant("pong", num_players, _VERSIONS_OF_PONG[game_version][num_players == 4])


def _basketball_pong(num_players: int = 2) -> Variant:
    return _pong(num_players, "basketball")


def _foozpong(num_players: int = 4) -> Variant:
    return _pong(num_players, "foozpong")


def _volleyball_pong(num_players: int = 4) -> Variant:
    return _pong(num_players, "volleyball")


def _combat_plane(game_version: str = "bi-plane", guided_missile: bool = True) -> Variant:
    one_of("game_version", game_version, tuple(_PLANES))
    # The next mode has machine guns.
    return Variant("combat", 2, _PLANES[game_version] + (not guided_missile))


def _combat_tank(has_maze: bool = True, is_invisible: bool = False, billiard_hit: bool = True) -> Variant:
    return Variant("combat", 2, _TANKS[bool(has_maze), bool(is_invisible), bool(billiard_hit)])


# The misspelling is PettingZoo's.
def _maze_craze(game_version: str = "robbers", visibilty_level: int = 0) -> Variant:
    one_of("game_version", game_version, tuple(_MAZES))
    if visibilty_level not in range(4):
        raise ValueError(f"visibilty_level is {visibilty_level}, but must be between 0 and 3")
    return Variant("maze_craze", 2, _MAZES[game_version] + visibilty_level)


def _space_invaders(
    alternating_control: bool = False,
    moving_shields: bool = True,
    zigzaging_bombs: bool = False,
    fast_bomb: bool = False,
    invisible_invaders: bool = False,
) -> Variant:
    switches = (moving_shields, zigzaging_bombs, fast_bomb, invisible_invaders, alternating_control)
    bits = sum(bool(switch) << bit for bit, switch in enumerate(switches))
    return Variant("space_invaders", 2, _SPACE_INVADERS + bits)


def _module(name: str, variant: Callable[..., Variant] | Variant) -> AtariModule:
    """Returns the module of a game, which ``import`` finds."""
    module = AtariModule(name, variant if callable(variant) else lambda: variant)
    sys.modules[module.__name__] = module
    return module


basketball_pong_v3 = _module("basketball_pong_v3", _basketball_pong)
boxing_v2 = _module("boxing_v2", Variant("boxing", 2))
combat_plane_v2 = _module("combat_plane_v2", _combat_plane)
combat_tank_v2 = _module("combat_tank_v2", _combat_tank)
double_dunk_v3 = _module("double_dunk_v3", Variant("double_dunk", 2))
entombed_competitive_v3 = _module("entombed_competitive_v3", Variant("entombed", 2, 2))
entombed_cooperative_v3 = _module("entombed_cooperative_v3", Variant("entombed", 2, 3))
flag_capture_v2 = _module("flag_capture_v2", Variant("flag_capture", 2))
foozpong_v3 = _module("foozpong_v3", _foozpong)
ice_hockey_v2 = _module("ice_hockey_v2", Variant("ice_hockey", 2))
joust_v3 = _module("joust_v3", Variant("joust", 2))
mario_bros_v3 = _module("mario_bros_v3", Variant("mario_bros", 2))
maze_craze_v3 = _module("maze_craze_v3", _maze_craze)
othello_v3 = _module("othello_v3", Variant("othello", 2))
pong_v3 = _module("pong_v3", _pong)
quadrapong_v4 = _module("quadrapong_v4", Variant("pong", 4, 33))
space_invaders_v2 = _module("space_invaders_v2", _space_invaders)
surround_v2 = _module("surround_v2", Variant("surround", 2))
tennis_v3 = _module("tennis_v3", Variant("tennis", 2))
video_checkers_v4 = _module("video_checkers_v4", Variant("video_checkers", 2))
volleyball_pong_v3 = _module("volleyball_pong_v3", _volleyball_pong)
warlords_v3 = _module("warlords_v3", Variant("warlords", 4))
wizard_of_wor_v3 = _module("wizard_of_wor_v3", Variant("wizard_of_wor", 2))


def games() -> Iterator[str]:
    """Yields the names of all games, such as ``"pong_v3"``."""
    return (name for name, value in globals().items() if isinstance(value, AtariModule))
