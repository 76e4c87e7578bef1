use std::sync::{Arc, Mutex, PoisonError};

use rl_env::{ActionKind, BoxedEnv, EnvSpec, FactoryError, Registry, RegistryError};

use crate::{AtariEnv, AtariOptions, Game, PoweredGame, games};

/// The family of the environments.
const FAMILY: &str = "Atari";

/// Probability of sticky actions in the games that ale-py registers (Machado et al., 2018).
const STICKINESS: f32 = 0.25;

/// Registers every game under Gymnasium's id, such as `ALE/MsPacman-v5`, with the options that ale-py registers:
/// sticky actions with probability 0.25, and the standard preprocessing of its vector environment.
///
/// When an environment is built, `rom` returns the image of the game with a given id. It may call
/// [`RomStore::obtain`](crate::roms::RomStore::obtain). Environments of one game share the image.
///
/// ```
/// use std::sync::Arc;
///
/// use ale::roms;
/// use rl_env::{Env, Registry};
///
/// let mut registry = Registry::new();
/// ale::register(&mut registry, |id: &str| {
///     roms::built_in(id).map(Arc::from).ok_or("only the open game is built in")
/// })?;
/// let env = registry.make("ALE/Harvest-v5")?;
/// assert_eq!(env.observation_space().shape(), Some(vec![4, 84, 84]));
/// # Ok::<(), rl_env::RegistryError>(())
/// ```
pub fn register<F, E>(registry: &mut Registry, rom: F) -> Result<(), RegistryError>
where
    F: Fn(&str) -> Result<Arc<[u8]>, E> + Send + Sync + 'static,
    E: Into<FactoryError>,
{
    let rom = Arc::new(rom);
    for game in games() {
        let (rom, powered) = (Arc::clone(&rom), Mutex::new(None));
        let limit = AtariOptions::default().max_num_frames_per_episode / AtariOptions::default().frameskip;
        let spec = EnvSpec {
            max_episode_steps: Some(limit),
            best_return: game.best_score,
            ..EnvSpec::new(FAMILY, ActionKind::Discrete)
        };
        registry.register(gymnasium_id(game), spec, move || {
            let mut powered = powered.lock().unwrap_or_else(PoisonError::into_inner);
            if powered.is_none() {
                *powered = Some(PoweredGame::new(game, rom(game.id).map_err(Into::into)?)?);
            }
            let powered = powered.as_ref().expect("it was just set");
            let options = AtariOptions { repeat_action_probability: STICKINESS, ..AtariOptions::default() };
            Ok(BoxedEnv::new(AtariEnv::new(powered, options, 0)?))
        })?;
    }
    Ok(())
}

/// Returns the id of a game in Gymnasium: `ALE/MsPacman-v5` for `ms_pacman`.
pub fn gymnasium_id(game: &Game) -> String {
    let mut name = String::new();
    let mut before = '_';
    for letter in game.id.chars() {
        if before.is_alphabetic() {
            name.push(letter);
        } else {
            name.extend(letter.to_uppercase());
        }
        before = letter;
    }
    format!("ALE/{}-v5", name.replace('_', ""))
}

#[cfg(test)]
mod tests {
    use rl_env::Env;

    use super::*;
    use crate::roms;

    fn registry() -> Registry {
        let mut registry = Registry::new();
        register(&mut registry, rom).unwrap();
        registry
    }

    fn rom(id: &str) -> Result<Arc<[u8]>, String> {
        roms::built_in(id).map(Arc::from).ok_or_else(|| format!("there is no ROM of {id}"))
    }

    #[test]
    fn registers_gymnasium_ids() {
        let registry = registry();
        for id in
            ["ALE/Pong-v5", "ALE/MsPacman-v5", "ALE/TicTacToe3D-v5", "ALE/UpNDown-v5", "ALE/YarsRevenge-v5"]
        {
            assert!(registry.spec(id).is_ok(), "{id}");
        }
        assert_eq!(registry.ids().count(), games().len());
    }

    #[test]
    fn builds_games_and_names_the_game_in_errors() {
        let env = registry().make("ALE/Harvest-v5").unwrap();
        assert_eq!(env.observation_space().shape(), Some(vec![4, 84, 84]));
        let error = registry().make("ALE/Pong-v5").err().unwrap().to_string();
        assert_eq!(error, "environment \"ALE/Pong-v5\" cannot be built: there is no ROM of pong");
        let error = registry().make("ALE/Pnog-v5").err().unwrap().to_string();
        assert_eq!(error, "there is no environment \"ALE/Pnog-v5\"; the nearest is \"ALE/Pong-v5\"");
    }
}
