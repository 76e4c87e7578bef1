"""Gradient steps of Soft Actor-Critic for discrete actions, from the formulas of Christodoulou 2019 (arXiv 1910.07207), with
the order of steps of `sac.py`. The losses of the policy and of the temperature are means over rows of sums over actions."""

import math

import torch

from dqn import IMAGES, SAME_STEP, VECTORS, Experience
from networks import adam, gradient_norm, moments
from q_network import QNetwork

WIDTH = 6
# The share of the largest entropy that CleanRL's policies have as their target.
ENTROPY_SHARE = 0.89
CONFIG = {
    "total_steps": 1000,
    "policy_lr": 3e-3,
    "q_lr": 2e-3,
    "buffer_size": 160,
    "gamma": 0.9,
    "tau": 1.0,
    "batch_size": 19,
    "learning_starts": 1,
    "train_ratio": 1e-3,
    "policy_frequency": 2,
}

# The environments, and the settings of SAC and of its network. The tasks of VECTORS have two and five actions.
RECORDINGS = {
    "sac_discrete_vectors": (VECTORS, {}, {}),
    "sac_discrete_shared": (
        SAME_STEP,
        {"target_entropy_scale": 0.5, "policy_frequency": 3},
        {"head": "shared", "layer_norm": True},
    ),
    "sac_discrete_images": (IMAGES, {"autotune": False, "alpha": 0.3, "policy_frequency": 1, "batch_size": 7}, {}),
}


def network(case, policy, generator):
    options = {"layer_norm": policy.get("layer_norm", False), "shared": policy.get("head") == "shared"}
    return QNetwork(case, WIDTH, generator, **options)


def named(networks):
    """Returns the weights of networks, whose modules have these names."""
    return {f"{name}.{key}": value for name, own in networks.items() for key, value in own.weights.items()}


def values(networks, observations, task_ids):
    """Returns the values of all actions by both critics, [rows, max_actions] each."""
    return [networks[name].outputs(observations, task_ids)[0].squeeze(2) for name in ("qf1", "qf2")]


def expectations(actor, critics, observations, task_ids):
    """Returns the entropy of the policy and the expected value of its actions, summed over the legal actions only."""
    logits, legal = actor.outputs(observations, task_ids)
    smaller = torch.minimum(*values(critics, observations, task_ids))
    entropies, expected = [], []
    for row, own in enumerate(legal):
        log_probs = torch.log_softmax(logits[row, own, 0], 0)
        entropies.append(-(log_probs.exp() * log_probs).sum())
        expected.append((log_probs.exp() * smaller[row, own]).sum())
    return torch.stack(entropies), torch.stack(expected)


def record(name, generator):
    """Returns the description and the tensors of a recording."""
    case, sac, policy = RECORDINGS[name]
    config = {"autotune": True, "target_entropy_scale": 1.0} | CONFIG | sac
    actor, critics, target = (
        network(case, policy, generator),
        {critic: network(case, policy, generator) for critic in ("qf1", "qf2")},
        {critic: network(case, policy, generator) for critic in ("qf1", "qf2")},
    )
    of_actor, of_critics = named({"actor": actor}), named(critics)
    before = of_actor | of_critics
    tensors = {f"weights.{key}": value.detach().clone() for key, value in before.items()}
    tensors |= {f"target.{key}": value.detach().clone() for key, value in (of_actor | named(target)).items()}
    log_alpha = torch.randn(len(case.actions), generator=generator).double().requires_grad_()
    tensors["log_alpha"] = log_alpha.detach().clone()
    experience = Experience(case, generator)
    tensors |= experience.tensors()

    count, gamma = config["batch_size"], config["gamma"]
    possible = [(env, number) for env in range(case.num_envs) for number in range(experience.ready(env, 1))]
    draws = [possible[index] for index in torch.randperm(len(possible), generator=generator)[:count]]
    tensors["draws"] = torch.tensor(draws, dtype=torch.int32).flatten()
    task_ids = [case.task_ids[env] for env, _ in draws]
    rows = [(experience.transitions(env)[number], env) for env, number in draws]
    observations = torch.stack([experience.observations[row] for row in rows])
    actions = torch.stack([experience.actions[row] for row in rows]).long().unsqueeze(1)
    returns = [experience.n_step(env, number, 1, gamma) for env, number in draws]
    rewards = torch.tensor([float(of[0]) for of in returns], dtype=torch.float64)
    discounts = torch.tensor([of[1] for of in returns], dtype=torch.float64)
    successors = torch.stack([of[2] for of in returns])
    assert 0 < (discounts == 0).sum() < count

    def alphas():
        return log_alpha.exp()[task_ids] if config["autotune"] else torch.full((count,), config["alpha"]).double()

    with torch.no_grad():
        entropies, expected = expectations(actor, target, successors, task_ids)
        targets = rewards + discounts * (expected + alphas() * entropies)
    q_optimizer = adam(of_critics, config["q_lr"], 1e-4)
    predicted = [of_all.gather(1, actions).squeeze(1) for of_all in values(critics, observations, task_ids)]
    losses = [((of_taken - targets) ** 2).mean() for of_taken in predicted]
    sum(losses).backward()
    tensors |= {
        "targets": targets,
        "qf_loss": (sum(losses) / 2).reshape(1),
        "qf1_values": predicted[0].mean().reshape(1),
        "qf2_values": predicted[1].mean().reshape(1),
        "grad_norm": gradient_norm(of_critics).reshape(1),
    }
    q_optimizer.step()

    policy_optimizer = adam(of_actor, config["policy_lr"], 1e-4)
    alpha_optimizer = adam({"log_alpha": log_alpha}, config["q_lr"], 1e-4)
    scale = ENTROPY_SHARE * config["target_entropy_scale"]
    entropy_targets = torch.tensor([scale * math.log(len(case.actions[task])) for task in task_ids])
    metrics = {"actor_loss": [], "entropy": [], "alpha_loss": []}
    for _ in range(config["policy_frequency"]):
        policy_optimizer.zero_grad()
        entropies, expected = expectations(actor, critics, observations, task_ids)
        loss = (-alphas().detach() * entropies - expected).mean()
        loss.backward()
        policy_optimizer.step()
        metrics["actor_loss"].append(loss.detach())
        metrics["entropy"].append(entropies.mean().detach())
        if config["autotune"]:
            alpha_optimizer.zero_grad()
            alpha_loss = (alphas() * (entropies.detach() - entropy_targets)).mean()
            alpha_loss.backward()
            alpha_optimizer.step()
            metrics["alpha_loss"].append(alpha_loss.detach())
    tensors |= {key: value for key, value in metrics.items() if value}
    tensors["new_log_alpha"] = log_alpha.detach()
    tensors |= {f"new_weights.{key}": value.detach() for key, value in before.items()}
    tensors |= moments(of_actor, policy_optimizer) | moments(of_critics, q_optimizer)
    learner = CONFIG | sac
    return case.description() | {"learner": learner, "policy": {"width": 0.125, "hidden_size": WIDTH} | policy}, tensors
