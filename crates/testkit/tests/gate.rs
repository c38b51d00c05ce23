//! Back-pressure keeps the books, limits and orders of whatever discipline it is put around, under any sequence of
//! operations.

use dovetail_sched::catalog::{Entry, catalog};
use dovetail_sched::{Shape, build_all};
use dovetail_testkit::model::Model;
use dovetail_testkit::operation::Operation;
use proptest::prelude::*;

/// The entrance of a composition that holds flows back whose `window` is used up.
fn held(entry: &'static Entry, window: u32) -> Model<2> {
    let spec = format!("{0}+{0}:full=hold,buffer={window}", entry.name).parse().unwrap();
    Model::new(build_all(&spec, Shape::default()).unwrap().entrance.scheduler, entry.parameters)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn every_discipline_conforms_under_back_pressure(
        choice in 0..catalog().len(), window in 1..5u32, bytes in prop::collection::vec(any::<u8>(), 0..1500),
    ) {
        let able: Vec<_> = catalog().iter().filter(|e| e.can_be_part()).collect();
        let mut model = held(able[choice % able.len()], window);
        let mut bytes = bytes.into_iter();
        while let Some(operation) = Operation::read(&mut bytes) {
            prop_assert_eq!(model.apply(operation), Ok(()), "{:?}", operation);
        }
        prop_assert_eq!(model.drain(), Ok(()));
    }
}
