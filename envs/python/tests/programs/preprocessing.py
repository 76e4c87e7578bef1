"""Skips frames, takes the maximum of the last two and writes to its own buffers, like older DQN agents."""

import hashlib

import ale_py
import numpy as np

ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
ale = ale_py.ALEInterface()
ale.setInt("random_seed", 7)
ale.setFloat("repeat_action_probability", 0.0)
ale.loadROM(str(ale_py.roms.get_rom_path("seaquest")))
height, width = ale.getScreenDims()
screens = np.empty((2, height, width), np.uint8)
colour = np.empty((height, width, 3), np.uint8)
ram = np.empty(ale.getRAMSize(), np.uint8)
actions = ale.getMinimalActionSet()
digest = hashlib.sha256()
generator = np.random.default_rng(0)
lives, losses = ale.lives(), 0
for _ in range(300):
    action = actions[generator.integers(len(actions))]
    reward = sum(ale.act(action) for _ in range(2))
    for screen in screens:
        reward += ale.act(action)
        ale.getScreenGrayscale(screen)
    ale.getScreenRGB(colour)
    ale.getRAM(ram)
    digest.update(screens.max(axis=0))
    digest.update(colour)
    digest.update(ram)
    digest.update(ale.getScreen())
    losses += ale.lives() < lives
    lives = ale.lives()
    if ale.game_over():
        ale.reset_game()
print(height, width, losses, digest.hexdigest())
