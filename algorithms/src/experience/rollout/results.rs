//! The actions, estimates and outcomes of steps.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The number of elements of an entry in columns of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Widths {
    pub(super) single: usize,
    pub(super) choices: usize,
    pub(super) components: usize,
}

/// Declares the columns of a step: name, type of the elements, value before a step, and kind. A checkpoint holds the
/// columns in this order, and the processes of a cluster exchange all of them.
macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident: $element:ty = $initial:expr, $kind:ident;)*) => {
        /// The steps of consecutive environments without observations, entry by entry.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub(crate) struct Results {
            $($(#[$doc])* pub(super) $name: Vec<$element>,)*
        }

        impl Results {
            /// Creates the results of entries that have not been written.
            pub(super) fn new(entries: usize, widths: Widths) -> Self {
                Self { $($name: vec![$initial; entries * widths.$kind],)* }
            }

            /// Returns the results of some entries.
            pub(super) fn of(&self, entries: Range<usize>, widths: Widths) -> Self {
                let elements = |width: usize| entries.start * width..entries.end * width;
                Self { $($name: self.$name[elements(widths.$kind)].to_vec(),)* }
            }

            /// Joins the results of consecutive environments.
            pub(super) fn join(parts: impl Iterator<Item = Self>) -> Self {
                let mut all = Self::default();
                for part in parts {
                    $(all.$name.extend(part.$name);)*
                }
                all
            }

            /// Returns the number of elements of each column.
            pub(super) fn lengths(&self) -> Vec<usize> {
                vec![$(self.$name.len(),)*]
            }
        }
    };
}

columns! {
    /// The options of the action, padded with 0.
    actions: i32 = 0, choices;
    /// The components of the continuous action, padded with 0.
    components: f32 = 0.0, components;
    /// The log-probability of the action.
    log_probs: f32 = 0.0, single;
    /// The value of the observation.
    values: f32 = 0.0, single;
    rewards: f32 = 0.0, single;
    terminated: bool = false, single;
    truncated: bool = false, single;
    /// True for a step that only reset its environment, which is not a transition.
    autoreset: bool = false, single;
    /// The value of the final observation, for truncated steps whose successor is another observation.
    final_values: Option<f32> = None, single;
}
