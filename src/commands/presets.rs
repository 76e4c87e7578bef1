//! `ale-train presets`: lists the presets, or prints one.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};

use crate::cli::PresetsArgs;
use crate::config::{self, Games, Preset, presets};
use crate::learner::Algorithm;
use crate::output::wrapped;
use crate::quantity::count;

/// The width of the column of names; a longer name gets its own line.
const NAME_WIDTH: usize = 15;
/// The width of the text beside the sizes, so that lines have at most 80 columns.
const TEXT_WIDTH: usize = 38;
/// The score or time of a preset that was never measured.
const NOT_MEASURED: &str = "not measured";

/// Prints the list, the page of the book or the file of one preset.
pub(crate) fn run(args: &PresetsArgs, out: &mut impl Write) -> Result<()> {
    if let Some(name) = &args.name {
        return Ok(out.write_all(config::named(name, None)?.text.as_bytes())?);
    }
    if args.reference {
        return Ok(out.write_all(page()?.as_bytes())?);
    }
    if args.json {
        let rows = presets().iter().map(row).collect::<Result<Vec<_>>>()?;
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?);
    }
    Ok(out.write_all(list()?.as_bytes())?)
}

/// The size of the experiment of a preset.
struct Size {
    num_envs: usize,
    total_frames: u64,
    /// Height and width of an observation; none if it is a vector.
    pixels: Option<[usize; 2]>,
}

impl Size {
    fn measure(preset: &Preset) -> Result<Self> {
        let experiment = config::from_preset(preset)?.resolve()?;
        let environments = &experiment.environments;
        let pixels = matches!(experiment.games, Games::Atari(_))
            .then_some([environments.img_height, environments.img_width]);
        Ok(Self { num_envs: experiment.num_envs(), total_frames: experiment.total_frames(), pixels })
    }

    fn observation(&self) -> String {
        self.pixels.map_or_else(|| "vector".to_owned(), |[height, width]| format!("{height}x{width}"))
    }
}

/// Returns the table, at most 80 columns wide.
fn list() -> Result<String> {
    let mut list = String::new();
    for algorithm in Algorithm::ALL {
        let title = algorithm.descriptor().title;
        list += &row_of_list(title, "envs", "frames", "input", "purpose, expected score and time");
        for preset in presets().iter().filter(|preset| preset.algorithm == *algorithm) {
            let size = Size::measure(preset)?;
            let mut name = preset.name;
            if name.len() > NAME_WIDTH {
                list += name;
                list.push('\n');
                name = "";
            }
            let (mut envs, mut frames) = (size.num_envs.to_string(), count(size.total_frames));
            let mut observation = size.observation();
            for text in texts(preset).iter().flat_map(|text| wrapped(text, TEXT_WIDTH)) {
                list += &row_of_list(name, &envs, &frames, &observation, &text);
                name = "";
                for cell in [&mut envs, &mut frames, &mut observation] {
                    cell.clear();
                }
            }
        }
        list.push('\n');
    }
    list += "Presets for several games show their sizes for 57 games. A score or time that is\n\
             missing was not measured. `ale-train presets NAME` prints a preset.\n";
    Ok(list)
}

fn row_of_list(name: &str, envs: &str, frames: &str, observation: &str, text: &str) -> String {
    let row = format!("{name:NAME_WIDTH$}  {envs:>4}  {frames:>6}  {observation:7}  {text}");
    format!("{}\n", row.trim_end())
}

/// Returns the paragraphs that describe a preset.
fn texts(preset: &Preset) -> Vec<String> {
    let about = &preset.about;
    let mut texts = vec![about.purpose.clone()];
    texts.extend(about.default_for.iter().map(|games| format!("default for: {games}")));
    let expectations = [("score", &about.score), ("time", &about.time)];
    let measured = expectations.iter().filter(|(_, value)| *value != NOT_MEASURED);
    texts.extend(measured.map(|(name, value)| format!("{name}: {value}")));
    texts
}

fn row(preset: &Preset) -> Result<Value> {
    let (size, about) = (Size::measure(preset)?, &preset.about);
    Ok(json!({
        "name": preset.name,
        "algorithm": preset.algorithm.name(),
        "purpose": about.purpose,
        "default_for": about.default_for,
        "num_envs": size.num_envs,
        "total_frames": size.total_frames,
        "observation": size.pixels,
        "score": about.score,
        "time": about.time,
    }))
}

const INTRODUCTION: &str = "\
# Presets

All presets, as printed by `ale-train presets --reference`. Presets are experiments that are built into the program; the
directory `configs` has them as TOML files, whose comments name sources and deviations. `--preset` selects one, `--set`
and the other flags change it:

```sh
ale-train ppo --preset machado-ppo --games seaquest
ale-train presets many-ppo
```

Without `--preset` and `--config`, the games and the device determine the preset: the one whose column \"default for\"
names the game or, if there is none, its kind of task. The first line of the output of a run names the preset, and
`run.json` in its directory records it.

Scores of several seeds are a range (`a to b`) or the mean with the standard deviation over the seeds (`+-`). A time
is that of the fastest measured run of each game, on the machine that `benches/results/README.md` names; for Atari 100k it
is the median over the games. Where runs shared their machine, times are upper bounds. For presets that were not
trained to the end, times are estimated from the measured speed of training: on Harvest if the preset names no game,
and with a replay of 20,000 steps for DQN.

In a preset for several games, the numbers of environments, rollout steps, minibatches and frames are computed from the
number of games and the sizes in the table `[preset.by_games]`. The table below shows the results for the games of the
file. Keys that you set take precedence, including `environments.game.NAME.num_envs`, and the other sizes adapt to them.
A file of `--config` starts from a preset only if a `preset` key before the first section names one, such as
`preset = \"many-ppo\"`.
";

/// Returns the page of the book.
fn page() -> Result<String> {
    let mut page = INTRODUCTION.to_owned();
    for algorithm in Algorithm::ALL {
        // Writing to a string cannot fail.
        let _ = write!(
            page,
            "\n## {}\n\n| preset | purpose | default for | environments | frames | observation | expected score | \
             expected time |\n|---|---|---|---|---|---|---|---|\n",
            algorithm.descriptor().title
        );
        for preset in presets().iter().filter(|preset| preset.algorithm == *algorithm) {
            let (size, about) = (Size::measure(preset)?, &preset.about);
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {} | {} | {} | {} | {} |",
                preset.name,
                about.purpose,
                about.default_for.as_deref().unwrap_or(""),
                size.num_envs,
                count(size.total_frames),
                size.observation(),
                about.score,
                about.time
            );
        }
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_fits_80_columns_and_has_every_preset() {
        let list = list().unwrap();
        let wide = list.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None);
        for preset in presets() {
            let rows = list.lines().filter(|line| line.split(' ').next() == Some(preset.name));
            assert_eq!(rows.count(), 1, "{}", preset.name);
        }
    }
}
