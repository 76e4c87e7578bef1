//! Detects failing training: each symptom prints a warning and sets a flag in the curves.
//!
//! The state depends only on the records of the run, so a resumed run restores it from its curves.

mod conditions;
mod endless_episodes;
mod watch;

use std::path::Path;

use algorithms::ValueScale;
use rl_env::ActionKind;
use serde_json::{Map, Value};

use crate::config::Experiment;
use crate::enclosure;
use crate::files::limit;
use crate::game_mode::GameMode;
use crate::learner::Algorithm;
use crate::telemetry::{METRICS_FILE, Metric, Printer, Sample};

use conditions::{CONDITIONS, CONDITIONS_OF_GAMES, GAMES_WITH_SHARES};
use endless_episodes::EndlessEpisodes;
use watch::{Bounds, Watch};

/// The health of a run.
pub(super) struct Health {
    algorithm: Algorithm,
    watches: Vec<Watch>,
    endless_episodes: Vec<EndlessEpisodes>,
    frames_per_step: f64,
    printer: Printer,
}

/// The flags and the new warnings of a record.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Findings {
    pub(super) flags: Vec<Sample>,
    pub(super) warnings: Vec<String>,
}

impl Health {
    /// Creates the checks of a run whose environments have actions of a kind, which that of an environment in Python
    /// tells only once it has been made.
    pub(super) fn new(experiment: &Experiment, actions: ActionKind, printer: Printer) -> Self {
        Self {
            algorithm: experiment.run.algorithm,
            watches: watches(experiment, actions),
            endless_episodes: endless_episodes(experiment),
            frames_per_step: experiment.frames_per_step() as f64,
            printer,
        }
    }

    /// Replays the records that a run wrote before it was stopped.
    pub(super) fn replay(&mut self, run_dir: &Path) {
        let path = run_dir.join(METRICS_FILE);
        let text = enclosure::read_text(run_dir, &path, limit::CURVES).unwrap_or_default();
        for record in text.lines().filter_map(|line| serde_json::from_str::<Map<String, Value>>(line).ok()) {
            let value = |metric: Metric, game: Option<&str>| record.get(&metric.tag(game))?.as_f64();
            let updates = record.get("updates").and_then(Value::as_u64).unwrap_or(0);
            self.observe(updates, &value);
        }
    }

    /// Counts the samples of a record, prints warnings, and returns the flags.
    pub(super) fn check(&mut self, updates: u64, samples: &[Sample]) -> Vec<Sample> {
        let findings = self.observe(updates, &|metric, game| largest_value(samples, metric, game));
        let Findings { flags, warnings } = findings;
        for warning in warnings {
            self.printer.warn(&warning);
        }
        flags
    }

    /// Counts a record, whose values `value` returns.
    fn observe(&mut self, updates: u64, value: &dyn Fn(Metric, Option<&str>) -> Option<f64>) -> Findings {
        let mut findings = Findings::default();
        let flag = |holds: bool| if holds { 1.0 } else { 0.0 };
        for watch in &mut self.watches {
            let value = value(watch.condition.watched, watch.game.as_deref());
            let Some(value) = value.filter(|value| value.is_finite()) else { continue };
            let holds = watch.observe(value, updates);
            let (metric, task) = (watch.condition.flag, watch.game.clone());
            findings.flags.push(Sample { metric, task, value: flag(holds) });
            findings.warnings.extend(watch.warning(value, self.algorithm));
        }
        let several = self.endless_episodes.len() > 1;
        for watch in &mut self.endless_episodes {
            let game = several.then(|| watch.game.clone());
            if let Some(length) = value(Metric::EpisodicLength, game.as_deref()) {
                watch.end_episode(length * self.frames_per_step);
            }
            let Some(frames) = value(Metric::Frames, game.as_deref()) else { continue };
            let holds = watch.observe(frames, updates);
            let task = game.clone();
            findings.flags.push(Sample { metric: Metric::HealthEpisodes, task, value: flag(holds) });
            findings.warnings.extend(watch.warning(self.algorithm.name()));
        }
        findings
    }
}

/// Returns the largest value of a metric. Several episodes of a game may end in the same step.
fn largest_value(samples: &[Sample], metric: Metric, game: Option<&str>) -> Option<f64> {
    let matching = samples.iter().filter(|sample| sample.metric == metric && sample.task.as_deref() == game);
    matching.map(|sample| sample.value).reduce(f64::max)
}

/// Returns a watch for each condition. Those of games are watched game by game, if there are enough of them.
fn watches(experiment: &Experiment, actions: ActionKind) -> Vec<Watch> {
    let bounds = bounds(experiment);
    // The entropy of a continuous policy has no lower bound, and that of SAC has a target.
    let has_bound = actions == ActionKind::Discrete && experiment.run.algorithm != Algorithm::Sac;
    let conditions = CONDITIONS.iter().filter(|condition| has_bound || condition.watched != Metric::Entropy);
    let mut watches: Vec<Watch> = conditions.map(|condition| Watch::new(condition, None, bounds)).collect();
    let games = experiment.games.names();
    if games.len() >= GAMES_WITH_SHARES {
        for game in games {
            let of_game = |condition| Watch::new(condition, Some(game.to_owned()), bounds);
            watches.extend(CONDITIONS_OF_GAMES.iter().map(of_game));
        }
    }
    watches
}

/// Returns the bounds of an experiment. The largest return is that of endless rewards of 1, if rewards are clipped.
/// Without clipping or a scale, values and their gradients may be of any size.
fn bounds(experiment: &Experiment) -> Bounds {
    let settings = experiment.algorithm.to_toml().ok();
    let setting = |key: &str| settings.as_ref()?.get(experiment.run.algorithm.name())?.get(key)?.as_float();
    let has_scale = experiment.clips_rewards() || experiment.policy.value_scale != ValueScale::None;
    let gamma = setting("gamma").filter(|_| experiment.clips_rewards());
    Bounds {
        largest_return: gamma.map(|gamma| 1.0 / (1.0 - gamma).max(1e-3)),
        max_grad_norm: setting("max_grad_norm").filter(|_| has_scale),
    }
}

/// Returns a watch for each emulated game. The episodes of other tasks are short.
fn endless_episodes(experiment: &Experiment) -> Vec<EndlessEpisodes> {
    let environments = &experiment.environments;
    let games = experiment.games.names().into_iter().filter(|name| GameMode::of_id(name).is_some());
    let watches = games.map(|name| {
        let limit = environments.game.get(name).and_then(|game| game.max_num_frames_per_episode);
        let limit = limit.unwrap_or(environments.max_num_frames_per_episode);
        EndlessEpisodes::new(name, environments.num_envs_of(name), limit)
    });
    watches.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::config;

    fn health(config: &str) -> Health {
        health_of(config, ActionKind::Discrete)
    }

    fn health_of(config: &str, actions: ActionKind) -> Health {
        Health::new(&config::from_toml(config).unwrap().resolve().unwrap(), actions, Printer::Quiet)
    }

    /// Observes reports with one value each. Returns the warnings with the number of the report.
    fn warnings(health: &mut Health, metric: Metric, values: &[f64]) -> Vec<(u64, String)> {
        let mut warnings = Vec::new();
        for (updates, &value) in (1..).zip(values) {
            let findings = health.observe(updates, &|wanted, _| (wanted == metric).then_some(value));
            warnings.extend(findings.warnings.into_iter().map(|warning| (updates, warning)));
        }
        warnings
    }

    #[test]
    fn a_policy_without_entropy_is_reported_once_and_again_after_a_recovery() {
        let values = [vec![0.5; 3], vec![0.001; 30], vec![0.5; 3], vec![0.001; 30]].concat();
        let text = "the policy has stopped exploring; raise ppo.ent_coef or lower ppo.learning_rate";
        let expected = [4, 37].map(|since: u64| {
            let report = since + 9;
            (report, format!("entropy is 0.001, a problem since update {since}: {text}"))
        });
        assert_eq!(warnings(&mut health(""), Metric::Entropy, &values), expected);
        // In Python, it is the environment that has continuous actions.
        let in_python = "environments.games = ['gymnasium:BipedalWalker-v3']";
        let mut continuous = health_of(in_python, ActionKind::Continuous);
        assert_eq!(warnings(&mut continuous, Metric::Entropy, &values), []);
        let mut of_sac = health("experiment.algorithm = 'sac'");
        assert_eq!(warnings(&mut of_sac, Metric::Entropy, &values), []);
        let short = [0.001; 9];
        assert_eq!(warnings(&mut health(""), Metric::Entropy, &short), []);
    }

    #[test]
    fn a_resumed_run_does_not_repeat_its_warnings() {
        let run = tempfile::TempDir::new().unwrap();
        let record = |updates: u64| format!("{{\"updates\":{updates},\"losses/entropy\":0.001}}\n");
        fs::write(run.path().join(METRICS_FILE), (1..=12).map(record).collect::<String>()).unwrap();
        let mut health = health("");
        health.replay(run.path());
        let findings = health.observe(13, &|metric, _| (metric == Metric::Entropy).then_some(0.001));
        assert_eq!(findings.flags, [Sample::new(Metric::HealthEntropy, 1.0)]);
        assert_eq!(findings.warnings, Vec::<String>::new());
    }

    #[test]
    fn every_condition_has_a_warning() {
        let usual = [1.0; 5];
        for (algorithm, metric, bad, name) in [
            ("ppo", Metric::GradientNorm, 0.0, "gradient norm is 0,"),
            ("ppo", Metric::DeadUnits, 1.0, "share of dead units in a layer is 1.000"),
            ("ppo", Metric::ApproxKl, 2.0, "KL divergence of an update is 2.000"),
            ("ppo", Metric::Clipfrac, 0.9, "clipped fraction is 0.900"),
            ("ppo", Metric::ValueLoss, 1e6, "value loss is 1.0e6"),
            ("dqn", Metric::TdLoss, 1e6, "TD loss is 1.0e6"),
            ("dqn", Metric::QValues, -5000.0, "mean action value is -5000.000"),
            ("sac", Metric::QfLoss, 1e6, "loss of the critics is 1.0e6"),
            ("sac", Metric::Alpha, 2e3, "temperature is 2000.000"),
        ] {
            let game = if algorithm == "sac" { "Pendulum-v1" } else { "harvest" };
            let config = format!("experiment.algorithm = '{algorithm}'\nenvironments.games = ['{game}']");
            let mut health = health(&config);
            let usual =
                if metric == Metric::Clipfrac || metric == Metric::DeadUnits { [0.1; 5] } else { usual };
            let values =
                [if metric == Metric::ApproxKl { &[0.01; 5] } else { &usual }, &[bad; 20][..]].concat();
            let warnings = warnings(&mut health, metric, &values);
            assert_eq!(warnings.len(), 1, "{metric:?}: {warnings:?}");
            let warning = &warnings[0].1;
            assert!(warning.starts_with(name) && warning.contains("since update 6"), "{warning}");
            let rate = if algorithm == "sac" { "sac.q_lr" } else { &format!("{algorithm}.learning_rate") };
            assert!(warning.contains(rate), "{warning}");
        }
    }

    #[test]
    fn gradients_far_above_their_limit_are_reported() {
        let mut health = health("ppo.max_grad_norm = 0.5");
        assert_eq!(warnings(&mut health, Metric::GradientNorm, &[4.9; 30]), []);
        let warned = warnings(&mut health, Metric::GradientNorm, &[24.0; 30]);
        let text =
            "gradient norm is 24.000, a problem since update 1: it is more than ten times ppo.max_grad_norm";
        assert!(warned.len() == 1 && warned[0].0 == 10 && warned[0].1.starts_with(text), "{warned:?}");
        // Returns of hundreds, whose values have large gradients until they are learned.
        let mut unscaled = self::health("environments.games = ['CartPole-v1']");
        assert_eq!(warnings(&mut unscaled, Metric::GradientNorm, &[24.0; 30]), []);
    }

    /// Returns the warnings of 20 reports in which venture has this share of the gradient.
    fn warnings_about_venture(games: &str, share: f64) -> Vec<String> {
        let mut health = health(&format!("environments.games = {games}"));
        let mut warnings = Vec::new();
        for updates in 1..=20 {
            let findings = health.observe(updates, &|metric, task| {
                (metric == Metric::GradientShare && task == Some("venture")).then_some(share)
            });
            warnings.extend(findings.warnings);
        }
        warnings
    }

    #[test]
    fn a_game_with_most_of_the_gradient_is_reported() {
        let four = "['pong', 'qbert', 'breakout', 'venture']";
        assert_eq!(warnings_about_venture(four, 0.5), Vec::<String>::new());
        let warned = warnings_about_venture(four, 0.9);
        let text = "share of the gradient of venture is 0.900, a problem since update 1";
        assert!(warned.len() == 1 && warned[0].starts_with(text), "{warned:?}");
        // With three games, one of them may well have more than half.
        assert_eq!(warnings_about_venture("['pong', 'qbert', 'venture']", 0.9), Vec::<String>::new());
    }

    #[test]
    fn does_not_warn_about_losses_that_were_always_large() {
        // Unclipped rewards in the thousands.
        assert_eq!(warnings(&mut health(""), Metric::ValueLoss, &[3e6, 5e6, 1e6, 9e6, 2e6, 8e7]), []);
        // No rewards for a long time, then the first ones.
        assert_eq!(warnings(&mut health(""), Metric::ValueLoss, &[1e-9, 1e-9, 0.4, 0.5, 0.4, 0.3]), []);
    }

    /// Observes a record with a single value.
    fn report(health: &mut Health, updates: u64, metric: Metric, game: &str, value: f64) -> Findings {
        health.observe(updates, &|wanted, task| (wanted == metric && task == Some(game)).then_some(value))
    }

    #[test]
    fn a_game_without_episodes_for_long_is_reported() {
        let config =
            "[environments]\ngames = ['pong', 'qbert']\nnum_envs = 2\nmax_num_frames_per_episode = 1000";
        let mut health = health(config);
        let mut report = |updates, metric, game, value| report(&mut health, updates, metric, game, value);
        assert_eq!(report(1, Metric::Frames, "pong", 900.0).flags[0].value, 0.0);
        report(1, Metric::EpisodicLength, "pong", 100.0);
        // 800 frames of each of two environments since then; an episode had 400.
        assert_eq!(report(2, Metric::Frames, "pong", 2500.0).warnings, Vec::<String>::new());
        let stuck = report(3, Metric::Frames, "pong", 4200.0);
        assert_eq!(stuck.flags, [Sample::of_task(Metric::HealthEpisodes, "pong", 1.0)]);
        assert!(
            stuck.warnings[0].starts_with("no episode of pong has ended in the last 1650 frames"),
            "{stuck:?}"
        );
        assert!(report(4, Metric::Frames, "qbert", 1100.0).warnings[0].contains("qbert"));
    }

    /// Returns the number below a heading of a table, if there is one.
    fn number_in_row(headings: &[&str], row: &[&str], name: &str) -> Option<f64> {
        let column = headings.iter().position(|heading| *heading == name)?;
        row[column].parse().ok()
    }

    #[test]
    fn recorded_trainings_that_succeeded_are_healthy() {
        let columns = [
            Metric::Entropy,
            Metric::ApproxKl,
            Metric::ValueLoss,
            Metric::TdLoss,
            Metric::QValues,
            Metric::QfLoss,
            Metric::Alpha,
            Metric::GradientNorm,
        ];
        let columns: BTreeMap<String, Metric> = columns
            .into_iter()
            .map(|metric| (metric.tag(None).trim_start_matches("losses/").to_owned(), metric))
            .collect();
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/results");
        let mut reports = 0;
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "csv") {
                continue;
            }
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap();
            let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
            let headings = lines.next().unwrap();
            // Files of several runs contain only episodes.
            if !headings.contains(&"updates") {
                continue;
            }
            let algorithm =
                ["ppo", "dqn", "pqn", "sac"].into_iter().find(|algorithm| name.contains(algorithm)).unwrap();
            // Any task with continuous actions will do.
            let is_continuous =
                ["pendulum", "half-cheetah", "mountaincar-continuous"].iter().any(|task| name.contains(task));
            let (games, actions) = if is_continuous {
                ("environments.games = ['Pendulum-v1']", ActionKind::Continuous)
            } else {
                ("", ActionKind::Discrete)
            };
            let mut health = health_of(&format!("experiment.algorithm = '{algorithm}'\n{games}"), actions);
            for row in lines {
                let updates = number_in_row(&headings, &row, "updates").unwrap() as u64;
                let findings = health.observe(updates, &|wanted, _| {
                    let (heading, _) = columns.iter().find(|(_, metric)| **metric == wanted)?;
                    number_in_row(&headings, &row, heading)
                });
                assert_eq!(findings.warnings, Vec::<String>::new(), "{name}");
                reports += findings.flags.len();
            }
        }
        assert!(reports > 5000, "{reports}");
    }
}
