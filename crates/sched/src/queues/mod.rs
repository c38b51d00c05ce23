//! Data structures of the schedulers: the packet store with its flow table, heap and tournament by keys, and lists of
//! flows.

mod arrivals;
mod entry;
mod heap;
mod links;
mod order;
mod store;
mod time_limit;
mod tournament;

pub use arrivals::Arrivals;
pub use entry::{Entry, Key, Packed, Unfinished};
pub use heap::{IndexedHeap, TagHeap};
pub use links::{Links, List};
pub use order::Order;
pub(crate) use store::Popped;
pub use store::{FlowRecord, NIL, Queues, Slot};
pub use tournament::{TagTournament, Tournament};
