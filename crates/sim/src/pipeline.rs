//! The resources that packets pass in series.

use dovetail_pipeline::{NoWait, Stage};

/// Where packets wait between two resources; always in order of arrival there.
///
/// With several parallel servers upstream, packets of one flow may overtake one another; they are delivered as they
/// come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// Holds any number of packets.
    Unlimited,
    /// Holds this many packets (those in service not counted); when it is full, a finished packet stays on its server
    /// upstream and blocks it. Zero packets is no buffer at all: still a packet may wait, on the server.
    Blocking(u32),
    /// Holds this many packets; a packet that finds it full, and no server free, is dropped after processing.
    Dropping(u32),
    /// No buffer and no waiting: a packet starts on the first resource only when it can pass all resources without a
    /// pause (ATFQ, section III-B, rule 4). Until then it stands at the entrance, and the scheduler is not asked
    /// for another. This is a property of the whole pipeline: it stands before every resource but the first or
    /// before none, and all resources have one server.
    NoWait,
}

/// One resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resource {
    /// Its name in reports.
    pub name: String,
    /// Parallel servers: 1 to [`Resource::MAX_SERVERS`]. Each takes a packet's whole cost.
    pub servers: u32,
    /// The buffer before it. Before the first resource stands the scheduler: there it has no meaning.
    pub buffer: Buffer,
}

impl Resource {
    /// The most servers of one resource.
    pub const MAX_SERVERS: u32 = 65_536;

    /// One server behind an unlimited buffer.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), servers: 1, buffer: Buffer::Unlimited }
    }

    fn at_work<J>(&self) -> Stage<J> {
        let (packets, drops) = match self.buffer {
            Buffer::Unlimited => (None, false),
            Buffer::Blocking(packets) => (Some(packets), false),
            // Packets start when they find room everywhere.
            Buffer::NoWait => (Some(0), false),
            Buffer::Dropping(packets) => (Some(packets), true),
        };
        Stage::new(self.servers, dovetail_pipeline::Buffer { packets, drops })
    }
}

/// `M` resources in series.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pipeline<const M: usize> {
    /// In the order in which packets pass them.
    pub resources: [Resource; M],
}

impl<const M: usize> Pipeline<M> {
    /// Single servers with unlimited buffers between them.
    pub fn new(names: [&str; M]) -> Self {
        Self { resources: names.map(Resource::new) }
    }

    /// Whether packets pass it without waiting between resources.
    pub fn is_no_wait(&self) -> bool {
        self.resources.iter().skip(1).any(|resource| resource.buffer == Buffer::NoWait)
    }

    /// Servers per resource.
    pub fn servers(&self) -> [u32; M] {
        std::array::from_fn(|r| self.resources[r].servers)
    }

    /// The resources at work, empty.
    pub(crate) fn at_work<J>(&self) -> dovetail_pipeline::Resources<M, J> {
        let mut resources = dovetail_pipeline::Resources::new(self.resources.each_ref().map(Resource::at_work));
        resources.no_wait = self.is_no_wait().then(NoWait::default);
        resources
    }
}
