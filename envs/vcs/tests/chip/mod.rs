//! The 6507 on a table: flat memory around it, a datasheet, and a slow model that follows the datasheet by the letter.

mod arithmetic;
pub(crate) mod datasheet;
pub(crate) mod memory;
pub(crate) mod model;
