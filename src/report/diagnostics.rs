use crate::telemetry::Metric;

/// A curve of all games together that a report shows, if an algorithm records it.
pub(super) struct Diagnostic {
    pub(super) metric: Metric,
    pub(super) title: &'static str,
    pub(super) section: Section,
}

/// A section of charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Scores,
    Losses,
    Speed,
}

/// All such curves in their order on the page.
pub(super) const DIAGNOSTICS: &[Diagnostic] = &[
    of(Section::Scores, Metric::HumanNormalisedMedian, "human-normalised median"),
    of(Section::Scores, Metric::HumanNormalisedIqm, "human-normalised IQM"),
    of(Section::Losses, Metric::PolicyLoss, "policy loss"),
    of(Section::Losses, Metric::ValueLoss, "value loss"),
    of(Section::Losses, Metric::Entropy, "entropy [nats]"),
    of(Section::Losses, Metric::ApproxKl, "KL divergence of an update"),
    of(Section::Losses, Metric::Clipfrac, "clipped fraction"),
    of(Section::Losses, Metric::ExplainedVariance, "explained variance"),
    of(Section::Losses, Metric::TdLoss, "TD loss"),
    of(Section::Losses, Metric::QValues, "action values"),
    of(Section::Losses, Metric::QfLoss, "loss of the critics"),
    of(Section::Losses, Metric::Qf1Values, "action values of the first critic"),
    of(Section::Losses, Metric::ActorLoss, "loss of the policy"),
    of(Section::Losses, Metric::Alpha, "temperature"),
    of(Section::Losses, Metric::GradientNorm, "gradient norm"),
    of(Section::Losses, Metric::DeadUnits, "share of dead units in a layer"),
    of(Section::Losses, Metric::LearningRate, "learning rate"),
    of(Section::Losses, Metric::Epsilon, "probability of a random action"),
    of(Section::Speed, Metric::Sps, "steps per second"),
    of(Section::Speed, Metric::ActingTime, "seconds of acting between points"),
    of(Section::Speed, Metric::EnvironmentTime, "seconds in environments between points"),
    of(Section::Speed, Metric::LearningTime, "seconds of learning between points"),
];

const fn of(section: Section, metric: Metric, title: &'static str) -> Diagnostic {
    Diagnostic { metric, title, section }
}
