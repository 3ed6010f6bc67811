//! The program: sub-commands, prompts and progress.

fn main() {}
