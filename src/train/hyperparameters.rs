use std::fmt::Write;

use anyhow::Result;

use crate::config::{self, Experiment};
use crate::telemetry::Media;

/// Returns a table of every key with its value, in the format of `CleanRL`.
pub(super) fn media(experiment: &Experiment) -> Result<Media> {
    let mut markdown = "|param|value|\n|-|-|\n".to_owned();
    for (key, value) in config::values(&experiment.to_toml()?)? {
        // Writing to a string cannot fail.
        let _ = writeln!(markdown, "|{key}|{}|", value.to_string().replace('|', "\\|"));
    }
    Ok(Media::Text { tag: "hyperparameters".to_owned(), markdown })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_row() {
        let experiment = config::from_toml("").unwrap().resolve().unwrap();
        let Media::Text { markdown, .. } = media(&experiment).unwrap() else { unreachable!() };
        assert!(markdown.starts_with("|param|value|\n|-|-|\n"), "{markdown}");
        for row in ["|environments.games|[\"harvest\"]|\n", "|ppo.gamma|0.99|\n", "|experiment.seed|1|\n"] {
            assert!(markdown.contains(row), "{markdown}");
        }
    }
}
