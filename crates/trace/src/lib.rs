//! Capture files, flow tables and synthetic traffic.
//!
//! * [`CaptureReader`] streams the packets of a pcap or pcapng capture, gzipped or not, damaged or not.
//! * [`load`] turns a capture into [`Packets`]: arrivals of some 7 bytes each, the flow table, and a [`Report`] that
//!   accounts for every record.
//! * [`CaptureInfo`] summarises a capture without keeping its packets.
//! * [`PcapWriter`] writes captures.
//! * [`Mixture`] makes traffic like a university data centre's from a seed.
//!
//! ```
//! use dovetail_trace::{CaptureReader, Mixture, load};
//! use dovetail_wire::KeyKind;
//!
//! let mixture = Mixture { packets: 2_000, flows: 100, ..Mixture::default() };
//! let capture = mixture.generate()?.write_pcap(Vec::new())?;
//!
//! let mut reader = CaptureReader::new(&capture[..], "mixture")?;
//! let packets = load(&mut reader, KeyKind::FiveTuple);
//! assert_eq!((packets.arrivals.len(), packets.flows.len()), (2_000, 100));
//! assert!(packets.report.damage.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrivals;
mod capture;
mod error;
mod flows;
mod info;
mod packets;
mod synth;
mod writer;

pub use arrivals::{Arrival, Arrivals, ArrivalsIter, Extent};
pub use capture::{CaptureReader, Damage, Format, Record};
pub use error::TraceError;
pub use flows::{FlowEntry, FlowKeys, FlowTable};
pub use info::{CaptureInfo, SIZE_BUCKETS, SizeBucket, Total};
pub use packets::{Packets, Report, TooLarge, load, load_by_class};
pub use synth::{MAX_FLOWS, MAX_PACKETS, Mixture, MixtureError, Pace, Synthetic};
pub use writer::PcapWriter;
