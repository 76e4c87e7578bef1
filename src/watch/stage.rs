use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::scene::{PlayedGame, Scene};
use crate::agent::TrainedAgent;
use crate::checkpoint;
use crate::cli::CheckpointArgs;
use crate::cli::Global;
use crate::environments::{Builder, CommandOverrides};
use crate::failure::sentence;
use crate::show::{self, Audience, Session};
use crate::telemetry::Printer;
use crate::threads;

/// The time between two looks for a newer checkpoint.
const LOOK: Duration = Duration::from_secs(5);
/// The time for which the end of an episode is shown.
const END: Duration = Duration::from_millis(1500);
/// The most pictures in a second. Several games at once have fewer, which leaves cores to the training.
const MOST_PICTURES: f64 = 30.0;
const MOST_PICTURES_OF_SEVERAL: f64 = 12.0;

/// Games that the newest agent of a run plays.
pub(super) struct Stage {
    pub(super) run_dir: PathBuf,
    pub(super) games: Vec<String>,
    pub(super) global: Global,
    /// Allows one of a limited number of stages, if it is limited.
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

/// A game in progress.
struct Cell {
    game: String,
    session: Session,
    /// The checkpoint of the agent that plays it.
    origin: PathBuf,
    /// The time at which the episode ended.
    ended: Option<Instant>,
    /// The time of the next step.
    next_step: Instant,
}

impl Stage {
    /// Starts to play on another thread, until nobody receives what happens.
    pub(super) fn open(self) -> watch::Receiver<Scene> {
        let (scenes, receiver) = watch::channel(Scene::Loading);
        thread::spawn(move || {
            threads::use_own_pool();
            let played = threads::set_threads(1).and_then(|()| self.play(&scenes));
            if let Err(error) = played {
                scenes.send_replace(Scene::Problem(sentence(&error)));
            }
            drop(self.permit);
        });
        receiver
    }

    /// Plays until nobody watches. A run without checkpoints is waited for.
    fn play(&self, scenes: &watch::Sender<Scene>) -> Result<()> {
        let mut agent = self.newest(scenes)?;
        let mut looked = Instant::now();
        let mut cells: Vec<Cell> = Vec::new();
        while !scenes.is_closed() {
            let Some(current) = &agent else { return Ok(()) };
            if cells.is_empty() {
                cells =
                    self.games.iter().map(|game| self.cell(game, current)).collect::<Result<Vec<Cell>>>()?;
            }
            for cell in &mut cells {
                self.step(cell, current)?;
            }
            let games = cells.iter().map(|cell| PlayedGame::of(&cell.game, &cell.session));
            let games = games.collect::<Result<Vec<PlayedGame>>>()?;
            scenes.send_replace(Scene::Played { frames: current.frames, games });
            if looked.elapsed() > LOOK {
                looked = Instant::now();
                if newest_checkpoint(&self.run_dir).is_some_and(|newest| newest != current.origin) {
                    agent = self.newest(scenes)?;
                }
            }
            let next = cells.iter().map(|cell| cell.next_step).min().unwrap_or_else(Instant::now);
            thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        Ok(())
    }

    /// Opens the newest agent. Waits while there is none; returns nothing if nobody watches any more.
    fn newest(&self, scenes: &watch::Sender<Scene>) -> Result<Option<TrainedAgent>> {
        let args = CheckpointArgs { checkpoint: self.run_dir.clone(), best: false };
        loop {
            match TrainedAgent::open(&args, &Printer::Silent) {
                Ok(agent) => return Ok(Some(agent)),
                Err(error) if newest_checkpoint(&self.run_dir).is_some() => return Err(error),
                Err(error) => scenes.send_replace(Scene::Waiting(sentence(&error))),
            };
            if scenes.is_closed() {
                return Ok(None);
            }
            thread::sleep(LOOK / 5);
        }
    }

    fn cell(&self, game: &str, agent: &TrainedAgent) -> Result<Cell> {
        let overrides = CommandOverrides {
            games: Some(agent.shown_game(game)?),
            num_threads: Some(1),
            ..CommandOverrides::default()
        };
        let builder = Builder::new(&agent.experiment, &overrides, &self.global)?;
        let session = show::session(&builder, agent, Audience::Spectator, false, rand::random())?;
        let (game, origin) = (game.to_owned(), agent.origin.clone());
        Ok(Cell { game, session, origin, ended: None, next_step: Instant::now() })
    }

    /// Takes the next step of a game if it is due. After the end of an episode, the newest agent plays the next one.
    fn step(&self, cell: &mut Cell, newest: &TrainedAgent) -> Result<()> {
        let now = Instant::now();
        if now < cell.next_step {
            return Ok(());
        }
        match cell.ended {
            Some(ended) if ended.elapsed() < END => {}
            Some(_) if cell.origin != newest.origin => *cell = self.cell(&cell.game, newest)?,
            Some(_) => {
                cell.ended = None;
                cell.session.restart()?;
            }
            None => {
                cell.session.act()?;
                cell.ended = cell.session.is_over().then_some(now);
            }
        }
        let most = if self.games.len() > 1 { MOST_PICTURES_OF_SEVERAL } else { MOST_PICTURES };
        let rate = cell.session.description().steps_per_second.min(most);
        // A machine that is too slow plays slowly, instead of ever faster.
        cell.next_step = (cell.next_step + Duration::from_secs_f64(1.0 / rate)).max(now);
        Ok(())
    }
}

/// Returns the newest checkpoint of a run, if it has one.
fn newest_checkpoint(run_dir: &Path) -> Option<PathBuf> {
    checkpoint::chosen(run_dir, false).ok()
}
