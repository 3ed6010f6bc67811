//! What the proxy makes of a text, against what PostgreSQL's own grammar reads in it.
//!
//! The planner reads by a parser of its own, and what it takes for a statement without protected
//! tables by bytes alone. Here the server's reading is the measure: of what a client sends, of what
//! the proxy sends for it, and of what passes.
//!
//! `STRONGROOM_TEST_SEED` draws other texts, `STRONGROOM_TEST_CASES` says how many.

mod compare;
mod corpus;
mod meant;
mod spelled;
mod statements;
