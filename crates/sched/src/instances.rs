//! Every discipline for the payloads and the numbers of resources that most callers have, compiled once, here. Builds
//! for tests share generic code between crates (the compiler does at `opt-level` 0 and 1); without this, each test that
//! builds a scheduler by its name compiles all of them again, which takes longer than all else that is done for it.

use crate::{Schedulers, Shape, Spec, SpecError, build_all};

type Build<const M: usize, P> = fn(&Spec, Shape) -> Result<Schedulers<M, P>, SpecError>;

/// For the simulator.
#[used]
static NUMBERED: (Build<1, u32>, Build<2, u32>, Build<3, u32>, Build<4, u32>) =
    (build_all::<1, u32>, build_all::<2, u32>, build_all::<3, u32>, build_all::<4, u32>);

/// For tests whose payloads are places in a list.
#[used]
static LISTED: Build<2, usize> = build_all::<2, usize>;
