//! Disciplines of other crates. A program registers them once, before anything reads a scheduler's name; from then on
//! they are part of the [catalogue](mod@crate::catalog), wherever a name is read.
//!
//! The list never changes after the first look at it, so what a name means cannot depend on when it was read.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use once_cell::race::OnceBox;

use crate::aqm::scheme::MANAGERS;
use crate::catalog::{Entry, Make, Shape, cast, names, own};
use crate::contract::Scheduler;
use crate::spec::{Spec, SpecError};

/// The payload that a registered discipline's packets have. Other payloads are kept beside it, for some 30 instructions
/// a packet.
pub type Token = u32;

/// A discipline of another crate.
///
/// ```
/// use dovetail_sched::catalog::{Entry, Listed, Shape, Token};
/// use dovetail_sched::fifo::{self, Fifo};
/// use dovetail_sched::{PerFlow, Scheduler, Spec, SpecError};
///
/// struct Mine;
///
/// impl Listed for Mine {
///     const ENTRY: Entry = Entry { name: "mine", ..fifo::ENTRY };
///     const REVISION: &'static str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));
///
///     fn make<const M: usize>(_: &Spec, _: Shape) -> Result<Box<dyn Scheduler<M, Token>>, SpecError> {
///         Ok(Box::new(PerFlow::new(Fifo::default())))
///     }
/// }
///
/// dovetail_sched::catalog::register(&[dovetail_sched::catalog::Addition::of::<Mine>()])?;
/// assert!(dovetail_sched::build::<2, &str>(&"mine".parse().unwrap(), Shape::default()).is_ok());
/// # Ok::<(), dovetail_sched::catalog::NotRegistered>(())
/// ```
pub trait Listed {
    /// What is known of it.
    const ENTRY: Entry;

    /// Names what decides: a text that changes when its decisions do. Sweeps keep results by it.
    const REVISION: &'static str;

    /// A scheduler of `M` resources, without flows. The spec has this discipline's name and none but its parameters.
    ///
    /// # Errors
    ///
    /// A parameter's value is wrong, or it is not defined for so many resources.
    fn make<const M: usize>(spec: &Spec, shape: Shape) -> Result<Box<dyn Scheduler<M, Token>>, SpecError>;
}

/// A [`Listed`] discipline as a value.
#[derive(Clone, Copy, Debug)]
pub struct Addition {
    entry: Entry,
    revision: &'static str,
    make: (Make<1, Token>, Make<2, Token>, Make<3, Token>, Make<4, Token>),
}

impl Addition {
    /// Of a type.
    pub const fn of<D: Listed>() -> Self {
        Self { entry: D::ENTRY, revision: D::REVISION, make: (D::make, D::make, D::make, D::make) }
    }
}

/// Why disciplines cannot be registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotRegistered {
    /// Something has looked at the catalogue before, or others were registered.
    TooLate,
    /// There is one of this name already.
    Taken(&'static str),
    /// Something that is not a name by the rules: lower-case letters, digits, `-` and `_`, the first a letter.
    BadName(String),
}

impl fmt::Display for NotRegistered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLate => f.write_str(
                "disciplines are registered once, all together, before a scheduler's name is read; that has happened",
            ),
            Self::Taken(name) => write!(f, "there is a scheduler {name:?} already"),
            Self::BadName(name) => write!(
                f,
                "{name:?} cannot be a scheduler's name: expected lower-case letters, digits, - and _, the first a \
                 letter"
            ),
        }
    }
}

impl core::error::Error for NotRegistered {}

/// The disciplines that there are.
pub(crate) struct List {
    pub(crate) entries: Vec<Entry>,
    additions: Vec<Addition>,
}

static LIST: OnceBox<List> = OnceBox::new();

pub(crate) fn list() -> &'static List {
    LIST.get_or_init(|| Box::new(List::of(&[])))
}

/// Add these disciplines to the catalogue, in this order. Only the first call counts, and only before the catalogue is
/// looked at: a program does it when it starts.
///
/// # Errors
///
/// It is too late, or a name cannot be used; nothing is added then.
pub fn register(additions: &[Addition]) -> Result<(), NotRegistered> {
    let managers = MANAGERS.iter().map(|manager| manager.name);
    let mut names: Vec<&str> = own::<1, Token>().iter().map(|(entry, _)| entry.name).chain(managers).collect();
    for Addition { entry: Entry { name, .. }, .. } in additions {
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        match () {
            () if names.contains(name) => return Err(NotRegistered::Taken(name)),
            () if !begins || !name.chars().all(allowed) => return Err(NotRegistered::BadName(name.to_string())),
            () => names.push(name),
        }
    }
    LIST.set(Box::new(List::of(additions))).map_err(|_| NotRegistered::TooLate)
}

/// Names and [revisions](Listed::REVISION) of what was registered.
pub fn additions() -> impl Iterator<Item = (&'static str, &'static str)> {
    list().additions.iter().map(|addition| (addition.entry.name, addition.revision))
}

impl List {
    fn of(additions: &[Addition]) -> Self {
        let own = own::<1, Token>().map(|(entry, _)| *entry).into_iter();
        let entries = own.chain(additions.iter().map(|addition| addition.entry)).collect();
        Self { entries, additions: additions.to_vec() }
    }

    /// The registered discipline of this entry.
    pub(crate) fn make<const M: usize>(
        &self,
        entry: &Entry,
        spec: &Spec,
        shape: Shape,
    ) -> Result<Box<dyn Scheduler<M, Token>>, SpecError> {
        let found = self.additions.iter().find(|addition| addition.entry.name == entry.name);
        let Some(Addition { make, .. }) = found else {
            return Err(SpecError::unknown_name(entry.name, names()));
        };
        let (one, two, three, four) = *make;
        // One of these has the right type.
        let of = cast(&mut Some(one)).or_else(|| cast(&mut Some(two)));
        let of: Option<Make<M, Token>> = of.or_else(|| cast(&mut Some(three))).or_else(|| cast(&mut Some(four)));
        let none = || SpecError::new(entry.name, format!("{} is there for one to four resources, not {M}", entry.name));
        of.ok_or_else(none)?(spec, shape)
    }
}
