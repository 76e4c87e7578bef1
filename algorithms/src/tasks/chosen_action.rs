use rl_env::ActionBuffer;

use super::TaskActions;

/// An action that a policy has chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ChosenAction {
    /// The options, one for each choice.
    pub(crate) options: Vec<i32>,
    /// The components of a continuous action, before they are squashed.
    pub(crate) components: Vec<f32>,
    /// True if the components are squashed by tanh and scaled to the bounds of the action space.
    pub(crate) squashes: bool,
}

impl ChosenAction {
    /// Appends the elements of the action that the environment receives.
    pub(crate) fn write(&self, actions: &TaskActions, buffer: &mut ActionBuffer) {
        match (actions, buffer) {
            (
                TaskActions::Joint(actions) | TaskActions::Masked(actions),
                ActionBuffer::Discrete(elements),
            ) => {
                actions.write(&self.options, elements);
            }
            (TaskActions::Continuous(actions), ActionBuffer::Continuous(elements)) => {
                if self.squashes {
                    actions.write_squashed(&self.components, elements);
                } else {
                    actions.write(&self.components, elements);
                }
            }
            _ => unreachable!("all tasks of a network have one kind of actions"),
        }
    }
}
