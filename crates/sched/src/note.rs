//! What a discipline notes on the ticket of a packet that it serves.

/// The room on a ticket for a [`Note`]: as many words as there are resources, and half a one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Words<const M: usize> {
    /// By resource, or as the note says.
    pub by_resource: [u64; M],
    /// One number more.
    pub rest: u32,
}

impl<const M: usize> Words<M> {
    /// Nothing is noted.
    pub const NONE: Self = Self { by_resource: [0; M], rest: 0 };

    /// Two numbers, whatever the number of resources from 1 up.
    #[inline]
    pub fn of(first: u64, rest: u32) -> Self {
        let mut words = Self { rest, ..Self::NONE };
        if let Some(word) = words.by_resource.first_mut() {
            *word = first;
        }
        words
    }

    /// The first of the words.
    #[inline]
    pub fn first(&self) -> u64 {
        self.by_resource.first().copied().unwrap_or(0)
    }
}

/// What a discipline notes of a packet in the pipeline, in a type of its own: written on the ticket when the packet is
/// served, and read when its progress is reported.
pub trait Note<const M: usize>: Copy {
    /// As it stands on the ticket.
    fn write(self) -> Words<M>;
    /// What was [written](Self::write).
    fn read(words: Words<M>) -> Self;
}

/// Nothing.
impl<const M: usize> Note<M> for () {
    #[inline]
    fn write(self) -> Words<M> {
        Words::NONE
    }
    #[inline]
    fn read(_words: Words<M>) -> Self {}
}

/// In which epoch of a discipline the packet was served. Wraps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Epoch(pub u32);

impl<const M: usize> Note<M> for Epoch {
    #[inline]
    fn write(self) -> Words<M> {
        Words { rest: self.0, ..Words::NONE }
    }
    #[inline]
    fn read(words: Words<M>) -> Self {
        Self(words.rest)
    }
}

/// What the scheduler inside of another one has noted.
impl<const M: usize> Note<M> for Words<M> {
    #[inline]
    fn write(self) -> Self {
        self
    }
    #[inline]
    fn read(words: Self) -> Self {
        words
    }
}
