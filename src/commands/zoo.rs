//! `ale-train zoo`: lists the agents of the zoo, or prints the card of one.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};

use crate::agent::TrainedAgent;
use crate::cli::ZooArgs;
use crate::config::Games;
use crate::quantity::count;
use crate::scores::{FinalScores, Scores};
use crate::statistics::median;
use crate::table;
use crate::zoo_agents::{AGENTS, ZooAgent, named};

const HEADINGS: [&str; 6] = ["name", "games", "algorithm", "frames", "score", "size"];
const LICENCE: &str = "MIT OR Apache-2.0, like the program";

/// Prints the list, the page of the book or the card of one agent.
pub(crate) fn run(args: &ZooArgs, out: &mut impl Write) -> Result<()> {
    if let Some(name) = &args.name {
        return Ok(out.write_all(Entry::open(named(name)?)?.card()?.as_bytes())?);
    }
    let entries: Vec<Entry> = AGENTS.iter().map(Entry::open).collect::<Result<_>>()?;
    if args.reference {
        return Ok(out.write_all(page(&entries).as_bytes())?);
    }
    if args.json {
        let rows: Vec<Value> = entries.iter().map(Entry::row).collect();
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?);
    }
    table::print(&HEADINGS, &entries.iter().map(Entry::cells).collect::<Vec<_>>(), out)
}

/// An agent with the contents of its file.
struct Entry {
    zoo: &'static ZooAgent,
    agent: TrainedAgent,
}

impl Entry {
    fn open(zoo: &'static ZooAgent) -> Result<Self> {
        Ok(Self { zoo, agent: TrainedAgent::of_zoo(zoo)? })
    }

    fn games(&self) -> &Games {
        &self.agent.experiment.games
    }

    fn megabytes(&self) -> f64 {
        self.zoo.file.len() as f64 / 1e6
    }

    fn cells(&self) -> Vec<String> {
        let games = match self.games().labels().as_slice() {
            [game] => game.clone(),
            games => format!("{} games", games.len()),
        };
        vec![
            self.zoo.name.to_owned(),
            games,
            self.agent.experiment.run.algorithm.to_string(),
            count(self.agent.frames),
            self.agent.scores.as_ref().map_or_else(|| "-".to_owned(), |scores| summary(scores, self.games())),
            format!("{:.1} MB", self.megabytes()),
        ]
    }

    fn row(&self) -> Value {
        let (agent, run) = (&self.agent, &self.agent.experiment.run);
        json!({
            "name": self.zoo.name,
            "games": self.games().names(),
            "algorithm": run.algorithm.name(),
            "frames": agent.frames,
            "seed": run.seed,
            "commit": agent.commit,
            "bytes": self.zoo.file.len(),
            "licence": LICENCE,
            "scores": agent.scores,
        })
    }

    /// Returns the card in Markdown.
    fn card(&self) -> Result<String> {
        let (name, agent) = (self.zoo.name, &self.agent);
        let run = &agent.experiment.run;
        let mut card = format!(
            "# zoo:{name}\n\n\
             * Algorithm: {}, seed {}, {} frames of {}\n\
             * Commit of the program that trained it: {}\n\
             * Size: {:.1} MB\n\
             * Licence: {LICENCE}\n",
            run.algorithm.descriptor().title,
            run.seed,
            count(agent.frames),
            self.games().labels().join(", "),
            agent.commit.as_deref().unwrap_or("unknown"),
            self.megabytes(),
        );
        if let Some(scores) = &agent.scores {
            card += "\n## Scores\n\n\
                     Scores of full episodes at the end of training, and of a random player.\n\n\
                     | game | episodes | mean | standard error | random | human-normalised |\n\
                     |---|---|---|---|---|---|\n";
            card += &scores
                .agent
                .iter()
                .map(|of_game| row_of_game(of_game, scores, self.games()))
                .collect::<String>();
        }
        // Writing to a string cannot fail.
        let _ = write!(card, "\n## Settings\n\n```toml\n{}```\n", agent.experiment.to_toml()?);
        Ok(card)
    }
}

/// Returns the row of a game in the table of a card.
fn row_of_game(of_game: &Scores, scores: &FinalScores, games: &Games) -> String {
    let random = scores.random.iter().flatten().find(|random| random.task == of_game.task);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    format!(
        "| {} | {} | {:.1} | {} | {} | {} |\n",
        games.label(&of_game.task),
        of_game.returns.len(),
        of_game.mean(),
        or_dash(of_game.standard_error().map(|error| format!("{error:.1}"))),
        or_dash(random.map(|random| format!("{:.1}", random.mean()))),
        or_dash(of_game.human_normalised(games).map(|share| format!("{share:.3}"))),
    )
}

/// Returns the scores in a few words: the mean of one game, or the human-normalised median of those of several that
/// have one.
fn summary(scores: &FinalScores, games: &Games) -> String {
    if let [only] = scores.agent.as_slice() {
        return format!("{:.1}", only.mean());
    }
    let normalised: Vec<f64> =
        scores.agent.iter().filter_map(|scores| scores.human_normalised(games)).collect();
    match normalised.len() {
        0 => "-".to_owned(),
        count if count == scores.agent.len() => format!("median {:.3}", median(normalised)),
        count => format!("median {:.3} of {count} games", median(normalised)),
    }
}

const INTRODUCTION: &str = "\
# Zoo

The trained agents that are built into the program, as printed by `ale-train zoo --reference`. Every command that takes
an agent accepts `zoo:NAME`:

```sh
ale-train play --checkpoint zoo:harvest --watch
ale-train eval zoo:harvest
ale-train record zoo:harvest --out harvest.gif
ale-train ppo --init-from zoo:harvest
ale-train zoo harvest
```

The last command prints the card of an agent: its settings, its scores in every game, and its licence. Scores are means
over the episodes of the evaluation at the end of training, or the median of the human-normalised means of several
games.

";

/// Returns the page of the book.
fn page(entries: &[Entry]) -> String {
    let headings = [HEADINGS.map(str::to_owned).to_vec(), vec!["---".to_owned(); HEADINGS.len()]];
    let rows = headings.into_iter().chain(entries.iter().map(Entry::cells));
    let rows: Vec<String> = rows.map(|cells| format!("| {} |", cells.join(" | "))).collect();
    format!("{INTRODUCTION}{}\n", rows.join("\n"))
}
