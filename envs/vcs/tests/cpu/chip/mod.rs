//! A test bench for the 6507: flat memory, a datasheet, and a slow model that follows the datasheet
//! literally.

mod arithmetic;
pub(crate) mod datasheet;
pub(crate) mod memory;
pub(crate) mod model;
