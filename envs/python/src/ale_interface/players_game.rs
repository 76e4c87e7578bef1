//! A game of several players, for `PettingZoo`'s interface.

use std::sync::{Mutex, MutexGuard};

use ale::{Action, Ale, AleError, AleSettings, PoweredGame, multiplayer_game};
use numpy::PyArrayDyn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::screen::View;
use super::{loading, obtain};
use crate::{errors, signals};

/// An emulated game whose players act together, without sticky actions.
///
/// Threads may share it: calls are serialised, and release the GIL while they emulate.
#[pyclass(frozen, module = "ale_train._native")]
pub(crate) struct PlayersGame {
    powered: PoweredGame,
    settings: AleSettings,
    game: Mutex<Ale>,
}

#[pymethods]
// PyO3 passes arguments by value.
#[allow(clippy::needless_pass_by_value)]
impl PlayersGame {
    /// Loads a game. Without the bytes of a ROM, a missing one is downloaded with the pip of `python`.
    #[new]
    fn new(
        py: Python<'_>,
        game: &str,
        players: usize,
        mode: Option<u32>,
        seed: Option<u32>,
        rom: Option<Vec<u8>>,
        python: &str,
    ) -> PyResult<Self> {
        let from_ale = |error: AleError| errors::from_ale(&error);
        let game = multiplayer_game(game).map_err(from_ale)?;
        let powered = match rom {
            Some(rom) => signals::wait(py, || PoweredGame::new(game, rom.into()))?.map_err(from_ale)?,
            None => obtain(py, game, python)?,
        };
        let settings =
            AleSettings { repeat_action_probability: 0.0, players, mode, ..AleSettings::default() };
        let seed = seed.unwrap_or_else(loading::random_seed);
        let ale = Ale::new(&powered, settings, seed).map_err(from_ale)?;
        Ok(Self { powered, settings, game: Mutex::new(ale) })
    }

    /// The codes of the actions that have an effect in the game, or of all actions.
    fn action_codes(&self, full_action_space: bool) -> Vec<u8> {
        let game = self.powered.game();
        let minimal = game.minimal_actions_for(self.settings.players);
        if full_action_space { game.legal_actions } else { minimal }.to_vec()
    }

    /// The height and the width of the screen.
    #[getter]
    fn screen_size(&self) -> (usize, usize) {
        (self.powered.height(), ale::SCREEN_WIDTH)
    }

    /// Starts a new episode. With a seed, the game is loaded again first.
    fn reset(&self, py: Python<'_>, seed: Option<u32>) -> PyResult<()> {
        let game = &mut *self.lock(py)?;
        let result = signals::wait_locked(py, &self.game, || {
            if let Some(seed) = seed {
                *game = Ale::new(&self.powered, self.settings, seed)?;
            }
            game.reset_game();
            Ok(())
        })?;
        result.map_err(|error: AleError| errors::from_ale(&error))
    }

    /// Performs an action of each player, given by their codes. Returns the rewards of the players.
    fn act(&self, py: Python<'_>, codes: Vec<u8>) -> PyResult<Vec<i32>> {
        let actions = codes.iter().map(|&code| Action::new(code)).collect::<Option<Vec<_>>>();
        let actions =
            actions.ok_or_else(|| PyValueError::new_err(format!("{codes:?} has an unknown action")))?;
        let game = &mut *self.lock(py)?;
        let rewards = signals::wait_locked(py, &self.game, || game.act_players(&actions))?;
        let rewards = rewards.map_err(|error| errors::from_ale(&error))?;
        Ok(rewards[..codes.len()].to_vec())
    }

    /// Returns the lives of the players, less than 0 for those who are out of the game.
    fn lives(&self, py: Python<'_>) -> PyResult<Vec<i32>> {
        let game = self.lock(py)?;
        Ok((0..game.players()).filter_map(|player| game.lives_of(player)).collect())
    }

    /// Returns true if the game is over for all players.
    fn game_over(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.game_over())
    }

    /// Returns the screen in colour (`rgb`) or shades of grey (`grayscale`), or the RAM (`ram`).
    fn observe<'py>(&self, py: Python<'py>, view: View) -> PyResult<Bound<'py, PyArrayDyn<u8>>> {
        let game = &mut *self.lock(py)?;
        if view.is_screen() {
            py.detach(|| game.show());
        }
        view.array(py, game, view.bytes(game))
    }

    /// Returns the state as bytes.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.lock(py)?.snapshot()))
    }

    /// Restores a state from `snapshot`.
    fn restore(&self, py: Python<'_>, snapshot: &[u8]) -> PyResult<()> {
        self.lock(py)?.restore(snapshot).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

impl PlayersGame {
    /// Locks the game. Waiting for the call of another thread releases the GIL.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Ale>> {
        signals::lock(py, &self.game)
    }
}
