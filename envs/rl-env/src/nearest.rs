/// The candidates that `word` may be a misspelling of, the closest first, at most three.
///
/// Closeness is the Damerau-Levenshtein distance, case and the separators `-`, `_` and space apart; a candidate counts
/// when at most a third of its letters differ, or when it begins with the word.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = plain(word);
    let mut scored: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let target = plain(candidate);
            let distance = strsim::damerau_levenshtein(&word, &target);
            let begins = word.len() >= 3 && target.starts_with(&word);
            let allowed = word.chars().count().max(target.chars().count()).div_ceil(3);
            (begins || distance <= allowed).then_some((if begins { 0 } else { distance }, candidate))
        })
        .collect();
    scored.sort_by_key(|&(distance, _)| distance);
    // What is much farther away than the best match is noise.
    let best = scored.first().map_or(0, |&(distance, _)| distance);
    scored.retain(|&(distance, _)| distance <= best + 1);
    scored.truncate(3);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

fn plain(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAMES: [&str; 6] = ["pong", "phoenix", "space_invaders", "ms_pacman", "pacman", "breakout"];

    #[test]
    fn finds_slips_of_the_finger_other_spellings_and_beginnings() {
        assert_eq!(nearest("pogn", GAMES), ["pong"]);
        assert_eq!(nearest("SpaceInvaders", GAMES), ["space_invaders"]);
        assert_eq!(nearest("break", GAMES), ["breakout"]);
        assert_eq!(nearest("mspacman", GAMES)[0], "ms_pacman");
    }

    #[test]
    fn finds_nothing_where_nothing_is_close() {
        assert_eq!(nearest("chess", GAMES), Vec::<&str>::new());
        assert_eq!(nearest("", GAMES), Vec::<&str>::new());
    }
}
