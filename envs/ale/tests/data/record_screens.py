#!/usr/bin/env python3
"""Records the colour and greyscale screens of some games.

    pip install ale-py==0.12.1
    python record_screens.py > screens.txt

A line holds a game, a number of acts of NOOP after loading, and the CRC-32 of getScreenRGB and of getScreenGrayscale.
air_raid is a PAL game that loses its colour in every other frame.
"""

import zlib

import ale_py

assert ale_py.__version__ == "0.12.1", f"the screens require ale-py 0.12.1, found {ale_py.__version__}"
ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)

GAMES = ["adventure", "air_raid", "carnival", "journey_escape", "klax", "pong", "space_invaders", "video_pinball"]
ACTS = [1, 50, 51, 300]

for game in GAMES:
    ale = ale_py.ALEInterface()
    ale.setInt("random_seed", 0)
    ale.setFloat("repeat_action_probability", 0.0)
    ale.loadROM(ale_py.roms.get_rom_path(game))
    for act in range(1, max(ACTS) + 1):
        ale.act(0)
        if act in ACTS:
            screens = (ale.getScreenRGB(), ale.getScreenGrayscale())
            print(game, act, *(f"{zlib.crc32(screen.tobytes()):08x}" for screen in screens))
