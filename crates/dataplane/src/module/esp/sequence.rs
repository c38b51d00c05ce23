//! Sequence numbers of a tunnel, none of which is used twice with the same key: not after another configuration, nor by
//! the next box.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dovetail_units::Duration;
use log::{error, info, warn};
use ring::digest::{SHA256, digest};

use super::super::ModuleDrop;
use super::cipher::Transform;
use super::store::{StateError, Store};
use crate::watch::target::STATE;

/// All numbers are below.
pub(super) const END: u64 = 1 << 32;

/// So many numbers ahead are kept for this box; more of them as soon as half are used. A box that is killed loses what
/// it has not used, so that a key serves for some
/// 16,000 boxes that were. At a million packets per second half a step is 131 ms, in which a disk has to write a file.
const STEP: u64 = 1 << 18;

/// After a failure it is tried again so much later.
const AGAIN: Duration = Duration::from_secs(1);

/// What numbers belong to: a key and a security parameters index, by a digest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Association(String);

impl Association {
    pub(super) fn new(transform: Transform, key: &[u8], spi: u32) -> Self {
        let tag = format!("dovetail esp sequence {transform:?} {spi} ");
        let digest = digest(&SHA256, &[tag.as_bytes(), key].concat());
        let hex: String = digest.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        Self(hex)
    }
}

impl fmt::Display for Association {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The next number, whoever takes it.
pub struct Sequence {
    association: Association,
    next: AtomicU64,
    /// Numbers below are this box's.
    kept: AtomicU64,
    saving: AtomicBool,
    failures: AtomicU64,
    /// The latest attempt has failed.
    failing: AtomicBool,
    store: Option<Store>,
}

impl Sequence {
    /// From 1, for a box that has used none.
    pub(super) fn new(association: Association) -> Arc<Self> {
        Self::from(association, None, 1, END)
    }

    fn from(association: Association, store: Option<Store>, next: u64, kept: u64) -> Arc<Self> {
        let (next, kept) = (AtomicU64::new(next), AtomicU64::new(kept));
        let [saving, failing] = [false; 2].map(AtomicBool::new);
        Arc::new(Self { association, next, kept, saving, failures: AtomicU64::new(0), failing, store })
    }

    /// The same, which goes on where the last box ended and keeps a file in `folder` that says where this one will.
    ///
    /// # Errors
    /// The file is not what it should be or cannot be written, or another box has it.
    pub fn open(&self, folder: &Path) -> Result<Arc<Self>, StateError> {
        let (store, next) = Store::open(folder, &self.association)?;
        let kept = (next + STEP).min(END);
        store.save(kept)?;
        Ok(Self::from(self.association.clone(), Some(store), next, kept))
    }

    /// Whether [`open`](Self::open) would find nothing wrong with a file that is there. It is left as it is.
    ///
    /// # Errors
    /// The file is not what it should be.
    pub fn look(&self, folder: &Path) -> Result<(), StateError> {
        Store::look(folder, &self.association).map(drop)
    }

    /// What its numbers belong to.
    pub fn association(&self) -> &Association {
        &self.association
    }

    /// Whether the next box will know where this one ended.
    pub fn is_stored(&self) -> bool {
        self.store.is_some()
    }

    /// The next number.
    ///
    /// # Errors
    /// All were used (`esp-sequence-exhausted`), or the next box would not know of this one (`esp-sequence-unsaved`).
    pub(super) fn take(self: &Arc<Self>) -> Result<u32, ModuleDrop> {
        let next = self.next.load(Ordering::Relaxed);
        let kept = self.kept.load(Ordering::Acquire);
        let number = u32::try_from(next).map_err(|_| ModuleDrop("esp-sequence-exhausted"))?;
        if kept < END && kept.saturating_sub(next) < STEP / 2 {
            self.keep_more(next);
        }
        if next >= kept {
            return Err(ModuleDrop("esp-sequence-unsaved"));
        }
        self.next.store(next + 1, Ordering::Relaxed);
        Ok(number)
    }

    /// Write further numbers down, on a thread of its own: packets do not wait for a disk.
    fn keep_more(self: &Arc<Self>, next: u64) {
        if self.saving.swap(true, Ordering::Acquire) {
            return;
        }
        let sequence = Arc::clone(self);
        let work = move || {
            sequence.save((next + STEP).min(END));
            sequence.saving.store(false, Ordering::Release);
        };
        if let Err(error) = std::thread::Builder::new().name("sequence".into()).spawn(work) {
            self.failed(&error);
            self.saving.store(false, Ordering::Release);
        }
    }

    fn save(&self, kept: u64) {
        let Some(store) = &self.store else { return };
        match store.save(kept) {
            Ok(()) => {
                self.kept.store(kept, Ordering::Release);
                if self.failing.swap(false, Ordering::Relaxed) {
                    info!(target: STATE, "{}: is written again", store.path().display());
                }
            }
            Err(error) => {
                self.failed(&error);
                crate::wait::readable([None; 2], AGAIN);
            }
        }
    }

    /// The log tells of it once, until it has gone well again.
    fn failed(&self, error: &dyn fmt::Display) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        if !self.failing.swap(true, Ordering::Relaxed) {
            let left = self.kept.load(Ordering::Relaxed).saturating_sub(self.next.load(Ordering::Relaxed));
            error!(
                target: STATE,
                "{error}; the tunnel ends after {left} packets more unless it can be: it is tried again"
            );
        }
    }

    /// Go on with this number (from 1), as if all before had been used.
    pub(super) fn skip_to(&self, next: u32) {
        self.next.store(u64::from(next.max(1)), Ordering::Relaxed);
    }

    /// Numbers that were not used yet, and how often some could not be written down.
    pub(super) fn counters(&self) -> [(&'static str, u64); 2] {
        let left = END.saturating_sub(self.next.load(Ordering::Relaxed));
        [("sequence_numbers_left", left), ("state_failures", self.failures.load(Ordering::Relaxed))]
    }
}

impl Drop for Sequence {
    /// A box that ends in an orderly way loses no numbers.
    fn drop(&mut self) {
        if let Some(store) = &self.store {
            // What cannot be written stays as it was: the next box goes on behind all that this one might have used.
            if let Err(error) = store.save(self.next.load(Ordering::Relaxed)) {
                warn!(target: STATE, "{error}; some sequence numbers are lost, and none is used twice");
            }
        }
    }
}
