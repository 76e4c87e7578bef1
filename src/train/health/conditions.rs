use crate::telemetry::Metric;

/// A symptom of failing training, seen in a metric of the updates.
pub(super) struct Condition {
    pub(super) flag: Metric,
    pub(super) watched: Metric,
    pub(super) bad: Bad,
    /// The number of consecutive reports with the symptom before it counts.
    pub(super) patience: u32,
    /// The name of the metric in the warning.
    pub(super) name: &'static str,
    pub(super) suspect: &'static str,
    /// Keys of the algorithm begin with `ALGORITHM`. `RATE` is the key of its step size.
    pub(super) remedy: &'static str,
}

/// The values of a metric that are a symptom.
#[derive(Clone, Copy)]
pub(super) enum Bad {
    Below(f64),
    Above(f64),
    /// Far above the usual values of the run, and above a loss that is possible at its start.
    Exploded,
    /// Above every return that is possible with clipped rewards, in absolute value.
    BeyondReturns,
    /// Far above the norm to which gradients are clipped.
    BeyondLimit,
}

/// A loss below this has not exploded: unclipped rewards lead to losses of this size.
pub(super) const LARGE_LOSS: f64 = 100.0;
/// The ratio of an exploded loss to the usual one.
pub(super) const EXPLOSION: f64 = 1000.0;
/// The ratio of impossible action values to the largest discounted return of rewards of 1.
pub(super) const OVERESTIMATION: f64 = 10.0;

/// The ratio of a gradient norm to its limit above which clipping leaves little of a step.
pub(super) const BEYOND_LIMIT: f64 = 10.0;
/// The least number of games in which a share of more than half is a symptom.
pub(super) const GAMES_WITH_SHARES: usize = 4;

/// The conditions of each game in a network for several games.
pub(super) const CONDITIONS_OF_GAMES: &[Condition] = &[Condition {
    flag: Metric::HealthGradientShare,
    watched: Metric::GradientShare,
    bad: Bad::Above(0.5),
    patience: 10,
    name: "share of the gradient",
    suspect: "the shared layers learn little from the other games",
    remedy: "raise policy.popart_floor and ALGORITHM.norm_adv_floor, or leave this game out",
}];

/// All other conditions. A test replays recorded curves of successful runs, which stay well within the bounds: their
/// minimum entropy is 0.028, their minimum gradient norm 0.03 and their maximum KL divergence 0.06.
pub(super) const CONDITIONS: &[Condition] = &[
    Condition {
        flag: Metric::HealthEntropy,
        watched: Metric::Entropy,
        bad: Bad::Below(0.005),
        patience: 10,
        name: "entropy",
        suspect: "the policy has stopped exploring",
        remedy: "raise ALGORITHM.ent_coef or lower RATE",
    },
    Condition {
        flag: Metric::HealthGradientNorm,
        watched: Metric::GradientNorm,
        bad: Bad::Below(1e-5),
        patience: 10,
        name: "gradient norm",
        suspect: "the agent no longer learns",
        remedy: "lower RATE or set policy.layer_norm = true",
    },
    Condition {
        flag: Metric::HealthGradientLimit,
        watched: Metric::GradientNorm,
        bad: Bad::BeyondLimit,
        patience: 10,
        name: "gradient norm",
        suspect: "it is more than ten times ALGORITHM.max_grad_norm, so that every step is scaled down",
        remedy: "lower RATE, or scale returns with policy.value_scale = \"popart\"",
    },
    Condition {
        flag: Metric::HealthDeadUnits,
        watched: Metric::DeadUnits,
        bad: Bad::Above(0.98),
        patience: 10,
        name: "share of dead units in a layer",
        suspect: "these units are never active, and a network does not recover from that",
        remedy: "start again with a lower RATE or with policy.layer_norm = true",
    },
    Condition {
        flag: Metric::HealthApproxKl,
        watched: Metric::ApproxKl,
        bad: Bad::Above(0.5),
        patience: 5,
        name: "KL divergence of an update",
        suspect: "updates move the policy too far",
        remedy: "lower RATE or ALGORITHM.update_epochs, or set ALGORITHM.target_kl",
    },
    Condition {
        flag: Metric::HealthClipfrac,
        watched: Metric::Clipfrac,
        bad: Bad::Above(0.75),
        patience: 5,
        name: "clipped fraction",
        suspect: "updates clip most of their samples",
        remedy: "lower RATE or ALGORITHM.update_epochs",
    },
    Condition {
        flag: Metric::HealthValueLoss,
        watched: Metric::ValueLoss,
        bad: Bad::Exploded,
        patience: 3,
        name: "value loss",
        suspect: "the values are exploding",
        remedy: "lower RATE, or scale returns with policy.value_scale = \"popart\"",
    },
    Condition {
        flag: Metric::HealthTdLoss,
        watched: Metric::TdLoss,
        bad: Bad::Exploded,
        patience: 3,
        name: "TD loss",
        suspect: "the action values are exploding",
        remedy: "lower RATE, or scale returns with policy.value_scale = \"popart\"",
    },
    Condition {
        flag: Metric::HealthQfLoss,
        watched: Metric::QfLoss,
        bad: Bad::Exploded,
        patience: 3,
        name: "loss of the critics",
        suspect: "the action values are exploding",
        remedy: "lower RATE or ALGORITHM.tau",
    },
    Condition {
        flag: Metric::HealthAlpha,
        watched: Metric::Alpha,
        bad: Bad::Above(1e3),
        patience: 3,
        name: "temperature",
        suspect: "the policy cannot reach its target entropy",
        remedy: "lower RATE, or the target: raise ALGORITHM.target_entropy_scale with continuous actions, lower it with \
                 discrete ones",
    },
    Condition {
        flag: Metric::HealthQValues,
        watched: Metric::QValues,
        bad: Bad::BeyondReturns,
        patience: 3,
        name: "mean action value",
        suspect: "no return can be that large",
        remedy: "lower RATE",
    },
];
