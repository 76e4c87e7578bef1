/// A quantity that a run reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    /// Sum of the raw rewards of an episode that has just ended.
    EpisodicReturn,
    /// Its length in steps (agent decisions).
    EpisodicLength,
    /// Mean return of the last 100 episodes.
    RecentReturn,
    /// Steps per second over all environments, learning included.
    Sps,
    /// Emulated frames so far, over all environments.
    Frames,
    /// Seconds that choosing actions took since the last update.
    ActingTime,
    /// Seconds that the environments took since the last update.
    EnvironmentTime,
    /// Seconds that the update took.
    LearningTime,
    /// Adam's step size.
    LearningRate,
    /// Half the squared error of the values.
    ValueLoss,
    /// The clipped objective, negated.
    PolicyLoss,
    /// Mean entropy of the policy, in nats.
    Entropy,
    /// KL divergence of the new policy from the one that acted: mean(-log ratio).
    OldApproxKl,
    /// The same, estimated as mean((ratio - 1) - log ratio).
    ApproxKl,
    /// Share of the samples whose ratio was clipped.
    Clipfrac,
    /// 1 - Var(returns - values) / Var(returns): 1 is perfect, 0 no better than a constant.
    ExplainedVariance,
    /// Error of the action values, as the loss has it.
    TdLoss,
    /// Mean value of the actions that were taken.
    QValues,
    /// Probability of a random action.
    Epsilon,
    /// Steps in the replay that can be drawn.
    ReplaySteps,
    /// Global norm of the gradient before clipping.
    GradientNorm,
    /// Median over the games of the recent return, human-normalised.
    HumanNormalisedMedian,
    /// Interquartile mean of the same.
    HumanNormalisedIqm,
    /// Mean raw return of an evaluation: whole games, no learning.
    EvaluationReturn,
    /// Mean length of its episodes in steps.
    EvaluationLength,
    /// Its mean return as a share of the way from a random to a human player.
    EvaluationHumanNormalised,
    /// Median of these over the games.
    EvaluationMedian,
    /// Interquartile mean of the same.
    EvaluationIqm,
    /// Seconds that the evaluation took.
    EvaluationTime,
}

impl Metric {
    /// The table of metrics: the TensorBoard tag, which is the key in the JSON Lines file too, and what the progress line
    /// calls it; empty for what the line leaves out. Tags follow `CleanRL`, so that its curves can be laid over ours.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::EpisodicReturn => ("charts/episodic_return", ""),
            Self::EpisodicLength => ("charts/episodic_length", ""),
            Self::RecentReturn => ("charts/recent_return", "return"),
            Self::Sps => ("charts/SPS", "SPS"),
            Self::Frames => ("charts/frames", ""),
            Self::ActingTime => ("time/acting", "acting [s]"),
            Self::EnvironmentTime => ("time/environments", "environments [s]"),
            Self::LearningTime => ("time/learning", "learning [s]"),
            Self::LearningRate => ("charts/learning_rate", ""),
            Self::ValueLoss => ("losses/value_loss", "value loss"),
            Self::PolicyLoss => ("losses/policy_loss", ""),
            Self::Entropy => ("losses/entropy", "entropy"),
            Self::OldApproxKl => ("losses/old_approx_kl", ""),
            Self::ApproxKl => ("losses/approx_kl", "KL"),
            Self::Clipfrac => ("losses/clipfrac", ""),
            Self::ExplainedVariance => ("losses/explained_variance", ""),
            Self::TdLoss => ("losses/td_loss", "TD loss"),
            Self::QValues => ("losses/q_values", "Q"),
            Self::Epsilon => ("charts/epsilon", "epsilon"),
            Self::ReplaySteps => ("charts/replay_steps", ""),
            Self::GradientNorm => ("losses/gradient_norm", ""),
            Self::HumanNormalisedMedian => ("charts/human_normalised_median", ""),
            Self::HumanNormalisedIqm => ("charts/human_normalised_iqm", ""),
            Self::EvaluationReturn => ("evaluation/return", "evaluation"),
            Self::EvaluationLength => ("evaluation/episodic_length", ""),
            Self::EvaluationHumanNormalised => ("evaluation/human_normalised", ""),
            Self::EvaluationMedian => ("evaluation/human_normalised_median", "median"),
            Self::EvaluationIqm => ("evaluation/human_normalised_iqm", "IQM"),
            Self::EvaluationTime => ("time/evaluation", ""),
        }
    }

    /// The metric's tag; that of one game where `task` names one: `charts/episodic_return/pong`.
    pub(crate) fn tag(self, task: Option<&str>) -> String {
        let (tag, _) = self.names();
        task.map_or_else(|| tag.to_owned(), |task| format!("{tag}/{task}"))
    }

    /// What the progress line calls the metric, if it shows it.
    pub(crate) fn short_name(self) -> Option<&'static str> {
        let (_, short) = self.names();
        (!short.is_empty()).then_some(short)
    }
}
