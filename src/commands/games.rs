//! `ale-train games`: lists the games and other tasks.

use std::io::Write;

use ale::Game;
use algorithms::{JointActions, TaskActions};
use anyhow::Result;
use rl_env::{ActionKind, Env, EnvSpec};
use serde_json::{Value, json};

use crate::cli::GamesArgs;
use crate::game_mode::GameMode;
use crate::output::counted;
use crate::selection::{self, registry, sets_of};
use crate::table;

/// Prints the tables.
pub(crate) fn run(args: &GamesArgs, out: &mut impl Write) -> Result<()> {
    let (games, tasks) = match args.games.as_slice() {
        [] => (ale::games().iter().collect(), registry().ids().map(Task::new).collect::<Result<_>>()?),
        names => selected(names)?,
    };
    if args.json {
        let rows: Vec<Value> =
            games.iter().map(|game| row(game)).chain(tasks.iter().map(Task::row)).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        return Ok(());
    }
    if !games.is_empty() {
        print_games(&games, out)?;
    }
    if args.games.is_empty() {
        return print_others(&tasks, out);
    }
    if !tasks.is_empty() {
        let rows: Vec<Vec<String>> = tasks.iter().map(Task::cells).collect();
        table::print(&["id", "actions", "steps", "sets"], &rows, out)?;
    }
    Ok(())
}

/// Returns the Atari games and the other tasks that names select.
fn selected(names: &[String]) -> Result<(Vec<&'static Game>, Vec<Task>)> {
    let (mut games, mut tasks) = (Vec::new(), Vec::new());
    for id in selection::expand(names.iter().map(String::as_str))? {
        match GameMode::of_id(id) {
            Some(GameMode { game, .. }) => games.push(game),
            None => tasks.push(Task::new(id)?),
        }
    }
    Ok((games, tasks))
}

/// A task of the registry.
struct Task {
    id: &'static str,
    spec: EnvSpec,
    /// `None` for the tasks of `MuJoCo` if it is not installed.
    actions: Option<TaskActions>,
}

impl Task {
    fn new(id: &'static str) -> Result<Self> {
        let spec = registry().spec(id)?;
        let actions = match registry().make(id) {
            Err(_) if spec.family == mujoco::FAMILY => None,
            made => TaskActions::of_space(made?.action_space()),
        };
        Ok(Self { id, spec, actions })
    }

    fn sets(&self) -> Vec<&'static str> {
        selection::sets_of_task(self.id)
    }

    /// Returns the number of actions, the numbers of options of several choices, or the number of components.
    fn actions(&self) -> String {
        match &self.actions {
            None => "continuous".to_owned(),
            Some(TaskActions::Joint(actions) | TaskActions::Masked(actions)) => {
                actions.sizes().iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")
            }
            Some(TaskActions::Continuous(actions)) => format!("{} continuous", actions.num_components()),
        }
    }

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.to_owned(),
            self.actions(),
            self.spec.max_episode_steps.map_or_else(|| "-".to_owned(), |steps| steps.to_string()),
            self.sets().join(" "),
        ]
    }

    fn row(&self) -> Value {
        let choices = self.actions.as_ref().and_then(TaskActions::joint).map(JointActions::sizes);
        json!({
            "id": self.id,
            "num_actions": choices.and_then(|choices| if let &[n] = choices { Some(n) } else { None }),
            "choices": choices,
            "num_components": self.actions.as_ref().map(TaskActions::num_components),
            "max_episode_steps": self.spec.max_episode_steps,
            "best_score": self.spec.best_return,
            "sets": self.sets(),
        })
    }
}

/// Prints the names of all environments other than Atari games.
fn print_others(tasks: &[Task], out: &mut impl Write) -> Result<()> {
    let (choices, continuous): (Vec<_>, Vec<_>) =
        tasks.iter().partition(|task| task.spec.action_kind == ActionKind::Discrete);
    let ids = |tasks: Vec<&Task>| tasks.iter().map(|task| task.id).collect::<Vec<_>>().join(", ");
    writeln!(out, "sets: {}", selection::sets().collect::<Vec<_>>().join(", "))?;
    writeln!(out, "other tasks: {}", ids(choices))?;
    writeln!(out, "with continuous actions, for PPO and SAC: {}", ids(continuous))?;
    Ok(())
}

/// Prints a table of at most 80 columns. Everything else about the games is in the JSON.
fn print_games(games: &[&Game], out: &mut impl Write) -> Result<()> {
    writeln!(out, "{:18} {:>7}  {:>5}  {:>8}  {:>7}  sets", "id", "actions", "modes", "random", "human")?;
    for game in games {
        let score = |score: Option<f64>| score.map_or_else(|| "-".to_owned(), |score| score.to_string());
        let line = format!(
            "{:18} {:>7}  {:>5}  {:>8}  {:>7}  {}",
            game.id,
            game.minimal_actions.len(),
            game.modes.len(),
            score(game.random_score),
            score(game.human_score),
            sets_of(game).join(" "),
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    writeln!(out, "{}; titles, years and more: --json", counted(games.len(), "game"))?;
    Ok(())
}

fn row(game: &Game) -> Value {
    json!({
        "id": game.id,
        "title": game.title,
        "publisher": game.publisher,
        "year": game.year,
        "bankswitch": game.bankswitch,
        "tv": game.tv,
        "height": game.height,
        "minimal_actions": game.minimal_actions,
        "legal_actions": game.legal_actions,
        "modes": game.modes,
        "default_mode": game.default_mode,
        "difficulties": game.difficulties,
        "start_lives": game.start_lives,
        "random_score": game.random_score,
        "human_score": game.human_score,
        "best_score": game.best_score,
        "sets": sets_of(game),
        "note": game.note,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_all_games_fits_80_columns() {
        let mut out = Vec::new();
        print_games(&ale::games().iter().collect::<Vec<_>>(), &mut out).unwrap();
        let table = String::from_utf8(out).unwrap();
        assert_eq!(table.lines().count(), ale::games().len() + 2);
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }
}
