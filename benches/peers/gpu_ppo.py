"""Measures PPO in PyTorch (torch_ppo.py) on a GPU, with ale-py's vector environment. Prints a JSON object per configuration.

    python3 benches/peers/gpu_ppo.py [--num-envs 1024] [--threads 16] [--seconds 5] [--modes EAGER COMPILED]

`act` and `update` are samples per second without the environments, `loop` steps per second with them, as in
`ale-train bench learner --device cuda --json`. Needs PyTorch with CUDA, and ale-py.
"""

import argparse
import json
import time

import ale_py.vector_env
import torch
from learner import Stopwatch
from torch_mode import Mode
from torch_ppo import EPOCHS, STEPS, Ppo


def measure(game, num_envs, threads, seconds, mode, bf16):
    """Returns the rates of PPO."""
    envs = ale_py.vector_env.AtariVectorEnv(game, num_envs, num_threads=threads, episodic_life=True)
    ppo = Ppo(num_envs, int(envs.single_action_space.n), mode, "cuda", bf16)
    observations, _ = envs.reset(seed=1)

    def update():
        ppo.update(observations)
        torch.cuda.synchronize()

    def iteration(act, learn):
        nonlocal observations
        for step in range(STEPS):
            actions = act.time(lambda: ppo.act(step, observations), num_envs)
            observations, rewards, terminated, truncated, _ = envs.step(actions)
            ppo.observe(step, rewards, terminated | truncated)
        learn.time(update, EPOCHS * STEPS * num_envs)

    started = time.perf_counter()
    iteration(Stopwatch(), Stopwatch())
    warm_up = time.perf_counter() - started
    act, learn, whole = Stopwatch(), Stopwatch(), Stopwatch()
    while whole.seconds < seconds or not whole.amount:
        whole.time(lambda: iteration(act, learn), STEPS * num_envs)
    rates = {"act": act.rate(), "update": learn.rate(), "loop": whole.rate()}
    return {**rates, "warm_up_seconds": warm_up, "gpu_bytes": torch.cuda.max_memory_allocated()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="pong")
    parser.add_argument("--num-envs", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--modes", nargs="+", default=["EAGER", "CHANNELS_LAST", "COMPILED"], choices=Mode.__members__)
    parser.add_argument("--precisions", nargs="+", default=["f32", "tf32", "bf16"], choices=["f32", "tf32", "bf16"])
    arguments = parser.parse_args()
    for mode in arguments.modes:
        for precision in arguments.precisions:
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "f32"
            rates = measure(
                arguments.game, arguments.num_envs, arguments.threads, arguments.seconds, Mode[mode], precision == "bf16"
            )
            sizes = {"num_envs": arguments.num_envs, "threads": arguments.threads}
            versions = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}
            print(json.dumps({"mode": mode, "precision": precision, **rates, **sizes, **versions}), flush=True)


if __name__ == "__main__":
    main()
