//! What modules do to frames.

mod check;
mod config;
mod esp;
mod forward;
mod matching;
mod monitor;
mod re;
mod sequence;
mod support;
