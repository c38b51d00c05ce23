//! Labs and the traffic in them. All tests need root: `make test` runs them where it has it.

mod lifetime;
mod scenarios;
mod support;
mod traffic;
