"""Uses Gymnasium's ids, its wrappers and the emulator below them."""

import hashlib

import ale_py
import gymnasium
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
gymnasium.register_envs(ale_py)
for id, options in (
    ("ALE/Pong-v5", {}),
    ("ALE/MsPacman-v5", {"obs_type": "ram", "frameskip": (2, 5), "mode": 1}),
    ("SpaceInvaders-v4", {"full_action_space": True}),
    ("BreakoutNoFrameskip-v4", {"render_mode": "rgb_array"}),
):
    env = gymnasium.make(id, **options)
    print(env.spec.id, env.action_space, env.observation_space, env.unwrapped.get_action_meanings())
    env.action_space.seed(1)
    digest = hashlib.sha256()
    observation, info = env.reset(seed=11)
    print(info)
    for _ in range(200):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        digest.update(observation)
        digest.update(repr((reward, terminated, truncated, info)).encode())
        if terminated or truncated:
            env.reset()
    if env.render_mode:
        digest.update(env.render())
    print(env.unwrapped.ale.lives(), env.unwrapped.ale.getEpisodeFrameNumber(), digest.hexdigest())

env = FrameStackObservation(
    AtariPreprocessing(gymnasium.make("ALE/Breakout-v5", frameskip=1), terminal_on_life_loss=True), 4
)
env.action_space.seed(2)
observation, _ = env.reset(seed=3)
digest = hashlib.sha256(observation.tobytes())
for _ in range(150):
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    digest.update(observation.tobytes())
    if terminated or truncated:
        env.reset()
print(info, digest.hexdigest())
