//! Paths of keys, such as `ppo.gamma` and `environments.game."breakout@12.1".num_envs`. A name with a dot is quoted.

use std::borrow::Cow;

/// Splits a path after its first name. There is no rest if the path is a single name.
pub(super) fn split_first(path: &str) -> (&str, Option<&str>) {
    if let Some((name, rest)) = path.strip_prefix('"').and_then(|path| path.split_once('"')) {
        return (name, rest.strip_prefix('.'));
    }
    path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)))
}

/// Splits a path before its last name. The section is empty if the path is a single name.
pub(super) fn split_last(path: &str) -> (&str, &str) {
    if let Some((section, name)) = path.strip_suffix('"').and_then(|path| path.rsplit_once('"')) {
        return (section.strip_suffix('.').unwrap_or(section), name);
    }
    path.rsplit_once('.').unwrap_or(("", path))
}

/// Returns a name as it is written in a path.
pub(super) fn quoted(name: &str) -> Cow<'_, str> {
    if name.contains('.') { Cow::Owned(format!("\"{name}\"")) } else { Cow::Borrowed(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_dots_are_quoted() {
        assert_eq!((quoted("pong"), quoted("pong@1.2")), ("pong".into(), "\"pong@1.2\"".into()));
        for (path, first, rest, section, last) in [
            ("gamma", "gamma", None, "", "gamma"),
            ("ppo.gamma", "ppo", Some("gamma"), "ppo", "gamma"),
            ("\"pong@1.2\"", "pong@1.2", None, "", "pong@1.2"),
            ("\"pong@1.2\".mode", "pong@1.2", Some("mode"), "\"pong@1.2\"", "mode"),
            ("game.\"pong@1.2\"", "game", Some("\"pong@1.2\""), "game", "pong@1.2"),
            ("\"unclosed.x", "\"unclosed", Some("x"), "\"unclosed", "x"),
        ] {
            assert_eq!((split_first(path), split_last(path)), ((first, rest), (section, last)), "{path}");
        }
    }
}
