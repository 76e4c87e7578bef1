/// A quantity that a run reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    EpisodicReturn,
    EpisodicLength,
    RecentReturn,
    Sps,
    Frames,
    LearningRate,
    ValueLoss,
    PolicyLoss,
    Entropy,
    OldApproxKl,
    ApproxKl,
    Clipfrac,
    ExplainedVariance,
    GradientNorm,
    EvaluationReturn,
}

/// A metric's row in the table.
pub(crate) struct Description {
    /// The TensorBoard tag, which is the key in the JSON Lines file too.
    pub(crate) tag: &'static str,
    /// How the progress line calls it; empty for what the line leaves out.
    pub(crate) short: &'static str,
    /// What it is, with its unit. TensorBoard shows it beside the curve.
    pub(crate) meaning: &'static str,
}

impl Metric {
    /// The table of metrics. Tags follow `CleanRL`, so that its curves can be laid over ours.
    pub(crate) fn description(self) -> Description {
        let row = |tag, short, meaning| Description { tag, short, meaning };
        match self {
            Self::EpisodicReturn => {
                row("charts/episodic_return", "", "Sum of the raw rewards of an episode that has just ended.")
            }
            Self::EpisodicLength => {
                row("charts/episodic_length", "", "Its length in steps (agent decisions).")
            }
            Self::RecentReturn => {
                row("charts/recent_return", "return", "Mean return of the last 100 episodes.")
            }
            Self::Sps => {
                row("charts/SPS", "SPS", "Steps per second over all environments, learning included.")
            }
            Self::Frames => row("charts/frames", "", "Emulated frames so far, over all environments."),
            Self::LearningRate => row("charts/learning_rate", "", "Adam's step size."),
            Self::ValueLoss => {
                row("losses/value_loss", "value loss", "Half the squared error of the values.")
            }
            Self::PolicyLoss => row("losses/policy_loss", "", "The clipped objective, negated."),
            Self::Entropy => row("losses/entropy", "entropy", "Mean entropy of the policy, in nats."),
            Self::OldApproxKl => row(
                "losses/old_approx_kl",
                "",
                "KL divergence of the new policy from the one that acted: mean(-log ratio).",
            ),
            Self::ApproxKl => {
                row("losses/approx_kl", "KL", "The same, estimated as mean((ratio - 1) - log ratio).")
            }
            Self::Clipfrac => row("losses/clipfrac", "", "Share of the samples whose ratio was clipped."),
            Self::ExplainedVariance => row(
                "losses/explained_variance",
                "",
                "1 - Var(returns - values) / Var(returns): 1 is perfect, 0 no better than a constant.",
            ),
            Self::GradientNorm => {
                row("losses/gradient_norm", "", "Global norm of the gradient before clipping.")
            }
            Self::EvaluationReturn => row(
                "evaluation/return",
                "",
                "Mean raw return of the closing evaluation: whole games, no learning.",
            ),
        }
    }

    /// The metric's tag; that of one game where `task` names one: `charts/episodic_return/pong`.
    pub(crate) fn tag(self, task: Option<&str>) -> String {
        let tag = self.description().tag;
        task.map_or_else(|| tag.to_owned(), |task| format!("{tag}/{task}"))
    }
}
