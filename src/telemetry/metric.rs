/// A metric of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    /// Sum of the raw rewards of a finished episode.
    EpisodicReturn,
    /// Length of a finished episode in steps (agent decisions).
    EpisodicLength,
    /// Mean return of the last 100 episodes, or of more if a game has more environments.
    RecentReturn,
    /// Steps per second over all environments, including learning.
    Sps,
    /// Steps per second of one process while it acts and its environments step.
    RankSps,
    /// Emulated frames so far, over all environments.
    Frames,
    /// Seconds spent choosing actions since the previous value.
    ActingTime,
    /// Seconds spent in the environments since the previous value.
    EnvironmentTime,
    /// Seconds spent learning since the previous value.
    LearningTime,
    /// Adam's step size.
    LearningRate,
    /// Half the squared error of the values.
    ValueLoss,
    /// Negated clipped objective.
    PolicyLoss,
    /// Mean entropy of the policy, in nats.
    Entropy,
    /// KL divergence between the old and the new policy, estimated as mean(-log ratio).
    OldApproxKl,
    /// The same divergence, estimated as mean((ratio - 1) - log ratio).
    ApproxKl,
    /// Fraction of samples whose ratio was clipped.
    Clipfrac,
    /// 1 - Var(returns - values) / Var(returns): 1 is perfect, 0 is as good as a constant.
    ExplainedVariance,
    /// Mean intrinsic reward of a step, divided by the deviation of intrinsic returns.
    IntrinsicReward,
    /// Mean squared error of the predictor of intrinsic rewards.
    PredictorLoss,
    /// Half the squared error of the intrinsic values.
    IntrinsicValueLoss,
    /// Explained variance of the intrinsic returns.
    IntrinsicExplainedVariance,
    /// Loss of the action values.
    TdLoss,
    /// Mean value of the chosen actions.
    QValues,
    /// Half the loss of both critics of SAC.
    QfLoss,
    /// Mean value of the actions taken, by the first critic.
    Qf1Values,
    /// The same by the second critic.
    Qf2Values,
    /// Loss of SAC's policy.
    ActorLoss,
    /// Temperature of SAC: the weight of the entropy.
    Alpha,
    /// Loss of the temperature.
    AlphaLoss,
    /// Probability of a random action.
    Epsilon,
    /// Number of steps in the replay buffer that can be sampled.
    ReplaySteps,
    /// Global norm of the gradient before clipping.
    GradientNorm,
    /// Share of a game in the gradient that reaches the layers that all games share.
    GradientShare,
    /// Share of the ReLU units that no row of a minibatch activated, in the layer with the largest share.
    DeadUnits,
    /// 1 while the entropy is near zero, else 0. The following flags work the same way.
    HealthEntropy,
    /// The gradient norm is near zero.
    HealthGradientNorm,
    /// The gradient norm is far above the norm to which it is clipped.
    HealthGradientLimit,
    /// A game has more than half of the gradient of a network for several games.
    HealthGradientShare,
    /// A layer has no unit left that an observation activates.
    HealthDeadUnits,
    /// Updates move the policy too far.
    HealthApproxKl,
    /// Updates clip most samples.
    HealthClipfrac,
    /// The value loss has exploded.
    HealthValueLoss,
    /// The TD loss has exploded.
    HealthTdLoss,
    /// The loss of SAC's critics has exploded.
    HealthQfLoss,
    /// SAC's policy does not reach its target entropy.
    HealthAlpha,
    /// The action values are beyond every possible return.
    HealthQValues,
    /// No episode has finished for a long time.
    HealthEpisodes,
    /// Median over the games of the recent return, human-normalised.
    HumanNormalisedMedian,
    /// Interquartile mean of the same.
    HumanNormalisedIqm,
    /// Mean raw return of an evaluation: full episodes without learning.
    EvaluationReturn,
    /// Mean length of the episodes of an evaluation in steps.
    EvaluationLength,
    /// Human-normalised mean return of an evaluation: 0 is a random player, 1 a human player.
    EvaluationHumanNormalised,
    /// Median over the games of the human-normalised evaluation.
    EvaluationMedian,
    /// Interquartile mean of the same.
    EvaluationIqm,
    /// Seconds spent in the evaluation.
    EvaluationTime,
    /// Elo rating of the agent among its earlier versions; 1000 before training.
    Elo,
    /// Mean result of the last 100 games against earlier versions: 1 for a win, 0.5 for a draw, 0 for a loss.
    WinRate,
}

impl Metric {
    /// Returns the tag in TensorBoard and JSON Lines, and the name on the progress line, which is empty for metrics
    /// that it does not show. Tags follow `CleanRL`, so that curves can be compared.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::EpisodicReturn => ("charts/episodic_return", ""),
            Self::EpisodicLength => ("charts/episodic_length", ""),
            Self::RecentReturn => ("charts/recent_return", "return"),
            Self::Sps => ("charts/SPS", "SPS"),
            Self::RankSps => ("charts/rank_SPS", ""),
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
            Self::IntrinsicReward => ("charts/intrinsic_reward", "intrinsic reward"),
            Self::PredictorLoss => ("losses/fwd_loss", ""),
            Self::IntrinsicValueLoss => ("losses/intrinsic_value_loss", ""),
            Self::IntrinsicExplainedVariance => ("losses/intrinsic_explained_variance", ""),
            Self::TdLoss => ("losses/td_loss", "TD loss"),
            Self::QValues => ("losses/q_values", "Q"),
            Self::QfLoss => ("losses/qf_loss", "critic loss"),
            Self::Qf1Values => ("losses/qf1_values", "Q"),
            Self::Qf2Values => ("losses/qf2_values", ""),
            Self::ActorLoss => ("losses/actor_loss", ""),
            Self::Alpha => ("losses/alpha", "temperature"),
            Self::AlphaLoss => ("losses/alpha_loss", ""),
            Self::Epsilon => ("charts/epsilon", "epsilon"),
            Self::ReplaySteps => ("charts/replay_steps", ""),
            Self::GradientNorm => ("losses/gradient_norm", ""),
            Self::GradientShare => ("losses/gradient_share", ""),
            Self::DeadUnits => ("losses/dead_units", ""),
            Self::HealthEntropy => ("health/entropy", ""),
            Self::HealthGradientNorm => ("health/gradient_norm", ""),
            Self::HealthGradientLimit => ("health/gradient_limit", ""),
            Self::HealthGradientShare => ("health/gradient_share", ""),
            Self::HealthDeadUnits => ("health/dead_units", ""),
            Self::HealthApproxKl => ("health/approx_kl", ""),
            Self::HealthClipfrac => ("health/clipfrac", ""),
            Self::HealthValueLoss => ("health/value_loss", ""),
            Self::HealthTdLoss => ("health/td_loss", ""),
            Self::HealthQfLoss => ("health/qf_loss", ""),
            Self::HealthAlpha => ("health/alpha", ""),
            Self::HealthQValues => ("health/q_values", ""),
            Self::HealthEpisodes => ("health/episodes", ""),
            Self::HumanNormalisedMedian => ("charts/human_normalised_median", ""),
            Self::HumanNormalisedIqm => ("charts/human_normalised_iqm", ""),
            Self::EvaluationReturn => ("evaluation/return", "evaluation"),
            Self::EvaluationLength => ("evaluation/episodic_length", ""),
            Self::EvaluationHumanNormalised => ("evaluation/human_normalised", ""),
            Self::EvaluationMedian => ("evaluation/human_normalised_median", "evaluation median"),
            Self::EvaluationIqm => ("evaluation/human_normalised_iqm", "evaluation IQM"),
            Self::EvaluationTime => ("time/evaluation", ""),
            Self::Elo => ("self_play/elo", "Elo"),
            Self::WinRate => ("self_play/win_rate", "won"),
        }
    }

    /// Returns the metric's tag; that of one game where `task` names one: `charts/episodic_return/pong`.
    pub(crate) fn tag(self, task: Option<&str>) -> String {
        let (tag, _) = self.names();
        task.map_or_else(|| tag.to_owned(), |task| format!("{tag}/{task}"))
    }

    /// Returns true if the metric is an aggregate over the games that have a human-normalised score.
    pub(super) fn is_of_normalised_games(self) -> bool {
        matches!(
            self,
            Self::HumanNormalisedMedian
                | Self::HumanNormalisedIqm
                | Self::EvaluationMedian
                | Self::EvaluationIqm
        )
    }

    /// Returns the name on the progress line, if the line shows the metric.
    pub(crate) fn short_name(self) -> Option<&'static str> {
        let (_, short) = self.names();
        (!short.is_empty()).then_some(short)
    }
}
