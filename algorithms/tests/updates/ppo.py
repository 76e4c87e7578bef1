"""Updates of PPO, from the formulas of Schulman et al. 2016 and 2017 and van Hasselt et al. 2016."""

import math

import torch
from torch.distributions import Normal, TanhTransform

from networks import (
    Case,
    adam,
    body,
    clip,
    learnable,
    linear,
    lstm_cell,
    moments,
    random_body,
    random_linear,
)
from rnd import Rnd, in_crate

STEPS = 8
WIDTH = 6
LSTM = 5
CONFIG = {
    "total_steps": 4 * STEPS * 4,
    "num_steps": STEPS,
    "learning_rate": 2e-3,
    "num_minibatches": 1,
    "gamma": 0.9,
    "gae_lambda": 0.8,
    "clip_coef": 0.15,
    "ent_coef": 0.02,
    "vf_coef": 0.7,
    "max_grad_norm": 0.4,
    "update_epochs": 1,
}
# The predictor learns from all steps, because the order of steps is not recorded.
RND = {
    "enabled": True,
    "int_coef": 0.8,
    "ext_coef": 1.5,
    "int_gamma": 0.95,
    "update_proportion": 1.0,
    "num_iterations_obs_norm_init": 0,
    "features": 5,
}
IMAGES = Case([2, 36, 36], [[6, 3], [0, 1, 2, 3, 4]], [0, 1])
GRIDS = Case([3, 7, 7], [[6, 3], [0, 1, 2, 3, 4]], [0, 1])
VECTORS = Case([3], [[6, 3], [0, 1, 2, 3, 4]], [0, 1, 1, 0])
SAME_STEP = Case([3], [[6, 3], [0, 1, 2, 3, 4]], [0, 1, 1, 0], same_step=True)
# Continuous actions of one and of three components.
NUMBERS = Case([3], [[0], [0, 1, 2]], [0, 1, 1, 0])
SAME_STEP_NUMBERS = Case([3], [[0], [0, 1, 2]], [0, 1, 1, 0], same_step=True)

# The environments, the number of updates, and the settings of PPO and of its network.
RECORDINGS = {
    "ppo_images": (IMAGES, 1, {}, {}),
    "ppo_grids": (GRIDS, 1, {}, {}),
    "ppo_vectors": (
        SAME_STEP,
        2,
        {"update_epochs": 3, "clip_vloss": False, "norm_adv": "none", "norm_ent": True, "max_grad_norm": 50.0},
        {"head": "shared"},
    ),
    "ppo_lstm": (VECTORS, 2, {"update_epochs": 2}, {"lstm": LSTM}),
    "ppo_lstm_same_step": (SAME_STEP, 2, {"clip_vloss": False}, {"lstm": LSTM}),
    "ppo_popart": (VECTORS, 2, {"norm_adv": "game"}, {"value_scale": "popart", "popart_beta": 0.02}),
    "ppo_gaussian": (NUMBERS, 2, {"update_epochs": 2}, {"normalize_observations": True}),
    "ppo_squashed": (
        SAME_STEP_NUMBERS,
        2,
        {"clip_vloss": False, "norm_adv": "game", "ent_coef": 0.3},
        {"normalize_observations": True, "deviation": "state", "squash_actions": True},
    ),
    "ppo_rnd_images": (IMAGES, 1, {"rnd": RND | {"features": 4}}, {}),
    "ppo_rnd_vectors": (VECTORS, 2, {"update_epochs": 2, "rnd": RND}, {}),
    "ppo_rnd_same_step": (
        SAME_STEP,
        2,
        {"norm_adv": "game", "rnd": RND},
        {"value_scale": "popart", "popart_beta": 0.02},
    ),
}


class Categorical:
    """Policies over the actions of each task, described by log-probabilities, minus infinity for illegal actions."""

    def __init__(self, case, policy):
        self.case, self.shared = case, policy.get("head") == "shared"

    def weights(self, weights, features, generator):
        actions = self.case.shared_actions if self.shared else len(self.case.actions) * self.case.max_actions
        random_linear(weights, "actor", features, actions, generator)

    def outputs(self, weights, features, task_ids):
        logits, legal = self.case.select(linear(weights, "actor", features), task_ids, self.shared)
        return torch.log_softmax(logits.masked_fill(~legal, -math.inf), 1)

    def description(self):
        return {}

    def no_actions(self, steps, envs):
        return torch.zeros(steps, envs, dtype=torch.int32)

    def sample(self, log_probs, generator):
        return torch.multinomial(log_probs.exp(), 1, generator=generator)[:, 0]

    def log_prob(self, log_probs, actions):
        return log_probs.gather(1, actions.long().unsqueeze(1))[:, 0]

    def entropies(self, log_probs, _):
        # An impossible action contributes 0 to the entropy.
        possible = torch.where(log_probs.isinf(), torch.zeros_like(log_probs), log_probs)
        return -(possible.exp() * possible * ~log_probs.isinf()).sum(1)


class Gaussian:
    """Normal distributions of components, described by means, logarithms of deviations, and 1 for components of the task.

    Actions are the numbers before they are squashed.
    """

    def __init__(self, case, policy):
        self.case, self.of_state = case, policy.get("deviation") == "state"
        self.squashes = policy.get("squash_actions", False)

    def weights(self, weights, features, generator):
        outputs = len(self.case.actions) * self.case.max_actions
        random_linear(weights, "actor", features, outputs, generator)
        if self.of_state:
            random_linear(weights, "actor_logstd", features, outputs, generator)
        else:
            shape = (len(self.case.actions), self.case.max_actions)
            weights["actor_logstd"] = torch.randn(shape, generator=generator) / 5

    def outputs(self, weights, features, task_ids):
        means, own = self.case.select(linear(weights, "actor", features), task_ids, False)
        if self.of_state:
            log_deviations, _ = self.case.select(linear(weights, "actor_logstd", features), task_ids, False)
        else:
            log_deviations = weights["actor_logstd"][task_ids]
        return torch.stack([means, log_deviations, own.double()], 1)

    def description(self):
        return {"actions": [], "components": [len(own) for own in self.case.actions]}

    def no_actions(self, steps, envs):
        return torch.zeros(steps, envs, self.case.max_actions)

    def sample(self, outputs, generator):
        means, log_deviations, own = outputs.unbind(1)
        noise = torch.randn(means.shape, generator=generator)
        return ((means + log_deviations.exp() * noise) * own).float()

    def log_prob(self, outputs, actions):
        means, log_deviations, own = outputs.unbind(1)
        log_probs = Normal(means, log_deviations.exp()).log_prob(actions.double())
        if self.squashes:
            log_probs = log_probs - slopes(actions.double())
        return (log_probs * own).sum(1)

    def entropies(self, outputs, actions):
        means, log_deviations, own = outputs.unbind(1)
        deviations = log_deviations.exp()
        entropies = Normal(means, deviations).entropy()
        if self.squashes:
            # The action as a function of the policy, with the noise that it was drawn with.
            noise = ((actions.double() - means) / deviations).detach()
            entropies = entropies + slopes(means + deviations * noise)
        return (entropies * own).sum(1)


def slopes(numbers):
    """Returns the logarithms of the slopes of tanh."""
    return TanhTransform().log_abs_det_jacobian(numbers, numbers.tanh())


class Statistics:
    """Means and variances of the elements of the observations of each task."""

    def __init__(self, case, generator):
        (length,), tasks = case.observation, len(case.actions)
        self.mean = torch.randn(tasks, length, generator=generator).double() / 2
        self.var = 0.5 + torch.rand(tasks, length, generator=generator).double()
        self.count = torch.tensor([[20.0], [30.0]]).double()

    def tensors(self):
        return {"obs_rms.mean": self.mean, "obs_rms.var": self.var, "obs_rms.count": self.count}

    def normalized(self, observations, task_ids):
        deviations = torch.sqrt(self.var[task_ids] + 1e-8)
        return ((observations - self.mean[task_ids]) / deviations).clamp(-10, 10)

    def add(self, task, observations):
        """Adds observations, from sums and sums of squares."""
        observations, count = observations.double(), self.count[task].clone()
        total = count + len(observations)
        squares = count * (self.var[task] + self.mean[task] ** 2) + (observations**2).sum(0)
        self.mean[task] = (count * self.mean[task] + observations.sum(0)) / total
        self.var[task] = squares / total - self.mean[task] ** 2
        self.count[task] = total


class Network:
    """Policy and value heads for all tasks behind shared layers."""

    def __init__(self, case, policy, generator):
        self.case, self.lstm = case, policy.get("lstm", 0)
        self.policy = (Gaussian if case in (NUMBERS, SAME_STEP_NUMBERS) else Categorical)(case, policy)
        weights = {}
        features, self.hidden = random_body(case, weights, WIDTH, False, generator)
        random_linear(weights, f"network.{self.hidden}", features, WIDTH, generator)
        features = WIDTH
        if self.lstm:
            for name, inputs in [("ih", WIDTH), ("hh", self.lstm)]:
                weights[f"lstm.weight_{name}_l0"] = torch.randn(4 * self.lstm, inputs, generator=generator) / 2
                weights[f"lstm.bias_{name}_l0"] = torch.randn(4 * self.lstm, generator=generator) / 10
            features = self.lstm
        self.policy.weights(weights, features, generator)
        random_linear(weights, "critic", features, len(case.actions), generator)
        self.weights = learnable(weights)
        self.statistics = Statistics(case, generator) if policy.get("normalize_observations") else None

    def features(self, observations):
        activation = torch.relu if self.case.is_image else torch.tanh
        inputs = self.case.inputs(observations)
        if self.statistics:
            inputs = self.statistics.normalized(inputs, self.case.task_ids)
        features = body(self.case, self.weights, inputs, False, activation)
        return activation(linear(self.weights, f"network.{self.hidden}", features))

    def heads(self, features, task_ids):
        """Returns the descriptions of the policies and outputs of the value head."""
        policies = self.policy.outputs(self.weights, features, task_ids)
        values = linear(self.weights, "critic", features)
        return policies, values[torch.arange(len(task_ids)), task_ids]

    def start(self):
        """Returns the recurrent state before the first step."""
        zero = torch.zeros(self.case.num_envs, max(self.lstm, 1), dtype=torch.float64)
        return zero, zero

    def step(self, observations, state, begins):
        """Makes one step in all environments; `begins` says whose observation is the first of an episode."""
        features = self.features(observations)
        if self.lstm:
            keep = (~begins).double().unsqueeze(1)
            hidden, cell = lstm_cell(self.weights, features, state[0] * keep, state[1] * keep)
            features, state = hidden, (hidden, cell)
        return *self.heads(features, self.case.task_ids), state

    def sequence(self, observations, state, begins):
        """Makes all steps of a rollout. Returns [steps, environments, ...]."""
        policies, values = [], []
        for step in range(len(begins)):
            of_step = self.step(observations[step], state, begins[step])
            policies.append(of_step[0])
            values.append(of_step[1])
            state = of_step[2]
        return torch.stack(policies), torch.stack(values)


class PopArt:
    """Mean and deviation of the returns of each task, as weighted means over all samples so far."""

    def __init__(self, num_tasks, beta):
        self.beta, self.batches = beta, [[] for _ in range(num_tasks)]

    def add(self, task, returns):
        self.batches[task].append(returns)

    def scale(self, task):
        """Returns mean and deviation. A sample has the weight (1 - beta) to the power of the number of later samples, but
        those of one batch have the same weight."""
        total = mean = square = later = 0.0
        for returns in reversed(self.batches[task]):
            weight = (1 - (1 - self.beta) ** len(returns)) * (1 - self.beta) ** later
            total, later = total + weight, later + len(returns)
            mean, square = mean + weight * returns.mean(), square + weight * (returns**2).mean()
        if total == 0:
            return 0.0, 1.0
        mean, square = mean / total, square / total
        return mean, torch.sqrt(square - mean**2)


class Rollout:
    """Random steps, and the decisions of a policy that differs a little from the network."""

    def __init__(self, case, network, state, first, begins, scales, generator):
        self.case, envs = case, case.num_envs
        uniform = torch.rand(STEPS, envs, generator=generator)
        self.terminated, self.truncated = uniform < 0.15, uniform > 0.85
        self.autoreset = torch.zeros(STEPS, envs, dtype=torch.bool)
        ended = torch.zeros(envs, dtype=torch.bool)
        if not case.same_step:
            # The step after the end of an episode only resets the environment.
            ended = begins.new_zeros(envs) if first is None else first["ended"]
            for step in range(STEPS):
                self.autoreset[step] = ended
                self.terminated[step] &= ~ended
                self.truncated[step] &= ~ended
                ended = self.terminated[step] | self.truncated[step]
        self.ended = ended
        self.rewards = torch.randn(STEPS, envs, generator=generator) * (~self.autoreset)
        observations = case.random_observations(generator, STEPS + 1, envs)
        if first is not None:
            observations[0] = first["observation"]
        self.observations = observations
        self.final_observations = case.random_observations(generator, STEPS, envs)
        # True where an observation is the first of an episode.
        self.begins = torch.zeros(STEPS + 1, envs, dtype=torch.bool)
        self.begins[0] = begins
        self.begins[1:] = self.terminated | self.truncated if case.same_step else self.autoreset
        self.state = state

        self.actions = network.policy.no_actions(STEPS, envs)
        self.log_probs, self.values = torch.zeros(STEPS, envs), torch.zeros(STEPS, envs)
        self.final_values = torch.zeros(STEPS, envs, dtype=torch.float64)
        means, deviations = (torch.tensor([float(scale[index]) for scale in scales]) for index in range(2))
        self.expand = lambda values: values * deviations[case.task_ids] + means[case.task_ids]
        with torch.no_grad():
            for step in range(STEPS):
                policies, values, state = network.step(self.observations[step], state, self.begins[step])
                self.actions[step] = network.policy.sample(policies, generator)
                own = network.policy.log_prob(policies, self.actions[step])
                self.log_probs[step] = own + 0.2 * torch.randn(envs, generator=generator)
                self.values[step] = self.expand(values) + 0.2 * torch.randn(envs, generator=generator)
                nowhere = torch.zeros(envs, dtype=torch.bool)
                _, values, _ = network.step(self.final_observations[step], state, nowhere)
                self.final_values[step] = self.expand(values)
            _, values, _ = network.step(self.observations[STEPS], state, self.begins[STEPS])
            self.last_values = self.expand(values)
        self.next_state = state

    def advantages(self, case, gamma, gae_lambda):
        """Returns the sums of discounted temporal differences up to the end of each episode."""
        result = torch.zeros(STEPS, case.num_envs, dtype=torch.float64)
        for env in range(case.num_envs):
            for step in range(STEPS):
                discount = 1.0
                for later in range(step, STEPS):
                    terminated, truncated = self.terminated[later, env], self.truncated[later, env]
                    if terminated:
                        bootstrap = 0.0
                    elif truncated and case.same_step:
                        bootstrap = self.final_values[later, env]
                    elif later + 1 < STEPS:
                        bootstrap = self.values[later + 1, env].double()
                    else:
                        bootstrap = self.last_values[env]
                    delta = self.rewards[later, env] + gamma * bootstrap - self.values[later, env].double()
                    result[step, env] += discount * delta
                    discount *= gamma * gae_lambda
                    if terminated or truncated:
                        break
        return result

    def tensors(self):
        names = [*self.case.step_names(), "actions", "log_probs", "values"]
        return {name: getattr(self, name) for name in names}


def normalized(values):
    return (values - values.mean()) / (values.std() + 1e-8)


def update(case, network, optimizer, popart, rnd, rollout, config):
    """Learns from a rollout in epochs with one minibatch. Returns the metrics."""
    weights, coefficient = network.weights, config["clip_coef"]
    advantages = rollout.advantages(case, config["gamma"], config["gae_lambda"])
    old_values = rollout.values.double()
    returns = advantages + old_values
    kept = ~rollout.autoreset
    tasks = torch.tensor(case.task_ids).expand(STEPS, -1)
    explained = 1 - (returns - old_values)[kept].var() / returns[kept].var()
    targets = returns.clone()
    if popart is not None:
        for task in range(len(case.actions)):
            own, all_own = kept & (tasks == task), tasks == task
            (mean, deviation), is_first = popart.scale(task), not popart.batches[task]
            popart.add(task, returns[own])
            new_mean, new_deviation = popart.scale(task)
            targets[all_own] = (returns[all_own] - new_mean) / new_deviation
            advantages[all_own] /= new_deviation
            outputs = (old_values[all_own] - mean) / deviation
            if not is_first:
                # The head keeps its predictions.
                with torch.no_grad():
                    weights["critic.weight"][task] *= deviation / new_deviation
                    bias = weights["critic.bias"][task]
                    weights["critic.bias"][task] = (deviation * bias + mean - new_mean) / new_deviation
                outputs = (outputs * deviation + mean - new_mean) / new_deviation
            old_values[all_own] = outputs
    if rnd:
        intrinsic, intrinsic_returns, frames, rnd_metrics = rnd.observe(network, rollout, config["gae_lambda"])
        intrinsic_returns = intrinsic_returns[kept]
        advantages = rnd.config["ext_coef"] * advantages + rnd.config["int_coef"] * intrinsic
    kind = config.get("norm_adv", "batch")
    if kind == "game":
        for task in range(len(case.actions)):
            own = kept & (tasks == task)
            advantages[own] = normalized(advantages[own])
    advantages = normalized(advantages[kept]) if kind == "batch" else advantages[kept]
    targets, old_values, actions = targets[kept], old_values[kept], rollout.actions[kept]
    if config.get("norm_ent"):
        largest = torch.tensor([math.log(len(own)) for own in case.actions])[tasks[kept]]

    clipped = []
    for _ in range(config["update_epochs"]):
        policies, values = network.sequence(rollout.observations, rollout.state, rollout.begins[:STEPS])
        policies, values = policies[kept], values[kept]
        log_ratio = network.policy.log_prob(policies, actions) - rollout.log_probs[kept].double()
        ratio = log_ratio.exp()
        surrogate = torch.min(ratio * advantages, ratio.clamp(1 - coefficient, 1 + coefficient) * advantages)
        errors = (values - targets) ** 2
        if config.get("clip_vloss", True):
            near = old_values + (values - old_values).clamp(-coefficient, coefficient)
            errors = torch.max(errors, (near - targets) ** 2)
        value_loss = errors.mean() / 2
        entropies = network.policy.entropies(policies, actions)
        bonus = (entropies / largest).mean() if config.get("norm_ent") else entropies.mean()
        loss = -surrogate.mean() + config["vf_coef"] * value_loss - config["ent_coef"] * bonus
        if rnd:
            intrinsic_values = rnd.values(network, rollout.observations[:STEPS])[kept]
            intrinsic_value_loss = ((intrinsic_values - intrinsic_returns) ** 2).mean() / 2
            predictor_loss = rnd.errors(frames).mean()
            loss = loss + predictor_loss + config["vf_coef"] * intrinsic_value_loss
        optimizer.zero_grad()
        loss.backward()
        norm = clip(weights | rnd.weights if rnd else weights, config["max_grad_norm"])
        optimizer.step()
        clipped.append(((ratio - 1).abs() > coefficient).double().mean())
        # A recording in which nothing is clipped would prove little.
        assert 0.1 < clipped[-1] < 0.9
        if config.get("clip_vloss", True):
            assert 0.1 < ((values - old_values).abs() > coefficient).double().mean() < 0.9
    if network.statistics:
        for task in range(len(case.actions)):
            network.statistics.add(task, rollout.observations[:STEPS][kept & (tasks == task)])
    metrics = {
        "policy_loss": -surrogate.mean(),
        "value_loss": value_loss,
        "entropy": entropies.mean(),
        "old_approx_kl": -log_ratio.mean(),
        "approx_kl": (ratio - 1 - log_ratio).mean(),
        "clipfrac": torch.stack(clipped).mean(),
        "explained_variance": explained,
        "grad_norm": norm,
    }
    if rnd:
        metrics |= rnd_metrics | {"predictor_loss": predictor_loss, "intrinsic_value_loss": intrinsic_value_loss}
    return metrics


def record(name, generator):
    """Returns the description and the tensors of a recording."""
    case, updates, ppo, policy = RECORDINGS[name]
    config = CONFIG | ppo
    network = Network(case, policy, generator)
    tensors = {f"weights.{key}": value.detach().clone() for key, value in network.weights.items()}
    if network.statistics:
        tensors |= {f"weights.{key}": value.clone() for key, value in network.statistics.tensors().items()}
    rnd = Rnd(case, config["rnd"], WIDTH, generator) if "rnd" in config else None
    if rnd:
        before = {name: value.detach().clone() for name, value in (rnd.weights | rnd.target).items()}
        tensors |= {f"rnd_weights.{key}": in_crate(value) for key, value in before.items()}
    trained = network.weights | rnd.weights if rnd else network.weights
    optimizer = adam(trained, config["learning_rate"], 1e-5)
    popart = PopArt(len(case.actions), policy["popart_beta"]) if "popart_beta" in policy else None
    total_updates = config["total_steps"] // (STEPS * case.num_envs)
    state, first, begins = network.start(), None, torch.zeros(case.num_envs, dtype=torch.bool)
    for number in range(updates):
        scales = [popart.scale(task) if popart else (0.0, 1.0) for task in range(len(case.actions))]
        rollout = Rollout(case, network, state, first, begins, scales, generator)
        optimizer.param_groups[0]["lr"] = config["learning_rate"] * (1 - number / total_updates)
        metrics = update(case, network, optimizer, popart, rnd, rollout, config)
        for key, value in [*rollout.tensors().items(), *metrics.items()]:
            tensors.setdefault(key, []).append(value)
        state, begins = rollout.next_state, rollout.begins[STEPS]
        first = {"observation": rollout.observations[STEPS], "ended": rollout.ended}
    tensors |= {f"new_weights.{key}": value.detach() for key, value in network.weights.items()}
    tensors |= moments(network.weights, optimizer)
    if network.statistics:
        tensors |= {f"statistics.{key}": value for key, value in network.statistics.tensors().items()}
    if rnd:
        tensors |= {f"rnd_new_weights.{key}": in_crate(value) for key, value in rnd.weights.items()}
        of_rnd = moments(rnd.weights, optimizer)
        tensors |= {f"rnd_{key}": in_crate(value) for key, value in of_rnd.items()}
        tensors |= {f"rnd_statistics.{key}": value for key, value in rnd.statistics().items()}
    description = case.description() | network.policy.description() | {
        "learner": config,
        "policy": {"width": 0.125, "hidden_size": WIDTH} | policy,
    }
    return description, tensors
