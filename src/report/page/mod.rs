//! The report as a self-contained HTML page.

mod charts;
mod overview;
pub(super) mod scores;
mod settings_section;

use anyhow::Result;

use super::group::{Group, games, in_words};
use super::html::escaped;

static STYLE: &str = include_str!("../style.css");

/// Returns the page for these parts, no two of which have a game in common.
pub(super) fn html(parts: &[Vec<Group>]) -> Result<String> {
    let title = escaped(&title(parts.iter().flatten()));
    let body = if let [part] = parts {
        sections(part)?
    } else {
        let titled = parts.iter().enumerate().map(|(index, part)| titled_sections(index, part));
        titled.collect::<Result<String>>()?
    };
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<h1>{title}</h1>\n{}{body}</body>\n</html>\n",
        contents(parts)
    ))
}

/// Returns the sections of a part, under its title.
fn titled_sections(index: usize, part: &[Group]) -> Result<String> {
    let title = escaped(&in_words(&games(part)));
    Ok(format!("<h1 id=\"part-{index}\">{title}</h1>\n{}", sections(part)?))
}

/// Returns the sections of a part.
fn sections(groups: &[Group]) -> Result<String> {
    let games = games(groups);
    let sections = [
        overview::subject(groups, &games),
        overview::runs(groups),
        scores::aggregates(groups, &games),
        charts::learning_curves(groups)?,
        scores::games(groups, &games),
        scores::published_agents(&games),
        settings_section::settings(groups),
        charts::losses(groups)?,
        charts::speed(groups)?,
    ];
    Ok(sections.concat())
}

/// Returns links to the parts, unless there is only one.
fn contents(parts: &[Vec<Group>]) -> String {
    if parts.len() == 1 {
        return String::new();
    }
    let links = parts.iter().enumerate().map(|(index, part)| {
        let title = escaped(&in_words(&games(part)));
        format!("<li><a href=\"#part-{index}\">{title}</a></li>\n")
    });
    let links: String = links.collect();
    format!(
        "<p class=\"note\">Runs that share a game are compared with each other:</p>\n<ul>\n{links}</ul>\n"
    )
}

/// Returns the name of the only run, or the number of runs.
fn title<'a>(groups: impl Iterator<Item = &'a Group>) -> String {
    let runs: Vec<_> = groups.flat_map(|group| &group.runs).collect();
    match runs.as_slice() {
        [run] => run.name.clone(),
        runs => format!("{} runs", runs.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::groups::parts;
    use super::super::runs::RunHistory;
    use super::super::testing::run;
    use super::*;
    use crate::telemetry::Moment;

    #[test]
    fn shows_published_scores_beside_those_of_a_run() {
        let mut run = run("first", "[environments]\ngames = ['pong']");
        let history = run.games.get_mut("pong").unwrap();
        history.curve.push(4e6, -20.0);
        history.evaluation = Some(14.6);
        let page = html(&parts(vec![run])).unwrap();
        for row in [
            // Return, human-normalised, random, human.
            "14.6</td><td>1.000</td><td>-20.7</td><td>14.6</td></tr>",
            // PPO three times, DQN, Rainbow.
            "pong</td><td>20.4</td><td>20.4 &plusmn; 0.2</td><td>20.4</td><td>18.9</td><td>20.9</td>",
            // (18.9 + 20.7) / (14.6 + 20.7), and an optimality gap of 0.
            "DQN, Mnih et al. 2015</td><td>1</td><td>1.122</td><td>1.122</td><td>1.122</td><td>0.000</td>",
        ] {
            assert!(page.contains(row), "no '{row}' in {page}");
        }
        assert!(page.contains("github.com/pfnet/pfrl"), "a source: {page}");
    }

    #[test]
    fn games_in_other_modes_have_no_published_scores() {
        let mut run = run(
            "first",
            "[environments]\ngames = ['pong', 'breakout']\n[environments.game.breakout]\nmode = 12\ndifficulty = 1",
        );
        let other = "breakout (mode 12, difficulty 1)";
        run.games.get_mut("pong").unwrap().evaluation = Some(14.6);
        let history = run.games.get_mut(other).unwrap();
        history.evaluation = Some(30.0);
        history.curve.push(0.0, 1.0);
        history.curve.push(4e6, 30.0);
        let page = html(&parts(vec![run])).unwrap();
        for part in [
            // Return, human-normalised, random, human.
            &format!(
                "{other}</td><td class=\"left\"><span class=\"key\" style=\"background: rgb(31, 119, 180)\"></span>\
             first</td><td>30.0</td><td>-</td><td>-</td><td>-</td></tr>"
            ),
            // Median, interquartile mean, mean and optimality gap.
            "first</td><td>1 of 2</td><td>1.000</td><td>1.000</td><td>1.000</td><td>0.000</td>",
            "are those of the default mode and difficulty",
            &format!("\n{other}\n</text>"),
            "No learning curve in pong: no episode has ended.",
        ] {
            assert!(page.contains(part), "no '{part}' in {page}");
        }
        let (_, published) = page.split_once("<h2>Published scores</h2>").expect("those of pong");
        let (published, _) = published.split_once("<h2>").expect("another section");
        assert!(published.contains(">pong</td>") && !published.contains("breakout"), "{published}");
        assert!(!page.contains("NaN"), "{page}");
    }

    #[test]
    fn a_game_in_two_modes_is_two_games() {
        let mode = "[environments.game.pong]\nmode = 1\n";
        let runs = [("default", ""), ("other", mode)]
            .map(|(name, mode)| run(name, &format!("[environments]\ngames = ['pong']\n{mode}")));
        let parts = parts(runs.into());
        assert_eq!(
            parts.iter().map(|part| in_words(&games(part))).collect::<Vec<_>>(),
            ["pong", "pong (mode 1)"]
        );
    }

    #[test]
    fn a_finished_run_is_done_even_if_the_requested_frames_end_within_an_update() {
        let mut run = run("short", "[experiment]\ntotal_frames = 10000\n[ppo]\nnum_steps = 64");
        let percent_done = |run: &RunHistory| run.experiment.percent_done(&run.reached);
        // Four updates of 8 environments, 64 steps and 4 frames.
        run.reached = Moment { updates: 3, steps: 1536, frames: 6144, seconds: 1.0 };
        assert_eq!(percent_done(&run), 75);
        run.reached = Moment { updates: 4, steps: 2048, frames: 8192, seconds: 1.0 };
        assert!(html(&parts(vec![run])).unwrap().contains("<td>100&nbsp;%</td>"));
    }

    #[test]
    fn shows_published_scores_of_tasks_without_human_scores() {
        let mut run = run("first", "[environments]\ngames = ['HalfCheetah-v5']");
        run.games.get_mut("HalfCheetah-v5").unwrap().evaluation = Some(1718.25);
        let page = html(&parts(vec![run])).unwrap();
        for row in [
            "1,718</td></tr>",
            "HalfCheetah-v5</td><td>1,443 &plusmn; 46.0</td><td>9,635 &plusmn; 1,424</td>",
        ] {
            assert!(page.contains(row), "no '{row}' in {page}");
        }
        assert!(page.contains("docs/benchmark/ppo_continuous_action.md"), "a source: {page}");
        assert!(!page.contains("Human-normalised scores"), "{page}");
    }

    #[test]
    fn unlike_runs_have_short_names_and_a_table_of_the_settings_they_share() {
        let configs = [
            ("slow", "[environments]\nnum_envs = 4"),
            ("fast", "[environments]\nnum_envs = 8"),
            ("other", "[experiment]\nalgorithm = 'dqn'\n[environments]\nnum_envs = 1"),
        ];
        let page = html(&parts(configs.map(|(name, config)| run(name, config)).into())).unwrap();
        for part in
            ["<h1>3 runs</h1>", "</span>PPO, num_envs 4</td>", "</span>DQN</td>", ">slow</td>", ">other</td>"]
        {
            assert!(page.contains(part), "no '{part}' in {page}");
        }
        let (differing, details) = page.split_once("<details>").expect("all settings");
        // Groups are the rows, because there are more groups than keys.
        let row = "</span>PPO, num_envs 8</td><td>8</td><td>ppo</td>";
        assert!(differing.contains(row) && !differing.contains("dqn.buffer_size"), "{differing}");
        assert!(details.contains("dqn.buffer_size") && details.contains("ppo.gae_lambda"), "{details}");
    }

    #[test]
    fn the_page_refers_to_nothing_outside_and_declares_both_colour_schemes() {
        let page = html(&parts(vec![run("<script>", "")])).unwrap();
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
        for outside in ["src=", "href=", "url(", "@import", "<link"] {
            assert!(!page.contains(outside), "{outside} in {page}");
        }
        assert!(
            page.contains("prefers-color-scheme: dark") && page.contains("content=\"light dark\""),
            "{page}"
        );
    }

    #[test]
    fn runs_without_a_common_game_are_in_parts_that_the_contents_link_to() {
        let runs =
            [("first", "[environments]\ngames = ['pong']"), ("second", "[environments]\nnum_envs = 2")];
        let page = html(&parts(runs.map(|(name, config)| run(name, config)).into())).unwrap();
        for (index, game) in ["pong", "harvest"].into_iter().enumerate() {
            for part in [
                format!("<a href=\"#part-{index}\">{game}</a>"),
                format!("<h1 id=\"part-{index}\">{game}</h1>"),
            ] {
                assert!(page.contains(&part), "no '{part}' in {page}");
            }
        }
        let (_, pong) = page.split_once("<h1 id=\"part-0\">").unwrap();
        let (pong, harvest) = pong.split_once("<h1 id=\"part-1\">").unwrap();
        assert!(pong.contains(">first</td>") && !pong.contains(">second</td>"), "{pong}");
        assert!(harvest.contains(">second</td>") && !harvest.contains(">first</td>"), "{harvest}");
    }
}
