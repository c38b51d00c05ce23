//! The `dovetail` program.
fn main() {}
