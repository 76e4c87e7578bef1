use anyhow::{Result, anyhow};
use toml::Table;

/// Parses TOML. The error is one sentence that begins with the position.
pub(super) fn parse(text: &str) -> Result<Table> {
    text.parse().map_err(|error: toml::de::Error| {
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        let before = text.get(..error.span().map_or(0, |span| span.start)).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        anyhow!("line {line}, column {column}: {message}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_position() {
        for (text, position) in [
            ("[ppo", "line 1, column 5: "),
            ("[ppo]\ngamma = = 1", "line 2, column 9: "),
            ("[ppo]\ngamma = 1\ngamma = 2\n", "line 3, column 1: "),
            ("[experiment]\nseed = 18446744073709551615\n", "line 2, column 8: "),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(position) && !error.contains('\n') && !error.contains('^'), "{error}");
        }
    }
}
