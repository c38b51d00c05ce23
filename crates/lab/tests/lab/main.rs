//! Labs and the traffic in them. All tests need root; without it each says that it is skipped.

mod lifetime;
mod scenarios;
mod support;
mod traffic;
