//! Data structures of the schedulers: the packet store with its flow table, a tournament by keys, and lists of flows.

mod heap;
mod links;
mod order;
mod store;
mod time_limit;

pub use heap::{Entry, IndexedHeap, Key, Packed, TagHeap, Unfinished};
pub use links::{Links, List};
pub use order::Order;
pub use store::{FlowRecord, NIL, Queues, Slot};
