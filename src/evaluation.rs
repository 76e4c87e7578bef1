//! Playing without learning: whole episodes, raw scores. `ale-train eval`, and the end of every run.

use std::io::Write;

use algorithms::EnvSpec;
use anyhow::{Context, Result, ensure};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{Actions, Batch, ResetSeeds, Space, VectorEnv};
use serde::Serialize;
use serde_json::json;

use crate::checkpoint;
use crate::cli::{EvalArgs, Global};
use crate::config::{self, Games};
use crate::environments::{Builder, Purpose};
use crate::learner::{self, Learner};
use crate::table;

/// Added to a run's seed for its evaluation, so that no episode of the training is played again.
pub(crate) const SEED_DISTANCE: u64 = 1_000_000;
/// Most environments of each game: more make the batches larger than they need be.
const ENVIRONMENTS: usize = 8;

/// How the episodes of a task went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Scores {
    /// The game.
    #[serde(rename = "game")]
    pub(crate) task: String,
    /// The raw return of each episode, environment by environment.
    pub(crate) returns: Vec<f64>,
    /// The length of each episode in steps.
    pub(crate) lengths: Vec<u64>,
}

impl Scores {
    /// The mean return.
    pub(crate) fn mean(&self) -> f64 {
        self.returns.iter().sum::<f64>() / self.returns.len() as f64
    }

    /// The median return; the mean of the middle two where their number is even.
    fn median(&self) -> f64 {
        let mut sorted = self.returns.clone();
        sorted.sort_by(f64::total_cmp);
        let (lower, upper) = ((sorted.len() - 1) / 2, sorted.len() / 2);
        f64::midpoint(sorted[lower], sorted[upper])
    }

    /// The standard error of the mean, from the sample's standard deviation; unknown for a single episode.
    fn standard_error(&self) -> Option<f64> {
        let (count, mean) = (self.returns.len() as f64, self.mean());
        let squares: f64 = self.returns.iter().map(|value| (value - mean).powi(2)).sum();
        (self.returns.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt())
    }

    /// The mean return as a share of the way from a random to a human player, where both are known.
    fn human_normalised(&self) -> Option<f64> {
        ale::game(&self.task).ok()?.human_normalised(self.mean())
    }
}

/// `ale-train eval`.
pub(crate) fn run(args: &EvalArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    ensure!(args.episodes >= 1, "--episodes 0 is not possible: it must be 1 or more");
    let folder = checkpoint::chosen(&args.checkpoint, args.best)?;
    let checkpoint = checkpoint::load(&folder)?;
    let unusable = || format!("the checkpoint {} cannot be used", folder.display());
    let mut experiment = config::from_toml(&checkpoint.config)?.resolve().with_context(unusable)?;
    if let Some(sticky) = args.sticky {
        ensure!((0.0..=1.0).contains(&sticky), "--sticky {sticky} is not possible: it must be in 0..=1");
        experiment.environments.repeat_action_probability = sticky;
    }
    if !args.games.is_empty() {
        experiment.games = Games::resolve(&args.games)?;
    }
    experiment.set_threads()?;
    let builder = Builder::new(&experiment, global)?;
    let learner = learner::restore_to_play(&experiment, &checkpoint.learner).with_context(unusable)?;
    let agent = Agent { learner: learner.as_ref(), greedy: args.greedy };
    let scores = of_agent(&builder, &agent, args.episodes, args.seed, &|| false)?.unwrap_or_default();
    if args.csv {
        return print_episodes(&scores, out);
    }
    if args.json {
        let report = json!({
            "checkpoint": folder,
            "frames": checkpoint.progress.moment.frames,
            "seed": args.seed,
            "greedy": args.greedy,
            "repeat_action_probability": experiment.environments.repeat_action_probability,
            "games": scores.iter().map(summary).collect::<Vec<_>>(),
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(());
    }
    let rows = scores.iter().map(Scores::cells).collect::<Vec<_>>();
    table::print(&HEADINGS, &rows, out)
}

fn summary(scores: &Scores) -> serde_json::Value {
    json!({
        "game": scores.task,
        "episodes": scores.returns.len(),
        "mean": scores.mean(),
        "median": scores.median(),
        "standard_error": scores.standard_error(),
        "human_normalised": scores.human_normalised(),
        "returns": scores.returns,
        "lengths": scores.lengths,
    })
}

fn print_episodes(scores: &[Scores], out: &mut impl Write) -> Result<()> {
    writeln!(out, "game,episode,return,length")?;
    for scores in scores {
        for (episode, (value, length)) in (1..).zip(scores.returns.iter().zip(&scores.lengths)) {
            writeln!(out, "{},{episode},{value},{length}", scores.task)?;
        }
    }
    Ok(())
}

/// A trained agent, and how it chooses.
pub(crate) struct Agent<'a> {
    pub(crate) learner: &'a dyn Learner,
    /// Takes the best action, rather than leaving some to chance.
    pub(crate) greedy: bool,
}

/// The trained agent's scores. Nothing if `stop` said so before the end.
pub(crate) fn of_agent(
    builder: &Builder,
    agent: &Agent<'_>,
    episodes: usize,
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Vec<Scores>>> {
    let mut environments = environments(builder, episodes)?;
    let mut player = agent.learner.player(&EnvSpec::of(environments.as_ref())?, agent.greedy, seed)?;
    play(environments.as_mut(), episodes, seed, stop, |batch| Ok(player.act(batch)?))
}

/// The scores of a player who presses buttons at random.
pub(crate) fn of_random_player(
    builder: &Builder,
    episodes: usize,
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Vec<Scores>>> {
    let mut environments = environments(builder, episodes)?;
    let spaces = environments.action_spaces().to_vec();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    play(environments.as_mut(), episodes, seed, stop, |batch| {
        let draw = |&env: &usize| match spaces[env] {
            Space::Discrete { n, start } => start as i32 + rng.random_range(0..n as i32),
            _ => 0,
        };
        Ok(batch.env_ids.iter().map(draw).collect())
    })
}

fn environments(builder: &Builder, episodes: usize) -> Result<Box<dyn VectorEnv>> {
    builder.build(Purpose::Evaluation { num_envs: episodes.min(ENVIRONMENTS) })
}

/// Plays until every task has had its episodes.
///
/// Each environment has a fixed share of them. Taking whichever episodes end first would favour short ones, and a bad
/// player's are often short.
fn play(
    environments: &mut dyn VectorEnv,
    episodes: usize,
    seed: u64,
    stop: &dyn Fn() -> bool,
    mut act: impl FnMut(&Batch) -> Result<Vec<i32>>,
) -> Result<Option<Vec<Scores>>> {
    let task_ids = environments.task_ids().to_vec();
    let mut shares = shares(&task_ids, episodes);
    let mut ended: Vec<Vec<(f64, u64)>> = vec![Vec::new(); task_ids.len()];
    let tasks = environments.tasks().to_vec();
    let mut batch = environments.reset(ResetSeeds::From(seed))?;
    while shares.iter().any(|&share| share > 0) {
        if stop() {
            return Ok(None);
        }
        let actions = act(batch)?;
        batch = environments.step(Actions::Discrete(&actions))?;
        for (&env, episode) in batch.env_ids.iter().zip(&batch.episodes) {
            if let Some(episode) = episode
                && shares[env] > 0
            {
                shares[env] -= 1;
                ended[env].push((episode.total_reward, episode.length));
            }
        }
    }
    let scores = tasks.into_iter().enumerate().map(|(index, task)| {
        let of_task = ended.iter().zip(&task_ids).filter(|&(_, &id)| id == index);
        let (returns, lengths) = of_task.flat_map(|(ended, _)| ended.iter().copied()).unzip();
        Scores { task, returns, lengths }
    });
    Ok(Some(scores.collect()))
}

/// How many episodes each environment plays, so that every task has `episodes` and no two environments of a task
/// differ by more than one.
fn shares(task_ids: &[usize], episodes: usize) -> Vec<usize> {
    let of_task = |task: usize| task_ids.iter().filter(move |&&id| id == task);
    task_ids
        .iter()
        .enumerate()
        .map(|(env, &task)| {
            let rank = task_ids[..env].iter().filter(|&&id| id == task).count();
            let count = of_task(task).count();
            episodes / count + usize::from(rank < episodes % count)
        })
        .collect()
}

const HEADINGS: [&str; 6] = ["game", "episodes", "mean", "median", "std error", "human-normalised"];

impl Scores {
    fn cells(&self) -> Vec<String> {
        vec![
            self.task.clone(),
            self.returns.len().to_string(),
            number(self.mean()),
            number(self.median()),
            self.standard_error().map_or_else(|| "-".to_owned(), number),
            self.human_normalised().map_or_else(|| "-".to_owned(), |share| format!("{share:.3}")),
        ]
    }
}

/// Prints the agent's scores beside a random player's and the best possible.
pub(crate) fn print_comparison(
    agent: &[Scores],
    random: &[Scores],
    games: &Games,
    out: &mut impl Write,
) -> Result<()> {
    let mut headings = HEADINGS.to_vec();
    headings.extend(["random player", "best possible"]);
    let rows: Vec<_> = agent
        .iter()
        .zip(random)
        .map(|(agent, random)| {
            let best = games.best_score(&agent.task).map_or_else(|| "-".to_owned(), number);
            [agent.cells(), vec![number(random.mean()), best]].concat()
        })
        .collect();
    table::print(&headings, &rows, out)
}

fn number(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(returns: &[f64]) -> Scores {
        Scores { task: "pong".to_owned(), returns: returns.to_vec(), lengths: Vec::new() }
    }

    #[test]
    fn statistics_by_hand() {
        let scores = scores(&[4.0, 1.0, 2.0, 9.0]);
        assert_eq!((scores.mean(), scores.median()), (4.0, 3.0));
        // Squares 0 + 9 + 4 + 25 = 38; sample variance 38/3; of the mean of four 38/12.
        assert_eq!(scores.standard_error(), Some((38.0f64 / 12.0).sqrt()));
    }

    #[test]
    fn a_single_episode_has_no_standard_error() {
        let scores = scores(&[5.0]);
        assert_eq!((scores.mean(), scores.median(), scores.standard_error()), (5.0, 5.0, None));
    }

    #[test]
    fn every_task_gets_its_episodes_evenly() {
        assert_eq!(shares(&[0, 0, 0, 1], 7), [3, 2, 2, 7]);
        assert_eq!(shares(&[0, 1, 0], 1), [1, 1, 0]);
    }
}
