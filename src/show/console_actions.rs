use ale::{ACTION_NAMES, Action};
use anyhow::{Context, Result};
use rl_env::Actions;

/// The directions that turn a paddle, and what they stand for if a person presses them.
const PADDLE_TURNS: [(&str, &str); 4] =
    [("UP", "RIGHT"), ("DOWN", "LEFT"), ("UPFIRE", "RIGHTFIRE"), ("DOWNFIRE", "LEFTFIRE")];

/// The console's actions that an agent chooses from.
pub(super) struct ConsoleActions {
    /// The console's code of each action of the agent; the environment's own list may differ.
    codes: Vec<u8>,
}

impl ConsoleActions {
    pub(super) fn new(codes: Vec<u8>) -> Self {
        Self { codes }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.codes.iter().filter_map(|&code| Action::new(code)).map(name).collect()
    }

    /// Returns the first of an agent's actions.
    pub(super) fn first(&self, actions: Actions<'_>) -> Result<Action> {
        let choices = actions.discrete().context("the agent has continuous actions")?;
        self.action(*choices.first().context("the agent chose no action")?)
    }

    /// Returns the action with an index in the agent's list.
    pub(super) fn action(&self, choice: i32) -> Result<Action> {
        let code = usize::try_from(choice).ok().and_then(|choice| self.codes.get(choice));
        code.and_then(|&code| Action::new(code)).with_context(|| format!("the agent has no action {choice}"))
    }

    /// Returns the index of an action in the agent's list, if it is there.
    pub(super) fn index(&self, action: Action) -> Option<usize> {
        self.codes.iter().position(|&code| code == action.code())
    }
}

/// Returns what a pressed direction does. Up and down turn a paddle, which Pong draws on a vertical line.
pub(super) fn pressed(action: Action, has_paddles: bool) -> Action {
    if !has_paddles {
        return action;
    }
    let name = action.to_string();
    let turn = PADDLE_TURNS.iter().find(|(pressed, _)| *pressed == name);
    let code = turn.and_then(|(_, turn)| ACTION_NAMES.iter().position(|name| name == turn));
    code.and_then(|code| Action::new(code as u8)).unwrap_or(action)
}

pub(super) fn name(action: Action) -> String {
    action.to_string().to_lowercase()
}
