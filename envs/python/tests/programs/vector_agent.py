"""Steps vector environments, made with the class and with Gymnasium's id."""

import hashlib

import ale_py
import gymnasium
from ale_py import AtariVectorEnv

ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
for envs in (
    AtariVectorEnv(game="qbert", num_envs=3, episodic_life=True),
    gymnasium.make_vec("ALE/Boxing-v5", num_envs=2),
):
    envs.action_space.seed(4)
    digest = hashlib.sha256()
    observations, info = envs.reset(seed=9)
    for _ in range(80):
        observations, rewards, terminations, truncations, info = envs.step(envs.action_space.sample())
        digest.update(observations)
        digest.update(repr((rewards, terminations, truncations, info)).encode())
    print(envs.single_observation_space, envs.single_action_space, info, digest.hexdigest())
