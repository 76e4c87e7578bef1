//! The report as a self-contained HTML page.

mod charts;
mod overview;
mod scores;
mod settings;

use anyhow::Result;

use super::groups::{Group, games};
use super::html::escaped;

const STYLE: &str = include_str!("../style.css");

/// Returns the page for these groups of runs.
pub(super) fn html(groups: &[Group]) -> Result<String> {
    let games = games(groups);
    let title = escaped(&title(groups));
    let sections = [
        overview::runs(groups),
        scores::aggregates(groups, &games),
        charts::learning_curves(groups)?,
        scores::games(groups, &games),
        settings::settings(groups),
        charts::losses(groups)?,
        charts::speed(groups)?,
    ];
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<h1>{title}</h1>\n{}{}</body>\n</html>\n",
        overview::subject(groups, &games),
        sections.concat()
    ))
}

/// Returns the name of the only run, or the number of runs.
fn title(groups: &[Group]) -> String {
    let runs: Vec<_> = groups.iter().flat_map(|group| &group.runs).collect();
    match runs.as_slice() {
        [run] => run.name.clone(),
        runs => format!("{} runs", runs.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::groups::grouped;
    use super::super::testing::run;
    use super::*;

    #[test]
    fn shows_published_scores_beside_those_of_a_run() {
        let mut run = run("first", "[environments]\ngames = ['pong']");
        let history = run.games.get_mut("pong").unwrap();
        history.curve.push(4e6, -20.0);
        history.evaluation = Some(14.6);
        let page = html(&grouped(vec![run])).unwrap();
        for row in [
            // Return, human-normalised, random, human; PPO twice, DQN, Rainbow.
            "14.6</td><td>1.000</td><td>-20.7</td><td>14.6</td><td>20.4</td><td>20.4</td><td>18.9</td><td>20.9</td>",
            // (18.9 + 20.7) / (14.6 + 20.7), and an optimality gap of 0.
            "DQN, Mnih et al. 2015</td><td>1.122</td><td>1.122</td><td>1.122</td><td>0.000</td>",
        ] {
            assert!(page.contains(row), "no '{row}' in {page}");
        }
        assert!(page.contains("github.com/pfnet/pfrl"), "a source: {page}");
    }

    #[test]
    fn shows_published_scores_of_tasks_without_human_scores() {
        let mut run = run("first", "[environments]\ngames = ['HalfCheetah-v5']");
        run.games.get_mut("HalfCheetah-v5").unwrap().evaluation = Some(1718.25);
        let page = html(&grouped(vec![run])).unwrap();
        let row = "1,718</td><td>1,443 &plusmn; 46.0</td><td>9,635 &plusmn; 1,424</td>";
        assert!(page.contains(row), "no '{row}' in {page}");
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
        let page = html(&grouped(configs.map(|(name, config)| run(name, config)).into())).unwrap();
        for part in
            ["<h1>3 runs</h1>", "</span>PPO, num_envs 4</td>", "</span>DQN</td>", ">slow</td>", ">other</td>"]
        {
            assert!(page.contains(part), "no '{part}' in {page}");
        }
        let (differing, all) = page.split_once("<details>").expect("all settings");
        // Groups are the rows, since they are more than the keys.
        let row = "</span>PPO, num_envs 8</td><td>8</td><td>ppo</td>";
        assert!(differing.contains(row) && !differing.contains("dqn.buffer_size"), "{differing}");
        assert!(all.contains("dqn.buffer_size") && all.contains("ppo.gae_lambda"), "{all}");
    }

    #[test]
    fn the_page_refers_to_nothing_outside_and_declares_both_colour_schemes() {
        let page = html(&grouped(vec![run("<script>", "")])).unwrap();
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
        for outside in ["src=", "href=", "url(", "@import", "<link"] {
            assert!(!page.contains(outside), "{outside} in {page}");
        }
        assert!(
            page.contains("prefers-color-scheme: dark") && page.contains("content=\"light dark\""),
            "{page}"
        );
    }
}
