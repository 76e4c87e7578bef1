use std::fmt::Write;

use anyhow::Result;

use super::{Card, scores};
use crate::agent;
use crate::quantity::count;

/// The number of games that a sentence names.
const FEW: usize = 6;

impl Card<'_> {
    /// Returns the description in Markdown.
    pub(crate) fn markdown(&self) -> Result<String> {
        let experiment = &self.agent.experiment;
        let mut text = format!("# {}\n\n{}", self.title, self.summary());
        for (game, path) in &self.videos {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n![The agent plays {game}]({path})\n");
        }
        if let Some(scores) = &self.agent.scores {
            text += &scores::section(scores, experiment);
        }
        text += &self.usage();
        if let Some(path) = &self.curves {
            let _ = write!(text, "\n## Curves\n\n![Learning curves]({path})\n");
        }
        let _ = write!(text, "\n## Settings\n\n```toml\n{}```\n", experiment.to_toml()?);
        Ok(text)
    }

    /// Returns the list of facts.
    fn summary(&self) -> String {
        let agent = self.agent;
        let run = &agent.experiment.run;
        format!(
            "* Games: {}\n\
             * Algorithm: {}, seed {}, {} frames of training\n\
             * Commit of the program that trained it: {}\n\
             * Size: {:.1} MB\n\
             * Licence: {}\n",
            agent.experiment.games.labels().join(", "),
            run.algorithm.descriptor().title,
            run.seed,
            count(agent.frames),
            agent.commit.as_deref().unwrap_or("unknown"),
            self.bytes as f64 / 1e6,
            self.licence.as_ref().map_or("not stated", |licence| &licence.text),
        )
    }

    /// Returns the commands and the code with which the agent plays.
    fn usage(&self) -> String {
        let (name, games) = (&self.name, self.agent.experiment.games.names());
        let mut commands = format!("ale-train eval {name}\n");
        if let Some(game) = games.iter().find(|game| agent::has_screen(game)) {
            let (first, flag) = match games.len() {
                1 => (String::new(), String::new()),
                _ => (format!(" {game}"), format!(" --game {game}")),
            };
            let _ = write!(
                commands,
                "ale-train play{first} --checkpoint {name} --watch\nale-train record {name}{flag} --out agent.gif\n"
            );
        }
        let argument = if games.len() == 1 { String::new() } else { format!(", \"{}\"", games[0]) };
        format!(
            "\n## Use\n\nWith ale-train:\n\n```sh\n{commands}```\n\nIn Python:\n\n\
             ```python\nimport ale_train\n\n\
             agent = ale_train.load_agent(\"{name}\"{argument})\n\
             env = agent.make_vec(1)\n\
             observations, _ = env.reset(seed=1)\n\
             actions, state = agent.predict(observations)\n```\n"
        )
    }
}

/// Returns the title of an agent without a name: its algorithm and its games.
pub(super) fn title(agent: &agent::TrainedAgent) -> String {
    let labels = agent.experiment.games.labels();
    let games = if labels.len() > FEW { format!("{} games", labels.len()) } else { labels.join(", ") };
    format!("{} agent for {games}", agent.experiment.run.algorithm.descriptor().title)
}
