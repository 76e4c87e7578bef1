use rl_env::{Action, ActionBuffer, ActionKind, Actions, EnvError, Space};

/// The actions that an environment performs next, in a buffer that is reused.
#[derive(Debug)]
pub(crate) struct ActionSequence {
    space: Space,
    values: ActionBuffer,
}

impl ActionSequence {
    /// Creates an empty sequence of actions of `space`, which must have at least one element.
    pub(crate) fn new(space: &Space) -> Self {
        let capacity = space.num_elements();
        let values = match ActionKind::of(space) {
            Some(ActionKind::Continuous) => ActionBuffer::Continuous(Vec::with_capacity(capacity)),
            // A space that mixes integers and floats has no actions.
            Some(ActionKind::Discrete) | None => ActionBuffer::Discrete(Vec::with_capacity(capacity)),
        };
        Self { space: space.clone(), values }
    }

    /// Replaces the actions. An empty sequence and an action outside the space are errors.
    pub(crate) fn fill(&mut self, actions: Actions<'_>) -> Result<(), EnvError> {
        if actions.num_elements() == 0 {
            return Err(self.invalid("(none)"));
        }
        let mut each = split(actions, self.space.num_elements());
        if let Some(bad) = each.find(|action| !action.fits(&self.space)) {
            return Err(self.invalid(&bad.to_string()));
        }
        match (&mut self.values, actions) {
            (ActionBuffer::Discrete(buffer), Actions::Discrete(values)) => replace(buffer, values),
            (ActionBuffer::Continuous(buffer), Actions::Continuous(values)) => replace(buffer, values),
            _ => return Err(self.invalid("of another type")),
        }
        Ok(())
    }

    fn invalid(&self, action: &str) -> EnvError {
        EnvError::InvalidAction { action: action.to_owned(), space: self.space.to_string() }
    }

    /// Iterates over the actions.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Action<'_>> {
        split(self.values.as_actions(), self.space.num_elements())
    }
}

/// Returns a range of the values.
pub(crate) fn part(actions: Actions<'_>, start: usize, len: usize) -> Actions<'_> {
    match actions {
        Actions::Discrete(values) => Actions::Discrete(&values[start..start + len]),
        Actions::Continuous(values) => Actions::Continuous(&values[start..start + len]),
    }
}

fn split(actions: Actions<'_>, action_len: usize) -> impl Iterator<Item = Action<'_>> {
    (0..actions.num_elements() / action_len).map(move |index| {
        match part(actions, index * action_len, action_len) {
            Actions::Discrete(values) => Action::Discrete(values),
            Actions::Continuous(values) => Action::Continuous(values),
        }
    })
}

fn replace<T: Copy>(buffer: &mut Vec<T>, values: &[T]) {
    buffer.clear();
    buffer.extend_from_slice(values);
}
