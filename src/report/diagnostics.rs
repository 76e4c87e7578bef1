use serde::Serialize;

use crate::telemetry::Metric;

/// A curve of all games together that a report shows, if an algorithm records it.
pub(super) struct Diagnostic {
    pub(super) metric: Metric,
    pub(super) title: &'static str,
    pub(super) section: Section,
}

/// A section of charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Section {
    Scores,
    Losses,
    Speed,
}

/// All such curves in their order on the page.
pub(super) const DIAGNOSTICS: &[Diagnostic] = &[
    diagnostic(Section::Scores, Metric::HumanNormalisedMedian, "human-normalised median"),
    diagnostic(Section::Scores, Metric::HumanNormalisedIqm, "human-normalised IQM"),
    diagnostic(Section::Scores, Metric::Elo, "Elo rating among earlier versions"),
    diagnostic(Section::Scores, Metric::WinRate, "win rate against earlier versions"),
    diagnostic(Section::Losses, Metric::PolicyLoss, "policy loss"),
    diagnostic(Section::Losses, Metric::ValueLoss, "value loss"),
    diagnostic(Section::Losses, Metric::Entropy, "entropy [nats]"),
    diagnostic(Section::Losses, Metric::ApproxKl, "KL divergence of an update"),
    diagnostic(Section::Losses, Metric::Clipfrac, "clipped fraction"),
    diagnostic(Section::Losses, Metric::ExplainedVariance, "explained variance"),
    diagnostic(Section::Losses, Metric::TdLoss, "TD loss"),
    diagnostic(Section::Losses, Metric::QValues, "action values"),
    diagnostic(Section::Losses, Metric::QfLoss, "loss of the critics"),
    diagnostic(Section::Losses, Metric::Qf1Values, "action values of the first critic"),
    diagnostic(Section::Losses, Metric::ActorLoss, "loss of the policy"),
    diagnostic(Section::Losses, Metric::Alpha, "temperature"),
    diagnostic(Section::Losses, Metric::GradientNorm, "gradient norm"),
    diagnostic(Section::Losses, Metric::DeadUnits, "share of dead units in a layer"),
    diagnostic(Section::Losses, Metric::LearningRate, "learning rate"),
    diagnostic(Section::Losses, Metric::Epsilon, "probability of a random action"),
    diagnostic(Section::Speed, Metric::Sps, "steps per second"),
    diagnostic(Section::Speed, Metric::ActingTime, "seconds of acting between points"),
    diagnostic(Section::Speed, Metric::EnvironmentTime, "seconds in environments between points"),
    diagnostic(Section::Speed, Metric::LearningTime, "seconds of learning between points"),
];

const fn diagnostic(section: Section, metric: Metric, title: &'static str) -> Diagnostic {
    Diagnostic { metric, title, section }
}
