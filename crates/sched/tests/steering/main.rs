//! `tradeoff` with an alpha that adjusts itself, on a CPU and a link.

mod names;
mod plant;
mod protect;
mod target;
