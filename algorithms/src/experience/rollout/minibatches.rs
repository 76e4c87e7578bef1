//! The division of a rollout into minibatches.

/// Splits `entries` into `count` parts whose sizes differ by at most one. Empty parts are omitted.
pub(crate) fn split(entries: &[usize], count: usize) -> impl Iterator<Item = &[usize]> {
    let border = move |part: usize| part * entries.len() / count;
    (0..count).map(move |part| &entries[border(part)..border(part + 1)]).filter(|part| !part.is_empty())
}

/// Returns the last part of [`split`].
pub(crate) fn last_minibatch(entries: &[usize], count: usize) -> &[usize] {
    split(entries, count).last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_even_and_complete() {
        let entries: Vec<usize> = (0..10).collect();
        let parts: Vec<&[usize]> = split(&entries, 4).collect();
        assert_eq!(parts, [&entries[..2], &entries[2..5], &entries[5..7], &entries[7..]]);
        assert_eq!(split(&entries[..2], 4).collect::<Vec<_>>(), [&[0], &[1]]);
    }
}
