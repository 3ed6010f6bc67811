//! Automation: test, tidy, bench, vectors.

fn main() {}
