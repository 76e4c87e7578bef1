//! Evaluation: complete episodes with raw scores, for `ale-train eval` and for runs.

mod score_table;
mod spectator;

use std::borrow::Cow;
use std::io::Write;

use algorithms::VectorSpec;
use anyhow::{Context, Result, bail};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{ActionBuffer, Batch, Dtype, Pcg64, ResetSeeds, Space};
use serde::Serialize;
use serde_json::json;

use crate::agent::TrainedAgent;
use crate::cli::{EvalArgs, Global};
use crate::config::Games;
use crate::environments::{Builder, CommandOverrides, Environments};
use crate::interrupt::Interrupt;
use crate::learner::Learner;
use crate::output::counted;
use crate::quantity;
use crate::scores::Scores;
use crate::statistics::{interquartile_mean, median};
use crate::telemetry::{Media, Metric, Printer, ProgressLine, Sample};
use crate::threads::set_threads;

pub(crate) use score_table::print as print_table;
pub(crate) use spectator::Spectator;

/// Offset of the seed of a run's evaluations, so that they do not repeat episodes of training.
pub(crate) const SEED_DISTANCE: u64 = 1_000_000;
/// The maximum number of environments of each game.
const ENVIRONMENTS: usize = 8;

/// Runs `ale-train eval`.
pub(crate) fn run(args: &EvalArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let printer = Printer::new(global.quiet);
    let trained = TrainedAgent::open(&args.agent.checkpoint, &printer)?;
    let overrides = CommandOverrides {
        games: Some(trained.games(&args.games)?),
        num_threads: args.num_threads,
        ..CommandOverrides::of_emulation(&args.emulation)
    };
    set_threads(args.num_threads.unwrap_or_else(|| trained.experiment.num_threads()))?;
    let builder = Builder::new(&trained.experiment, &overrides, global)?;
    let learner = trained.restore()?;
    let agent = Agent { learner: learner.as_ref(), greedy: args.agent.greedy };
    let progress_line = ProgressLine::of_activity(printer.clone());
    let status = progress_line.status();
    let report = |text| status.show_activity(text);
    let interrupt = Interrupt::without_handler();
    let stop = || interrupt.is_requested();
    let plan = Plan { episodes: args.episodes, seed: args.seed, stop: &stop, report: &report };
    let scores = evaluate_agent(&builder, &agent, &plan, None)?;
    drop(progress_line);
    let scores = scores.context("the evaluation was interrupted")?;
    if args.csv {
        return print_episodes(&scores, builder.games(), out);
    }
    if args.json {
        let report = Report {
            checkpoint: trained.origin.to_string_lossy(),
            frames: trained.frames,
            seed: args.seed,
            greedy: agent.greedy,
            repeat_action_probability: builder.evaluation_repeat_probability(),
            games: scores.iter().map(|scores| summary(scores, builder.games())).collect(),
        };
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(());
    }
    printer.say(&protocol(&trained, &builder, args.episodes, agent.greedy));
    print_table(&scores, None, builder.games(), out)
}

/// Returns the way in which an agent was evaluated, in a line.
fn protocol(agent: &TrainedAgent, builder: &Builder, episodes: usize, greedy: bool) -> String {
    let actions = if greedy { "best actions" } else { "sampled actions" };
    let sticky = match (builder.games(), builder.evaluation_repeat_probability()) {
        (Games::Tasks(_), _) => String::new(),
        (Games::Atari(_), 0.0) => ", no sticky actions".to_owned(),
        (Games::Atari(_), probability) => format!(", actions repeated with probability {probability}"),
    };
    let (origin, frames) = (agent.origin.display(), quantity::count(agent.frames));
    format!("{origin} after {frames} frames: {}, {actions}{sticky}", counted(episodes, "episode"))
}

/// The output of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    checkpoint: Cow<'a, str>,
    frames: u64,
    seed: u64,
    greedy: bool,
    // A typed field, because in a `Value` it would be printed with the digits of an `f64`.
    repeat_action_probability: f32,
    games: Vec<serde_json::Value>,
}

fn summary(scores: &Scores, games: &Games) -> serde_json::Value {
    let flavour = games.flavour(&scores.task);
    json!({
        "game": scores.task,
        "mode": flavour.map(|flavour| &flavour.modes),
        "difficulty": flavour.map(|flavour| &flavour.difficulties),
        "episodes": scores.returns.len(),
        "mean": scores.mean(),
        "median": scores.median(),
        "standard_error": scores.standard_error(),
        "human_normalised": scores.human_normalised(games),
        "returns": scores.returns,
        "lengths": scores.lengths,
    })
}

fn print_episodes(scores: &[Scores], games: &Games, out: &mut impl Write) -> Result<()> {
    writeln!(out, "game,episode,return,length,mode,difficulty")?;
    for scores in scores {
        let variant = games.flavour(&scores.task).map_or_else(
            || ",".to_owned(),
            |flavour| [&flavour.modes, &flavour.difficulties].map(|drawn| drawn.joined(" ")).join(","),
        );
        for (episode, (value, length)) in (1..).zip(scores.returns.iter().zip(&scores.lengths)) {
            writeln!(out, "{},{episode},{value},{length},{variant}", scores.task)?;
        }
    }
    Ok(())
}

/// A learner and the way it acts.
pub(crate) struct Agent<'a> {
    pub(crate) learner: &'a dyn Learner,
    /// True if it always takes the best action.
    pub(crate) greedy: bool,
}

/// The extent of an evaluation.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    /// The number of episodes of each game.
    pub(crate) episodes: usize,
    /// Seed of the episodes.
    pub(crate) seed: u64,
    /// Returns true to stop the evaluation without a result.
    pub(crate) stop: &'a dyn Fn() -> bool,
    /// Shows the progress of the evaluation.
    pub(crate) report: &'a dyn Fn(String),
}

impl Plan<'_> {
    /// Reports the progress, if the environments have these numbers of episodes left.
    fn report_left(&self, left: &[usize]) {
        let done = self.episodes - left.iter().sum::<usize>();
        (self.report)(format!("{done} of {} episodes", self.episodes));
    }
}

/// Evaluates an agent game by game, observed by `spectator`. Returns nothing if the plan's `stop` ends the evaluation
/// early.
pub(crate) fn evaluate_agent(
    builder: &Builder,
    agent: &Agent<'_>,
    plan: &Plan<'_>,
    mut spectator: Option<&mut Spectator>,
) -> Result<Option<Vec<Scores>>> {
    let trained = Some(agent.learner.spec());
    evaluate_each_game(builder, "the agent", trained, plan, |environments, plan| {
        let spec = VectorSpec::of(environments)?;
        let mut player = agent.learner.player(&spec, agent.greedy, plan.seed)?;
        let mut game_spectator = spectator.as_ref().map(|_| Spectator::default());
        let act = |batch: &Batch| Ok(player.act(batch)?);
        let episodes = play(environments, plan, act, |environments, actions| match &mut game_spectator {
            Some(spectator) => spectator.observe(environments, actions),
            None => Ok(()),
        });
        if let (Some(spectator), Some(game_spectator)) = (&mut spectator, game_spectator) {
            spectator.join(game_spectator);
        }
        episodes
    })
}

/// Evaluates a player with uniformly random actions.
pub(crate) fn evaluate_random_player(builder: &Builder, plan: &Plan<'_>) -> Result<Option<Vec<Scores>>> {
    evaluate_each_game(builder, "a random player", None, plan, |environments, plan| {
        let spaces = environments.action_spaces().to_vec();
        let mut rng = ChaCha8Rng::seed_from_u64(plan.seed);
        let mut generator = Pcg64::new(plan.seed);
        let act = |batch: &Batch| random_actions(batch, &spaces, &mut rng, &mut generator);
        play(environments, plan, act, |_, _| Ok(()))
    })
}

/// Returns a uniformly random action for each row of a batch, given the action space of each environment. Action masks
/// restrict the options.
fn random_actions(
    batch: &Batch,
    spaces: &[Space],
    rng: &mut ChaCha8Rng,
    generator: &mut Pcg64,
) -> Result<ActionBuffer> {
    let (mut choices, mut components) = (Vec::new(), Vec::new());
    for (row, &env) in batch.env_ids.iter().enumerate() {
        let mut mask = batch.has_action_masks().then(|| batch.action_masks.row(row));
        let mut draw = |n: usize, start: i64| choices.push(start as i32 + random_option(n, &mut mask, rng));
        match &spaces[env] {
            &Space::Discrete { n, start } => draw(n, start),
            Space::MultiDiscrete { nvec, start } => {
                nvec.iter().zip(start).for_each(|(&n, &start)| draw(n, start));
            }
            space @ Space::Box { dtype: Dtype::F32, .. } => {
                let mut row = vec![0; space.byte_len()];
                space.sample(generator, &mut row);
                components.extend(row.as_chunks().0.iter().map(|&bytes| f32::from_ne_bytes(bytes)));
            }
            space => bail!("a random player needs discrete actions or floats, not {space}"),
        }
    }
    Ok(if components.is_empty() {
        ActionBuffer::Discrete(choices)
    } else {
        ActionBuffer::Continuous(components)
    })
}

/// Returns a random one of `n` options. If there is a mask, takes the bytes of these options from its beginning.
fn random_option(n: usize, mask: &mut Option<&[u8]>, rng: &mut ChaCha8Rng) -> i32 {
    let Some(rest) = mask else { return rng.random_range(0..n as i32) };
    let (own, others) = rest.split_at(n);
    *rest = others;
    let allowed: Vec<usize> = (0..n).filter(|&option| own[option] == 1).collect();
    allowed[rng.random_range(0..allowed.len())] as i32
}

/// Returns the number of environments of each game that play `episodes` episodes.
pub(crate) fn environments_of_game(episodes: usize) -> usize {
    episodes.min(ENVIRONMENTS)
}

/// Returns and lengths of the episodes of a game.
type Episodes = Vec<(f64, u64)>;

/// Evaluates one game after another, so that games with short episodes do not wait for the others. `play` plays the
/// episodes of one game; they do not depend on the other games. `trained` are the environments of the player's
/// training.
fn evaluate_each_game(
    builder: &Builder,
    player: &str,
    trained: Option<&VectorSpec>,
    plan: &Plan<'_>,
    mut play: impl FnMut(&mut dyn Environments, &Plan<'_>) -> Result<Option<Episodes>>,
) -> Result<Option<Vec<Scores>>> {
    let spec = VectorSpec::of(builder.build_evaluation_of_each(trained)?.as_ref())?;
    let mut scores = Vec::new();
    for (index, task) in spec.tasks.iter().enumerate() {
        let game = match spec.tasks.len() {
            1 => String::new(),
            games => format!(", game {} of {games}, {}", index + 1, builder.games().label(&task.name)),
        };
        let report = |episodes| (plan.report)(format!("evaluation of {player}{game}: {episodes}"));
        let mut environments =
            builder.build_evaluation_of(&task.name, environments_of_game(plan.episodes), &spec)?;
        let Some(episodes) = play(environments.as_mut(), &Plan { report: &report, ..*plan })? else {
            return Ok(None);
        };
        let (returns, lengths) = episodes.into_iter().unzip();
        scores.push(Scores { task: task.name.clone(), returns, lengths });
    }
    Ok(Some(scores))
}

/// Plays the episodes of a game.
///
/// Each environment plays a fixed number of them. Taking the first episodes to finish would favour short ones, which
/// are often those with low scores.
fn play(
    environments: &mut dyn Environments,
    plan: &Plan<'_>,
    mut act: impl FnMut(&Batch) -> Result<ActionBuffer>,
    mut observe: impl FnMut(&dyn Environments, &ActionBuffer) -> Result<()>,
) -> Result<Option<Episodes>> {
    let mut left = shares(environments.num_envs(), plan.episodes);
    let mut ended: Vec<Episodes> = vec![Vec::new(); left.len()];
    plan.report_left(&left);
    environments.reset(ResetSeeds::From(plan.seed))?;
    while left.iter().any(|&left| left > 0) {
        if (plan.stop)() {
            return Ok(None);
        }
        let actions = act(environments.batch())?;
        environments.step(actions.as_actions())?;
        observe(environments, &actions)?;
        let batch = environments.batch();
        let mut done = Vec::new();
        for (&env, episode) in batch.env_ids.iter().zip(&batch.episodes) {
            if let Some(episode) = episode
                && left[env] > 0
            {
                left[env] -= 1;
                ended[env].push((episode.total_reward, episode.length));
                plan.report_left(&left);
                if left[env] == 0 {
                    done.push(env);
                }
            }
        }
        for env in done {
            environments.limit_steps(env, Some(0))?;
        }
    }
    Ok(Some(ended.concat()))
}

/// Returns the number of episodes that each of `num_envs` environments plays, divided as evenly as possible.
pub(crate) fn shares(num_envs: usize, episodes: usize) -> Vec<usize> {
    (0..num_envs).map(|env| episodes / num_envs + usize::from(env < episodes % num_envs)).collect()
}

/// Returns the metrics of each game and, for several games, aggregates over those whose scores can be human-normalised.
pub(crate) fn samples(scores: &[Scores], games: &Games) -> Vec<Sample> {
    let mut samples = Vec::new();
    for game in scores {
        let task = (scores.len() > 1).then(|| game.task.clone());
        let length = game.lengths.iter().sum::<u64>() as f64 / game.lengths.len() as f64;
        let values = [
            (Metric::EvaluationReturn, Some(game.mean())),
            (Metric::EvaluationLength, Some(length)),
            (Metric::EvaluationHumanNormalised, game.human_normalised(games)),
        ];
        for (metric, value) in values {
            samples.extend(value.map(|value| Sample { metric, task: task.clone(), value }));
        }
    }
    let normalised: Vec<f64> = scores.iter().filter_map(|scores| scores.human_normalised(games)).collect();
    if normalised.len() > 1 {
        samples.push(Sample::new(Metric::EvaluationMedian, median(normalised.clone())));
        samples.push(Sample::new(Metric::EvaluationIqm, interquartile_mean(normalised)));
    }
    samples
}

/// Returns histograms of the returns of each game.
pub(crate) fn returns(scores: &[Scores]) -> Vec<Media> {
    let has_several = scores.len() > 1;
    let histograms = scores.iter().map(|game| {
        let name = if has_several { format!("/{}", game.task) } else { String::new() };
        Media::Histogram { tag: format!("evaluation/returns{name}"), values: game.returns.clone() }
    });
    histograms.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(returns: &[f64]) -> Scores {
        Scores { task: "pong".to_owned(), returns: returns.to_vec(), lengths: Vec::new() }
    }

    #[test]
    fn statistics_match_a_calculation_by_hand() {
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

    fn one_episode(task: &str, value: f64) -> Scores {
        Scores { task: task.to_owned(), returns: vec![value], lengths: vec![10] }
    }

    fn games(names: &[&str]) -> Games {
        Games::resolve(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()).unwrap()
    }

    fn value(samples: &[Sample], metric: Metric, task: Option<&str>) -> Option<f64> {
        let sample = samples.iter().find(|sample| sample.metric == metric && sample.task.as_deref() == task);
        sample.map(|sample| sample.value)
    }

    #[test]
    fn several_games_have_aggregates_over_normalisable_scores() {
        let human = |task: &str| one_episode(task, ale::game(task).unwrap().human_score.unwrap());
        let random = |task: &str| one_episode(task, ale::game(task).unwrap().random_score.unwrap());
        let several = samples(
            &[human("pong"), random("qbert"), random("alien"), one_episode("harvest", 3.0)],
            &games(&["pong", "qbert", "alien", "harvest"]),
        );
        assert_eq!(value(&several, Metric::EvaluationReturn, Some("harvest")), Some(3.0));
        assert_eq!(value(&several, Metric::EvaluationHumanNormalised, Some("harvest")), None);
        assert_eq!(value(&several, Metric::EvaluationHumanNormalised, Some("pong")), Some(1.0));
        assert_eq!(value(&several, Metric::EvaluationMedian, None), Some(0.0));
        assert_eq!(
            value(&several, Metric::EvaluationIqm, None),
            Some(1.0 / 3.0),
            "a quarter of 3 scores rounds down to none trimmed"
        );
        let single = samples(&[human("pong")], &games(&["pong"]));
        assert_eq!(single[2], Sample::new(Metric::EvaluationHumanNormalised, 1.0));
        assert_eq!(single.len(), 3);
    }

    #[test]
    fn episodes_are_divided_evenly_among_environments() {
        assert_eq!(shares(3, 7), [3, 2, 2]);
        assert_eq!(shares(2, 1), [1, 0]);
    }
}
