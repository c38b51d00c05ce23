//! The reference fluid for the numbers of resources that scenarios may have, compiled once, here: builds for tests
//! share generic code between crates (others do not, and leave this out), and those crates that read scenarios are
//! compiled with less optimisation.

use crate::fluid::behind::{Behind, Reference, Times};

/// For `M` resources.
struct Instances<const M: usize> {
    _times: fn([f64; M], &[f64; M], &[f64; M]) -> Times<M>,
    _arrived: fn(&mut Reference<M>, f64, usize, &Times<M>),
    _started: fn(&mut Reference<M>, f64, usize, &Times<M>),
    _left: fn(&mut Reference<M>, f64, usize, f64),
    _finish: fn(Reference<M>, f64) -> Vec<Behind>,
}

const fn instances<const M: usize>() -> Instances<M> {
    let (_arrived, _started) = (Reference::arrived, Reference::started);
    let (_left, _finish) = (Reference::left, Reference::finish);
    Instances { _times: Times::new, _arrived, _started, _left, _finish }
}

#[used]
static ALL: (Instances<1>, Instances<2>, Instances<3>, Instances<4>) =
    (instances(), instances(), instances(), instances());
