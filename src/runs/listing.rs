use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde_json::{Value, json};

use super::score::{Origin, Score};
use super::status::{RunStatus, State, Training};
use crate::output::one_line;
use crate::table;

const HEADINGS: [&str; 9] = ["run", "alg", "games", "state", "frames", "done", "score", "size", "age"];
/// The index of the column of scores.
const SCORE: usize = 6;
/// Marks the scores of evaluations.
const EVALUATED: &str = "*";
/// The width to which the game of a run is cut if the table would be too wide.
const GAMES_WIDTH: usize = 8;
/// The minimum width of the name of a run, which is cut if the table would be too wide.
const NAME_WIDTH: usize = 12;

/// Prints the runs as a JSON array.
pub(super) fn print_json(runs: &[RunStatus], out: &mut impl Write) -> Result<()> {
    let runs: Vec<Value> = runs.iter().map(object).collect();
    writeln!(out, "{}", serde_json::to_string_pretty(&runs)?)?;
    Ok(())
}

pub(super) fn object(run: &RunStatus) -> Value {
    let training = run.training.as_ref();
    let value_of = |value: fn(&Training) -> Value| training.map_or(Value::Null, value);
    json!({
        "path": run.path.to_string_lossy(),
        "algorithm": value_of(|training| json!(training.experiment.run.algorithm)),
        "games": value_of(|training| json!(training.experiment.games.names())),
        "labels": value_of(|training| json!(training.experiment.games.labels())),
        "seed": value_of(|training| json!(training.experiment.run.seed)),
        "state": run.state.name(),
        "problem": match &run.state {
            State::Damaged(problem) => Some(problem),
            _ => None,
        },
        "frames": value_of(|training| json!(training.reached.frames)),
        "total_frames": value_of(|training| json!(training.experiment.total_frames())),
        "final_frames": value_of(|training| json!(training.experiment.final_frames())),
        "percent_done": value_of(|training| json!(training.percent_done())),
        "score": value_of(|training| json!(training.score)),
        "bytes": run.disk.bytes,
        "changed": run.disk.changed.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
    })
}

/// Prints the runs as a table of at most `width` columns, then the problems of damaged ones.
pub(super) fn print_table(
    runs: &[RunStatus],
    directory: &Path,
    now: SystemTime,
    width: Option<usize>,
    out: &mut impl Write,
) -> Result<()> {
    let mut rows: Vec<Vec<String>> = runs.iter().map(|run| row(run, directory, now)).collect();
    let needed = widths(&rows).iter().sum::<usize>() + 2 * (HEADINGS.len() - 1);
    if let Some(width) = width.filter(|&width| needed > width) {
        shorten(&mut rows, width);
    }
    table::print(&HEADINGS, &rows, out)?;
    if rows.iter().any(|row| row[SCORE].contains(EVALUATED)) {
        writeln!(
            out,
            "{EVALUATED} of the newest evaluation; other scores are of the last episodes of training"
        )?;
    }
    for run in runs {
        if let State::Damaged(problem) = &run.state {
            writeln!(out, "{}: {}", name(run, directory), one_line(problem))?;
        }
    }
    Ok(())
}

fn row(run: &RunStatus, directory: &Path, now: SystemTime) -> Vec<String> {
    let training = run.training.as_ref();
    let text_of = |text: fn(&Training) -> String| training.map_or_else(|| "-".to_owned(), text);
    let age = now.duration_since(run.disk.changed).unwrap_or_default();
    vec![
        name(run, directory),
        text_of(|training| training.experiment.run.algorithm.to_string()),
        text_of(|training| games(&training.experiment.games.labels())),
        run.state.name().to_owned(),
        text_of(|training| quantity(training.experiment.total_frames() as f64)),
        text_of(|training| format!("{}%", training.percent_done())),
        text_of(|training| training.score.map_or_else(|| "-".to_owned(), |value| score(value, training))),
        quantity(run.disk.bytes as f64),
        short_age(age),
    ]
}

/// Returns the path below the directory that was searched.
fn name(run: &RunStatus, directory: &Path) -> String {
    let name = run.path.strip_prefix(directory).unwrap_or(&run.path);
    let name = if name.as_os_str().is_empty() { &run.path } else { name };
    one_line(&name.to_string_lossy()).into_owned()
}

fn games(labels: &[String]) -> String {
    match labels {
        [label] => label.clone(),
        labels => format!("{} games", labels.len()),
    }
}

/// Formats a score, with the number of games if some have no part in it: `-20.9`, `43%*`, `43%* of 5`.
fn score(Score { value, origin, human_normalised, games }: Score, training: &Training) -> String {
    let star = if origin == Origin::Evaluation { EVALUATED } else { "" };
    let value =
        if human_normalised { format!("{:.0}%", 100.0 * value) } else { return_in_six_characters(value) };
    let has_all_games = games == training.experiment.games.names().len();
    let of_games = if has_all_games { String::new() } else { format!(" of {games}") };
    format!("{value}{star}{of_games}")
}

/// Formats a return in at most six characters.
fn return_in_six_characters(value: f64) -> String {
    if value.abs() >= 10_000.0 {
        quantity(value)
    } else if value.abs() >= 1000.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

/// Formats a number in at most five characters: `512`, `9.6k`, `40M`, `1.2G`.
fn quantity(value: f64) -> String {
    let sizes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    // 999.95 would be rounded to four digits.
    let Some((size, unit)) = sizes.into_iter().find(|(size, _)| value.abs() >= size * 0.9995) else {
        return format!("{value:.0}");
    };
    let digits = format!("{:.1}", value / size);
    let is_long = digits.len() > 4 + usize::from(value < 0.0) || (value.abs() / size) >= 10.0;
    let digits = if is_long { format!("{:.0}", value / size) } else { digits };
    format!("{}{unit}", digits.strip_suffix(".0").unwrap_or(&digits))
}

/// Formats a duration in at most four characters, by its largest unit.
fn short_age(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Returns the width of each column.
fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let cells = |column: usize| rows.iter().map(move |row| row[column].chars().count());
    let width = |column: usize| cells(column).chain([HEADINGS[column].len()]).max().unwrap_or(0);
    (0..HEADINGS.len()).map(width).collect()
}

/// Cuts the games, and the names as far as necessary, so that the rows fit `width` columns.
fn shorten(rows: &mut [Vec<String>], width: usize) {
    for row in rows.iter_mut().filter(|row| !row[2].ends_with(" games")) {
        row[2] = cut(&row[2], GAMES_WIDTH);
    }
    let others: usize = widths(rows)[1..].iter().map(|column| column + 2).sum();
    let left = width.saturating_sub(others).max(NAME_WIDTH);
    for row in rows {
        row[0] = cut(&row[0], left);
    }
}

/// Replaces the middle of a text that has more than `width` characters.
fn cut(text: &str, width: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= width {
        return text.to_owned();
    }
    let end = (width - 1) / 2;
    let begin = width - 1 - end;
    let (begin, end) = (&characters[..begin], &characters[characters.len() - end..]);
    begin.iter().chain(&['…']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::super::disk::DiskUse;
    use super::*;
    use crate::config;
    use crate::telemetry::Moment;

    fn status(name: &str, games: &str, state: State, score: Option<Score>) -> RunStatus {
        let experiment =
            config::from_toml(&format!("[environments]\ngames = \"{games}\"")).unwrap().resolve();
        let reached = Moment { frames: 39_999_999, ..Moment::default() };
        let training = Training { experiment: experiment.unwrap(), reached, score };
        let disk = DiskUse { bytes: 1_234_567_890, changed: UNIX_EPOCH + Duration::from_secs(1000) };
        RunStatus { path: Path::new("checkpoints").join(name), state, disk, training: Some(training) }
    }

    fn score_of(value: f64, origin: Origin, human_normalised: bool) -> Score {
        Score { value, origin, human_normalised, games: if human_normalised { 57 } else { 1 } }
    }

    fn table(runs: &[RunStatus], width: Option<usize>) -> String {
        let (mut out, now) = (Vec::new(), UNIX_EPOCH + Duration::from_secs(8200));
        print_table(runs, Path::new("checkpoints"), now, width, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_show_the_state_of_each_run() {
        let runs = [
            status("pong__ppo__1", "pong", State::Running, Some(score_of(-20.94, Origin::Training, false))),
            status("sweep/many", "atari57", State::Stopped, Some(score_of(0.431, Origin::Evaluation, true))),
            RunStatus {
                training: None,
                ..status("odd", "pong", State::Damaged("no config".to_owned()), None)
            },
        ];
        assert_eq!(
            table(&runs, None),
            "run           alg     games    state  frames  done  score  size  age\n\
             pong__ppo__1  ppo      pong  running     40M   99%  -20.9  1.2G   2h\n\
             sweep/many    ppo  57 games  stopped     40M   99%   43%*  1.2G   2h\n\
             odd             -         -  damaged       -     -      -  1.2G   2h\n\
             * of the newest evaluation; other scores are of the last episodes of training\n\
             odd: no config\n"
        );
    }

    #[test]
    fn rows_name_the_mode_of_a_game_and_the_number_of_games_in_a_score() {
        let mut run =
            status("modes", "pong", State::Running, Some(score_of(12.0, Origin::Evaluation, false)));
        let text = "[environments]\ngames = ['breakout']\n[environments.game.breakout]\nmode = 12";
        run.training.as_mut().unwrap().experiment = config::from_toml(text).unwrap().resolve().unwrap();
        assert!(table(&[run], None).contains("ppo  breakout@12  running"));
        let some = Score { games: 5, ..score_of(0.431, Origin::Evaluation, true) };
        let several = status("several", "atari57", State::Running, Some(some));
        assert!(table(&[several], None).contains("  43%* of 5  "));
    }

    #[test]
    fn the_widest_cells_fit_eighty_columns() {
        let widest = score_of(-864_000.0, Origin::Evaluation, false);
        let name = "montezuma_revenge__ppo__18446744073709551615__1767225600";
        let runs = [status(name, "montezuma_revenge", State::Finished, Some(widest))];
        let widths = |width| table(&runs, width).lines().map(|line| line.chars().count()).max().unwrap();
        assert_eq!(widths(Some(80)), 80);
        assert!(table(&runs, Some(80)).contains("mont…nge"), "{}", table(&runs, Some(80)));
        assert!(table(&runs, None).contains(name));
        // The name of a run keeps its beginning and its end, by which runs of a sweep differ.
        assert!(table(&runs, Some(80)).contains("225600  ppo"), "{}", table(&runs, Some(80)));
    }

    #[test]
    fn quantities_are_short() {
        let quantities = [0.0, 512.0, 999.0, 9600.0, 40e6, 123.4e6, 999.6e6, 1.25e9, 2e12, -864_000.0];
        let texts = ["0", "512", "999", "9.6k", "40M", "123M", "1G", "1.2G", "2T", "-864k"];
        assert_eq!(quantities.map(quantity), texts);
        assert_eq!([-20.94, 1234.5, 15_000.0].map(return_in_six_characters), ["-20.9", "1234", "15k"]);
        let ages = [0, 59, 60, 3599, 3600, 86_399, 86_400 * 40];
        assert_eq!(
            ages.map(|age| short_age(Duration::from_secs(age))),
            ["0s", "59s", "1m", "59m", "1h", "23h", "40d"]
        );
    }
}
