//! A discipline that another crate registers does what it does on its own, whatever its packets carry.

use dovetail_sched::catalog::{Addition, Entry, Listed, NotRegistered, Shape, Token, find, register};
use dovetail_sched::{Scheduler, Spec, SpecError, build, build_all, codel, drr, fifo};
use dovetail_testkit::habits::{Habit, Owned};
use dovetail_testkit::random::Random;
use dovetail_testkit::suite;
use dovetail_testkit::twins::Twins;

/// `drr`, and `codel` for what it drops, from outside.
struct Outside<const DROPS: bool>;

const OUTSIDE: [&str; 2] = ["outside", "outside-2"];
const ORIGINALS: [Entry; 2] = [drr::ENTRY, codel::ENTRY];

impl<const DROPS: bool> Listed for Outside<DROPS> {
    const ENTRY: Entry = Entry { name: OUTSIDE[DROPS as usize], ..ORIGINALS[DROPS as usize] };
    const REVISION: &'static str = "1";

    fn make<const M: usize>(spec: &Spec, shape: Shape) -> Result<Box<dyn Scheduler<M, Token>>, SpecError> {
        build(&Spec { name: ORIGINALS[DROPS as usize].name.to_string(), ..spec.clone() }, shape)
    }
}

/// Has a name, and nothing else of its own.
struct Named<const NAME: usize>;

const NAMES: [&str; 5] = ["fifo", "red", "a+b", "9lives", ""];

impl<const NAME: usize> Listed for Named<NAME> {
    const ENTRY: Entry = Entry { name: NAMES[NAME], ..fifo::ENTRY };
    const REVISION: &'static str = "1";

    fn make<const M: usize>(spec: &Spec, _: Shape) -> Result<Box<dyn Scheduler<M, Token>>, SpecError> {
        Err(SpecError::new(&spec.name, "never made"))
    }
}

/// One test: the catalogue is the program's.
#[test]
fn what_is_registered_is_a_discipline_like_any_other() {
    let ours = [Addition::of::<Outside<false>>(), Addition::of::<Outside<true>>()];
    let both = |wrong| register(&[ours[0], wrong]);
    assert_eq!(both(Addition::of::<Named<0>>()), Err(NotRegistered::Taken("fifo")));
    assert_eq!(both(Addition::of::<Named<1>>()), Err(NotRegistered::Taken("red")));
    assert_eq!(both(Addition::of::<Named<2>>()), Err(NotRegistered::BadName("a+b".into())));
    assert_eq!(both(Addition::of::<Named<3>>()), Err(NotRegistered::BadName("9lives".into())));
    assert_eq!(both(Addition::of::<Named<4>>()), Err(NotRegistered::BadName("".into())));
    assert_eq!(both(ours[0]), Err(NotRegistered::Taken("outside")));
    assert_eq!(register(&ours), Ok(()));
    assert_eq!(register(&ours), Err(NotRegistered::TooLate));

    for (name, original) in OUTSIDE.into_iter().zip(ORIGINALS) {
        assert_eq!(find(name).unwrap().shares, original.shares);
        for seed in 0..20 {
            alike::<1>(name, original.name, seed);
            alike::<2>(name, original.name, seed);
            alike::<4>(name, original.name, seed);
        }
    }
    suite::check("outside").unwrap();
    assert!(build_all::<2, u32>(&"outside+outside:quantum=1 ms".parse().unwrap(), Shape::default()).is_ok());
    let error = |spec: &str| build::<2, u32>(&spec.parse().unwrap(), Shape::default()).err().unwrap().to_string();
    assert!(error("outsid").contains("outside, outside-2"), "{}", error("outsid"));
    assert!(error("outside:quantun=1 ms").contains("outside has no parameter \"quantun\""));
    let five = build::<5, u32>(&"outside".parse().unwrap(), Shape::default()).err().unwrap().to_string();
    assert_eq!(five, "outside is there for one to four resources, not 5");
}

/// Under random operations.
fn alike<const M: usize>(name: &str, original: &str, seed: u64) {
    let [subject, oracle] = [name, original].map(|name| {
        let made = build::<M, u32>(&name.parse().unwrap(), Shape { servers: M as u32 });
        Owned::new(made.unwrap(), Habit::None)
    });
    let mut twins = Twins::new(subject, oracle, ("quantum", &["1 us", "100 us", "auto"]));
    if let Err(difference) = twins.run(&mut Random::new(seed).take(20_000)) {
        panic!("{name} over {M} resources, seed {seed}: {difference}");
    }
}
