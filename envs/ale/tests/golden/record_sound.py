#!/usr/bin/env python3
"""Records the sound of every game from ale-py.

    pip install ale-py==0.12.1
    python record_sound.py > sound.txt

A line holds a game and running CRC-32s of getAudio after every 200 of 1,000 acts. Because the CRCs are running ones,
the first that differs tells where the sound differs first. `../games/sound.rs` repeats the acts.

The settings are seed 1, sticky actions and two frames per act. A game that is over is reset, and so is every game after
300 acts.
"""

import sys
import zlib

import ale_py

from record import MULTI_PLAYER_ONLY, actions, load

ACTS, ACTS_PER_CHECK, RESET_AFTER = 1000, 200, 300


def checks(game):
    ale = load(game, 1, 0.25, 2, sound_obs=True)
    crc, crcs = zlib.crc32(ale.getAudio().tobytes()), []
    source = actions(1, [action.value for action in ale.getLegalActionSet()])
    for act in range(1, ACTS + 1):
        ale.act(next(source))
        crc = zlib.crc32(ale.getAudio().tobytes(), crc)
        if act % ACTS_PER_CHECK == 0:
            crcs.append(f"{crc:08x}")
        if ale.game_over() or act == RESET_AFTER:
            ale.reset_game()
    return crcs


for game in sys.argv[1:] or sorted(set(ale_py.roms.get_all_rom_ids()) - MULTI_PLAYER_ONLY):
    print(game, *checks(game), flush=True)
