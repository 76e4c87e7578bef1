"""Updates of PQN, from the formulas of Gallici et al. 2024."""

import torch

import ppo
from networks import adam, clip, moments
from ppo import IMAGES, SAME_STEP
from q_network import QNetwork

STEPS = 8
WIDTH = 6
CONFIG = {
    "total_steps": 4 * STEPS * 4,
    "num_steps": STEPS,
    "learning_rate": 2e-3,
    "num_minibatches": 1,
    "update_epochs": 2,
    "gamma": 0.9,
    "q_lambda": 0.6,
    "max_grad_norm": 0.5,
}

# The environments, the number of updates, and the settings of PQN and of its network.
RECORDINGS = {
    "pqn_images": (IMAGES, 1, {"update_epochs": 1}, {}),
    "pqn_vectors": (SAME_STEP, 2, {"max_grad_norm": 50.0}, {"head": "shared"}),
    "pqn_plain": (SAME_STEP, 2, {}, {"layer_norm": False}),
}


class Greedy:
    """Looks to a rollout like a policy whose values are those of the greedy action."""

    def __init__(self, network):
        self.network, self.case = network, network.case

    def step(self, observations, state, begins):
        outputs, legal = self.network.outputs(observations, self.case.task_ids)
        values = outputs[:, :, 0].masked_fill(~legal, -torch.inf)
        uniform = legal.double() / legal.sum(1, keepdim=True)
        return uniform.log(), values.max(1).values, state


def lambda_returns(case, rollout, gamma, q_lambda):
    """Returns the mixtures of one-step and longer returns, from the last step backwards."""
    result = torch.zeros(STEPS, case.num_envs, dtype=torch.float64)
    for env in range(case.num_envs):
        following = None
        for step in reversed(range(STEPS)):
            terminated, truncated = rollout.terminated[step, env], rollout.truncated[step, env]
            if truncated and case.same_step:
                value = rollout.final_values[step, env]
            elif step + 1 < STEPS:
                value = rollout.values[step + 1, env].double()
            else:
                value = rollout.last_values[env]
            if following is None or truncated:
                following = value
            bootstrap = 0.0 if terminated else (1 - q_lambda) * value + q_lambda * following
            result[step, env] = rollout.rewards[step, env] + gamma * bootstrap
            following = result[step, env]
    return result


def record(name, generator):
    """Returns the description and the tensors of a recording."""
    case, updates, pqn, policy = RECORDINGS[name]
    config = CONFIG | pqn
    layer_norm, shared = policy.get("layer_norm", True), policy.get("head") == "shared"
    network = QNetwork(case, WIDTH, generator, layer_norm=layer_norm, shared=shared)
    tensors = {f"weights.{key}": value.detach().clone() for key, value in network.weights.items()}
    optimizer = adam(network.weights, config["learning_rate"], 1e-8)
    total_updates = config["total_steps"] // (STEPS * case.num_envs)
    first, begins = None, torch.zeros(case.num_envs, dtype=torch.bool)
    for number in range(updates):
        scales = [(0.0, 1.0)] * len(case.actions)
        rollout = ppo.Rollout(case, Greedy(network), None, first, begins, scales, generator)
        targets = lambda_returns(case, rollout, config["gamma"], config["q_lambda"])
        optimizer.param_groups[0]["lr"] = config["learning_rate"] * (1 - number / total_updates)
        kept = ~rollout.autoreset
        tasks = torch.tensor(case.task_ids).expand(STEPS, -1)[kept].tolist()
        losses, means, norms = [], [], []
        for _ in range(config["update_epochs"]):
            outputs, _ = network.outputs(rollout.observations[:STEPS][kept], tasks)
            taken = outputs[torch.arange(len(tasks)), rollout.actions[kept].long(), 0]
            loss = ((taken - targets[kept]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            norms.append(clip(network.weights, config["max_grad_norm"]))
            optimizer.step()
            losses.append(loss)
            means.append(taken.mean())
        # Metrics are means over the steps of the optimizer.
        metrics = {"td_loss": losses, "q_values": means, "grad_norm": norms}
        metrics = {key: torch.stack(values).mean() for key, values in metrics.items()}
        for key, value in [*rollout.tensors().items(), *metrics.items()]:
            if key != "log_probs":
                tensors.setdefault(key, []).append(value)
        begins = rollout.begins[STEPS]
        first = {"observation": rollout.observations[STEPS], "ended": rollout.ended}
    tensors |= {f"new_weights.{key}": value.detach() for key, value in network.weights.items()}
    tensors |= moments(network.weights, optimizer)
    return case.description() | {"learner": config, "policy": {"width": 0.125, "hidden_size": WIDTH} | policy}, tensors
