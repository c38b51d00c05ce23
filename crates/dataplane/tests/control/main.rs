//! The control socket and the metrics of a box: what is asked is answered, and nobody who asks can do harm.

mod metrics;
mod reference;
mod requests;
mod socket;
mod support;
