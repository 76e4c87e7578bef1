/// Returns at most three candidates that `word` may be a misspelling of, the closest first.
///
/// The measure is the Damerau-Levenshtein distance, ignoring case and the separators `-`, `_` and space. A candidate
/// counts if at most a third of the letters differ, rounded up, or if it starts with the word and that has at least
/// three letters.
///
/// ```
/// assert_eq!(rl_env::nearest("brekout", ["breakout", "pong"]), ["breakout"]);
/// assert!(rl_env::nearest("chess", ["breakout", "pong"]).is_empty());
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = normalised(word);
    let mut scored: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let target = normalised(candidate);
            let distance = strsim::damerau_levenshtein(&word, &target);
            let begins = word.len() >= 3 && target.starts_with(&word);
            let allowed = word.chars().count().max(target.chars().count()).div_ceil(3);
            (begins || distance <= allowed).then_some((if begins { 0 } else { distance }, candidate))
        })
        .collect();
    scored.sort_by_key(|&(distance, _)| distance);
    // Candidates much farther away than the best one are noise.
    let best = scored.first().map_or(0, |&(distance, _)| distance);
    scored.retain(|&(distance, _)| distance <= best + 1);
    scored.truncate(3);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

fn normalised(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAMES: [&str; 6] = ["pong", "phoenix", "space_invaders", "ms_pacman", "pacman", "breakout"];

    #[test]
    fn finds_typing_errors_other_spellings_and_prefixes() {
        assert_eq!(nearest("pogn", GAMES), ["pong"]);
        assert_eq!(nearest("SpaceInvaders", GAMES), ["space_invaders"]);
        assert_eq!(nearest("break", GAMES), ["breakout"]);
        assert_eq!(nearest("mspacman", GAMES)[0], "ms_pacman");
    }

    #[test]
    fn finds_nothing_if_no_candidate_is_close() {
        assert_eq!(nearest("chess", GAMES), Vec::<&str>::new());
        assert_eq!(nearest("", GAMES), Vec::<&str>::new());
    }
}
