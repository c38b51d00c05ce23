//! `tradeoff` with an alpha that adjusts itself, on a CPU and a link.

mod plant;
mod protect;
mod target;
