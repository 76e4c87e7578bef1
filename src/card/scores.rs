use std::fmt::Write;

use crate::config::{Experiment, Games};
use crate::learner::Algorithm;
use crate::quantity::count;
use crate::scores::{FinalScores, Scores};

const HEADINGS: &str = "\
| game | episodes | mean | standard error | random | human-normalised |
|---|---|---|---|---|---|
";

/// Returns the table of the scores of each game, and how they were measured.
pub(super) fn section(scores: &FinalScores, experiment: &Experiment) -> String {
    let rows = scores.agent.iter().map(|of_game| row(of_game, scores, &experiment.games));
    format!("\n## Scores\n\n{}{}\n{}", HEADINGS, rows.collect::<String>(), method(scores, experiment))
}

/// Returns the row of a game.
fn row(of_game: &Scores, scores: &FinalScores, games: &Games) -> String {
    let random = scores.random.iter().flatten().find(|random| random.task == of_game.task);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    format!(
        "| {} | {} | {:.2} | {} | {} | {} |\n",
        games.label(&of_game.task),
        of_game.returns.len(),
        of_game.mean(),
        or_dash(of_game.standard_error().map(|error| format!("{error:.2}"))),
        or_dash(random.map(|random| format!("{:.2}", random.mean()))),
        or_dash(of_game.human_normalised(games).map(|share| format!("{share:.3}"))),
    )
}

/// Returns the paragraph about the measurement.
fn method(scores: &FinalScores, experiment: &Experiment) -> String {
    let mut text = format!(
        "The agent was evaluated in separate environments after {} frames of training, without learning. A score is \
         the mean over full episodes of the sum of the unclipped rewards. ",
        count(scores.frames)
    );
    text += match (experiment.evaluation.greedy, experiment.run.algorithm) {
        (true, _) => "The agent took the best action in every step.",
        (false, Algorithm::Ppo | Algorithm::Sac) => {
            "The agent sampled its actions from its policy, as in training."
        }
        (false, Algorithm::Dqn | Algorithm::Pqn) => {
            "The agent took the best action, except for random ones with the probability `eval_epsilon` of its \
             settings."
        }
    };
    if matches!(experiment.games, Games::Atari(_)) {
        // Writing to a string cannot fail.
        let _ = write!(text, " {}", emulation(experiment));
    }
    text += "\n\nThe columns on the right have the mean score of a random player, measured in the same way, and the \
             score on a scale from 0 for a random player to 1 for a human tester (Mnih et al. 2015).\n";
    text
}

/// Returns the sentence about the settings of the emulator on which scores depend.
fn emulation(experiment: &Experiment) -> String {
    let environments = &experiment.environments;
    let stickiness =
        experiment.evaluation.repeat_action_probability.unwrap_or(environments.repeat_action_probability);
    let sticky = if stickiness > 0.0 {
        format!("a frame repeated the previous action with probability {stickiness} (sticky actions)")
    } else {
        "there were no sticky actions".to_owned()
    };
    format!(
        "A step had {} frames, {sticky}, an episode began with fewer than {} frames without input, and ended after at \
         most {} frames.",
        environments.frame_skip,
        environments.noop_max.max(1),
        environments.max_num_frames_per_episode
    )
}
