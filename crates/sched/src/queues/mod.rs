//! Data structures of the schedulers: the packet store with its flow table, an indexed heap, and lists of flows.

mod heap;
mod links;
mod order;
mod store;
mod time_limit;

pub use heap::{Entry, IndexedHeap, Packed, TagHeap, Unfinished};
pub use links::{Links, List};
pub use order::Order;
pub use store::{FlowRecord, NIL, Queues, Slot};
