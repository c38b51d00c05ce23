//! Every discipline for the payloads of the simulator and of tests, and the numbers of resources that most callers
//! have, compiled once, here. Builds for tests share generic code between crates (the compiler does at `opt-level` 0
//! and 1; others do not, and leave this out); without this, each test that builds a scheduler by its name compiles all
//! of them again, which takes longer than all else that is done for it.

use crate::{Schedulers, Shape, Spec, SpecError, build_all};

type Build<const M: usize> = fn(&Spec, Shape) -> Result<Schedulers<M, u32>, SpecError>;

#[used]
static ALL: (Build<1>, Build<2>, Build<3>, Build<4>) = (build_all, build_all, build_all, build_all);
