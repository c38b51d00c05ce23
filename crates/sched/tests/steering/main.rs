//! `tradeoff` with an alpha that turns itself, on a CPU and a link.

mod plant;
mod protect;
mod target;
