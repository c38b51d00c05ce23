//! Data structures of the schedulers: the packet store with its flow table, and an indexed heap.

mod heap;
mod store;

pub use heap::IndexedHeap;
pub use store::{FlowRecord, NIL, Queues, Slot};
