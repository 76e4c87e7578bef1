//! `ale-train zoo`: lists the agents of the zoo, or prints the card of one.

use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};

use crate::agent::TrainedAgent;
use crate::card::{Card, Licence};
use crate::cli::ZooArgs;
use crate::config::Games;
use crate::quantity::count;
use crate::scores::FinalScores;
use crate::statistics::median;
use crate::table;
use crate::zoo_agents::{self, AGENTS, ZooAgent, named};

const HEADINGS: [&str; 6] = ["name", "games", "algorithm", "frames", "score", "size"];

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
            "licence": Licence::of_zoo().text,
            "scores": agent.scores,
        })
    }

    /// Returns the card in Markdown.
    fn card(&self) -> Result<String> {
        let name = format!("{}{}", zoo_agents::PREFIX, self.zoo.name);
        let card = Card {
            agent: &self.agent,
            title: name.clone(),
            name,
            bytes: self.zoo.file.len(),
            licence: Some(Licence::of_zoo()),
            videos: Vec::new(),
            curves: None,
        };
        card.markdown()
    }
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
