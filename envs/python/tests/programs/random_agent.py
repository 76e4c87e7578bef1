"""Plays two episodes with random actions through the low-level interface, like ale-py's first example."""

import random

from ale_py import Action, ALEInterface, LoggerMode, roms

ALEInterface.setLoggerMode(LoggerMode.Error)
random.seed(3)
ale = ALEInterface()
ale.setInt("random_seed", 123)
ale.setFloat("repeat_action_probability", 0.25)
ale.setInt("max_num_frames_per_episode", 800)
rom = roms.get_rom_path("breakout")
print(ale.isSupportedROM(rom), rom.name, "pong" in roms.get_all_rom_ids())
ale.loadROM(rom)
print(ale.getAvailableModes(), ale.getAvailableDifficulties())
ale.setMode(8)
ale.setDifficulty(1)
ale.reset_game()
legal, minimal = ale.getLegalActionSet(), ale.getMinimalActionSet()
print(legal, minimal, Action.FIRE in minimal)
for episode in range(2):
    total = 0
    while not ale.game_over():
        total += ale.act(random.choice(minimal))
    print(episode, total, ale.lives(), ale.getFrameNumber(), ale.getEpisodeFrameNumber(), ale.game_truncated())
    print(bytes(ale.getRAM()).hex())
    ale.reset_game()
