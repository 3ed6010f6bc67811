//! What a statement changes beside rows, as its text and its tree show it.

mod session;
mod words;

pub(crate) use words::{changes_texts, note_text, of_words, sets_by_rows};
