"""Looks ahead from saved states, like a planner, and pickles one."""

import pickle

import numpy as np
from ale_py import ALEInterface, LoggerMode
from ale_py.roms import get_rom_path

ALEInterface.setLoggerMode(LoggerMode.Error)
ale = ALEInterface()
ale.setInt("random_seed", 5)
ale.loadROM(get_rom_path("ms_pacman"))
for _ in range(300):
    ale.act(0)
for decision in range(12):
    root = ale.cloneState(include_rng=True)
    returns = []
    for action in ale.getMinimalActionSet():
        ale.restoreState(root)
        returns.append(sum(ale.act(action) for _ in range(24)))
    ale.restoreState(pickle.loads(pickle.dumps(root)))
    assert ale.cloneSystemState() == root
    best = int(np.argmax(returns))
    print(decision, returns, best, root.getFrameNumber(), root.getEpisodeFrameNumber())
    for _ in range(8):
        ale.act(ale.getMinimalActionSet()[best])
ale.setRAM(3, 9)
print(ale.getRAM()[3], ale.cloneState() == ale.cloneState(), root == ale.cloneState())
