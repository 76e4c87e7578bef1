//! The report as a self-contained HTML page. `curves` is the data that `page.js` draws; everything else is HTML.

mod curves;
mod overview;
mod scores;
mod settings_section;
mod videos_section;

use anyhow::Result;

use super::group::{Group, games, in_words};
use super::html::escaped;
use super::score_table::ScoreTable;
use super::videos::Video;
use crate::page::{CHART, UPLOT, UPLOT_STYLE, data_element, script_hash, style};

use curves::PartCurves;

static STYLE: &str = include_str!("style.css");
/// The scripts, in the order in which they depend on each other.
const SCRIPTS: [&str; 3] = [UPLOT, CHART, include_str!("page.js")];

/// Returns the content security policy of the page. It loads nothing from elsewhere and runs only its own scripts,
/// whatever the names of runs contain.
pub(crate) fn content_security_policy() -> String {
    let scripts = SCRIPTS.map(script_hash).join(" ");
    format!(
        "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
         form-action 'none'"
    )
}

/// Returns the page for these parts, no two of which have a game in common. `videos` has a list for each part, or is
/// empty.
pub(super) fn html(parts: &[Vec<Group>], videos: &[Vec<Video>]) -> Result<String> {
    let title = escaped(&page_title(parts.iter().flatten()));
    let videos_of = |index: usize| videos.get(index).map(Vec::as_slice);
    let body: String = if let [part] = parts {
        sections(0, part, videos_of(0))
    } else {
        let titled = |(index, part): (usize, &Vec<Group>)| titled_sections(index, part, videos_of(index));
        parts.iter().enumerate().map(titled).collect()
    };
    let curves: Vec<PartCurves<'_>> = parts.iter().map(|part| PartCurves::of(part)).collect();
    let data = data_element("curves", &serde_json::to_string(&curves)?);
    let scripts = SCRIPTS.map(|script| format!("<script>{script}</script>\n")).concat();
    let num_colours = parts.iter().map(Vec::len).max().unwrap_or(0);
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n<title>{title}</title>\n\
         <style>\n{UPLOT_STYLE}\n{}{STYLE}</style>\n</head>\n\
         <body>\n<main>\n<h1>{title}</h1>\n{}{body}</main>\n{data}{scripts}</body>\n</html>\n",
        content_security_policy(),
        style(num_colours),
        contents(parts)
    ))
}

/// Returns the sections of a part, under its title.
fn titled_sections(index: usize, part: &[Group], videos: Option<&[Video]>) -> String {
    let title = escaped(&in_words(&games(part)));
    format!("<h1 id=\"part-{index}\">{title}</h1>\n{}", sections(index, part, videos))
}

/// Returns the sections of a part.
fn sections(index: usize, groups: &[Group], videos: Option<&[Video]>) -> String {
    let (games, table) = (games(groups), ScoreTable::of(groups));
    let sections = [
        overview::subject(groups, &games),
        overview::runs(groups),
        scores::aggregates(groups, &games, &table),
        scores::improvements(groups, &table),
        scores::games(groups, &games, &table),
        scores::published_agents(&games),
        videos.map_or_else(String::new, |videos| videos_section::videos(groups, videos)),
        curves::sections(index, groups),
        settings_section::settings(groups),
    ];
    sections.concat()
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
fn page_title<'a>(groups: impl Iterator<Item = &'a Group>) -> String {
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
    use super::super::testing::finished_run;
    use super::*;
    use crate::telemetry::Moment;

    fn page(runs: Vec<RunHistory>) -> String {
        html(&parts(runs), &[]).unwrap()
    }

    /// Returns the data of the curves in a page.
    fn data(page: &str) -> serde_json::Value {
        let (_, data) = page.split_once("<script type=\"application/json\" id=\"curves\">").expect("data");
        serde_json::from_str(data.split_once("</script>").expect("an end").0).expect("JSON")
    }

    #[test]
    fn shows_published_scores_beside_those_of_a_run() {
        let mut run = finished_run("first", "[environments]\ngames = ['pong']");
        let history = run.games.get_mut("pong").unwrap();
        history.curve.push(4e6, -20.0);
        history.evaluation = Some(14.6);
        let page = page(vec![run]);
        for row in [
            // Return, random, human.
            "<td>14.6<small>normalised 1.000</small></td><td>-20.7</td><td>14.6</td></tr>",
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
        let mut run = finished_run(
            "first",
            "[environments]\ngames = ['pong', 'breakout']\n[environments.game.breakout]\nmode = 12\ndifficulty = 1",
        );
        let other = "breakout@12.1";
        run.games.get_mut("pong").unwrap().evaluation = Some(14.6);
        let history = run.games.get_mut(other).unwrap();
        history.evaluation = Some(30.0);
        history.curve.push(0.0, 1.0);
        history.curve.push(4e6, 30.0);
        let page = page(vec![run]);
        for part in [
            // Return, random, human.
            &format!("{other}</td><td>30.0</td><td>-</td><td>-</td></tr>"),
            // Median, interquartile mean, mean and optimality gap.
            "first</span></td><td>1 of 2</td><td>1.000</td><td>1.000</td><td>1.000</td><td>0.000</td>",
            "are those of the default mode and difficulty",
        ] {
            assert!(page.contains(part), "no '{part}' in {page}");
        }
        let charts = data(&page)[0]["charts"].clone();
        let chart = |title: &str| {
            charts.as_array().unwrap().iter().find(|chart| chart["title"] == title).unwrap().clone()
        };
        assert_eq!(chart(other)["curves"][0]["values"].as_array().unwrap().last(), Some(&30.0.into()));
        assert_eq!(chart(other)["waiting"], serde_json::json!([]));
        // No episode has ended.
        let pong = chart("pong");
        assert_eq!((&pong["curves"], &pong["waiting"]), (&serde_json::json!([]), &serde_json::json!([0])));
        let (_, published) = page.split_once("<h2>Published scores</h2>").expect("those of pong");
        let (published, _) = published.split_once("<h2>").expect("another section");
        assert!(published.contains(">pong</td>") && !published.contains("breakout"), "{published}");
        assert!(!page.contains("NaN"), "{page}");
    }

    #[test]
    fn a_game_in_two_modes_is_two_games() {
        let mode = "[environments.game.pong]\nmode = 1\n";
        let runs = [("default", ""), ("other", mode)]
            .map(|(name, mode)| finished_run(name, &format!("[environments]\ngames = ['pong']\n{mode}")));
        let parts = parts(runs.into());
        assert_eq!(parts.iter().map(|part| in_words(&games(part))).collect::<Vec<_>>(), ["pong", "pong@1"]);
    }

    #[test]
    fn a_finished_run_is_done_even_if_the_requested_frames_end_within_an_update() {
        let mut run = finished_run("short", "[experiment]\ntotal_frames = 10000\n[ppo]\nnum_steps = 64");
        let percent_done = |run: &RunHistory| run.experiment.percent_done(&run.reached);
        // Four updates of 8 environments, 64 steps and 4 frames.
        run.reached = Moment { updates: 3, steps: 1536, frames: 6144, seconds: 1.0 };
        assert_eq!(percent_done(&run), 75);
        run.reached = Moment { updates: 4, steps: 2048, frames: 8192, seconds: 1.0 };
        assert!(page(vec![run]).contains("<td>100&nbsp;%</td>"));
    }

    #[test]
    fn shows_published_scores_of_tasks_without_human_scores() {
        let mut run = finished_run("first", "[environments]\ngames = ['HalfCheetah-v5']");
        run.games.get_mut("HalfCheetah-v5").unwrap().evaluation = Some(1718.25);
        let page = page(vec![run]);
        for row in [
            "<td>1,718</td></tr>",
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
        let page = page(configs.map(|(name, config)| finished_run(name, config)).into());
        for part in [
            "<h1>3 runs</h1>",
            "</span>PPO, num_envs 4</span></td>",
            "</span>DQN</span></td>",
            ">slow</td>",
            ">other</td>",
        ] {
            assert!(page.contains(part), "no '{part}' in {page}");
        }
        let (differing, details) = page.split_once("<details>").expect("all settings");
        // Groups are the rows, because there are more groups than keys.
        let row = "</span>PPO, num_envs 8</span></td><td>8</td><td>ppo</td>";
        assert!(differing.contains(row) && !differing.contains("dqn.buffer_size"), "{differing}");
        assert!(details.contains("dqn.buffer_size") && details.contains("ppo.gae_lambda"), "{details}");
    }

    #[test]
    fn settings_are_columns_and_the_best_is_bold() {
        let scored = |name: &str, config: &str, score: f64| {
            let mut run = finished_run(name, config);
            run.games.get_mut("harvest").unwrap().evaluation = Some(score);
            run
        };
        let runs = vec![
            scored("one", "", 35.0),
            scored("two", "[experiment]\nseed = 2", 36.0),
            scored("other", "[ppo]\ngamma = 0.9", 12.0),
        ];
        let page = page(runs);
        for part in [
            "harvest</td><td><b>35.5</b><small>35.0 to 36.0, 2 runs</small></td><td>12.0</td></tr>",
            // Both runs score higher than the other one. An interval requires several runs of both.
            "PPO, gamma 0.99</span></td><td>-</td><td>1.000</td></tr>",
            "PPO, gamma 0.9</span></td><td>0.000</td><td>-</td></tr>",
        ] {
            assert!(page.contains(part), "no '{part}' in {page}");
        }
    }

    #[test]
    fn videos_are_in_the_page() {
        let groups = parts(vec![finished_run("<first>", "")]);
        let video = Video {
            group: 0,
            run: "<first>".to_owned(),
            game: "harvest".to_owned(),
            outcome: "score 3".to_owned(),
            gif: b"GIF89a".to_vec(),
        };
        let page = html(&groups, &[vec![video]]).unwrap();
        let figure =
            "<img src=\"data:image/gif;base64,R0lGODlh\" alt=\"the agent of &lt;first&gt; in harvest\"";
        assert!(page.contains(figure) && page.contains("<small>&lt;first&gt;, score 3</small>"), "{page}");
    }

    #[test]
    fn seeds_have_a_band_and_a_single_run_has_none() {
        let trained = |name: &str, config: &str, score: f64| {
            let mut run = finished_run(name, config);
            let curve = &mut run.games.get_mut("harvest").unwrap().curve;
            curve.push(0.0, score);
            curve.push(1000.0, score);
            run
        };
        let runs = vec![
            trained("one", "", 1.0),
            trained("two", "[experiment]\nseed = 2", 1.234_567_891),
            trained("other", "[ppo]\ngamma = 0.9", 3.0),
        ];
        let data = data(&page(runs));
        let curves = &data[0]["charts"][0]["curves"];
        assert_eq!(data[0]["names"], serde_json::json!(["PPO, gamma 0.99", "PPO, gamma 0.9"]));
        assert_eq!((&curves[0]["low"][0], &curves[0]["high"][0]), (&1.0.into(), &1.23457.into()));
        assert_eq!((&curves[1]["values"][0], &curves[1]["low"]), (&3.0.into(), &serde_json::Value::Null));
    }

    #[test]
    fn names_are_text_and_only_the_scripts_of_the_page_run() {
        let names = ["</script><script>alert(\"1\")</script>", "<!-- 'quoted' & \"more\""];
        let configs = ["", "[experiment]\nalgorithm = 'dqn'"];
        let runs = names.iter().zip(configs).map(|(name, config)| {
            let mut run = finished_run(name, config);
            run.setting = Some((*name).to_owned());
            run
        });
        let page = page(runs.collect());
        assert_eq!(data(&page)[0]["names"], serde_json::json!(names));
        assert!(page.contains("&lt;script&gt;alert(&quot;1&quot;)") && !page.contains("alert(\"1"), "{page}");
        // The data, and the three scripts.
        assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (4, 4));
        let policy = content_security_policy();
        assert!(page.contains(&policy) && policy.contains("default-src 'none'"), "{policy}");
        for (_, script) in page.match_indices("<script>").map(|(start, tag)| page.split_at(start + tag.len()))
        {
            let script = script.split_once("</script>").unwrap().0;
            assert!(policy.contains(&script_hash(script)), "{policy}");
        }
    }

    #[test]
    fn the_page_refers_to_nothing_outside_and_declares_both_colour_schemes() {
        let page = page(vec![finished_run("first", "")]);
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
        let page = page(runs.map(|(name, config)| finished_run(name, config)).into());
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
