use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::Scores;
use crate::durable;
use crate::enclosure;
use crate::files::limit;

/// The scores at the end of a run. They are stored in a file, so that resuming a finished run shows them again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FinalScores {
    /// The number of emulated frames of training before the evaluation.
    pub(crate) frames: u64,
    pub(crate) agent: Vec<Scores>,
    /// Absent if a signal arrived before the random player had finished.
    pub(crate) random: Option<Vec<Scores>>,
}

impl FinalScores {
    /// The name of the file.
    pub(crate) const FILE: &str = "scores.json";

    /// Reads the scores of a run in `games` after `frames` frames, if they are known.
    pub(crate) fn read(run_dir: &Path, frames: u64, games: &[&str]) -> Option<Self> {
        let text = Self::text(run_dir).ok()?;
        let scores: Self = serde_json::from_slice(&text).ok()?;
        (scores.frames == frames && scores.are_of(games)).then_some(scores)
    }

    fn text(run_dir: &Path) -> io::Result<Vec<u8>> {
        enclosure::read(run_dir, &run_dir.join(Self::FILE), limit::SCORES)
    }

    /// Returns true if there are episodes of exactly these games.
    pub(crate) fn are_of(&self, games: &[&str]) -> bool {
        are_complete(&self.agent, games)
            && self.random.as_ref().is_none_or(|random| are_complete(random, games))
    }

    /// Returns the scores of these games, in their order.
    pub(crate) fn only(&self, games: &[&str]) -> Self {
        let of_games = |scores: &Vec<Scores>| {
            games
                .iter()
                .filter_map(|game| scores.iter().find(|scores| scores.task == *game).cloned())
                .collect()
        };
        Self { frames: self.frames, agent: of_games(&self.agent), random: self.random.as_ref().map(of_games) }
    }

    /// Removes the scores of a run if they were reached after `frames` frames or later. Fails if the file cannot be
    /// read: it could not be written at the end either.
    pub(crate) fn remove_from(run_dir: &Path, frames: u64) -> Result<()> {
        let path = run_dir.join(Self::FILE);
        let text = match Self::text(run_dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        if !serde_json::from_slice(&text).is_ok_and(|scores: Self| scores.frames >= frames) {
            return Ok(());
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", path.display()))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn write(&self, run_dir: &Path) -> Result<()> {
        durable::write_inside(run_dir, &run_dir.join(Self::FILE), &serde_json::to_vec_pretty(self)?)
    }
}

/// Returns true if there is a score for each of exactly these games, in order.
fn are_complete(scores: &[Scores], games: &[&str]) -> bool {
    scores.len() == games.len()
        && scores.iter().zip(games).all(|(scores, game)| scores.task == *game && scores.is_intact())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn scores(task: &str, returns: &[f64]) -> Scores {
        Scores { task: task.to_owned(), returns: returns.to_vec(), lengths: vec![9; returns.len()] }
    }

    #[test]
    fn scores_of_another_length_of_training_are_not_read() {
        let run = TempDir::new().unwrap();
        let read = |frames| FinalScores::read(run.path(), frames, &["pong"]);
        let scores = FinalScores { frames: 8, agent: vec![scores("pong", &[1.0])], random: None };
        assert_eq!(read(8), None);
        scores.write(run.path()).unwrap();
        assert_eq!((read(8), read(9)), (Some(scores), None));
        FinalScores::remove_from(run.path(), 9).unwrap();
        assert!(read(8).is_some());
        FinalScores::remove_from(run.path(), 8).unwrap();
        FinalScores::remove_from(run.path(), 8).unwrap();
        assert_eq!(read(8), None);
        fs::write(run.path().join(FinalScores::FILE), "{").unwrap();
        assert_eq!(read(8), None);
    }

    #[test]
    fn incomplete_scores_are_not_read() {
        let run = TempDir::new().unwrap();
        let pong = scores("pong", &[1.0]);
        let without_lengths = Scores { lengths: Vec::new(), ..pong.clone() };
        for (agent, random) in [
            (vec![], None),
            (vec![scores("pong", &[])], None),
            (vec![scores("breakout", &[1.0])], None),
            (vec![pong.clone(), scores("breakout", &[1.0])], None),
            (vec![without_lengths], None),
            (vec![pong.clone()], Some(vec![])),
            (vec![pong.clone()], Some(vec![scores("pong", &[])])),
        ] {
            let scores = FinalScores { frames: 8, agent, random };
            scores.write(run.path()).unwrap();
            assert_eq!(FinalScores::read(run.path(), 8, &["pong"]), None, "{scores:?}");
        }
        let complete = FinalScores { frames: 8, agent: vec![pong.clone()], random: Some(vec![pong]) };
        complete.write(run.path()).unwrap();
        assert_eq!(FinalScores::read(run.path(), 8, &["pong"]), Some(complete));
    }
}
