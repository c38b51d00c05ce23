//! The theorems' guarantees as numbers: all arguments and results in seconds unless said otherwise.
//!
//! Each function says what must hold for its guarantee. They compute; they do not check that a schedule obeys. One file
//! for each family of disciplines; `dovetail bounds` holds runs against them.

mod atfq;
mod drfq;
mod drgps;
mod makespan;
mod one_resource;
mod rounds;
mod tradeoff;

pub use atfq::*;
pub use drfq::*;
pub use drgps::*;
pub use makespan::*;
pub use one_resource::*;
pub use rounds::*;
pub use tradeoff::*;
