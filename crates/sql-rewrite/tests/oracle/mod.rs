//! The planner's reading of a text, compared with that of PostgreSQL's own grammar.
//!
//! The planner has a parser of its own, and recognises statements without protected tables by their
//! bytes alone. Here the server's reading decides: of what a client sends, of what the proxy sends,
//! and of what passes.
//!
//! `STRONGROOM_TEST_SEED` draws other texts, `STRONGROOM_TEST_CASES` says how many.

mod compare;
mod corpus;
mod meant;
mod spelled;
mod statements;
