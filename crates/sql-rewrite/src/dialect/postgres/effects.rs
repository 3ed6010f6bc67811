//! The effects of a statement, read from its text.

mod named;
mod session;
mod words;

pub(crate) use words::{changes_texts, note_text, of_words, sets_by_rows};
