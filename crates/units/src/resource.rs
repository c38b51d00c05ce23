//! Vectors over the resources of a pipeline.

use core::ops::{Index, IndexMut};

use crate::time::Duration;

/// One duration per resource, in pipeline order: resource 0 is the CPU, resource M-1 the link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ResourceVec<const M: usize>(pub [Duration; M]);

impl<const M: usize> ResourceVec<M> {
    /// No time on any resource.
    pub const ZERO: Self = Self([Duration::ZERO; M]);

    /// From nanoseconds per resource.
    #[inline]
    pub fn from_nanos(ns: [u64; M]) -> Self {
        Self(ns.map(Duration::from_nanos))
    }

    /// The longest time on any resource: the dominant processing time.
    #[inline]
    pub fn dominant_time(&self) -> Duration {
        self.0.iter().copied().max().unwrap_or(Duration::ZERO)
    }

    /// The resource with the longest time, the first of equals: the dominant resource.
    pub fn dominant_resource(&self) -> usize {
        (0..M).rev().max_by_key(|&r| self.0[r]).unwrap_or(0)
    }

    /// The times in pipeline order.
    #[inline]
    pub fn iter(&self) -> core::slice::Iter<'_, Duration> {
        self.0.iter()
    }
}

impl<const M: usize> Index<usize> for ResourceVec<M> {
    type Output = Duration;
    #[inline]
    fn index(&self, resource: usize) -> &Duration {
        &self.0[resource]
    }
}

impl<const M: usize> IndexMut<usize> for ResourceVec<M> {
    #[inline]
    fn index_mut(&mut self, resource: usize) -> &mut Duration {
        &mut self.0[resource]
    }
}

impl<const M: usize> Default for ResourceVec<M> {
    fn default() -> Self {
        Self::ZERO
    }
}
